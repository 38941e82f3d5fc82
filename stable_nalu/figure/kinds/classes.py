"""How well each class of digits is recognised: accuracy per class, and the confusion matrix."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.table import numeric

from ..decoration import HATCHES, NO_DATA, footnote, patch_legend
from ..entry import INCH, Context, Drawn, Part, Size
from ..source import Series, read_csv
from ..style import looks, new_figure

COLUMNS = ("true", "predicted", "count")
WIDTH = 0.6


@dataclass(frozen=True)
class Bars(Part):
    """Accuracy per class, whole and zoomed."""

    KIND = "bars"

    zoom: tuple[float, float] = (0.96, 1.0)
    size: Size = (13.968 * 2, 5.7 * 2)

    def drawn(self, context: Context) -> Drawn:
        """Read and draw; nothing is estimated."""
        found = context.tables(_accuracies)
        table = pd.concat([part for part in found.values() if part is not None], ignore_index=True)
        missing = tuple(name for name, part in found.items() if part is None)
        figure = draw_bars(self, context, table, list(found), missing)
        name = f"{self.stem.removesuffix('_class_accs')}_combined_class_accs"
        return figure, {name: table.filter(["model", "digit", "accuracy"])}


def _accuracies(path: Path, one: Series) -> pd.DataFrame:
    table = read_csv(path, ("digit", "accuracy"), "a table of class accuracies")
    return numeric(table, ("accuracy",), path).assign(model=one.name)


def draw_bars(part: Bars, context: Context, table: pd.DataFrame, labels: list[str], missing: tuple):
    """Draw two panels of grouped bars."""
    figure = new_figure(part.size)
    shown = looks(labels, context.palette)
    classes = sorted(table["digit"].unique())
    each = WIDTH / len(labels)
    for place, zoomed in enumerate((False, True), start=1):
        axes = figure.add_subplot(1, 2, place)
        for index, (label, hatch) in enumerate(zip(labels, cycle(HATCHES), strict=False)):
            found = table[table["model"] == label].set_index("digit")["accuracy"].reindex(classes)
            x = [at - WIDTH / 2 + (index + 0.5) * each for at in range(len(classes))]
            axes.bar(
                x,
                found,
                each,
                color=shown[label].color,
                hatch=hatch,
                edgecolor="white",
                linewidth=0.3,
                label=label,
            )
        axes.set_xticks(range(len(classes)), [str(c) for c in classes])
        axes.set_ylim(*(part.zoom if zoomed else (0, 1)))
        axes.set_xlabel("Digit")
        axes.set_ylabel("Success rate")
        axes.grid(visible=False, axis="x")
    entries = {
        label + (NO_DATA if label in missing else ""): (shown[label].color, hatch)
        for label, hatch in zip(labels, cycle(HATCHES), strict=False)
    }
    patch_legend(figure, entries)
    footnote(figure, "One trained network per model: no intervals. Right: zoomed.")
    return figure


@dataclass(frozen=True)
class Matrix(Part):
    """Counts of true against predicted classes, as an annotated heat map."""

    KIND = "matrix"

    size: Size = (15 * INCH, 10 * INCH)

    def drawn(self, context: Context) -> Drawn:
        """Read, count, draw."""
        path = context.source.require(context.series[0])
        table = numeric(read_csv(path, COLUMNS, "a table of class counts"), COLUMNS, path)
        if table.empty:
            raise UsageError(f"{path} has no rows")
        counts = matrix(table)
        return draw_matrix(self, counts), {f"{self.stem}_class_accs": accuracies(counts)}


def matrix(table: pd.DataFrame) -> np.ndarray:
    """Count pairs of a true class, by row, and a predicted one, cut into the known classes."""
    classes = int(table["true"].to_numpy().max()) + 1
    counts = np.zeros((classes, classes), dtype=int)
    predicted = table["predicted"].clip(0, classes - 1).astype(int)
    np.add.at(counts, (table["true"].astype(int), predicted), table["count"].astype(int))
    return counts


def accuracies(counts: np.ndarray) -> pd.DataFrame:
    """Return the share of each class that is recognised."""
    rows = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        share = np.diag(counts) / rows
    return pd.DataFrame({"digit": range(len(counts)), "accuracy": share})


def draw_matrix(part: Matrix, counts: np.ndarray):
    """Draw the heat map."""
    figure = new_figure(part.size)
    axes = figure.add_subplot()
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
    footnote(figure, f"n = {counts.sum()} digits: both of every pair.")
    return figure
