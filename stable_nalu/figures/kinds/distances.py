"""Distance of trained weights to the exact ones, by configuration or training distribution."""

from __future__ import annotations

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.summary import mean_summary

from ..entry import Series
from ..parts import Distances
from ..product import Context, Product
from ..solutions import LAST_STEP, configuration, distance, expanded
from ..style import drawing, looks, new_figure
from .decoration import footnote
from .violin import violins

LINE = 1e-5
FLOOR = 1e-16
"""Where a distance of 0 is drawn on a logarithmic axis."""
_SIDE = [
    "distribution.id",
    "model",
    "seed",
    "distance",
    "train.distribution",
    "interpolation.range",
]


def render(part: Distances, context: Context) -> Product:
    """Measure every run, draw."""
    tables = {one.label: measured(one, context) for one in context.series}
    found = [table for table in tables.values() if table is not None]
    if not found:
        raise UsageError(f"nothing to draw: {'; '.join(context.source.warnings)}")
    runs = pd.concat(found, ignore_index=True)
    stem = context.stem(part.stem)
    with drawing():
        if part.by == "distribution":
            figure = by_distribution(part, context, {str(k): v for k, v in tables.items()})
            return Product(stem, figure, side={f"{stem}_plot_data": runs.filter(_SIDE)})
        summary = mean_summary(runs, ["config.id"], {"distance": "distance"})
        summary = summary.drop(columns="metric.type")
        return Product(
            stem, by_configuration(part, context, summary), side={f"{stem}_plot_data": summary}
        )


def measured(one: Series, context: Context) -> pd.DataFrame | None:
    """One row a run with its distance and configuration."""
    path = context.source.expect(one.files, (one.label or one.files[0],))
    if path is None:
        return None
    rows = expanded(path)
    if rows.empty:
        context.source.warn(f"missing: {one.label} ({path} has no row of step {LAST_STEP})")
        return None
    records = rows.to_dict("records")
    rows["distance"] = [
        distance(str(r["model"]), str(r["operation"]), int(r["seed"]), r) for r in records
    ]
    rows["config.id"] = [configuration(str(r["model"]), r) for r in records]
    rows["distribution.id"] = one.label
    return rows


def by_configuration(part: Distances, context: Context, summary: pd.DataFrame):
    """Means with their intervals, configurations from top to bottom."""
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
    axes.set_yticks(places, texts, fontsize=6)
    axes.invert_yaxis()
    axes.set_xlabel("Average distance")
    axes.set_ylabel("Configuration")
    note = "Bars: 95 % intervals; no lower end below 0. Line: 1e-5. 0 is at 1e-16."
    footnote(figure, note, context.stamp)
    return figure


def by_distribution(part: Distances, context: Context, tables: dict[str, pd.DataFrame | None]):
    """A violin a distribution, over the logarithm of the distance."""
    figure = new_figure(part.size)
    axes = figure.add_subplot()
    values = [
        np.array([]) if table is None else np.log10(np.maximum(table["distance"], FLOOR))
        for table in tables.values()
    ]
    violins(axes, [np.asarray(v) for v in values], list(tables), horizontal=False)
    axes.axhline(np.log10(LINE), color="#D55E00", linewidth=0.9, gid="threshold")
    axes.yaxis.set_major_formatter(lambda power, _: f"$10^{{{power:g}}}$")
    axes.set_ylabel("Average distance")
    axes.set_xlabel("Distribution")
    footnote(figure, "Box: quartiles. Line: 1e-5.", context.stamp)
    return figure
