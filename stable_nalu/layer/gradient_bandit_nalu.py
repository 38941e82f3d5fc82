r"""GradientBanditNALU — a NALU over GradientBanditNAC (Madsen & Johansen 2020, published code).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out).
Options: see `abstract_nalu`.

A shared NAC multiplies with the weights that it sampled for adding. Only the gate is trained by
gradients.

Departs from the paper: it is not in the paper. Departs from the published code: no. The cell, which
cannot be built there, is the one over this layer.
"""

from __future__ import annotations

import torch

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .gradient_bandit_nac import GradientBanditNACLayer
from .recurrent_cell import RecurrentCell
from .registry import register


class GradientBanditNALULayer(AbstractNALULayer):
    """A gate between adding and multiplying GradientBanditNACs."""

    NACOp = GradientBanditNACLayer

    def shared_nac(self, x: torch.Tensor) -> torch.Tensor:
        """Pass the shared NAC for the second time, with the sampled weights of the first pass."""
        return self.nac_add(x, reuse=True)


class GradientBanditNALUCell(RecurrentCell):
    """Recurrent GradientBanditNALU."""

    Op = GradientBanditNALULayer


ENTRY = register(
    key="GradientBanditNALU",
    paper_name="Gradient bandit NALU",
    latex=r"\mathrm{NALU}_\mathrm{bandit}",
    cites=MADSEN_2020,
    layer=GradientBanditNALULayer,
    cell=GradientBanditNALUCell,
    tier="extra",
)
