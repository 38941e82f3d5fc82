"""Short labels of runs: what varies among them, such as `NMU U[1,2) lr=0.01 s3`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .flag import Config, Flag
from .layer_options import units_of

_SHORT = {"seed": "s{}", "learning_rate": "lr={}", "operation": "{}", "id": "#{}"}
_HOW = {"verbose", "name_prefix", "id"}
"""Flags that say how runs are recorded."""


def varying(flags: Sequence[Flag], configs: Sequence[Config]) -> list[str]:
    """Return the flags in which runs differ; of two that differ together, the first."""
    found: dict[str, list[str]] = {}
    for flag in flags:
        values = [repr(getattr(config, flag.dest)) for config in configs]
        if not flag.result or flag.dest in _HOW or len(set(values)) == 1:
            continue
        pairs = (set(zip(values, others, strict=True)) for others in found.values())
        if not any(len(both) == len(set(values)) for both in pairs):
            found[flag.dest] = values
    return list(found)


def label(config: Config, dests: Sequence[str]) -> str:
    """Return the values of these flags in one short text."""
    return " ".join(_label(config, dest) for dest in dests)


def _label(config: Config, dest: str) -> str:
    value = getattr(config, dest)
    if dest == "layer_type":
        return layer_label(value)
    if dest.endswith("_range"):
        return range_label(value)
    if isinstance(value, tuple):
        value = ",".join(map(str, cast("tuple[Any, ...]", value)))
    return _SHORT.get(dest, f"{dest}={{}}").format(value)


def short_leaf(config: Config) -> str:
    """Return the folder name of a run with --short-names: its layers, and the flags it shows."""
    layers = "+".join(map(_short_layer, units_of(config))) or config.script
    mul = getattr(config, "nac_mul", "none")
    parts = [layers + ("" if mul == "none" else f"+{mul}"), label(config, config.short_names)]
    return " ".join(filter(None, parts)).replace("/", "|")


def _short_layer(key: str) -> str:
    name = layer_label(key).replace(" ", "")
    return name if name.replace("-", "").isalnum() else key


def layer_label(key: str) -> str:
    """Return the name of a layer in its paper, or its key where no paper has one."""
    from stable_nalu.console import plain
    from stable_nalu.layer import entries

    entry = entries().get(key)
    return plain(entry.label) if entry is not None and entry.label else key


def range_label(value: Any) -> str:
    """Return `U[1,2)` for the text or the list of a range."""
    label = f"U{value}".replace(" ", "")
    return half_open(label) if label.count("[") == 1 else label


def half_open(label: str) -> str:
    """Return a range as every axis and table prints it: `U[1,2)`, which has no upper end."""
    return label.replace("]", ")")


def units_label(config: Config) -> str:
    """Return the layers of a run, each with its key where that is another word."""
    names = dict.fromkeys(unit for unit in units_of(config) if unit)
    return " + ".join(
        name if layer_label(name) == name else f"{layer_label(name)} ({name})" for name in names
    )
