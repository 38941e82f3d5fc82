"""The table of layers in README.md, rendered from the registry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from stable_nalu.machine import CHECKOUT

from .scripts import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from stable_nalu.layer.registry import LayerEntry
    from stable_nalu.papers import Paper

DOCUMENT = CHECKOUT / "README.md"
BEGIN = "<!-- Generated from stable_nalu/layer; rewrite with `make generated`. -->"
END = "<!-- End of the generated table. -->"
_TIERS = ("core", "extra")


def render_layer_table() -> str:
    """A row for every entry of the registry and for every paper name that options make of it."""
    from stable_nalu.layer import entries

    lines = ["| name | `--layer-type` and further flags | layer | cell | reference |"]
    lines.append("|---|---|---|---|---|")
    for entry in sorted(entries().values(), key=_order):
        lines.append(_row(entry, entry.paper_name, {}, entry.cites))
        lines += [_row(entry, v.paper_name, v.options, v.cites) for v in entry.variants]
    return "\n".join(lines)


def refreshed(document: str) -> str:
    """The document with its generated table rendered anew."""
    head, rest = document.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    return f"{head}{BEGIN}\n\n{render_layer_table()}\n\n{END}{tail}"


def option_words(options: Mapping[str, object]) -> list[str]:
    """Command-line words that set layer options; KeyError for an option without a flag."""
    names = {f.layer_option: f.name for s in SCRIPTS.values() for f in s.flags if f.layer_option}
    words: list[str] = []
    for option, value in options.items():
        words += [names[option]] if value is True else [names[option], f"{value}".replace(" ", "")]
    return words


def _order(entry: LayerEntry) -> tuple[bool, int, str]:
    """Layers before mere cells, the published ones first, then by name."""
    only_cell = entry.layer is None and entry.cell is not None
    return only_cell, _TIERS.index(entry.tier), entry.paper_name.lower()


def _row(entry: LayerEntry, name: str, options: Mapping[str, Any], cites: Paper) -> str:
    words = " ".join([entry.key, *option_words(options)])
    marks = ["yes" if unit is not None else "–" for unit in (entry.layer, entry.cell)]
    reference = re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", cites.citation)
    return f"| {name} | `{words}` | {' | '.join(marks)} | {reference} |"
