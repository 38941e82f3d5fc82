"""Figures of pairs of digits: a column over epochs, and at one epoch of each run, by model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.summary import mean_summary

from ..decoration import NO_DATA, footnote, legend
from ..entry import INCH, Context, Drawn, Part, Size
from ..source import Series, read_csv, with_names
from ..style import MISSING, looks, new_figure
from .panels import draw_series, offsets

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection

LAST_ROWS = 10


def read_digits(context: Context) -> tuple[pd.DataFrame, list[str], tuple[str, ...]]:
    """Return the rows of all files, labels in their order, and the labels without data."""

    def rows(path: Path, one: Series) -> pd.DataFrame:
        table = with_names(read_csv(path, ("name", "epoch")), "two-digit", path)
        return table.assign(model=one.name)

    found = context.tables(rows)
    tables = [table for table in found.values() if table is not None]
    missing = tuple(name for name, table in found.items() if table is None)
    return pd.concat(tables, ignore_index=True), list(found), missing


def chosen_rows(rows: pd.DataFrame, best: str | None) -> pd.DataFrame:
    """Return one row per run: the last, or that of the largest `best` among the last rows."""
    picked = []
    for _, run in rows.sort_values("epoch", kind="stable").groupby(["model", "name"], sort=False):
        if best is None or best not in run or bool(run.loc[:, best].isna().all()):
            picked.append(run.iloc[-1])
        else:
            last = run.iloc[-LAST_ROWS:]
            picked.append(last.loc[last[best].idxmax()])
    return pd.DataFrame(picked).reset_index(drop=True)


def model_places(labels: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return labels in a fixed order; those that it lacks come after."""
    return [m for m in order if m in labels] + [m for m in labels if m not in order]


@dataclass(frozen=True)
class EpochCurves(Part):
    """Mean of one column against the epoch, with its standard error, one line per model."""

    KIND = "curve"

    column: str
    y_label: str
    size: Size = (7 * INCH, 7 * INCH)

    def drawn(self, context: Context) -> Drawn:
        """Take means at every epoch and draw them."""
        rows, labels, missing = read_digits(context)
        if self.column not in rows:
            raise UsageError(f"no file has the column {self.column}")
        groups = rows.groupby(["model", "epoch"], sort=False)[self.column]
        summary = groups.agg(n="count", mean="mean", sd="std").reset_index()
        summary["se"] = summary["sd"] / summary["n"] ** 0.5
        summary = summary.sort_values(["model", "epoch"], kind="stable").reset_index(drop=True)
        figure = draw_curves(self, context, summary, labels, missing)
        return figure, {f"{self.stem}_plot_data": summary}


def draw_curves(
    part: EpochCurves, context: Context, summary: pd.DataFrame, labels: list[str], missing: tuple
):
    """Draw lines with ribbons."""
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
            **look.style,
            markevery=max(1, len(table) // 8),
            label=label,
        )
        low, high = table["mean"] - table["se"], table["mean"] + table["se"]
        axes.fill_between(
            table["epoch"], low, high, color=look.color, alpha=0.15, gid=f"{label} interval"
        )
        fewest, most = min(table["n"]), max(table["n"])
        texts[label] = f" (n = {most})" if fewest == most else f" (n = {fewest} to {most})"
    axes.set_xlabel("Epoch")
    axes.locator_params(axis="x", integer=True)
    axes.set_ylabel(part.y_label)
    legend(figure, shown, texts, missing)
    footnote(figure, "Means over runs that have the epoch. Ribbons: standard errors.")
    return figure


@dataclass(frozen=True)
class Scatter(Part):
    """Means of several columns at one epoch of each run, by model.

    metrics: (columns, text); the first column that the files have is used.
    best: the column whose largest value among the last ten rows chooses the row; None: the last.
    """

    KIND = "metrics"

    metrics: tuple[tuple[tuple[str, ...], str], ...]
    y_label: str
    order: tuple[str, ...] = ()
    best: str | None = None
    size: Size = (7 * INCH, 7 * INCH)

    def drawn(self, context: Context) -> Drawn:
        """Choose rows, take means, draw."""
        rows, labels, missing = read_digits(context)
        chosen = chosen_rows(rows, self.best)
        measures = available(self, chosen)
        if not measures:
            wanted = ", ".join(columns[0] for columns, _ in self.metrics[:2])
            raise UsageError(f"no file has a column for {self.y_label}, such as {wanted}")
        summary = mean_summary(chosen, ["model"], measures)
        models = model_places(labels, self.order)
        figure = draw_scatter(self, context, summary, models, missing)
        return figure, {f"{self.stem}_plot_data": summary}


