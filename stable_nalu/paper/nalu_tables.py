"""Tables of the NALU paper, in LaTeX and as pictures: scores, errors of numbers in words, heads."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from stable_nalu.figure.drawing import kind
from stable_nalu.figure.entry import Context, Product, last_rows, numbers
from stable_nalu.figure.style import MISSING, SMALL, ascending, subplots
from stable_nalu.figure.tables import tabular, tex_row
from stable_nalu.statistics.names import operation_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TABLE_1 = ("add", "sub", "mul", "div", "squared", "root")
"""The operations of table 1, in its order."""


def _numbers(table: pd.DataFrame | None, column: str) -> pd.Series:
    """Return a column of numbers; a run without one has diverged: nothing is worse."""
    if table is None:
        return pd.Series(dtype=float)
    return numbers(table, column).fillna(math.inf)


def _summary(errors: pd.Series) -> dict[str, Any]:
    return {"runs": len(errors), "median": errors.median(), "best": errors.min()}


def _add_cell(
    axes: "Axes", x: float, y: float, color: str, *texts: tuple[float, str, float | None]
) -> None:
    """Draw a square with texts at heights within it and of some sizes; none says so."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=color, edgecolor="white"))
    middle: dict[str, Any] = {"ha": "center", "va": "center"}
    if not texts:
        axes.text(x + 0.5, y + 0.5, "no data", color=MISSING, **middle)
    for at, text, size in texts:
        axes.text(x + 0.5, y + at, text, fontsize=size, **middle)


def _blue(share: float) -> str:
    """Return a colour from white, of 0, to blue, of 1 and more."""
    from matplotlib.colors import to_hex

    share = min(1.0, max(0.0, share))
    return to_hex((1 - 0.55 * share, 1 - 0.35 * share, 1 - 0.1 * share))


SPLITS = ("interpolation", "extrapolation")

LARGEST = 999
"""Scores above it are told as such, as in the paper's table."""

GOOD = 1.0


@kind("table of scores")
def scores(context: Context) -> Product:
    """Write and draw median and best score, and how many are below 1, by operation and unit."""
    needed = ("name", "step", "operation", *(f"score.{split}" for split in SPLITS))
    tables = context.exported(needed)
    cells = pd.DataFrame(
        [cell for model, table in tables.items() for cell in summed_up(model, table)]
    )
    figure, axes = subplots((18.0, 10.5))
    _draw_scores(axes, cells, [*tables])
    return context.plotted(
        figure,
        cells,
        "Error in percent of that of untrained networks: median [best] of "
        f"{ascending(filter(None, cells['runs']))} runs, and how many score below {GOOD:g}.",
        text=_latex_of_scores(cells, [*tables], context.figure.key),
        side="scores",
    )


