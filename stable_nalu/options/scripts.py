"""The table of all training scripts; what describes one is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from .script_spec import ScriptSpec

_TABLE = {
    "simple_function_static": ("S", "arithmetic"),
    "simple_function_static_npu": ("SN", "arithmetic"),
    "single_layer": ("L", "arithmetic"),
    "single_layer_robust": ("R", "arithmetic"),
    "single_layer_curriculum": ("C", "arithmetic"),
    "single_layer_benchmark": ("B", "arithmetic"),
    "simple_function_recurrent": ("SR", "sequence"),
    "number_translation": ("NT", "sequence"),
    "sequential_mnist": ("SM", "digits"),
    "sequential_svhn": ("SS", "digits"),
    "two_digit_mnist": ("TD", "pairs"),
    "ST_mnist_labels": ("ST", "pairs"),
    "identity_autoencoder": ("IA", "tasks"),
    "even_digit_count": ("ED", "digits"),
    "mnist_counting": ("MC", "counting"),
    "gridworld_time": ("GW", "registers"),
    "program_evaluation": ("PE", "registers"),
    "notebook_addition": ("NA", "tasks"),
    "mystery_arithmetic": ("MA", "tasks"),
}
"""Script -> its name in tables of flags, and the module `scripts_<...>` that describes it.

There the description has the name of the script, in capitals.
"""
SHORT = {name: short for name, (short, _) in _TABLE.items()}


class _Scripts(Mapping[str, ScriptSpec]):
    """Script -> its description."""

    def __getitem__(self, name: str) -> ScriptSpec:
        module = import_module(f".scripts_{_TABLE[name][1]}", __package__)
        return getattr(module, name.upper())

    def __iter__(self) -> Iterator[str]:
        return iter(_TABLE)

    def __len__(self) -> int:
        return len(_TABLE)


SCRIPTS = _Scripts()
