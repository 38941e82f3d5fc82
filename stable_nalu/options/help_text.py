"""Text of --help."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, cast

from .flag import Flag, FlagGroup

_WIDTH = 98
_COLUMN = 26
_LISTS_LAYERS = "--layer-type"
_SWEEPS = (
    "Flags marked [sweep] take several values; the command then trains every combination of them, "
    "except that interpolation and extrapolation ranges are paired."
)


def format_help(
    script: str, summary: str, example: str, groups: Sequence[FlagGroup], *, trains: bool = True
) -> str:
    """Summary, example, and a section a group."""
    lines = [
        f"usage: python3 {script} [--flag VALUE ...]",
        "",
        *textwrap.wrap(summary, _WIDTH),
        "",
        "example:",
        *_command_lines(f"python3 {script} {example}"),
    ]
    if trains:
        lines += ["", *textwrap.wrap(_SWEEPS, _WIDTH)]
    for group in groups:
        lines += ["", f"{group.title}:"]
        for flag in group.flags:
            lines += _flag_lines(flag)
    lines += ["", "Help:", "  --help                  Show this text and stop."]
    return "\n".join(lines) + "\n"


def _command_lines(command: str) -> list[str]:
    lines = textwrap.wrap(command, _WIDTH - 6, break_on_hyphens=False)
    return [f"  {line} \\" for line in lines[:-1]] + [f"  {lines[-1]}"]


def _flag_lines(flag: Flag) -> list[str]:
    head = f"  {flag.name}" + ("" if flag.kind is None else f" {flag.kind.metavar}")
    body = textwrap.wrap(describe_flag(flag), _WIDTH - _COLUMN)
    if len(head) < _COLUMN - 1:
        first, *rest = body
        return [f"{head:<{_COLUMN}}{first}", *(" " * _COLUMN + line for line in rest)]
    return [head, *(" " * _COLUMN + line for line in body)]


def describe_flag(flag: Flag) -> str:
    """Help sentence, what the script at hand does with it, choices, default."""
    parts = [flag.help]
    if flag.note:
        parts.append(f"Here: {flag.note}.")
    if callable(flag.choices) and flag.name != _LISTS_LAYERS:
        parts.append(f"One of those of {_LISTS_LAYERS}.")
    elif flag.choices is not None:
        parts.append(f"One of {', '.join(map(str, flag.allowed() or ()))}.")
    parts.append(f"Default: {format_default(flag)}.")
    if flag.sweep:
        parts.append("[sweep]")
    return " ".join(parts)


def format_default(flag: Flag) -> str:
    """The default as one would type it."""
    if flag.is_switch:
        return "off"
    default = flag.default
    if default is None:
        return "none"
    if isinstance(default, tuple):
        return " ".join(map(str, cast("tuple[Any, ...]", default)))
    return str(default).replace(" ", "")
