"""Finding an entry by its key, and the list of all."""

from __future__ import annotations

from collections.abc import Mapping

from stable_nalu.errors import UsageError
from stable_nalu.papers import STUDIES

from .entries import all_entries
from .entry import Entry
from .order import suggestions


def find(key: str) -> Entry:
    """The entry of a key, or of the key that the original scripts know it by."""
    entries = all_entries()
    if key in entries:
        return entries[key]
    published = [entry for entry in entries.values() if entry.published == key]
    if len(published) == 1:
        return published[0]
    if published:
        names = " or ".join(entry.key for entry in published)
        raise UsageError(f"key {key!r} stands for several figures: use {names}")
    raise UsageError(f"no figure {key!r}{suggestions(key, list(entries))} (--list shows all)")


def listing(entries: Mapping[str, Entry]) -> str:
    """Key, number and content of every entry, one a line, under its paper."""
    width = max(map(len, entries))
    kinds = max(len(entry.kind) for entry in entries.values())
    lines = []
    for paper in STUDIES:
        shown = {key: entry for key, entry in entries.items() if entry.paper == paper}
        if shown:
            lines.append(f"{paper.title} ({paper.reference})")
        for key, entry in shown.items():
            text = f"{entry.shows}" + (f" [{entry.number}]" if entry.number else "")
            lines.append(f"  {key:{width}}  {entry.kind:{kinds}}  {text}")
    return "\n".join(lines) + "\n"
