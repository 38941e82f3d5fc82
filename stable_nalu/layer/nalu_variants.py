r"""NALUs over other layers than the NAC, from the published code of Madsen & Johansen (2020).

    y = g * NAC(x) + (1 - g) * exp(NAC(log(|x| + eps))),    g = sigmoid(G x)

where NAC stands for the layer that is in the name.

Shapes: x (*runs, batch, in), G (*runs, out, in), y (*runs, batch, out). Options: see
`stable_nalu.layer.nalu`.

Of the GradientBanditNALU only the gate is trained by gradients. `set_parameter("tau", v)` reaches
the NACs of the GumbelNALU, not its gate; with `nalu_two_nac=True, nalu_mul="mnac"` a GumbelMNAC
multiplies.

Departs from the paper: they are not in the paper. Departs from the published code: the
RegualizedLinearNALU cannot be built there (a missing import); this is what it was meant to be. Nor
can the cells of the bandit, Gumbel, hard softmax and independent NALU, which are those over these
layers.
"""

from __future__ import annotations

from types import new_class
from typing import Any

import torch

from .ablations import IndependentNACLayer, LinearNACLayer, RegualizedLinearNACLayer
from .base import Layer, recurrent
from .choosing import (
    GradientBanditNACLayer,
    GumbelMNACLayer,
    GumbelNACLayer,
    HardSoftmaxNACLayer,
    SoftmaxNACLayer,
)
from .nac import PosNACLayer
from .nalu import AbstractNALULayer


class SampledNALU(AbstractNALULayer):
    """A NALU whose shared NAC multiplies with what it drew for adding."""

    def shared_nac(self, x: torch.Tensor) -> torch.Tensor:
        return self.nac_add(x, reuse=True)


def over(
    nac: type[Layer], base: type[AbstractNALULayer] = AbstractNALULayer, **members: Any
) -> type[AbstractNALULayer]:
    """Return the NALU of a layer, for a variable called as the layer but `NALU`."""
    name = nac.__name__.replace("NAC", "NALU")
    about = f"Choose by a gate between a sum and a product of {nac.__name__}s.\n\n{__doc__}"
    members |= {"NACOp": nac, "__module__": __name__, "__doc__": about}
    return new_class(name, (base,), exec_body=lambda body: body.update(members))


GradientBanditNALULayer = over(GradientBanditNACLayer, SampledNALU)
GumbelNALULayer = over(GumbelNACLayer, SampledNALU, MNACOp=GumbelMNACLayer)
HardSoftmaxNALULayer = over(HardSoftmaxNACLayer, SampledNALU)
IndependentNALULayer = over(IndependentNACLayer)
LinearNALULayer = over(LinearNACLayer)
PosNALULayer = over(PosNACLayer)
RegualizedLinearNALULayer = over(RegualizedLinearNACLayer)
SoftmaxNALULayer = over(SoftmaxNACLayer)

GradientBanditNALUCell = recurrent(GradientBanditNALULayer)
GumbelNALUCell = recurrent(GumbelNALULayer)
HardSoftmaxNALUCell = recurrent(HardSoftmaxNALULayer)
IndependentNALUCell = recurrent(IndependentNALULayer)
LinearNALUCell = recurrent(LinearNALULayer)
PosNALUCell = recurrent(PosNALULayer)
RegualizedLinearNALUCell = recurrent(RegualizedLinearNALULayer)
SoftmaxNALUCell = recurrent(SoftmaxNALULayer)
