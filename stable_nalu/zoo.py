"""The table of all layers, for programs."""

from __future__ import annotations

from typing import Any

import pandas as pd

from stable_nalu.fair_play import card
from stable_nalu.layer import entries
from stable_nalu.task import SCRIPTS


def layers() -> pd.DataFrame:
    """Return a row per layer and recurrent cell: what it is, what trains it, and its card.

    name: in papers, as `stable_nalu.layer(name)` takes it. key: as `--layer-type` takes it. tasks:
    the training scripts that can train it. given, learned, parameters, expresses, rates, tuned: its
    card (docs/layers.md), of two inputs and one output.

    Examples:
        >>> sn.layers().set_index("name").loc["NMU", "formula"]
        'y_o = prod_i (W_oi x_i + 1 - W_oi), W_oi in [0, 1]'
    """
    scripts: dict[str, list[str]] = {}
    for script, spec in SCRIPTS.items():
        for flag in spec.flags:
            if flag.dest in ("layer_type", "nalm_name"):
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
    return pd.DataFrame(rows)
