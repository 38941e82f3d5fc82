"""Figures of pairs of digits: over epochs, at one epoch of each run, and by class of digit."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.statistics.summary import mean_summary
from stable_nalu.statistics.table import numeric

from .drawing import Series, kind
from .entry import INCH, Context, Product, two_digit_name, with_names
from .panels import draw_series, offsets
from .style import NO_DATA, legend_handles, subplots

LAST_ROWS = 10


def read_runs(
    context: Context, column: str | None = None
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Return the rows of all files, labels in their order, and the labels without data.

    column: one that some file should have.
    """

    def rows(path: Path, one: Series) -> pd.DataFrame:
        table = with_names(context.source.read(path, ("name", "epoch")), two_digit_name, path)
        return table.assign(model=one.name)

    found = context.tables(rows)
    table = pd.concat([t for t in found.values() if t is not None], ignore_index=True)
    if column is not None and column not in table:
        raise UsageError(f"no file has the column {column}")
    return table, list(found), [name for name, own in found.items() if own is None]


def chosen_rows(rows: pd.DataFrame, best: str | None) -> pd.DataFrame:
    """Return one row per run: the last, or that of the largest `best` among the last rows."""
    picked = []
    for _, run in rows.sort_values("epoch", kind="stable").groupby(["model", "name"], sort=False):
        last = run.iloc[-LAST_ROWS:]
        known = best in last and bool(last[best].notna().any())
        picked.append(last.loc[last[best].idxmax()] if known else last.iloc[-1])
    return pd.DataFrame(picked).reset_index(drop=True)


@kind("curve")
def epoch_curves(context: Context, column: str, y_label: str) -> Product:
    """Draw the mean of a column against the epoch, with standard errors, one line per model."""
    rows, labels, missing = read_runs(context, column)
    groups = rows.groupby(["model", "epoch"], sort=False)[column]
    summary = groups.agg(n="count", mean="mean", sd="std").reset_index()
    summary["se"] = summary["sd"] / summary["n"] ** 0.5
    summary = summary.sort_values(["model", "epoch"], kind="stable").reset_index(drop=True)
    figure, axes = subplots((7 * INCH, 7 * INCH))
    shown = context.looks(labels)
    texts = {}
    for label, look in shown.items():
        table = summary.loc[summary["model"] == label]
        if table.empty:
            continue
        epochs, mean, error = table["epoch"], table["mean"], table["se"]
        each = max(1, len(table) // 8)
        axes.plot(epochs, mean, **look.style, markevery=each, label=label)
        gid = f"{label} interval"
        axes.fill_between(epochs, mean - error, mean + error, color=look.color, alpha=0.15, gid=gid)
        fewest, most = min(table["n"]), max(table["n"])
        texts[label] = f" (n = {most})" if fewest == most else f" (n = {fewest} to {most})"
    axes.set(xlabel="Epoch", ylabel=y_label)
    axes.locator_params(axis="x", integer=True)
    note = "Means over runs that have the epoch. Ribbons: standard errors."
    return context.plotted(figure, summary, note, handles=legend_handles(shown, texts, missing))


@kind("metrics")
def scatter(
    context: Context,
    metrics: Sequence[tuple[tuple[str, ...], str]],
    y_label: str,
    order: Sequence[str] = (),
    best: str | None = None,
) -> Product:
    """Draw means of several columns at one epoch of each run: models on the x axis.

    metrics: (columns, text); the first column that the files have is used.
    best: the column whose largest value among the last ten rows chooses the row; None: the last.
    """
    rows, labels, missing = read_runs(context)
    models = [m for m in order if m in labels] + [m for m in labels if m not in order]
    chosen = chosen_rows(rows, best)
    filled = set(chosen.columns[chosen.notna().any()])
    measures = {
        next(column for column in columns if column in filled): text
        for columns, text in metrics
        if filled.intersection(columns)
    }
    if not measures:
        wanted = ", ".join(columns[0] for columns, _ in metrics[:2])
        raise UsageError(f"no file has a column for {y_label}, such as {wanted}")
    summary = mean_summary(chosen, ["model"], measures)
    figure, axes = subplots((7 * INCH, 7 * INCH))
    shown = context.looks(dict.fromkeys(summary["metric.type"]))
    places = np.arange(len(models))
    for (measure, look), offset in zip(shown.items(), offsets(len(shown)), strict=True):
        table = summary[summary["metric.type"] == measure].set_index("model").reindex(models)
        mean, error = table["mean"], table["se"]
        ends = {"mean": mean, "lower": mean - error, "upper": mean + error}
        draw_series(axes, places + offset, pd.DataFrame(ends), look, measure, line=False)
    counts = dict(zip(summary["model"], summary["n"], strict=True))
    below = {m: NO_DATA.strip() if m in missing else f"n = {counts.get(m, 0)}" for m in models}
    axes.set_xticks(places, [f"{model}\n{text}" for model, text in below.items()])
    axes.set(xlim=(-0.5, len(models) - 0.5), xlabel="Model", ylabel=y_label)
    if max(map(len, models)) * len(models) > 70:
        axes.tick_params(axis="x", labelrotation=20)
    when = "at the last epoch" if best is None else f"at the best {best} of the last ten"
    note = f"Means over runs {when}. Bars: standard errors."
    return context.plotted(figure, summary, note, handles=legend_handles(shown, lines=False))


WIDE = (13.968 * 2, 5.7 * 2)

COUNTED = ("true", "predicted", "count")
"""Columns of a table of class counts."""


@kind("matrix")
def matrix(context: Context) -> Product:
    """Draw counts of true against predicted classes, as an annotated heat map."""
    path = context.source.require(context.figure.series[0])
    table = numeric(context.source.read(path, COUNTED, "a table of class counts"), COUNTED, path)
    if table.empty:
        raise UsageError(f"{path} has no rows")
    counts = counted(table)
    figure, axes = subplots((15 * INCH, 10 * INCH))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        color = "white" if shares[row, column] > 0.5 else "black"
        axes.text(column, row, str(count), ha="center", va="center", color=color, fontsize=13)
    places = range(len(counts))
    axes.set_xticks(places, [str(p) for p in places], fontsize=15)
    axes.set_yticks(places, [str(p) for p in places], fontsize=15)
    axes.grid(visible=False)
    axes.set_xlabel("Predicted digit", fontsize=15)
    axes.set_ylabel("True digit", fontsize=15)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label("Share of the true digit", fontsize=13)
    note = f"n = {counts.sum()} digits: both of every pair."
    return context.plotted(figure, accuracies(counts), note, side="class_accs")


def counted(table: pd.DataFrame) -> np.ndarray:
    """Count pairs of a true class, by row, and a predicted one, cut into the known classes."""
    classes = int(table["true"].to_numpy().max()) + 1
    counts = np.zeros((classes, classes), dtype=int)
    predicted = table["predicted"].clip(0, classes - 1).astype(int)
    np.add.at(counts, (table["true"].astype(int), predicted), table["count"].astype(int))
    return counts


def accuracies(counts: np.ndarray) -> pd.DataFrame:
    """Return the share of each class that is recognised."""
    with np.errstate(invalid="ignore"):
        share = np.diag(counts) / counts.sum(axis=1)
    return pd.DataFrame({"digit": range(len(counts)), "accuracy": share})
