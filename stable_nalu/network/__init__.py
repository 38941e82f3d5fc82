"""Layers wired for a task; a network uses no flags, data or training."""

from importlib import import_module
from typing import Any

_HOMES = {
    "SimpleFunctionStaticNetwork": "arithmetic",
    "SingleLayerNetwork": "arithmetic",
    "NumberTranslationNetwork": "texts",
    "RegressionMnistNetwork": "digits",
    "SequentialDigitNetwork": "digits",
    "SimpleFunctionRecurrentNetwork": "arithmetic",
}
"""Module of each published name, imported on first use."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
