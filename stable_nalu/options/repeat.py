"""The command line that repeats one run, alone."""

from __future__ import annotations

from typing import Any, cast

from .config import Config
from .script_spec import ScriptSpec


def argv_of(spec: ScriptSpec, config: Config) -> list[str]:
    """Words for the flags that were typed; of several values, the one of this run."""
    words: list[str] = []
    for flag in spec.flags:
        if not config.is_typed(flag.dest):
            continue
        value = getattr(config, flag.dest)
        if flag.is_switch:
            words += [flag.name] if value else []
        elif isinstance(value, tuple):
            words += [flag.name, *map(str, cast("tuple[Any, ...]", value))]
        else:
            words += [flag.name, str(value)]
    return words
