r"""PosNALU — a NALU over PosNAC (Madsen & Johansen 2020, published code).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out).
Options: see `abstract_nalu`.

Departs from the paper: it is not in the paper. Departs from the published code: no.
"""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .pos_nac import PosNACLayer
from .recurrent_cell import RecurrentCell
from .registry import register


class PosNALULayer(AbstractNALULayer):
    """A gate between adding and multiplying PosNACs."""

    NACOp = PosNACLayer


class PosNALUCell(RecurrentCell):
    """Recurrent PosNALU."""

    Op = PosNALULayer


ENTRY = register(
    key="PosNALU",
    paper_name="Pos NALU",
    latex=r"\mathrm{NALU}_\sigma",
    cites=MADSEN_2020,
    layer=PosNALULayer,
    cell=PosNALUCell,
    tier="extra",
)
