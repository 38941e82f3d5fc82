"""All layers, by family; each of them is registered in `registry`.

Classes have their names in papers, too: `from stable_nalu.layer import NMRU`. The package is a
function of such a name, or a key: `stable_nalu.layer("Real NPU")`.
"""

import sys
from types import ModuleType
from typing import Any

from .ablations import (
    IndependentNACCell,
    IndependentNACLayer,
    LinearNACCell,
    LinearNACLayer,
    MultiWeightNAULayer,
    RegualizedLinearMNACCell,
    RegualizedLinearMNACLayer,
    RegualizedLinearNACCell,
    RegualizedLinearNACLayer,
    ScaledSigmoidNAULayer,
    SigmoidNAULayer,
    SillyReRegualizedLinearMNACCell,
    SillyReRegualizedLinearMNACLayer,
)
from .base import Layer
from .basic import BasicCell, BasicLayer
from .choosing import (
    EnsembleGumbelNAULayer,
    FeatureSelector,
    GradientBanditNACCell,
    GradientBanditNACLayer,
    GumbelMNACCell,
    GumbelMNACLayer,
    GumbelNACCell,
    GumbelNACLayer,
    HardSoftmaxNACCell,
    HardSoftmaxNACLayer,
    SoftmaxNACCell,
    SoftmaxNACLayer,
)
from .division import (
    ConcatReciprocalNMUGatedSignRetrievalLayer,
    ConcatReciprocalNMULayer,
    ConcatReciprocalNMUSignRetrievalLayer,
    ReciprocalNMULayer,
)
from .generalized import GeneralizedCell, GeneralizedLayer
from .inalu import INALULayer
from .mcfc import MCFullyConnected, MulMCFC, MulMCFCSignINALU, MulMCFCSignRealNPU
from .nac import MNACCell, MNACLayer, NACCell, NACLayer, PosNACCell, PosNACLayer
from .nalu import AbstractNALULayer, GatedNAUNMUCell, GatedNAUNMULayer, NALUCell, NALULayer
from .nalu_variants import (
    GradientBanditNALUCell,
    GradientBanditNALULayer,
    GumbelNALUCell,
    GumbelNALULayer,
    HardSoftmaxNALUCell,
    HardSoftmaxNALULayer,
    IndependentNALUCell,
    IndependentNALULayer,
    LinearNALUCell,
    LinearNALULayer,
    PosNALUCell,
    PosNALULayer,
    RegualizedLinearNALUCell,
    RegualizedLinearNALULayer,
    SoftmaxNALUCell,
    SoftmaxNALULayer,
)
from .nau import NAUCell, NAULayer, PosNAUCell, PosNAULayer
from .nmu import NMUCell, NMULayer
from .npu import NPULayer, RealNPULayer
from .registry import entries, has_own, named
from .torch_cell import GRUCell, LSTMCell, RNNReLUCell, RNNTanhCell

ReRegualizedLinearNACLayer, ReRegualizedLinearNACCell = NAULayer, NAUCell
ReRegualizedLinearMNACLayer, ReRegualizedLinearMNACCell = NMULayer, NMUCell
ReRegualizedLinearPosNACLayer, ReRegualizedLinearPosNACCell = PosNAULayer, PosNAUCell
ReRegualizedLinearNALULayer, ReRegualizedLinearNALUCell = GatedNAUNMULayer, GatedNAUNMUCell
EnsembleGumbelSoftmaxNAU, SigmoidNAU, ScaledSigmoidNAU = (
    EnsembleGumbelNAULayer,
    SigmoidNAULayer,
    ScaledSigmoidNAULayer,
)


def __getattr__(name: str) -> Any:
    for entry in entries().values():
        if entry.label == name and entry.layer is not None:
            return entry.module
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Layers(ModuleType):
    """A module that is a function, too."""

    def __call__(self, name: str) -> Any:
        """Return the class of a layer by its name in papers, else by its key."""
        return named(name).module


sys.modules[__name__].__class__ = _Layers
