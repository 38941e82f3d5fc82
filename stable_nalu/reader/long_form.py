"""Long forms of exported files: a row per run, step and point instead of a column per point."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.errors import OptionError
from stable_nalu.files import atomic_text_file

from .run_parser import CURVE_COLUMNS

if TYPE_CHECKING:
    import pandas as pd

_CURVES = rf"(?P<measure>{re.escape(CURVE_COLUMNS[:-1])})\.(?P<point>[-+.\de]+)"
_STIMULI = r"metric\.test\.stimulus\.(?P<point>\d+)\.(?P<measure>\w+)"


def write_curves(exported: str, csv_out: str) -> None:
    """Write the error curves of an exported file, a row per run and point."""
    long = _points(exported, _CURVES)
    if long is None:
        problem = "no run has a curve, which is logged at the end of training"
        raise OptionError("--curve-out", problem, "leave it out")
    long = long.rename(columns={"layer.type": "activation", "point": "x"})
    _write(long, csv_out, ["name", "activation", "seed", "x", "abs.error"], ["name", "x"])


def write_stimuli(exported: str, csv_out: str) -> None:
    """Write what grid worlds measured, a row per run, logged test and step asked for."""
    long = _points(exported, _STIMULI)
    if long is None:
        problem = "no run has arrivals at given steps, which a grid world logs"
        raise OptionError("--stimuli-out", problem, "leave it out")
    long = long.rename(columns={"nac.wiring": "wiring", "point": "stimulus"})
    long["stimulus"] = long["stimulus"].astype(int)
    long.loc[long["layer.type"] == "LSTM", "wiring"] = "none"
    columns = ["name", "step", "layer.type", "wiring", "seed", "stimulus"]
    measures = ["reward", "arrival", "exact", "arrived"]
    _write(long, csv_out, [*columns, *measures], ["name", "step", "stimulus"])


def _points(exported: str, pattern: str) -> pd.DataFrame | None:
    """Return a row per run, step and point of the columns that a pattern finds; None of none.

    The groups of the pattern are the point and what is measured there.
    """
    import pandas as pd

    table = pd.read_csv(exported)
    matches = {str(name): re.fullmatch(pattern, str(name)) for name in table}
    found = {name: match for name, match in matches.items() if match}
    if not found:
        return None
    of_points: dict[str, dict[str, str]] = {}
    for name, match in found.items():
        of_points.setdefault(match["point"], {})[name] = match["measure"]
    rows = table.dropna(subset=list(found), how="all")
    others = rows[[name for name in rows if name not in found]]
    parts = [
        others.assign(**{of: rows[name] for name, of in columns.items()}, point=float(point))
        for point, columns in of_points.items()
    ]
    return pd.concat(parts)


def _write(table: pd.DataFrame, csv_out: str, columns: Sequence[str], order: Sequence[str]) -> None:
    with atomic_text_file(Path(csv_out)) as file:
        table.sort_values(list(order)).to_csv(file, index=False, columns=list(columns))
