"""Counts of true against predicted classes, as an annotated heat map."""

from __future__ import annotations

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError

from ..parts import Matrix
from ..product import Context, Product
from ..source import numeric, read_csv
from ..style import drawing, new_figure
from .decoration import footnote

COLUMNS = ("true", "predicted", "count")


def render(part: Matrix, context: Context) -> Product:
    """Read, count, draw."""
    path = context.source.require(context.series[0])
    table = numeric(read_csv(path, COLUMNS, "a table of class counts"), COLUMNS, path)
    if table.empty:
        raise UsageError(f"{path} has no rows")
    counts = matrix(table)
    with drawing():
        figure = draw(part, context, counts)
    stem = context.stem(part.stem)
    return Product(stem, figure, side={f"{stem}_class_accs": accuracies(counts)})


def matrix(table: pd.DataFrame) -> np.ndarray:
    """Rows: true class; columns: predicted class, cut into the known ones."""
    classes = int(table["true"].to_numpy().max()) + 1
    counts = np.zeros((classes, classes), dtype=int)
    predicted = table["predicted"].clip(0, classes - 1).astype(int)
    np.add.at(counts, (table["true"].astype(int), predicted), table["count"].astype(int))
    return counts


def accuracies(counts: np.ndarray) -> pd.DataFrame:
    """Share of each class that is recognised."""
    rows = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        share = np.diag(counts) / rows
    return pd.DataFrame({"digit": range(len(counts)), "accuracy": share})


def draw(part: Matrix, context: Context, counts: np.ndarray):
    """Shares by colour, counts as text."""
    figure = new_figure(part.size)
    axes = figure.add_subplot()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    image = axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), count in np.ndenumerate(counts):
        color = "white" if shares[row, column] > 0.5 else "black"
        axes.text(column, row, str(count), ha="center", va="center", color=color, fontsize=13)
    places = range(len(counts))
    axes.set_xticks(places, [str(p) for p in places], fontsize=15, rotation=45)
    axes.set_yticks(places, [str(p) for p in places], fontsize=15)
    axes.grid(visible=False)
    axes.set_xlabel("Predicted label (digit_idx 0 and 1)", fontsize=15)
    axes.set_ylabel("True label (digit_idx 0 and 1)", fontsize=15)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label("Share of the true class", fontsize=13)
    footnote(figure, f"n = {counts.sum()} digits.", context.stamp)
    return figure
