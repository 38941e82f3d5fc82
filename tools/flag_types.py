"""Render stable_nalu/api/flags.py: the flags that `stable_nalu.train` takes, as types."""

import json
import textwrap
from collections.abc import Iterable

from stable_nalu.base.files import CHECKOUT
from stable_nalu.options import Flag
from stable_nalu.task.table import SCRIPTS

PATH = CHECKOUT / "stable_nalu" / "api" / "flags.py"
_HEAD = '''\
"""Types of the flags of all scripts, for editors; generated, rewrite with `make generated`."""
# ruff: noqa: E501, UP013
# fmt: off

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Literal, TypedDict, TypeVar

_Value = TypeVar("_Value")
Several = _Value | Iterable[_Value] | None
Switch = Several[bool]
Int = Several[int]
Float = Several[float]
Text = Several[str]
Paths = Several[str | PathLike[str]]
Range = Iterable[Any] | None

'''
_TYPES = {
    "INT": "Int",
    "FLOAT": "Float",
    "BOOL": "Switch",
    "SEEDS": "Int | str",
    "DIGITS": "Several[int | str]",
    "PATH": "Paths",
    "FILE [FILE ...]": "Paths",
    "NAME=VALUE [...]": "Mapping[str, Any] | Text",
    "NAME [NUMBER ...]": "Iterable[Any] | str | None",
    "RANGE": "Range",
    "[LOW,HIGH]": "Range",
    "[[LOW,HIGH],...]": "Range",
    "[L,...]": "Range",
}
"""The metavar of a flag -> its type; others are Text."""
_REFUSED = ("dry_run", "evaluate")
_MOST_CHOICES = 12


def refreshed(_: str) -> str:
    """Return the module."""
    same: dict[str, list[Flag]] = {}
    for flag in (flag for spec in SCRIPTS.values() for flag in spec.flags):
        if flag.dest not in _REFUSED:
            same.setdefault(flag.dest, []).append(flag)
    fields = ", ".join(f'"{dest}": {_type(flags)}' for dest, flags in same.items())
    lines = (
        f"Script = {_literal(SCRIPTS)}",
        f'Flags = TypedDict("Flags", {{{fields}}}, total=False)',
    )
    wrap = textwrap.TextWrapper(100, subsequent_indent="    ", break_on_hyphens=False)
    return _HEAD + "".join(f"{wrap.fill(line)}\n" for line in lines)


def _type(flags: list[Flag]) -> str:
    """Return the type of what a flag takes in a call, in any of its scripts."""
    choices = [f.choices if isinstance(f.choices, tuple) else () for f in flags if f.kind]
    if choices and all(0 < len(known) <= _MOST_CHOICES for known in choices):
        return f"Several[{_literal(dict.fromkeys(c for known in choices for c in known))}]"
    kinds = (_TYPES.get(f.kind.metavar, "Text") if f.kind else "Switch" for f in flags)
    return " | ".join(dict.fromkeys(kinds))


def _literal(values: Iterable[object]) -> str:
    return f"Literal[{', '.join(map(json.dumps, values))}]"
