"""The layer zoo: one file a layer, all of them registered in `registry`."""

from .generalized import GeneralizedCell, GeneralizedLayer
from .nac import NACCell, NACLayer
from .nau import NAUCell, NAULayer
from .nmu import NMUCell, NMULayer
from .registry import entries

ReRegualizedLinearNACLayer, ReRegualizedLinearNACCell = NAULayer, NAUCell
ReRegualizedLinearMNACLayer, ReRegualizedLinearMNACCell = NMULayer, NMUCell

__all__ = [
    "GeneralizedCell",
    "GeneralizedLayer",
    "NACCell",
    "NACLayer",
    "NAUCell",
    "NAULayer",
    "NMUCell",
    "NMULayer",
    "ReRegualizedLinearMNACCell",
    "ReRegualizedLinearMNACLayer",
    "ReRegualizedLinearNACCell",
    "ReRegualizedLinearNACLayer",
    "entries",
]
