"""A card for every unit: what is given, what it learns, and how many runs its settings took.

Of two inputs and one output, or of a cell with one input and one state.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch

from stable_nalu.layer.registry import LabelledOptions, LayerEntry
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.task import SCRIPTS

TABLE = Path(__file__).parent / "layer" / "fair_play.csv"
_NONE = "not here"
_UNKNOWN = {"given": "", "learned": "", "expresses": "", "tuned": ""}


@cache
def _stated() -> dict[str, dict[str, str]]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = {row.pop("name"): row for row in csv.DictReader(file)}
    return {name: row | {"tuned": row["tuned"] or _NONE} for name, row in rows.items()}


@cache
def _rates() -> dict[str, set[float]]:
    """Return the learning rates that experiments of this project train each unit with."""
    found: dict[str, set[float]] = {}
    defaults = {
        name: flag.default
        for name, spec in SCRIPTS.items()
        for flag in spec.flags
        if flag.name == "--learning-rate"
    }
    for model in (m for one in EXPERIMENTS.values() for m in one.models if m.script in defaults):
        usual = model.flags.get("--learning-rate", (str(defaults[model.script]),))
        texts = {*usual, *(text for p in model.points for text in p.get("--learning-rate", ()))}
        for unit in ("--layer-type", "--first-layer"):
            for key in model.flags.get(unit, ()):
                found.setdefault(key, set()).update(map(float, texts))
    return found


def _parameters(entry: LayerEntry, options: Mapping[str, Any]) -> int | None:
    """Return the free parameters; None of a layer that is not of this package."""
    if entry.origin is not None:
        return None
    build: Any = entry.layer or entry.cell
    with torch.random.fork_rng(devices=[]):
        built = build(2 if entry.layer else 1, 1, **entry.fixed_options | dict(options))
    return sum(p.numel() for p in built.parameters() if p.requires_grad)


def card(entry: LayerEntry, variant: LabelledOptions | None = None) -> dict[str, Any]:
    """Return the card of a unit, or of one with options.

    given, learned: what holds from the start, and what training finds. parameters: how many numbers
    are free. expresses: what some of them compute, exactly or as nearly as one likes. rates:
    learning rates of experiments of this project. tuned: runs spent on settings before those that
    are judged.
    """
    stated = _stated().get(entry.label, _UNKNOWN)
    if variant is not None:
        stated = _stated().get(variant.label, stated)
    return {
        "given": stated["given"],
        "learned": stated["learned"],
        "parameters": _parameters(entry, variant.options if variant else {}),
        "expresses": stated["expresses"],
        "rates": ", ".join(f"{rate:g}" for rate in sorted(_rates().get(entry.key, ()))),
        "tuned": stated["tuned"],
    }
