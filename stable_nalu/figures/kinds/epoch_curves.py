"""Mean of one column against the epoch, with its standard error, a line a model."""

from __future__ import annotations

import pandas as pd

from stable_nalu.errors import UsageError

from ..parts import EpochCurves
from ..product import Context, Product
from ..style import drawing, looks, new_figure
from .decoration import Bottom, footnote, legend
from .digits import read_digits


def render(part: EpochCurves, context: Context) -> Product:
    """Take means at every epoch, draw."""
    rows, labels, missing = read_digits(context)
    if part.column not in rows:
        raise UsageError(f"no file has the column {part.column}")
    groups = rows.groupby(["model", "epoch"], sort=False)[part.column]
    summary = groups.agg(n="count", mean="mean", sd="std").reset_index()
    summary["se"] = summary["sd"] / summary["n"] ** 0.5
    summary = summary.sort_values(["model", "epoch"], kind="stable").reset_index(drop=True)
    with drawing():
        figure = draw(part, context, summary, labels, missing)
    stem = context.stem(part.stem)
    return Product(stem, figure, side={f"{stem}_plot_data": summary})


def draw(
    part: EpochCurves, context: Context, summary: pd.DataFrame, labels: list[str], missing: tuple
):
    """Lines with ribbons."""
    figure = new_figure(part.size)
    axes = figure.add_subplot()
    shown = looks(labels, context.palette)
    texts = {}
    for label in labels:
        table = summary.loc[summary["model"] == label]
        if table.empty:
            continue
        look = shown[label]
        axes.plot(
            table["epoch"],
            table["mean"],
            color=look.color,
            linestyle=look.line,
            marker=look.marker,
            markevery=max(1, len(table) // 8),
            label=label,
        )
        low, high = table["mean"] - table["se"], table["mean"] + table["se"]
        axes.fill_between(
            table["epoch"], low, high, color=look.color, alpha=0.15, gid=f"{label} interval"
        )
        texts[label] = f" (n = {max(table['n'])})"
    axes.set_xlabel("Epoch")
    axes.set_ylabel(part.y_label)
    legend(figure, Bottom(shown, texts, missing, "", "", lines=True))
    footnote(figure, "Means over runs. Ribbons: standard errors.", context.stamp)
    return figure
