"""EnsembleGumbelNAU, a sum over inputs picked by several hard Gumbel-softmax masks."""

from __future__ import annotations

import math
from typing import Any

import torch

from stable_nalu.papers import MISTRY_2022_DIVISION

from .base import Layer
from .registry import register

_INPUTS_PER_MASK = 4
_COOLING_RATE = 1e-5


class EnsembleGumbelNAULayer(Layer):
    r"""Add those inputs that hard Gumbel-softmax masks pick, drawn anew for every row (Mistry et
    al. 2023, published code; Gumbel-softmax: Jang et al. 2017, arXiv:1611.01144).

        y_bo = sum_i x_bi max_m mask^m_bio,    m = 1 ... ceil(in / 4)

        soft^m_b.o = softmax_i((x_bi W_io - log E^m_bio) / tau),    E ~ Exp(1)
        mask^m_b.o = onehot_i(argmax_i soft^m_bio),    with the gradient of soft^m
        tau = min(1, exp(-1e-5 iteration))

    Shapes: x (*runs, batch, in), W_logits (*runs, in, out), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: numbers are
    drawn on the CPU for every device. It samples in evaluation and under `no_random` too, as there.
    Its `z` penalty, taken of constant ones there, is always zero.
    """

    evaluates_rows_independently = False
    reads_iteration = True

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.W_logits = torch.nn.Parameter(torch.empty(in_features, out_features))

    def reset_parameters(self) -> None:
        torch.nn.init.uniform_(self.W_logits, 0.25, 0.75)

    @property
    def temperature(self) -> float:
        """Return the softmax temperature at this iteration."""
        return min(1.0, math.exp(-_COOLING_RATE * self.iteration))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = x.unsqueeze(-1) * self.W_logits.unsqueeze(-3)
        count = math.ceil(self.in_features / _INPUTS_PER_MASK)
        masks = torch.stack([self._mask(logits) for _ in range(count)])
        return (x.unsqueeze(-1) * masks.amax(0)).sum(-2)

    def _mask(self, logits):
        gumbel = -self.random.exponential(logits.shape[-3:], like=logits).log()
        soft = torch.softmax((logits + gumbel) / self.temperature, dim=-2)
        picked = soft.argmax(-2, keepdim=True)
        hard = torch.zeros_like(soft).scatter(-2, picked, 1.0)
        return hard - soft.detach() + soft

    def regualizer_terms(self):
        return {"z": None}


ENTRY = register(
    key="EnsembleGumbelNAU",
    paper_name="Ensemble Gumbel NAU",
    latex=r"\mathrm{NAU}_\mathrm{Gumbel}",
    cites=MISTRY_2022_DIVISION,
    layer=EnsembleGumbelNAULayer,
    tier="extra",
)
