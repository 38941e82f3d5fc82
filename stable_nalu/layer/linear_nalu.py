r"""LinearNALU — a NALU over LinearNAC (Madsen & Johansen 2020, published code).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out).
Options: see `abstract_nalu`.

Departs from the paper: it is not in the paper. Departs from the published code: no.
"""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .linear_nac import LinearNACLayer
from .recurrent_cell import RecurrentCell
from .registry import register


class LinearNALULayer(AbstractNALULayer):
    """A gate between adding and multiplying LinearNACs."""

    NACOp = LinearNACLayer


class LinearNALUCell(RecurrentCell):
    """Recurrent LinearNALU."""

    Op = LinearNALULayer


ENTRY = register(
    key="LinearNALU",
    paper_name="Linear NALU",
    latex=r"\mathrm{NALU}_\mathrm{linear}",
    cites=MADSEN_2020,
    layer=LinearNALULayer,
    tier="extra",
)
