"""The table of all training scripts; what describes one is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from .script_spec import ScriptSpec

_MODULES = {
    "simple_function_static": "arithmetic",
    "simple_function_static_npu": "arithmetic",
    "single_layer": "arithmetic",
    "single_layer_robust": "arithmetic",
    "single_layer_curriculum": "arithmetic",
    "single_layer_benchmark": "arithmetic",
    "simple_function_recurrent": "sequence",
    "number_translation": "sequence",
    "sequential_mnist": "digits",
    "sequential_svhn": "digits",
    "two_digit_mnist": "pairs",
    "ST_mnist_labels": "pairs",
}
"""Script -> the module `scripts_<...>` that holds its description, under its name in capitals."""


class _Scripts(Mapping[str, ScriptSpec]):
    """Script -> its description."""

    def __getitem__(self, name: str) -> ScriptSpec:
        module = import_module(f".scripts_{_MODULES[name]}", __package__)
        return getattr(module, name.upper())

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


SCRIPTS = _Scripts()
