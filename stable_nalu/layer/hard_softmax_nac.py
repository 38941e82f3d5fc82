"""HardSoftmaxNAC, a SoftmaxNAC with sampled weights and a straight-through gradient."""

from __future__ import annotations

import torch

from stable_nalu.functional.nac_weight import chosen_sign, expected_sign
from stable_nalu.papers import MADSEN_2020

from .base import recurrent
from .registry import register
from .softmax_nac import SoftmaxNACLayer


class HardSoftmaxNACLayer(SoftmaxNACLayer):
    r"""Add and subtract inputs with weights that every forward pass samples (Madsen & Johansen
    2020, published code).

        y_o = sum_i W_oi x_i,    W_oi in {1, -1, 0} sampled from softmax([W_hat, 0])

    The gradient is that of the expected weight p_+ - p_-.
    Shapes: x (*runs, batch, in), W_hat (*runs, out, in, 2), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: it works in
    float64.
    It samples in evaluation and under `no_random` too, as there.
    """

    evaluates_rows_independently = False

    def __init__(self, in_features: int, out_features: int, *, name: str | None = None):
        super().__init__(in_features, out_features, name=name)
        sample = torch.zeros(out_features, in_features, dtype=torch.int64)
        self.register_buffer("sample", sample)

    def forward(self, x: torch.Tensor, reuse: bool = False) -> torch.Tensor:
        """Return y; `reuse` keeps the weights of the last forward pass."""
        p = self.probabilities()
        if not reuse:
            self.sample = self.random.multinomial(p.shape[-3:], p)
        W = expected_sign(p)
        # W - W is exactly zero, so that the value is the hard weight to the last bit.
        W = (W - W.detach()) + chosen_sign(self.sample, W.dtype)
        return x @ W.mT


HardSoftmaxNACCell = recurrent(HardSoftmaxNACLayer)

ENTRY = register(
    key="HardSoftmaxNAC",
    paper_name="Hard softmax NAC",
    latex=r"\mathrm{NAC}_\mathrm{hard}",
    cites=MADSEN_2020,
    layer=HardSoftmaxNACLayer,
    cell=HardSoftmaxNACCell,
    tier="extra",
)
