"""All layers, by family; each has its line in the table of `registry`.

Classes have their names in papers, too: `from stable_nalu.layer import NMRU`. The package is a
function of such a name, or a key: `stable_nalu.layer("Real NPU")`.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import base, by_name, generalized
from .registry import FAMILIES, entries, own_entries

if TYPE_CHECKING:
    from .ablations import *
    from .base import Layer
    from .basic import *
    from .choosing import *
    from .division import *
    from .equations import *
    from .gated import *
    from .generalized import GeneralizedCell, GeneralizedLayer
    from .mcfc import *
    from .nac import *
    from .nalu import *
    from .nau_nmu import *
    from .npu import *
    from .nsr import *


_CLASSES = {
    name: value
    for family in (base, generalized, *FAMILIES)
    for name, value in vars(family).items()
    if isinstance(value, type) and value.__module__.startswith(f"{__name__}.")
}


def __getattr__(name: str) -> Any:
    """Return a class by its own name or that in papers, or the recurrent cell of a layer."""
    found = _CLASSES.get(name) or by_name.imported_class(name)
    if found is not None:
        return found
    layer = _CLASSES.get(f"{name.removesuffix('Cell')}Layer")
    if layer is None or not name.endswith("Cell"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return base.recurrent(layer)


def __dir__() -> list[str]:
    layers = (name for name in _CLASSES if name.endswith("Layer"))
    cells = (f"{name.removesuffix('Layer')}Cell" for name in layers)
    return sorted({*globals(), *_CLASSES, *cells})


class _Layers(ModuleType):
    """A module that is a function, too."""

    def __call__(self, name: str) -> Any:
        """Return the class of a layer, or of a cell, by its name in papers, else by its key.

        `optimize` keeps its weights in their range, unless an option says otherwise.

        Examples:
            >>> sn.layer("NMU")(2, 1)
            NMU(in_features=2, out_features=1)
        """
        return by_name.layer_class(name)


sys.modules[__name__].__class__ = _Layers