def available(part: Scatter, rows: pd.DataFrame) -> dict[str, str]:
    """Return column -> text of the measures that the files have."""
    found = {}
    for columns, text in part.metrics:
        column = next(
            (c for c in columns if c in rows and bool(rows.loc[:, c].notna().any())), None
        )
        if column is not None:
            found[column] = text
    return found


def draw_scatter(
    part: Scatter, context: Context, summary: pd.DataFrame, models: list[str], missing: tuple
):
    """Draw models on the x axis, measures beside each other."""
    figure = new_figure(part.size)
    axes = figure.add_subplot()
    measures = list(dict.fromkeys(summary["metric.type"]))
    shown = looks(measures, context.palette)
    for index, measure in enumerate(measures):
        table = summary[summary["metric.type"] == measure].set_index("model").reindex(models)
        found = pd.DataFrame(
            {
                "mean": table["mean"],
                "lower": table["mean"] - table["se"],
                "upper": table["mean"] + table["se"],
            }
        )
        x = np.arange(len(models)) + offsets(len(measures))[index]
        draw_series(axes, x, found, shown[measure], measure, line=False)
    counts = dict(zip(summary["model"], summary["n"], strict=True))
    texts = [
        f"{m}\n" + (NO_DATA.strip() if m in missing else f"n = {counts.get(m, 0)}") for m in models
    ]
    axes.set_xticks(range(len(models)), texts)
    axes.set_xlim(-0.5, len(models) - 0.5)
    axes.set_ylabel(part.y_label)
    axes.set_xlabel("Model")
    if max(map(len, models)) * len(models) > 70:
        axes.tick_params(axis="x", labelrotation=20)
    legend(figure, shown, lines=False)
    when = "at the last epoch" if part.best is None else f"at the best {part.best} of the last ten"
    footnote(figure, f"Means over runs {when}. Bars: standard errors.")
    return figure


@dataclass(frozen=True)
class Violin(Part):
    """Distribution over runs of one column at the chosen row, one violin per model."""

    KIND = "violin"
    NEEDS = "epochs"

    column: str
    y_label: str
    order: tuple[str, ...] = ()
    best: str | None = None
    size: Size = (13.968 * 2, 5.7 * 2)

    def drawn(self, context: Context) -> Drawn:
        """Choose rows and draw."""
        rows, labels, _ = read_digits(context)
        if self.column not in rows:
            raise UsageError(f"no file has the column {self.column}")
        chosen = chosen_rows(rows, self.best)
        models = [m for m in model_places(labels, self.order) if m in self.order]
        values = [chosen.loc[chosen["model"] == m, self.column].dropna().to_numpy() for m in models]
        figure = new_figure(self.size)
        axes = figure.add_subplot()
        violins(axes, values, models)
        axes.set_xlabel(self.y_label)
        axes.set_ylabel("Model")
        footnote(figure, "Box: quartiles. Points: outliers.")
        side = chosen.filter(["model", "name", "seed", "epoch", self.column])
        return figure, {f"{self.stem}_plot_data": side}


def violins(axes: Axes, values: Sequence[np.ndarray], labels: Sequence[str]) -> None:
    """Draw violins with boxes; a label without values says so."""
    places = range(1, len(labels) + 1)
    for place, some in zip(places, values, strict=True):
        if len(some) == 0:
            middle = axes.get_yaxis_transform()
            axes.text(
                0.5, place, "no data", transform=middle, color=MISSING, ha="center", va="center"
            )
            continue
        if len(some) > 1 and np.ptp(some) > 0:
            body = axes.violinplot(
                [some], [place], orientation="horizontal", widths=0.7, showextrema=False
            )
            for shape in cast("list[PolyCollection]", body["bodies"]):
                shape.set(facecolor="cornflowerblue", alpha=0.8, edgecolor="0.3", linewidth=0.5)
        axes.boxplot(
            [some],
            positions=[place],
            orientation="horizontal",
            widths=0.08,
            manage_ticks=False,
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "#D55E00"},
            medianprops={"color": "black"},
        )
    texts = [f"{label}\n(n = {len(some)})" for label, some in zip(labels, values, strict=True)]
    axes.set_yticks(places, texts)
    axes.set_ylim(0.4, len(labels) + 0.6)
