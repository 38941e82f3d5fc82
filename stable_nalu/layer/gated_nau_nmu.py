"""The gated NAU/NMU, a NALU made of NAU and NMU."""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .base import recurrent
from .nau import NAULayer
from .nmu import NMULayer
from .registry import Variant, register


class GatedNAUNMULayer(AbstractNALULayer):
    r"""Choose by a gate between the sum of an NAU and the product of an NMU (Madsen & Johansen
    2020, arXiv:2001.05016).

        y = g * NAU(x) + (1 - g) * NMU(x),    g = sigmoid(G x)

    Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out). Options: see
    `abstract_nalu`.

    The formula holds for `nalu_two_nac=True, nalu_mul="mnac"`. Otherwise the product is the NAU in
    log space, as in the NALU.

    Departs from the published code: no.
    """

    NACOp = NAULayer
    MNACOp = NMULayer


GatedNAUNMUCell = recurrent(GatedNAUNMULayer)

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
