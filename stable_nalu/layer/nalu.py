"""NALU, the Neural Arithmetic Logic Unit, and G-NALU, its golden-ratio version."""

from __future__ import annotations

from stable_nalu.papers import RANA_2020, TRASK_2018

from .abstract_nalu import AbstractNALULayer
from .base import recurrent
from .mnac import MNACLayer
from .nac import NACLayer
from .registry import Variant, register

GOLDEN_RATIO_OPTIONS: dict[str, object] = {
    "nalu_gate": "golden-ratio",
    "nalu_mul": "golden-ratio",
    "nac_weight": "golden-ratio",
}


class NALULayer(AbstractNALULayer):
    r"""Choose by a gate between a sum and a product of NACs: the NALU of Trask et al. (2018,
    arXiv:1808.00508), and the G-NALU of Rana et al. (2020, arXiv:2004.06674).

        y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

        G-NALU: tanh, sigmoid and exp in the NACs, the gate and the product have base phi, not e.

    Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out). Options: see
    `abstract_nalu`.

    Departs from the paper: no; initial values are those of Madsen & Johansen (2020) unless
    `nalu_init` says otherwise. docs/layers.md says what the published variants can represent.
    Departs from the published code: `nalu_mul="max-safe"` computes its formula, there it raises.
    """

    NACOp = NACLayer
    MNACOp = MNACLayer


NALUCell = recurrent(NALULayer)

ENTRY = register(
    key="NALU",
    paper_name="NALU",
    latex=r"\mathrm{NALU}",
    cites=TRASK_2018,
    layer=NALULayer,
    cell=NALUCell,
    variants=(
        Variant("G-NALU", r"\mathrm{G}\text{-}\mathrm{NALU}", GOLDEN_RATIO_OPTIONS, RANA_2020),
    ),
)
