"""stable-nalu: neural arithmetic logic modules and the experiments that study them."""

import importlib as _importlib
import os as _os
import typing as _typing

from .base import files as _files

if _typing.TYPE_CHECKING:
    from .api.own_loop import constrain, penalty, wrap
    from .api.program import train
    from .api.results import compare, plot, summarize
    from .api.runs import read_runs
    from .api.submit import submit
    from .api.zoo import layers
    from .inspection.saved_model import formula, load
    from .layer.base import Layer
    from .layer.own_layers import register
    from .task.own_task import task

    def layer(name: str) -> _typing.Any:
        """Return the class of a layer by its name in papers, else by its key."""


# Keep MKL from choosing the order of sums in a matrix product by the processor's features: runs in
# plain torch would have other last bits on each kind of processor. It is read once, at the first
# product; whoever prefers speed on large layers can set it beforehand.
_os.environ.setdefault("MKL_CBWR", "COMPATIBLE")

__version__ = _files.VERSION
# fmt: off
__all__ = [
    "Layer", "compare", "constrain", "formula", "layer", "layers", "load", "penalty", "plot",
    "read_runs", "register", "submit", "summarize", "task", "train", "wrap",
]
# fmt: on

_NAMES = {
    **{"layer.base": "Layer", "layer.own_layers": "register", "api.program": "train"},
    **{"inspection.saved_model": "formula load", "api.runs": "read_runs"},
    **{"api.results": "compare plot summarize"},
    **{"api.submit": "submit", "api.zoo": "layers", "api.own_loop": "constrain penalty wrap"},
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
"""Module of each public name; imported on first use, as most of them import torch or pandas."""


_ROOMS = "abstract", "callbacks", "dataset", "errors", "functional"
_ROOMS += "layer", "network", "reader", "task", "writer"


def __getattr__(name: str) -> _typing.Any:
    if name not in (*_ROOMS, *_HOMES):
        raise AttributeError(f"module 'stable_nalu' has no attribute {name!r}")
    module = _importlib.import_module(f".{_HOMES.get(name, name)}", __name__)
    return module if name in _ROOMS else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS, "__version__"})
