r"""RegualizedLinearNALU — a NALU over RegualizedLinearNAC (Madsen & Johansen 2020, published code).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out).
Options: see `abstract_nalu`.

Departs from the paper: it is not in the paper. Departs from the published code: that one cannot
be built (a missing import); this is what it was meant to be.
"""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .recurrent_cell import RecurrentCell
from .registry import register
from .regualized_linear_nac import RegualizedLinearNACLayer


class RegualizedLinearNALULayer(AbstractNALULayer):
    """A gate between adding and multiplying RegualizedLinearNACs."""

    NACOp = RegualizedLinearNACLayer


class RegualizedLinearNALUCell(RecurrentCell):
    """Recurrent RegualizedLinearNALU."""

    Op = RegualizedLinearNALULayer


ENTRY = register(
    key="RegualizedLinearNALU",
    paper_name="NALU over NAU, W = W_hat",
    latex=r"\mathrm{NALU},\ \mathbf{W} = \mathbf{\hat{W}}",
    cites=MADSEN_2020,
    layer=RegualizedLinearNALULayer,
    cell=RegualizedLinearNALUCell,
    tier="extra",
)
