"""The one table of layers: public key, label, citation, class and recurrent cell.

Each module of layers adds its own; command-line choices, tables, legends and tests read this table.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.errors import UsageError, did_you_mean
from stable_nalu.papers import MADSEN_2020, Paper


@dataclass(frozen=True)
class LabelledOptions:
    """A label that depends on options, such as sNMU = NMU with noise."""

    label: str
    options: dict[str, object]
    cites: Paper


@dataclass(frozen=True)
class LayerEntry:
    """What the project knows about one layer key.

    An entry without a layer is a recurrent cell only; one without either is the first half of a
    pair of names (`X` + `mnac` asks for the layer `X[:-3] + "MNAC"`) and cannot be built. `latex`
    is a formula that figures show in place of the label. The `origin` of a layer that is not of
    this package is its file or the package that brings it.
    """

    key: str
    label: str
    cites: Paper
    layer: type[ExtendedTorchModule] | None
    cell: type[ExtendedTorchModule] | None = None
    latex: str | None = None
    tier: str = "core"
    fixed_options: dict[str, object] = field(default_factory=dict)
    origin: str | None = None
    variants: tuple[LabelledOptions, ...] = ()

    @property
    def shown(self) -> str:
        """Return what figures and tables of runs call the layer."""
        return f"${self.latex}$" if self.latex else self.label

    @cached_property
    def options(self) -> frozenset[str]:
        """Return the names of the keyword-only options that the layer, or the cell, reads."""
        return frozenset(self.parameters) - set(self.fixed_options)

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Return these options with their defaults, fixed ones too."""
        built = self.layer or self.cell
        return {} if built is None else option_parameters(built)

    @property
    def formula(self) -> str:
        """Return the first formula of the docstring, in one line."""
        found = _FORMULA.search(inspect.getdoc(self.layer or self.cell) or "")
        lines = found[1].strip().splitlines() if found else []
        return "; ".join(" ".join(line.split()) for line in lines)

    @property
    def module(self) -> Any:
        """Return what a program builds a layer with: its class, with options that are fixed."""
        built = getattr(self.layer, "Module", self.layer)
        return partial(built, **self.fixed_options) if built and self.fixed_options else built

    @property
    def is_plain(self) -> bool:
        """Return whether the layer wraps a plain torch module."""
        return hasattr(self.layer, "Module")


_FORMULA = re.compile(r"\n\n((?: {4}.*\n?)+)")

OF_EVERY_LAYER = {"name", "dtype", "device"}
TIERS = ("core", "extra", "own")
"""Layers of figures, those of published code alone, and those of users, in the order of lists."""

_ENTRIES: dict[str, LayerEntry] = {}


def add_entry(*fields, **more) -> LayerEntry:
    """Add an entry to the table; refuse a second one under the same key."""
    entry = LayerEntry(*fields, **more)
    if entry.key in _ENTRIES:
        raise ValueError(f"layer key {entry.key!r} is registered twice")
    _ENTRIES[entry.key] = entry
    return entry


def add_trial(
    label: str,
    layer: type[ExtendedTorchModule],
    cell: type[ExtendedTorchModule] | None = None,
    cites: Paper = MADSEN_2020,
    latex: str | None = None,
) -> LayerEntry:
    """Add a layer of published code that no figure shows, under the name of its class."""
    key = layer.__name__.removesuffix("Layer")
    return add_entry(key, label, cites, layer, cell, latex=latex, tier="extra")


def entries() -> dict[str, LayerEntry]:
    """Return all entries by key, by tier and then in order of registration."""
    return dict(sorted(_ENTRIES.items(), key=lambda item: TIERS.index(item[1].tier)))


def named(name: str) -> LayerEntry:
    """Return the entry of a layer by its name in papers, else by its key."""
    known = [e for e in entries().values() if e.layer is not None]
    for word in (lambda text: text, _spelled):
        for names in ([e.label for e in known], [e.key for e in known]):
            found = [word(one) for one in names]
            if word(name) in found:
                return known[found.index(word(name))]
    every = dict.fromkeys(name for e in known for name in (e.label, e.key))
    remedy = did_you_mean(name, every, "stable_nalu.layers() lists them all")
    raise UsageError(f"there is no layer {name!r}; {remedy}")


def _spelled(name: str) -> str:
    return re.sub(r"[\s_-]", "", name.casefold())


def drop(key: str | None = None, *, origin: str | None = None) -> None:
    """Remove the entry of a key, or all entries of an origin; those of this package stay."""
    for entry in entries().values():
        if entry.origin is not None and (entry.key == key or entry.origin == origin):
            del _ENTRIES[entry.key]


def has_own() -> bool:
    """Return whether there are layers that are not of this package."""
    return any(entry.origin is not None for entry in _ENTRIES.values())


def option_parameters(layer: type[ExtendedTorchModule]) -> dict[str, inspect.Parameter]:
    """Return the keyword-only parameters of a constructor, aside from those of every layer."""
    parameters = inspect.signature(layer).parameters.values()
    named = {p.name: p for p in parameters if p.kind is p.KEYWORD_ONLY}
    return {name: p for name, p in named.items() if name not in OF_EVERY_LAYER}
