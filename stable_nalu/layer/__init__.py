"""All layers, by family; each has its line in the table of `registry`.

Classes have their names in papers, too: `from stable_nalu.layer import NMRU`. The package is a
function of such a name, or a key: `stable_nalu.layer("Real NPU")`.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stable_nalu.base import Room, publish

from . import base, equations, nalu, nau_nmu, npu, registry, trials
from .registry import entries, own_entries

if TYPE_CHECKING:
    from .base import *
    from .equations import *
    from .nalu import *
    from .nau_nmu import *
    from .npu import *
    from .registry import GeneralizedCell, GeneralizedLayer
    from .trials import *


_CLASSES = {
    name: value
    for family in (base, nau_nmu, nalu, npu, equations, trials, registry)
    for name, value in vars(family).items()
    if isinstance(value, type) and value.__module__.startswith(f"{__name__}.") and name[0] != "_"
}
_LAYERS = [name for name in _CLASSES if name.endswith("Layer")]
__all__ = sorted({*_CLASSES, *(f"{name.removesuffix('Layer')}Cell" for name in _LAYERS)})


def __getattr__(name: str) -> Any:
    """Return a class by its own name or that in papers, or the recurrent cell of a layer."""
    if name == "unit_name_to_layer_class":
        from .own_layers import UnitClasses

        return UnitClasses()
    found = _CLASSES.get(name) or registry.imported_class(name)
    if found is not None:
        return found
    layer = _CLASSES.get(f"{name.removesuffix('Cell')}Layer")
    if layer is None or not name.endswith("Cell"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return base.recurrent(layer)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Layers(Room):
    """A module that is a function, too."""

    def __call__(self, name: str) -> Any:
        """Return the class of a layer, or of a cell, by its name in papers, else by its key.

        `optimize` keeps its weights in their range, unless an option says otherwise.

        Examples:
            >>> sn.layer("NMU")(2, 1)
            NMU(in_features=2, out_features=1)
        """
        return registry.layer_class(name)


_HERE: ModuleType = sys.modules[__name__]
_HERE.__class__ = _Layers

_FAMILIES = "gumbel linear softmax independent hard_softmax gradient_bandit"
publish(
    __name__,
    "basic generalized nac mnac pos_nac npu_real inalu mcfc mclstm",
    *(
        f"{family}_{kind}"
        for family in (*_FAMILIES.split(), "regualized_linear", "re_regualized_linear")
        for kind in ("nac", "mnac", "nalu")
    ),
)
