"""Distance of trained weights to the exact ones, by configuration or training distribution.

The robustness task has ten inputs, two of them relevant; which two follows from the seed.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.names import model_label
from stable_nalu.statistics.summary import mean_summary
from stable_nalu.statistics.table import numeric

from ..entry import INCH, Context, Drawn, Part, Size
from ..source import Series, Source, read_csv, with_names
from ..style import looks, new_figure
from .decoration import footnote
from .digits import violins

if TYPE_CHECKING:
    from matplotlib.axis import Axis

INPUTS = 10
TINY = 1e-5
LAST_STEP = 100_000
PLAIN = ("NAU", "NMU", "sNMU")
RECIPROCAL = ("Sign NMRU", "Sign sNMRU")
POWER = ("Real NPU", "Real NPU (mod)")

LINE = 1e-5
FLOOR = 1e-16
"""Where a distance of 0 is drawn on a logarithmic axis, which says 0 there."""

MEANING = "Mean absolute distance of weights to the exact solution"
_SIDE = [
    "distribution.id",
    "model",
    "seed",
    "distance",
    "train.distribution",
    "interpolation.range",
]


@dataclass(frozen=True)
class Distances(Part):
    """Distance of trained weights to the exact solution, by configuration or distribution."""

    KIND = "distance"

    by: Literal["configuration", "distribution"]
    size: Size = (7 * INCH, 7 * INCH)

    def drawn(self, context: Context) -> Drawn:
        """Measure every run and draw."""
        tables = context.tables(lambda path, one: measured(path, one, context.source))
        runs = pd.concat([t for t in tables.values() if t is not None], ignore_index=True)
        if self.by == "distribution":
            side, figure = runs.filter(_SIDE), by_distribution(self, tables)
        else:
            summary = mean_summary(runs, ["config.id"], {"distance": "distance"})
            side = summary.drop(columns="metric.type")
            figure = by_configuration(self, context, side)
        return figure, {f"{self.stem}_plot_data": side}


def measured(path: pathlib.Path, one: Series, source: Source) -> pd.DataFrame | None:
    """Return one row per run with its distance and configuration."""
    rows = expanded(path)
    if rows.empty:
        source.warn(f"missing: {one.label} ({path} has no row of step {LAST_STEP})")
        return None
    records = rows.to_dict("records")
    rows["distance"] = [
        distance(str(r["model"]), str(r["operation"]), int(r["seed"]), r) for r in records
    ]
    rows["config.id"] = [configuration(str(r["model"]), r) for r in records]
    rows["distribution.id"] = one.label
    return rows


def by_configuration(part: Distances, context: Context, summary: pd.DataFrame):
    """Draw means with their intervals, configurations from top to bottom."""
    figure = new_figure((part.size[0], max(6.0, min(part.size[1], 1.2 * len(summary) + 4))))
    axes = figure.add_subplot()
    look = looks(["runs"], context.palette)["runs"]
    places = np.arange(len(summary))
    means = np.maximum(summary["mean"].to_numpy(dtype=float), FLOOR)
    axes.plot(means, places, linestyle="none", marker=look.marker, color=look.color)
    ends = summary["ci"].to_numpy(dtype=float)
    axes.set_xscale("log")
    for place, mean, end in zip(places, means, ends, strict=True):
        if np.isfinite(end):
            start = mean - end if mean > end else mean
            axes.hlines(place, start, mean + end, color=look.color, linewidth=0.9)
    axes.axvline(LINE, color="#D55E00", linewidth=0.9, gid="threshold")
    texts = [f"{c} (n = {n})" for c, n in zip(summary["config.id"], summary["n"], strict=True)]
    axes.set_yticks(places, texts)
    axes.invert_yaxis()
    power_ticks(axes.xaxis, np.log10(means).tolist(), log=True)
    axes.set_xlabel(MEANING)
    axes.set_ylabel("Configuration")
    footnote(figure, "Bars: 95 % intervals; no lower end below 0. Line: 1e-5.")
    return figure


def by_distribution(part: Distances, tables: dict[str, pd.DataFrame | None]):
    """Draw one violin per distribution, over the logarithm of the distance."""
    figure = new_figure(part.size)
    axes = figure.add_subplot()
    values = [
        np.array([])
        if table is None
        else np.log10(np.maximum(table["distance"].to_numpy(dtype=float), FLOOR))
        for table in tables.values()
    ]
    violins(axes, values, list(tables), horizontal=False)
    axes.axhline(np.log10(LINE), color="#D55E00", linewidth=0.9, gid="threshold")
    power_ticks(axes.yaxis, [float(v) for some in values for v in some], log=False)
    axes.set_ylabel(MEANING)
    axes.set_xlabel("Distribution")
    footnote(figure, "Box: quartiles. Line: 1e-5.")
    return figure


def power_ticks(axis: Axis, powers: list[float], *, log: bool) -> None:
    """Print powers of ten, about eight of them, and 0 where a distance of 0 is drawn.

    log: whether the axis is logarithmic, or holds the powers themselves.
    """
    low, high = math.floor(min([*powers, -6.0])), math.ceil(max([*powers, 0.0]))
    ticks = range(low, high + 1, max(1, round((high - low) / 8)))
    texts = ["0" if 10.0**p <= FLOOR else f"$10^{{{p}}}$" for p in ticks]
    axis.set_ticks([10.0**p if log else float(p) for p in ticks], texts)
    axis.set_ticks([], minor=True)


def relevant(seed: int) -> tuple[int, int]:
    """Return the places of the two relevant inputs, counted from 0."""
    first = int(np.random.RandomState(seed).randint(0, INPUTS - 1))
    return first, first + 1


def distance(model: str, operation: str, seed: int, row: Mapping[str, object]) -> float:
    """Return the mean absolute distance of a run's weights to the exact ones of its model."""
    i, j = relevant(seed)
    if model in PLAIN:
        return _plain(operation, i, j, _weights(row, "W", INPUTS))
    if model in RECIPROCAL:
        return _reciprocal(operation, i, j, _weights(row, "W", 2 * INPUTS))
    if model in POWER:
        gate = _weights(row, "gate", INPUTS)
        return _power(operation, i, j, _weights(row, "W_real", INPUTS), gate)
    raise UsageError(f"no exact weights are known for model {model}")


