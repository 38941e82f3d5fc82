"""Every figure and table of the papers, by lookup key: data only, one module a study."""

from __future__ import annotations

from ..entry import Entry
from . import (
    arithmetic,
    benchmark,
    division,
    landscapes,
    ranges,
    robustness,
    sequential,
    single_paths,
    static_mnist,
)

_MODULES = (
    arithmetic,
    sequential,
    division,
    benchmark,
    ranges,
    robustness,
    static_mnist,
    single_paths,
    landscapes,
)


def all_entries() -> dict[str, Entry]:
    """Entries by key, in the order of the studies; a second entry of a key is an error."""
    entries: dict[str, Entry] = {}
    for module in _MODULES:
        for entry in module.ENTRIES:
            if entry.key in entries:
                raise ValueError(f"figure key {entry.key!r} is defined twice")
            entries[entry.key] = entry
    return entries
