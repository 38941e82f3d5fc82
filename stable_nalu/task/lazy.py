"""Modules that tasks use, each imported when something of it is first asked for.

--help and names of runs need none of them, and torch takes seconds to import.
"""
# ruff: noqa: F401

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import torch

    from stable_nalu import abstract, functional
    from stable_nalu.abstract import ExtendedTorchModule
    from stable_nalu.dataset import (
        digit_pairs,
        distribution,
        images,
        loader,
        number_translation,
        programs,
        simple_function,
        stream,
    )
    from stable_nalu.engine import stack
    from stable_nalu.layer import basic
    from stable_nalu.network import arithmetic as arithmetic_networks
    from stable_nalu.network import dense, gridworld, texts, two_digits
    from stable_nalu.network import digits as digit_networks
    from stable_nalu.statistics import setups
    from stable_nalu.training import console, evaluation, loss, recorder, step


class _Lazy:
    """A module that may not be imported yet."""

    def __init__(self, name: str):
        self._name = name

    @cached_property
    def _module(self) -> ModuleType:
        return import_module(self._name)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


if not TYPE_CHECKING:
    ExtendedTorchModule = Any  # which annotations alone name
    np, torch = _Lazy("numpy"), _Lazy("torch")
    arithmetic_networks = _Lazy("stable_nalu.network.arithmetic")
    digit_networks = _Lazy("stable_nalu.network.digits")
    for _room, _modules in {
        "stable_nalu": "abstract functional",
        "stable_nalu.dataset": "digit_pairs distribution images loader number_translation programs "
        "simple_function stream",
        "stable_nalu.engine": "stack",
        "stable_nalu.layer": "basic",
        "stable_nalu.network": "dense gridworld texts two_digits",
        "stable_nalu.statistics": "setups",
        "stable_nalu.training": "console evaluation loss recorder step",
    }.items():
        globals().update({name: _Lazy(f"{_room}.{name}") for name in _modules.split()})
