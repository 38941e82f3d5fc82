"""Render the generated table of docs/layers.md."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from stable_nalu.base.files import with_part
from stable_nalu.base.machine import CHECKOUT
from stable_nalu.layer import entries
from stable_nalu.layer.registry import SPELLINGS
from stable_nalu.options.flag import MODELS, UNITS, registered
from stable_nalu.options.layer_options import option_words
from stable_nalu.result.document import UNKNOWN, table
from stable_nalu.task.table import SCRIPTS

if TYPE_CHECKING:
    from stable_nalu.base.papers import Paper
    from stable_nalu.layer.registry import LayerEntry

LAYERS = CHECKOUT / "docs" / "layers.md"
MARKS = (
    "<!-- Generated from stable_nalu/layer; rewrite with `make generated`. -->",
    "<!-- End of the generated table. -->",
)
_FLAGS = [flag for spec in SCRIPTS.values() for flag in spec.flags]
_TYPE = "--layer-type "


def refreshed(document: str) -> str:
    """Return docs/layers.md with its table rendered anew."""
    return with_part(document, *MARKS, f"{render_layer_table()}\n\n")


def render_layer_table() -> str:
    """Return a row for every name of a layer in papers, and a list of the keys of other layers."""
    rows: list[dict[str, str]] = []
    for name in dict.fromkeys((*UNITS, *MODELS)):
        if registered(name) is None:
            key = (UNITS.get(name) or MODELS[name]).split()[1]
            rows.append(_layer_row(name, entries()[key], UNITS.get(name)))
    ordered = sorted(entries().values(), key=lambda e: (e.layer is None, e.label.lower()))
    for entry in ordered:
        if entry.tier != "core":
            continue
        rows.append(_layer_row(entry.label, entry, f"{_TYPE}{entry.key}"))
        for variant in entry.variants:
            words = " ".join([entry.key, *option_words(_FLAGS, variant.options)])
            rows.append(_layer_row(variant.label, entry, f"{_TYPE}{words}", variant.cites))
    others = [e for e in ordered if e.tier == "extra"]
    cells = [_key_and_label(e) for e in others if e.cell]
    units = [_key_and_label(e) for e in others if not e.cell]
    more = f"Keys of further layers of the published code, with a cell: {', '.join(cells)}."
    return f"{table(rows)}\n\n{more} Without one: {', '.join(units)}."


def _key_and_label(entry: LayerEntry) -> str:
    """Return the key of a layer, with its label if this is more than the key in words."""
    same = entry.label.replace(" ", "").replace("-", "").lower() == entry.key.lower()
    return f"`{entry.key}`" if same else f"`{entry.key}` ({entry.label})"


def _layer_row(
    name: str, entry: LayerEntry, unit: str | None, cites: Paper | None = None
) -> dict[str, str]:
    """Return the row of a name; unit: its flags where a script has one unit, if it has any."""
    pair = MODELS.get(name, unit if registered(name) else None)
    also = ", ".join(f"`{other}`" for other in SPELLINGS.get(name, ()))
    cell = UNKNOWN if entry.cell is None else "yes" if entry.layer else "only"
    paper = cites or entry.cites
    brief = f"{paper.authors} {paper.year}"
    return {
        "name": f"{name} ({also})" if also else name,
        "one unit": f"`{unit.removeprefix(_TYPE)}`" if unit else UNKNOWN,
        "two layers": "" if pair == unit else f"`{pair.removeprefix(_TYPE)}`" if pair else UNKNOWN,
        "cell": cell,
        "paper": f"[{brief}]({paper.url})" if paper.url else brief,
    }


def linked(text: str) -> str:
    """Return a text in which every arXiv number leads to its paper."""
    return re.sub(r"arXiv:(\S+)", r"[arXiv:\1](https://arxiv.org/abs/\1)", text)
