"""The one table of layers: public key, paper name, LaTeX, citation, class and recurrent cell.

Each layer file registers itself; command-line choices, tables, legends and tests read this table.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from functools import cached_property

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.papers import Paper


@dataclass(frozen=True)
class Variant:
    """A paper name that depends on options, such as sNMU = NMU with noise."""

    paper_name: str
    latex: str
    options: dict[str, object]
    cites: Paper


@dataclass(frozen=True)
class LayerEntry:
    """What the project knows about one layer key.

    A layer that `takes_pair` maps two inputs, so no network is built of it. An entry without a
    layer is a recurrent cell only; one without either is the first half of a pair of names (`X` +
    `mnac` asks for the layer `X[:-3] + "MNAC"`) and cannot be built.
    """

    key: str
    layer: type[ExtendedTorchModule] | None
    paper_name: str
    latex: str
    cites: Paper
    cell: type[ExtendedTorchModule] | None = None
    tier: str = "core"
    fixed_options: dict[str, object] = field(default_factory=dict)
    takes_pair: bool = False
    variants: tuple[Variant, ...] = ()

    @cached_property
    def options(self) -> frozenset[str]:
        """Return the names of the keyword-only options that the layer, or the cell, reads."""
        built = self.layer or self.cell
        return frozenset() if built is None else option_names(built) - set(self.fixed_options)


_OF_EVERY_LAYER = {"name", "dtype", "device"}
_ENTRIES: dict[str, LayerEntry] = {}


def register(**fields) -> LayerEntry:
    """Add an entry to the table; refuse a second one under the same key."""
    entry = LayerEntry(**fields)
    if entry.key in _ENTRIES:
        raise ValueError(f"layer key {entry.key!r} is registered twice")
    _ENTRIES[entry.key] = entry
    return entry


def entries() -> dict[str, LayerEntry]:
    """Return all entries by key, in order of registration."""
    return dict(_ENTRIES)


def option_names(layer: type[ExtendedTorchModule]) -> frozenset[str]:
    """Return the keyword-only parameters of a constructor, aside from those of every layer."""
    parameters = inspect.signature(layer).parameters.values()
    return frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY) - _OF_EVERY_LAYER
