"""ScaledSigmoidNAU, a sum over inputs selected by a folded sigmoid mask."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.papers import MISTRY_2022_DIVISION

from .registry import register
from .sigmoid_nau import SelectionBase


class ScaledSigmoidNAULayer(SelectionBase):
    r"""Add those inputs that a folded sigmoid mask selects (Mistry et al. 2022, published code).

        y_o = sum_i x_i mask_io,    mask = 2 sigmoid(-|W_logits l1.weight^T + l1.bias| / 2)

    In evaluation the mask is rounded to {0, 1}.
    Shapes: x (*runs, batch, in), W_logits (*runs, in, out), l1.weight (*runs, out, out),
    l1.bias (*runs, out), y (*runs, batch, out).

    The constructor draws l1 (it belongs to no later initialisation); `reset_parameters` draws
    W_logits.

    Departs from the paper: it is not in the paper. Departs from the published code: no. Its `z`
    penalty, taken of constant ones there, is always zero.
    """

    def __init__(self, in_features: int, out_features: int, **options: Any):
        super().__init__(in_features, out_features, **options)
        self.l1 = torch.nn.Linear(out_features, out_features)
        self.W_logits = torch.nn.Parameter(torch.empty(in_features, out_features))

    def mask(self) -> torch.Tensor:
        """Return the soft mask."""
        return 2 * torch.sigmoid(-0.5 * self.hidden().abs())


ENTRY = register(
    key="ScaledSigmoidNAU",
    paper_name="Scaled sigmoid NAU",
    latex=r"\mathrm{NAU}_{2\sigma}",
    cites=MISTRY_2022_DIVISION,
    layer=ScaledSigmoidNAULayer,
    tier="extra",
)
