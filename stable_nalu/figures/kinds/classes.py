"""How well classes are recognised: by digit, as a confusion matrix, and by last layer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from stable_nalu.catalogue.published import PublishedMeasure, published_measures
from stable_nalu.errors import UsageError
from stable_nalu.statistics.table import numeric

from ..entry import INCH, Context, Drawn, Part, Product, Size
from ..source import Series, read_csv
from ..style import drawing, looks, new_figure
from .decoration import NO_DATA, SMALL, footnote, patch_legend

COLUMNS = ("true", "predicted", "count")
WIDTH = 0.6
_HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx")


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
        for index, label in enumerate(labels):
            found = table[table["model"] == label].set_index("digit")["accuracy"].reindex(classes)
            x = [at - WIDTH / 2 + (index + 0.5) * each for at in range(len(classes))]
            axes.bar(
                x,
                found,
                each,
                color=shown[label].color,
                hatch=_HATCHES[index % len(_HATCHES)],
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
        label + (NO_DATA if label in missing else ""): (shown[label].color, _HATCHES[i % 5])
        for i, label in enumerate(labels)
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


ACCURACY = "metric.test.acc"
PREVIOUS = "previous best"
"""How the source of a known number ends that is that of the network to be improved."""
_OURS, _THEIRS = ("#0072B2", "#56B4E9"), "#A04000"


@dataclass(frozen=True)
class Heads(Part):
    """Test errors of one network with different last layers, as bars and as a table.

    Series come in pairs, with a bias and without. experiment: whose known numbers stand beside
    ours. models: its keys of the series, in order.
    """

    KIND = "errors by last layer"

    experiment: str
    models: tuple[str, ...]
    size: Size = (18.0, 8.6)

    def render(self, context: Context) -> Product:
        """Read the last row of every run, draw bars and table, write LaTeX."""
        tables = context.tables(lambda path, _: read_csv(path, ("name", "step", "seed", ACCURACY)))
        known = [one for one in published_measures(self.experiment) if one.measure == ACCURACY]
        previous = next((one for one in known if one.source.endswith(PREVIOUS)), None)
        rows = [
            _summed_up(label, table, [one for one in known if one.model == key and one != previous])
            for key, (label, table) in zip(self.models, tables.items(), strict=True)
        ]
        stem = context.stem(self.stem)
        with drawing():
            figure = new_figure(self.size)
            bars, cells = figure.subplots(1, 2, width_ratios=(1.25, 1))
            _draw_errors(bars, rows, previous)
            _draw_cells(cells, rows)
            steps = sorted({step for row in rows for step in row["steps"]})
            runs = sorted({len(row["errors"]) for row in rows if len(row["errors"])})
            footnote(
                figure,
                f"Mean of {' or '.join(map(str, runs))} seeds (dots: each of them) after "
                f"{' or '.join(f'{step:,}' for step in steps)} updates; how many the paper has is "
                "not known, the public network that this is has 100,000.",
                f"Diamonds, dashed line and “paper”: {known[0].standing}." if known else "",
            )
        side = pd.DataFrame(
            {"model": row["label"], "seed": seed, "error": error, "step": step}
            for row in rows
            for seed, error, step in zip(row["seeds"], row["errors"], row["steps"], strict=True)
        )
        text = _latex(rows, self.experiment)
        return Product(stem, figure, text, {f"{stem}_plot_data": side})


def _summed_up(label: str, table: pd.DataFrame | None, known: list[PublishedMeasure]) -> dict:
    """Return the test error in percent of each run of a last layer, and the known one."""
    ends = pd.DataFrame({"seed": [], "step": [], ACCURACY: []})
    if table is not None:
        ends = table.sort_values("step").drop_duplicates("name", keep="last")
        ends = ends.loc[pd.Series(pd.to_numeric(ends[ACCURACY], errors="coerce")).notna()]
    number = known[0].number if known else None
    return {
        "label": label,
        "seeds": ends["seed"].astype(int).tolist(),
        "steps": ends["step"].astype(int).tolist(),
        "errors": (100 * (1 - ends[ACCURACY].to_numpy(float))).tolist(),
        "known": None if number is None else 100 * (1 - number),
    }


def _draw_errors(axes, rows: list[dict], previous: PublishedMeasure | None) -> None:
    """Draw a pair of bars for each kind of weight: with a bias, and without."""
    for index, row in enumerate(rows):
        at = index // 2 + (index % 2 - 0.5) * 0.38
        if row["errors"]:
            # Every bar says which it is, as those of a pair share a place on the axis.
            axes.bar(at, np.mean(row["errors"]), 0.36, color=_OURS[index % 2])
            axes.plot([at] * len(row["errors"]), row["errors"], "o", color="0.15", markersize=2.5)
        if row["known"] is not None:
            axes.plot(at, row["known"], "D", color=_THEIRS, markerfacecolor="none", markersize=5)
    if previous is not None and previous.number is not None:
        error = 100 * (1 - previous.number)
        axes.axhline(error, color=_THEIRS, linestyle=(0, (4, 2)), linewidth=1)
        axes.text(
            len(rows) / 2 - 0.55, error, f"previous best, {error:.1f}", ha="right", va="bottom",
            fontsize=SMALL, color=_THEIRS,
        )  # fmt: skip
    names = [row["label"].removesuffix("+ b").rstrip() for row in rows[::2]]
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel("Wrong counts in the test, %")
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    handles = [axes.bar(0, 0, color=color) for color in _OURS]
    axes.legend(handles, ["with a bias", "without"], loc="upper right", frameon=False)


def _draw_cells(axes, rows: list[dict]) -> None:
    """Draw the paper's table: accuracy of each last layer, ours and the known one."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(rows) + 0.3, -1)
    for x, head in zip((0.0, 0.62, 0.98), ("Accuracy, %", "ours", "paper"), strict=True):
        axes.text(x, -0.4, head, ha="left" if x == 0 else "right", va="center", weight="bold")
    for y, row in enumerate(rows):
        axes.text(0, y + 0.4, row["label"], va="center")
        axes.text(0.62, y + 0.4, _ours(row), ha="right", va="center")
        theirs = "not remembered" if row["known"] is None else f"rec. {100 - row['known']:.1f}"
        axes.text(0.98, y + 0.4, theirs, ha="right", va="center", color=_THEIRS, fontsize=SMALL + 1)
        axes.axhline(y + 0.9, color="0.85", linewidth=0.5)


def _ours(row: dict) -> str:
    """Return mean and range of the accuracies."""
    accuracies = 100 - np.array(row["errors"])
    if not len(accuracies):
        return "no data"
    return f"{accuracies.mean():.1f} [{accuracies.min():.1f}, {accuracies.max():.1f}]"


def _latex(rows: list[dict], experiment: str) -> str:
    """Return the table with its surroundings."""
    lines = [
        f"{row['label']} & {_ours(row)} & "
        f"{'---' if row['known'] is None else format(100 - row['known'], '.1f')} \\\\"
        for row in rows
    ]
    body = "\n".join(lines)
    return (
        "\\begin{table}[h]\n\\centering\n\\caption{Test accuracy in percent by last layer: mean "
        "and range of ours, and the recalled, unconfirmed number.}\n"
        f"\\label{{tab:{experiment.replace('/', '-')}}}\n\\begin{{tabular}}{{lrr}}\n\\toprule\n"
        f"Last layer & ours & paper \\\\\n\\midrule\n{body}\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n"
    )
