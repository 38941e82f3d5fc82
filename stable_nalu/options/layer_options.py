"""Layers of the user's on the command line: files that are loaded first, and options by name."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

from stable_nalu.errors import OptionError, did_you_mean
from stable_nalu.machine import installed_layers

from .flag import Config

_TRUTH = {"true": True, "false": False}
_SEQUENCES = (list, tuple)
_KINDS = {float: (float, int), list: _SEQUENCES, tuple: _SEQUENCES}
"""Types that do for a default of another one."""


def load_own_layers(argv: Sequence[str]) -> None:
    """Load the layers of installed packages and of the files behind --layer-file."""
    paths = _files(argv)
    # A look at --help should not wait for torch, which layers import.
    if not paths and not installed_layers():
        return
    from stable_nalu.layer.own_layers import load_installed_layers, load_layer_file

    load_installed_layers()
    for path in paths:
        load_layer_file(path)


def _files(argv: Sequence[str]) -> list[str]:
    """Return the words behind --layer-file."""
    paths: list[str] = []
    reads = False
    for word in argv:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            reads = name == "--layer-file"
            paths += [value] if reads and value else []
        elif reads:
            paths.append(word)
    return paths


def units_of(config: Config) -> list[str]:
    """Return the keys of the units that a configuration names."""
    names = (getattr(config, flag, None) for flag in ("layer_type", "first_layer", "nalm_name"))
    return [name for name in names if name]


def own_options(config: Config, by_flag: Mapping[str, str]) -> dict[str, Any]:
    """Return what --layer-option sets; refuse what no unit of the run takes.

    by_flag: the flags of the script by the option that each sets.
    """
    from stable_nalu.layer import entries

    known: dict[str, inspect.Parameter] = {}
    for entry in [entries()[unit] for unit in units_of(config) if unit in entries()]:
        # Flags are read by layers that were written for them.
        taken = () if entry.is_plain else by_flag
        known |= {name: p for name, p in entry.parameters.items() if name not in taken}
    return dict(_read(word, known, config, by_flag) for word in config.layer_option)


def _read(
    word: str, known: Mapping[str, inspect.Parameter], config: Config, by_flag: Mapping[str, str]
) -> tuple[str, Any]:
    name, _, value = word.partition("=")
    if name in known:
        return name, _converted(word, value, known[name].default)
    if name in by_flag:
        raise OptionError("--layer-option", f"{name} has a flag", f"use {by_flag[name]}")
    unit = next(iter(units_of(config)), "the last layer")
    shown = ", ".join(map(_shown, known.values()))
    taken = f"it takes {shown}" if shown else "it takes no options"
    meant = did_you_mean(name, known, "")
    raise OptionError("--layer-option", f"{unit} takes no {name!r}", f"{meant} {taken}".strip())


def _shown(parameter: inspect.Parameter) -> str:
    name, default = parameter.name, parameter.default
    return name if default is parameter.empty else f"{name}={default}"


def _converted(word: str, value: str, default: Any) -> Any:
    """Return a value of the type of the default; without one, what Python reads it as."""
    if isinstance(default, str):
        return value
    try:
        read = _TRUTH[value.lower()] if value.lower() in _TRUTH else ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        read = value
    kind = cast("type[Any]", type(default))
    free = default is None or default is inspect.Parameter.empty
    if not free and type(read) not in _KINDS.get(kind, (kind,)):
        raise OptionError(
            "--layer-option", f"{word} is of another kind", f"the default is {default!r}"
        )
    return read
