"""Layers wired for a task; a network uses no flags, data or training."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .arithmetic import (
        SimpleFunctionRecurrentNetwork,
        SimpleFunctionStaticNetwork,
        SingleLayerNetwork,
    )
    from .digits import RegressionMnistNetwork, SequentialDigitNetwork
    from .texts import NumberTranslationNetwork

_HOMES = {
    "SimpleFunctionStaticNetwork": "arithmetic",
    "SingleLayerNetwork": "arithmetic",
    "NumberTranslationNetwork": "texts",
    "RegressionMnistNetwork": "digits",
    "SequentialDigitNetwork": "digits",
    "SimpleFunctionRecurrentNetwork": "arithmetic",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