def _weights(row: Mapping[str, object], name: str, number: int) -> np.ndarray:
    columns = [f"param.{name}.{place}" for place in range(number)]
    if columns[-1] not in row:
        raise UsageError(f"the export lacks column {columns[-1]}: export with --weights-only")
    return np.array([float(str(row[column])) for column in columns])


def _plain(operation: str, i: int, j: int, w: np.ndarray) -> float:
    gold = np.zeros(INPUTS)
    gold[i], gold[j] = 1, -1 if operation == "sub" else 1
    return float(np.mean(np.abs(w - gold)))


def _power(operation: str, i: int, j: int, w: np.ndarray, gate: np.ndarray) -> float:
    """Return the distance of a unit of powers; an irrelevant input is off if weight or gate is."""
    total = abs(w[i] - 1) + abs(gate[i] - 1)
    total += abs(w[j] - (-1 if operation == "div" else 1)) + abs(gate[j] - 1)
    for k in set(range(INPUTS)) - {i, j}:
        if abs(w[k]) <= TINY:
            total += abs(w[k])
        elif gate[k] <= TINY:
            total += abs(gate[k])
        else:
            total += abs(w[k]) + abs(gate[k])
    return float(total / (2 * INPUTS))


def _reciprocal(operation: str, i: int, j: int, w: np.ndarray) -> float:
    """Return the distance of a unit of reciprocals; an input times its reciprocal cancels."""
    gold = np.zeros(2 * INPUTS)
    gold[i], gold[j + (INPUTS if operation == "div" else 0)] = 1, 1
    off = np.abs(w - gold)
    total = 0.0
    for k in range(INPUTS):
        cancels = w[k] >= 1 - TINY and w[k + INPUTS] >= 1 - TINY
        if not (cancels and k not in (i, j)):
            total += off[k] + off[k + INPUTS]
    return float(total / (2 * INPUTS))


def configuration(model: str, row: Mapping[str, object]) -> str:
    """Return what tells the configurations of a model apart."""
    ramp = f"{row['regualizer.scaling.start']:g}-{row['regualizer.scaling.end']:g}"
    beta = f"{row.get('regualizer.beta.start', 0):g}-{row.get('regualizer.beta.end', 0):g}"
    text = f"LR:{row['learning.rate']:g}"
    if model == "Real NPU":
        return f"{text} Beta-reg:{beta}"
    if model == "Real NPU (mod)":
        return f"{text} Reg:{row['regualizer.npu.W']:g}-{ramp} Beta reg:{beta}"
    text += f" Reg:{row['regualizer']:g}-{ramp}"
    return f"{text} Noise:{row.get('noise.range')}" if model in ("sNMU", "Sign sNMRU") else text


def expanded(path: pathlib.Path) -> pd.DataFrame:
    """Return rows of the step that runs are compared at, with the options of their names."""
    table = read_csv(path, ("name", "step"), "an export of weights")
    weights = [column for column in table if str(column).startswith("param.")]
    table = numeric(table, ["step", *weights], path)
    table = table.loc[table["step"] == LAST_STEP].reset_index(drop=True)
    if table.empty:
        return table
    rows = with_names(table, "single", path)
    rows["model"] = [_label(run) for run in rows.to_dict("records")]
    return rows


def _label(run: Mapping[str, object]) -> str:
    """Return the label of the study: `s` means noise in training, `(mod)` penalties on the NPU."""
    label = model_label(str(run["model_code"]), robustness=True)
    if run.get("nmu.noise") is True:
        return {"NMU": "sNMU", "Sign NMRU": "Sign sNMRU"}.get(label, label)
    if label == "Real NPU" and float(str(run.get("regualizer.npu.W", 0))) > 0:
        return "Real NPU (mod)"
    return label
