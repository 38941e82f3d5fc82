r"""SoftmaxNALU — a NALU over SoftmaxNAC (Madsen & Johansen 2020, published code).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out).
Options: see `abstract_nalu`.

Departs from the paper: it is not in the paper. Departs from the published code: no.
"""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .recurrent_cell import RecurrentCell
from .registry import register
from .softmax_nac import SoftmaxNACLayer


class SoftmaxNALULayer(AbstractNALULayer):
    """A gate between adding and multiplying SoftmaxNACs."""

    NACOp = SoftmaxNACLayer


class SoftmaxNALUCell(RecurrentCell):
    """Recurrent SoftmaxNALU."""

    Op = SoftmaxNALULayer


ENTRY = register(
    key="SoftmaxNALU",
    paper_name="Softmax NALU",
    latex=r"\mathrm{NALU}_\mathrm{softmax}",
    cites=MADSEN_2020,
    layer=SoftmaxNALULayer,
    cell=SoftmaxNALUCell,
    tier="extra",
)
