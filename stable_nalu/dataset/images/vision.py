"""The one place that imports torchvision, when it is asked for and not before."""

from __future__ import annotations

import importlib
from functools import cache
from types import ModuleType

import torch

from stable_nalu.errors import UsageError

_COMPILED = ("nms", "qnms")
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
_declared: list[torch.library.Library] = []


@cache
def torchvision() -> ModuleType:
    """The package torchvision.

    Where its compiled operations are missing, as in CPU environments without a build of them, two
    are declared so that it can be imported: data sets, transforms and models do not use them.
    """
    try:
        return importlib.import_module("torchvision")
    except ImportError as error:
        raise UsageError(
            f"torchvision cannot be imported ({error}); python3 -m pip install 'torchvision'"
        ) from None
    except RuntimeError as error:
        if "does not exist" not in str(error):
            raise
    library = torch.library.Library("torchvision", "DEF")
    for name in _COMPILED:
        library.define(f"{name}{_SCHEMA}")
    # Declarations last as long as the library object.
    _declared.append(library)
    return importlib.import_module("torchvision")
