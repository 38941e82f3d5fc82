r"""NALUs over other layers than the NAC, from the published code of Madsen & Johansen (2020).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

where NAC stands for the layer that is in the name.

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out). Options: see
`abstract_nalu`.

Departs from the paper: they are not in the paper. Departs from the published code: the
RegualizedLinearNALU cannot be built there (a missing import); this is what it was meant to be. Nor
can the cells of the bandit, Gumbel, hard softmax and independent NALU, which are those over these
layers.
"""

from __future__ import annotations

import torch

from stable_nalu.papers import MADSEN_2020

from .abstract_nalu import AbstractNALULayer
from .base import recurrent
from .gradient_bandit_nac import GradientBanditNACLayer
from .gumbel_mnac import GumbelMNACLayer
from .gumbel_nac import GumbelNACLayer
from .hard_softmax_nac import HardSoftmaxNACLayer
from .independent_nac import IndependentNACLayer
from .linear_nac import LinearNACLayer
from .pos_nac import PosNACLayer
from .registry import register
from .regualized_linear_nac import RegualizedLinearNACLayer
from .softmax_nac import SoftmaxNACLayer


class IndependentNALULayer(AbstractNALULayer):
    """Choose by a gate between a sum and a product of IndependentNACs.

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))) (Madsen & Johansen 2020, published code).
    """

    NACOp = IndependentNACLayer


class LinearNALULayer(AbstractNALULayer):
    """Choose by a gate between a sum and a product of LinearNACs.

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))) (Madsen & Johansen 2020, published code).
    """

    NACOp = LinearNACLayer


class PosNALULayer(AbstractNALULayer):
    """Choose by a gate between a sum and a product of PosNACs.

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))) (Madsen & Johansen 2020, published code).
    """

    NACOp = PosNACLayer


class RegualizedLinearNALULayer(AbstractNALULayer):
    """Choose by a gate between a sum and a product of RegualizedLinearNACs.

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))) (Madsen & Johansen 2020, published code).
    """

    NACOp = RegualizedLinearNACLayer


class SoftmaxNALULayer(AbstractNALULayer):
    """Choose by a gate between a sum and a product of SoftmaxNACs.

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))) (Madsen & Johansen 2020, published code).
    """

    NACOp = SoftmaxNACLayer


class SampledNALU(AbstractNALULayer):
    """A NALU whose shared NAC multiplies with what it drew for adding."""

    def shared_nac(self, x: torch.Tensor) -> torch.Tensor:
        return self.nac_add(x, reuse=True)


class GradientBanditNALULayer(SampledNALU):
    """Choose by a gate between a sum and a product of GradientBanditNACs.

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))) (Madsen & Johansen 2020, published code).

    Only the gate is trained by gradients.
    """

    NACOp = GradientBanditNACLayer


class GumbelNALULayer(SampledNALU):
    """Choose by a gate between a sum and a product of GumbelNACs.

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))) (Madsen & Johansen 2020, published code).

    With `nalu_two_nac=True, nalu_mul="mnac"` a GumbelMNAC multiplies. `set_parameter("tau", v)`
    reaches the NACs, not the gate.
    """

    NACOp = GumbelNACLayer
    MNACOp = GumbelMNACLayer


class HardSoftmaxNALULayer(SampledNALU):
    """Choose by a gate between a sum and a product of HardSoftmaxNACs.

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))) (Madsen & Johansen 2020, published code).
    """

    NACOp = HardSoftmaxNACLayer


GradientBanditNALUCell = recurrent(GradientBanditNALULayer)
GumbelNALUCell = recurrent(GumbelNALULayer)
HardSoftmaxNALUCell = recurrent(HardSoftmaxNALULayer)
IndependentNALUCell = recurrent(IndependentNALULayer)
LinearNALUCell = recurrent(LinearNALULayer)
PosNALUCell = recurrent(PosNALULayer)
RegualizedLinearNALUCell = recurrent(RegualizedLinearNALULayer)
SoftmaxNALUCell = recurrent(SoftmaxNALULayer)

ENTRIES = tuple(
    register(
        key=layer.__name__.removesuffix("Layer"),
        paper_name=paper_name,
        latex=rf"\mathrm{{NALU}}{latex}",
        cites=MADSEN_2020,
        layer=layer,
        cell=cell,
        tier="extra",
    )
    for paper_name, latex, layer, cell in (
        (
            "Gradient bandit NALU",
            r"_\mathrm{bandit}",
            GradientBanditNALULayer,
            GradientBanditNALUCell,
        ),
        ("Gumbel NALU", r"_\mathrm{Gumbel}", GumbelNALULayer, GumbelNALUCell),
        ("Hard softmax NALU", r"_\mathrm{hard}", HardSoftmaxNALULayer, HardSoftmaxNALUCell),
        ("Independent NALU", r"_\mathrm{independent}", IndependentNALULayer, IndependentNALUCell),
        ("Linear NALU", r"_\mathrm{linear}", LinearNALULayer, None),
        ("Pos NALU", r"_\sigma", PosNALULayer, PosNALUCell),
        (
            "NALU over NAU, W = W_hat",
            r",\ \mathbf{W} = \mathbf{\hat{W}}",
            RegualizedLinearNALULayer,
            RegualizedLinearNALUCell,
        ),
        ("Softmax NALU", r"_\mathrm{softmax}", SoftmaxNALULayer, SoftmaxNALUCell),
    )
)
