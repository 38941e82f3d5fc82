"""Render stable_nalu/api/program.pyi: the flags that `stable_nalu.train` takes, as types."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping

from stable_nalu.base.machine import CHECKOUT
from stable_nalu.options import Flag
from stable_nalu.task.table import SCRIPTS

PATH = CHECKOUT / "stable_nalu" / "api" / "program.pyi"
_HEAD = """\
# Generated from the flags of the scripts; rewrite with `make generated`.
# ruff: noqa: E501, UP013
# fmt: off
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, TypedDict, TypeVar, Unpack, overload

from torch.nn import Module

from stable_nalu.api.runs import TrainedRuns

_Value = TypeVar("_Value")
Several = _Value | Iterable[_Value] | None
Switch = Several[bool]
Int = Several[int]
Float = Several[float]
Text = Several[str]
Seeds = Int | str
Digits = Several[int | str]
Path = str | PathLike[str] | None
Paths = Several[str | PathLike[str]]
Range = Iterable[Any] | None
Layers = Several[type[Module] | str]
Options = Mapping[str, Any] | Text
Distribution = Iterable[str | float | Iterable[str | float]] | str | None

"""
_TYPES = {
    "INT": "Int",
    "FLOAT": "Float",
    "BOOL": "Switch",
    "SEEDS": "Seeds",
    "DIGITS": "Digits",
    "PATH": "Paths",
    "FILE [FILE ...]": "Paths",
    "NAME=VALUE [...]": "Options",
    "NAME [NUMBER ...]": "Distribution",
    "RANGE": "Range",
    "[LOW,HIGH]": "Range",
    "[[LOW,HIGH],...]": "Range",
    "[L,...]": "Range",
}
"""What stands for the value of a flag -> its type; that of others is Text."""
_REFUSED = ("dry_run", "evaluate")
_MOST_CHOICES = 12


def refreshed(_: str) -> str:
    """Return the stub."""
    return _HEAD + "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    """Yield flags that several scripts have together, those that each has besides, and `train`."""
    users: dict[tuple[str, str], list[str]] = {}
    for name, spec in SCRIPTS.items():
        for flag in spec.flags:
            if flag.dest not in _REFUSED:
                users.setdefault((flag.dest, _type(flag)), []).append(name)
    together: dict[tuple[str, ...], dict[str, str]] = {}
    for (flag, kind), names in users.items():
        together.setdefault(tuple(names), {})[flag] = kind
    together[tuple(SCRIPTS)] |= {"layer": "Layers", "out": "Path"}
    bases: dict[str, list[str]] = {name: [] for name in SCRIPTS}
    besides: dict[str, dict[str, str]] = {name: {} for name in SCRIPTS}
    for names, flags in together.items():
        shared = len(names) > 1 and len(flags) > 1
        base = f"_With{_class_name(next(iter(flags)))}"
        if shared:
            yield _typed_dict(base, flags)
        for name in names:
            if shared:
                bases[name].append(base)
            else:
                besides[name] |= flags
    for name, flags in besides.items():
        title = _class_name(name)
        yield _typed_dict(f"_{title}", flags)
        yield _wrapped(f"class {title}({', '.join([*bases[name], f'_{title}'])}): ...")
    for name in SCRIPTS:
        flags = f"**flags: Unpack[{_class_name(name)}]"
        yield f'@overload\ndef train(script: Literal["{name}"], {flags}) -> TrainedRuns: ...'


def _type(flag: Flag) -> str:
    """Return the type of what a flag takes in a call."""
    if flag.kind is None:
        return "Switch"
    if isinstance(flag.choices, tuple) and len(flag.choices) <= _MOST_CHOICES:
        return f"Several[Literal[{', '.join(map(json.dumps, flag.choices))}]]"
    return _TYPES.get(flag.kind.metavar, "Text")


def _class_name(name: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def _typed_dict(name: str, flags: Mapping[str, str]) -> str:
    fields = ", ".join(f'"{flag}": {kind}' for flag, kind in flags.items())
    return _wrapped(f'{name} = TypedDict("{name}", {{{fields}}}, total=False)')


def _wrapped(line: str) -> str:
    return textwrap.fill(line, 100, subsequent_indent="    ", break_on_hyphens=False)
