"""The training scripts: a module for each, which is imported when it is asked for.

A module here that has a `SCRIPT`, the description of its command line, is a training script of the
module's name; its `TASK` says what is trained. None needs torch to be imported, as a look at --help
should not wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from stable_nalu.options import ScriptSpec

ARITHMETIC = (
    *("simple_function_static", "simple_function_static_npu", "single_layer"),
    *("single_layer_robust", "single_layer_curriculum", "single_layer_benchmark"),
)
"""Scripts whose run names share their fields."""

_FIRST = (
    *ARITHMETIC,
    *("simple_function_recurrent", "number_translation", "sequential_mnist", "sequential_svhn"),
    *("two_digit_mnist", "ST_mnist_labels", "identity_autoencoder", "even_digit_count"),
    *("mnist_counting", "gridworld_time", "program_evaluation", "notebook_addition"),
)
"""Scripts that lists begin with; others follow by name."""


@cache
def _modules() -> frozenset[str]:
    return frozenset(module.name for module in iter_modules(__path__))


@cache
def _others() -> tuple[str, ...]:
    found = {name for name in _modules() if hasattr(_module(name), "SCRIPT")}
    return tuple(sorted(found - set(_FIRST)))


def _module(name: str) -> ModuleType:
    return import_module(f"{__name__}.{name}")


class _Scripts(Mapping[str, ScriptSpec]):
    """Script -> its description."""

    def __getitem__(self, name: str) -> ScriptSpec:
        if name not in _modules():
            raise KeyError(name)
        try:
            return _module(name).SCRIPT
        except AttributeError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        yield from _FIRST  # and import no other one, unless it is asked for
        yield from _others()

    def __len__(self) -> int:
        return len(_FIRST) + len(_others())


SCRIPTS = _Scripts()
