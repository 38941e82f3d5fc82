"""All layers, by family; each has its line in the table of `registry`, which needs no torch.

Classes have their names in papers, too: `from stable_nalu.layer import NMRU`. The package is a
function of such a name, or a key: `stable_nalu.layer("Real NPU")`.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .registry import entries, families, own_entries

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


def _import_classes() -> None:
    for family in ("base", "generalized", *families()):
        for name, value in vars(import_module(f".{family}", __name__)).items():
            if isinstance(value, type) and value.__module__.startswith(f"{__name__}."):
                globals().setdefault(name, value)


def __getattr__(name: str) -> Any:
    """Import the layers when a class is asked for, by its name in papers or its own.

    `NACCell` is the recurrent cell of `NACLayer`.
    """
    found = import_module(".by_name", __name__).imported_class(name)
    if found is not None:
        return found
    if name[0].isupper():
        _import_classes()
    if name in globals():
        return globals()[name]
    layer = globals().get(f"{name.removesuffix('Cell')}Layer")
    if layer is None or not name.endswith("Cell"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(".base", __name__).recurrent(layer)


def __dir__() -> list[str]:
    _import_classes()
    layers = (name for name in globals() if name.endswith("Layer"))
    return sorted({*globals(), *(f"{name.removesuffix('Layer')}Cell" for name in layers)})


class _Layers(ModuleType):
    """A module that is a function, too."""

    def __call__(self, name: str) -> Any:
        """Return the class of a layer, or of a cell, by its name in papers, else by its key.

        `optimize` keeps its weights in their range, unless an option says otherwise.

        Examples:
            >>> sn.layer("NMU")(2, 1)
            NMU(in_features=2, out_features=1)
        """
        return import_module(".by_name", __name__).layer_class(name)


sys.modules[__name__].__class__ = _Layers
