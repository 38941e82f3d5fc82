r"""IndependentNALU — a NALU over IndependentNAC (Madsen & Johansen 2020, published code).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out).
Options: see `abstract_nalu`.

Departs from the paper: it is not in the paper. Departs from the published code: no. The cell, which
cannot be built there, is the one over this layer.
"""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .independent_nac import IndependentNACLayer
from .recurrent_cell import RecurrentCell
from .registry import register


class IndependentNALULayer(AbstractNALULayer):
    """A gate between adding and multiplying IndependentNACs."""

    NACOp = IndependentNACLayer


class IndependentNALUCell(RecurrentCell):
    """Recurrent IndependentNALU."""

    Op = IndependentNALULayer


ENTRY = register(
    key="IndependentNALU",
    paper_name="Independent NALU",
    latex=r"\mathrm{NALU}_\mathrm{independent}",
    cites=MADSEN_2020,
    layer=IndependentNALULayer,
    cell=IndependentNALUCell,
    tier="extra",
)
