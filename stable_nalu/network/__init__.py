"""Layers wired for a task; a network uses no flags, data or training."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .arithmetic import SimpleFunctionStaticNetwork, SingleLayerNetwork
    from .number_translation import NumberTranslationNetwork
    from .sequential_digits import RegressionMnistNetwork, SequentialDigitNetwork
    from .simple_function_recurrent import SimpleFunctionRecurrentNetwork

_HOMES = {
    "SimpleFunctionStaticNetwork": "arithmetic",
    "SingleLayerNetwork": "arithmetic",
    "NumberTranslationNetwork": "number_translation",
    "RegressionMnistNetwork": "sequential_digits",
    "SequentialDigitNetwork": "sequential_digits",
    "SimpleFunctionRecurrentNetwork": "simple_function_recurrent",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
