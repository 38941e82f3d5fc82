r"""GumbelNALU — a NALU over GumbelNAC (Madsen & Johansen 2020, published code).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out).
Options: see `abstract_nalu`.

A shared NAC multiplies with the noise that it drew for adding; with `nalu_two_nac=True,
nalu_mul="mnac"` a GumbelMNAC multiplies. `set_parameter("tau", v)` reaches the NACs, not the gate.

Departs from the paper: it is not in the paper. Departs from the published code: no. The cell, which
cannot be built there, is the one over this layer.
"""

from __future__ import annotations

import torch

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .gumbel_mnac import GumbelMNACLayer
from .gumbel_nac import GumbelNACLayer
from .recurrent_cell import RecurrentCell
from .registry import register


class GumbelNALULayer(AbstractNALULayer):
    """A gate between adding and multiplying GumbelNACs."""

    NACOp = GumbelNACLayer
    MNACOp = GumbelMNACLayer

    def shared_nac(self, x: torch.Tensor) -> torch.Tensor:
        """Pass the shared NAC for the second time, with the noise of the first pass."""
        return self.nac_add(x, reuse=True)


class GumbelNALUCell(RecurrentCell):
    """Recurrent GumbelNALU."""

    Op = GumbelNALULayer


ENTRY = register(
    key="GumbelNALU",
    paper_name="Gumbel NALU",
    latex=r"\mathrm{NALU}_\mathrm{Gumbel}",
    cites=MADSEN_2020,
    layer=GumbelNALULayer,
    cell=GumbelNALUCell,
    tier="extra",
)
