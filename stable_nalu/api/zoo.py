"""The table of all layers, for programs, with a card for every unit.

A card says what is given, what a unit learns, and how many runs its settings took: of two inputs
and one output, or of a cell with one input and one state.
"""

import shutil
from collections.abc import Mapping
from functools import cache
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any

import pandas as pd
import torch

from stable_nalu.base.files import cells_of
from stable_nalu.layer import entries
from stable_nalu.layer.registry import LabelledOptions, LayerEntry
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.task.table import SCRIPTS

TABLE = Path(__file__).parents[1] / "layer" / "fair_play.csv"
_NONE = "not here"
_UNKNOWN = {"given": "", "learned": "", "expresses": "", "tuned": ""}


@cache
def _stated() -> dict[str, dict[str, str]]:
    rows = {row.pop("name"): row for row in cells_of(TABLE)}
    return {name: row | {"tuned": row["tuned"] or _NONE} for name, row in rows.items()}


@cache
def _rates() -> dict[str, set[float]]:
    """Return the learning rates that experiments of this project train each unit with."""
    values: dict[str, set[float]] = {}
    rates = {name: spec.defaults.get("learning_rate") for name, spec in SCRIPTS.items()}
    defaults = {name: rate for name, rate in rates.items() if rate is not None}
    for model in (m for one in EXPERIMENTS.values() for m in one.models if m.script in defaults):
        usual = model.flags.get("--learning-rate", (str(defaults[model.script]),))
        texts = {*usual, *(text for p in model.points for text in p.get("--learning-rate", ()))}
        for unit in ("--layer-type", "--first-layer"):
            for key in model.flags.get(unit, ()):
                values.setdefault(key, set()).update(map(float, texts))
    return values


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


_SHOWN = ("name", "formula", "learned", "expresses")
"""Columns of the table that a terminal has room for."""


class Layers(pd.DataFrame):
    """A table of layers, whose texts are wrapped to the width of a terminal or a notebook."""

    @property
    def _constructor(self) -> Any:
        return Layers

    def __repr__(self) -> str:
        if not {*_SHOWN} <= {*self}:
            return super().__repr__()
        width, widths = shutil.get_terminal_size().columns, dict[str, int]()
        left = width - 2 * (len(_SHOWN) - 1)
        cells = {name: [name, *map(str, self[name])] for name in _SHOWN}
        for name in sorted(cells, key=lambda name: max(map(len, cells[name]))):
            share = left // (len(_SHOWN) - len(widths))
            widths[name] = max(8, min(share, max(map(len, cells[name]))))
            left -= widths[name]
        lines: list[str] = []
        for row in zip(*cells.values(), strict=True):
            parts = [wrap(cell, widths[name]) for name, cell in zip(_SHOWN, row, strict=True)]
            for line in zip_longest(*parts, fillvalue=""):
                padded = (part.ljust(widths[n]) for n, part in zip(_SHOWN, line, strict=True))
                lines.append("  ".join(padded).rstrip())
        others = ", ".join(str(name) for name in self if name not in _SHOWN)
        return "\n".join([*lines, *wrap(f"{len(self)} layers, with more columns: {others}", width)])

    def _repr_html_(self) -> Any:
        with pd.option_context("display.max_colwidth", None, "display.max_columns", None):
            return super()._repr_html_()  # pyright: ignore[reportAttributeAccessIssue,reportCallIssue]


def layers() -> Layers:
    """Return a row per layer and recurrent cell, with its scripts and card.

    name: in papers, as `stable_nalu.layer(name)` takes it. key: as `--layer-type` takes it. tasks:
    the training scripts that can train it. given, learned, parameters, expresses, rates, tuned: its
    card (docs/layers.md), of two inputs and one output.

    Examples:
        >>> sn.layers().set_index("name").loc["NMU", "formula"]
        'y_o = prod_i (W_oi x_i + 1 - W_oi), W_oi in [0, 1]'
    """
    scripts: dict[str, list[str]] = {}
    flags = ((script, flag) for script, spec in SCRIPTS.items() for flag in spec.flags)
    for script, flag in [one for one in flags if one[1].dest in ("layer_type", "nalm_name")]:
        for key in flag.allowed() or ():
            scripts.setdefault(key, []).append(script)
    rows: list[dict[str, Any]] = [
        {
            "name": entry.label,
            "key": key,
            "class": (entry.layer or entry.cell).__name__,  # pyright: ignore[reportOptionalMemberAccess]
            "formula": entry.formula,
            "paper": entry.cites.citation,
            "tasks": ", ".join(scripts.get(key, ())),
        }
        | card(entry)
        for key, entry in entries().items()
        if entry.layer or entry.cell
    ]
    return Layers(rows)
