r"""Gated NAU/NMU — a NALU made of NAU and NMU (Madsen & Johansen 2020, arXiv:2001.05016).

    y = g * NAU(x) + (1 - g) * NMU(x),    g = sigmoid(G x)

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out). Options: see
`abstract_nalu`.

The formula holds for `nalu_two_nac=True, nalu_mul="mnac"`. Otherwise the product is the NAU in
log space, as in the NALU.

Departs from the published code: no.
"""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .nau import NAULayer
from .nmu import NMULayer
from .recurrent_cell import RecurrentCell
from .registry import Variant, register


class GatedNAUNMULayer(AbstractNALULayer):
    """A gate between NAU and NMU."""

    NACOp = NAULayer
    MNACOp = NMULayer


class GatedNAUNMUCell(RecurrentCell):
    """Recurrent gated NAU/NMU."""

    Op = GatedNAUNMULayer


ENTRY = register(
    key="ReRegualizedLinearNALU",
    paper_name="Gated NAU",
    latex=r"\mathrm{Gated\ NAU}",
    cites=MADSEN_2020,
    layer=GatedNAUNMULayer,
    cell=GatedNAUNMUCell,
    variants=(
        Variant(
            "Gated NAU/NMU",
            r"\mathrm{Gated\ NAU/NMU}",
            {"nalu_two_nac": True, "nalu_mul": "mnac"},
            MADSEN_2020,
        ),
    ),
)
