"""The table of all layers, for programs."""

from __future__ import annotations

import pandas as pd

from stable_nalu.layer import entries
from stable_nalu.task import SCRIPTS


def layers() -> pd.DataFrame:
    """Return a row per layer and recurrent cell: name, key, class, formula, paper and tasks.

    name: in papers, as `stable_nalu.layer(name)` takes it. key: as `--layer-type` takes it. tasks:
    the training scripts that can train it.

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
    rows = [
        {
            "name": entry.label,
            "key": key,
            "class": (entry.layer or entry.cell).__name__,  # pyright: ignore[reportOptionalMemberAccess]
            "formula": entry.formula,
            "paper": entry.cites.citation,
            "tasks": ", ".join(scripts.get(key, ())),
        }
        for key, entry in entries().items()
        if entry.layer or entry.cell
    ]
    return pd.DataFrame(rows)