def summed_up(model: str, table: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Return a cell of every operation and split, empty without runs."""
    cells: list[dict[str, Any]] = []
    for operation in TABLE_1:
        own = None if table is None else last_rows(table.loc[table["operation"] == operation])
        for split in SPLITS:
            scores = _numbers(own, f"score.{split}")
            below = {"below": int((scores < GOOD).to_numpy().sum())}
            row = {"operation": operation, "model": model, "split": split}
            cells.append(row | _summary(scores) | below)
    return cells


def score_text(score: float) -> str:
    """Return a score with two significant digits, as `> 999` where it is larger."""
    if math.isnan(score):
        return "--"
    if score > LARGEST:
        return f"> {LARGEST}"
    if score >= 99.5:
        return f"{score:.0f}"
    if 0 < score < 0.001:
        return "< 0.001"
    return f"{score:.2g}"


def _draw_scores(axes: "Axes", cells: pd.DataFrame, models: list[str]) -> None:
    """Draw a cell for each operation, unit and split, darker for higher medians."""
    axes.set_axis_off()
    axes.set(xlim=(-0.75, 2 * len(models)), ylim=(len(TABLE_1), -0.85))
    for place, model in enumerate(models):
        axes.text(2 * place + 1, -0.55, model, ha="center", fontweight="bold")
        for half, split in enumerate(SPLITS):
            axes.text(2 * place + half + 0.5, -0.12, split, ha="center", fontsize=SMALL)
    for row, operation in enumerate(TABLE_1):
        axes.text(-0.12, row + 0.5, operation_label(operation), ha="right", va="center")
    for cell in cells.to_dict("records"):
        x = 2 * models.index(cell["model"]) + SPLITS.index(cell["split"])
        y, median = TABLE_1.index(cell["operation"]), cell["median"]
        if not cell["runs"]:
            _add_cell(axes, x, y, "0.95")
            continue
        beside = f"[{score_text(cell['best'])}]  {cell['below']}/{cell['runs']}"
        texts = ((0.33, score_text(median), None), (0.68, beside, SMALL))
        # White for scores up to 0.1, and a blue that is full at 1,000.
        _add_cell(axes, x, y, _blue((math.log10(max(median, 0.1)) + 1) / 4), *texts)


def _latex_of_scores(cells: pd.DataFrame, models: list[str], experiment: str) -> str:
    """Return median, best and share below 1 of each cell."""
    by_place = {(c["operation"], c["model"], c["split"]): c for c in cells.to_dict("records")}
    lines = []
    for operation in TABLE_1:
        row = [by_place[operation, model, split] for model in models for split in SPLITS]
        pairs = [(score_text(c["median"]), score_text(c["best"])) for c in row]
        ours = [f"${one}$ [${best}$]".replace("--", "\\text{--}") for one, best in pairs]
        ours = [text if c["runs"] else "---" for text, c in zip(ours, row, strict=True)]
        shares = [f"{c['below']}/{c['runs']}" if c["runs"] else "" for c in row]
        name = operation_label(operation, latex=True)
        lines += [f"{tex_row(name, *ours)}*", tex_row("", *shares), "\\midrule"]
    heads = [tex_row("", *(f"\\multicolumn{{2}}{{c}}{{{model}}}" for model in models))]
    heads.append(tex_row("", *["inter. & extra."] * len(models)))
    caption = "Median [best] error in percent of that of untrained networks, and runs below 1."
    return tabular(caption, experiment, "l" + "rr" * len(models), heads, lines[:-1])


_OF_READING = {"train": "training", "valid": "validation", "test": "test"}


def selected_rows(context: Context) -> dict[str, pd.DataFrame]:
    """Return the row of the lowest validation error of every run that reads numbers, by model."""
    columns = ("name", "step", "seed", *(f"metric.{split}.mae" for split in _OF_READING))
    found = {}
    for model, table in context.exported(columns).items():
        if table is not None:
            best = table.sort_values(["metric.valid.mae", "step"], kind="stable")
            found[model] = best.drop_duplicates("name").sort_values("seed")
    return found


@kind("table of errors")
def reading_errors(context: Context) -> Product:
    """Write and draw median and best absolute error of each model on the three sets."""
    rows = selected_rows(context)
    cells = pd.DataFrame(
        {"model": one.name, "split": split}
        | _summary(_numbers(rows.get(one.name), f"metric.{split}.mae"))
        for one in context.figure.series
        for split in _OF_READING
    )
    figure, axes = subplots((13.0, 5.2))
    _draw_reading_errors(axes, cells)
    lines = [
        tex_row(str(model), *map(_reading_error, own.to_dict("records"))).replace("∞", "$\\infty$")
        for model, own in cells.groupby("model", sort=False)
    ]
    caption = "Mean absolute error of numbers in words: median [best] of runs."
    text = tabular(caption, context.figure.key, "lrrr", [tex_row("", *_OF_READING.values())], lines)
    return context.plotted(
        figure,
        cells,
        f"Mean absolute error, median [best] of {ascending(filter(None, cells['runs'])) or 'no'} "
        "runs, each at the logged epoch of its lowest validation error.",
        text=text,
        side="errors",
    )


def _reading_error(cell: Mapping[Any, Any]) -> str:
    texts = []
    for error in (cell["median"], cell["best"]):
        known = f"{error:.3g}" if math.isfinite(error) else "∞"
        texts.append("--" if math.isnan(error) else known)
    return f"{texts[0]} [{texts[1]}]"


def _draw_reading_errors(axes: "Axes", cells: pd.DataFrame) -> None:
    """Draw a row of cells for each model, darker for higher medians."""
    models, splits = list(dict.fromkeys(cells["model"])), list(_OF_READING)
    axes.set_axis_off()
    axes.set(xlim=(-1.1, len(splits)), ylim=(len(models), -0.4))
    for place, split in enumerate(splits):
        axes.text(place + 0.5, -0.12, _OF_READING[split], ha="center", fontweight="bold")
    for row, model in enumerate(models):
        axes.text(-0.06, row + 0.5, model, ha="right", va="center")
    for cell in cells.to_dict("records"):
        x, y, median = splits.index(cell["split"]), models.index(cell["model"]), cell["median"]
        share = 0.0 if math.isnan(median) else math.log10(1 + median) / 3
        texts = [(0.5, _reading_error(cell), None)] if cell["runs"] else []
        _add_cell(axes, x, y, _blue(share), *texts)


ACCURACY = "metric.test.acc"

_WITH_BIAS, _WITHOUT = "#8DB7D8", "#CFE1F0"


@kind("errors by last layer")
def heads(context: Context) -> Product:
    """Draw test errors of one network with different last layers, as bars and as a table.

    Files of the series have the keys of last layers as names; those with a bias end in `-b`.
    """
    tables = context.exported(("name", "step", "seed", ACCURACY))
    ends = {one.name: _last_accuracies(tables[one.name]) for one in context.figure.series}
    keys = {one.name: one.files[0].rpartition("/")[2] for one in context.figure.series}
    parts = [rows.assign(model=name) for name, rows in ends.items() if len(rows)]
    side = pd.concat(parts or [pd.DataFrame()], ignore_index=True)
    side = side.reindex(columns=["model", "seed", "error", "step"])
    figure, (bars, cells) = subplots((18.0, 8.6), 1, 2, width_ratios=(1.25, 1))
    _draw_bars(bars, ends, keys)
    _draw_accuracies(cells, ends)
    text = tabular(
        "Test accuracy in percent by last layer: mean and range.",
        context.figure.key,
        "lr",
        [tex_row("Last layer", "accuracy")],
        [tex_row(name, _accuracy(rows)) for name, rows in ends.items()],
    )
    return context.plotted(
        figure,
        side,
        f"Mean of {ascending(map(len, parts))} seeds (dots: each of them) after "
        f"{ascending(side['step'], ',')} updates; how many the paper has is not known, the public "
        "network that this is has 100,000.",
        text=text,
    )


def _last_accuracies(table: pd.DataFrame | None) -> pd.DataFrame:
    """Return seed, step and test error in percent of each run of a last layer."""
    if table is None:
        return pd.DataFrame({"seed": [], "step": [], "error": []})
    ends = last_rows(table)
    ends = ends.loc[numbers(ends, ACCURACY).notna()]
    whole = ends[["seed", "step"]].astype(int)
    return whole.assign(error=100 * (1 - ends[ACCURACY].to_numpy(float)))


def _draw_bars(axes: "Axes", ends: Mapping[str, pd.DataFrame], keys: Mapping[str, str]) -> None:
    """Draw a pair of bars for each kind of weight: with a bias, and without."""
    names = {key.removesuffix("-b"): n.removesuffix("+ b").rstrip() for n, key in keys.items()}
    for name, rows in ends.items():
        biased = keys[name].endswith("-b")
        at = list(names).index(keys[name].removesuffix("-b")) + (-0.19 if biased else 0.19)
        if len(rows):
            errors = rows["error"].tolist()
            axes.bar(at, np.mean(errors), 0.36, color=_WITH_BIAS if biased else _WITHOUT)
            axes.plot([at] * len(errors), errors, "o", color="0.15", markersize=2.5)
    axes.set_xticks(range(len(names)), list(names.values()))
    axes.set(ylabel="Wrong counts in the test, %", ylim=(0, None))
    axes.grid(visible=False, axis="x")
    handles = [axes.bar(0, 0, color=color) for color in (_WITH_BIAS, _WITHOUT)]
    axes.legend(handles, ["with a bias", "without"], loc="upper right", frameon=False)


def _draw_accuracies(axes: "Axes", ends: Mapping[str, pd.DataFrame]) -> None:
    """Draw the accuracy of each last layer as a table."""
    axes.set_axis_off()
    axes.set(xlim=(0, 1), ylim=(len(ends) + 0.3, -1))
    for x, head, side in ((0.0, "Last layer", "left"), (0.9, "Accuracy, %", "right")):
        axes.text(x, -0.4, head, ha=side, va="center", weight="bold")
    for y, (name, rows) in enumerate(ends.items()):
        axes.text(0, y + 0.4, name, va="center")
        axes.text(0.9, y + 0.4, _accuracy(rows), ha="right", va="center")
        axes.axhline(y + 0.9, color="0.85", linewidth=0.5)


def _accuracy(rows: pd.DataFrame) -> str:
    """Return mean and range of the accuracies."""
    accuracies = 100 - rows["error"].to_numpy()
    if not len(accuracies):
        return "no data"
    return f"{accuracies.mean():.1f} [{accuracies.min():.1f}, {accuracies.max():.1f}]"
