"""Neural Arithmetic Logic Units: autoencoders, scores, digits, words, programs, a grid world."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle
from PIL import Image

from stable_nalu.base.papers import TRASK_2018, Paper
from stable_nalu.base.script import plain
from stable_nalu.figure import style
from stable_nalu.figure.panels import tabular, tex_row
from stable_nalu.figure.runs import (
    Context,
    Part,
    Product,
    drawn,
    kind,
    last_rows,
    matching,
    numbers,
    together,
)
from stable_nalu.statistics.intervals import student
from stable_nalu.statistics.setups import operation_label
from stable_nalu.task import gridworld_time, program_evaluation
from stable_nalu.task import number_translation as translation
from stable_nalu.writer.event_file import CURVE_COLUMNS

from .experiment import MEASURED, Experiment, Measure, Recipe, Resources, operations, variants
from .published import published_measures

OURS, THEIRS = style.Look("#0072B2", "", "-"), "#D55E00"
"""How our curves look, and the colour of published points, in drawings of one model."""

_WRONG = THEIRS
_WHITE = {"facecolor": "1", "edgecolor": "none", "pad": 1}


def ring(axes: Axes, points: Sequence[tuple[float, float | None]], **options: Any) -> None:
    x, y = np.array(points).reshape(-1, 2).T
    look: dict[str, Any] = {"linestyle": "none", "marker": "o", "markeredgecolor": THEIRS}
    axes.plot(x, y, markersize=5, **look, **options)


@kind("error over input")
def extrapolations(
    context: Context, experiment: str, top: float = 20, x_label: str = "x"
) -> Product:
    """Draw absolute errors of many runs over the input, in a small panel for each model.

    experiment: whose published numbers are marked. top: the largest error that is shown.
    """
    tables = context.exported(("name", "step", "seed"))
    known = published_measures(experiment)
    across = min(6, len(tables))
    rows = -(-len(tables) // across)
    size = (18.0, 11.5 if rows > 1 else 7.0)
    figure, grid = style.subplots(size, rows, across, sharex=True, sharey=True, squeeze=False)
    side, ranges = [], set()
    for axes, (model, table) in zip(grid.flat, tables.items(), strict=False):
        axes.set_title(model, pad=3)
        if table is None:
            style.say_no_data(axes)
            continue
        if "train.range" in table:
            low, high = map(float, str(table["train.range"].iloc[0]).split())
            axes.axvspan(low, high, color="0.92", linewidth=0, zorder=0)
            ranges.add(f"[{low:g}, {high:g}]")
        curve = _error_curve(table)
        style.ribbon(axes, curve, "x", "mean", OURS, alpha=0.25)
        text = f"{curve['mean'].iloc[-1]:.2g}"
        look = {"fontsize": style.SMALL, "color": OURS.color, "bbox": _WHITE}
        axes.text(0.5, 0.93, text, transform=axes.transAxes, ha="center", va="top", **look)
        own = [m for m in known if m.model == model.lower() and m.number is not None]
        of_curve = [m for m in own if m.measure.startswith(CURVE_COLUMNS)]
        if points := [(float(m.measure.removeprefix(CURVE_COLUMNS)), m.number) for m in of_curve]:
            ring(axes, points, markerfacecolor="none", clip_on=False)
        side.append(curve.assign(model=model))
    for axes in list(grid.flat)[len(tables) :]:
        axes.set_axis_off()
    grid[0][0].set_ylim(0, top)
    for below in grid[-1]:
        below.set_xlabel(x_label)
    for beside in grid[:, 0]:
        beside.set_ylabel("Absolute error")
    curves = pd.concat(side, ignore_index=True)
    by_shape = "its colours repeat, so that three pairs of its lines were told apart by their"
    return context.plotted(
        figure,
        curves,
        f"Mean (line) and quartiles (band) of {max(curves['runs'])} models each; "
        "means of those whose error is finite. Number: the mean at the right end.",
        f"Grey: the range of training, {' or '.join(sorted(ranges))}." if ranges else "",
        f"Rings: the paper, {known[0].standing}; {by_shape} shape." if known else "",
    )


def _error_curve(table: pd.DataFrame) -> pd.DataFrame:
    ends = last_rows(table)
    rows = []
    for match, name in matching(table, re.escape(CURVE_COLUMNS) + "(.+)"):
        errors = numbers(ends, name)
        row = {"x": float(match[1]), "mean": errors.mean()}
        bounds = {"lower": errors.quantile(0.25), "upper": errors.quantile(0.75)}
        rows.append(row | bounds | {"runs": errors.count()})
    return pd.DataFrame(rows).sort_values("x", ignore_index=True)


def _finite(table: pd.DataFrame | None, column: str) -> pd.Series:
    """Return a column of numbers; a run without one has diverged: nothing is worse."""
    if table is None:
        return pd.Series(dtype=float)
    return numbers(table, column).fillna(math.inf)


def _summary(errors: pd.Series) -> dict[str, Any]:
    return {"runs": len(errors), "median": errors.median(), "best": errors.min()}


def _add_cell(
    axes: Axes, x: float, y: float, share: float, *texts: tuple[float, str, float | None]
) -> None:
    """Draw a square, blue by a share, with texts at heights within it and of some sizes."""
    color = "0.95" if math.isnan(share) else to_hex(1 - np.array([0.55, 0.35, 0.1]) * share)
    axes.add_patch(Rectangle((x, y), 1, 1, facecolor=color, edgecolor="white"))
    for at, text, size in texts:
        axes.text(x + 0.5, y + at, text, fontsize=size, **style.MIDDLE)
    if not texts:
        axes.text(x + 0.5, y + 0.5, "no data", color=style.MISSING, **style.MIDDLE)


TABLE_1 = ("add", "sub", "mul", "div", "squared", "root")
"""The operations of table 1, in its order."""

_SPLITS = ("interpolation", "extrapolation")
_LARGEST, _GOOD = 999, 1.0
"""Scores above the first are written as such, as in the paper; those below the other count."""


@kind("table of scores")
def scores(context: Context) -> Product:
    """Write and draw median and best score, and how many are below 1, by operation and unit."""
    needed = ("name", "step", "operation", *(f"score.{split}" for split in _SPLITS))
    tables = context.exported(needed)
    cells = [cell for model, table in tables.items() for cell in summed_up(model, table)]
    figure, axes = style.subplots((18.0, 10.5))
    _draw_scores(axes, cells, [*tables])
    runs = style.ascending(cell["runs"] for cell in cells if cell["runs"])
    return context.plotted(
        figure,
        pd.DataFrame(cells),
        f"Error in percent of that of untrained networks: median [best] of {runs} runs, and how "
        f"many score below {_GOOD:g}.",
        text=_latex_of_scores(cells, [*tables], context.figure.key),
        side="scores",
    )


def summed_up(model: str, table: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Return a cell of every operation and split, empty without runs."""
    cells: list[dict[str, Any]] = []
    for operation in TABLE_1:
        own = None if table is None else last_rows(table.loc[table["operation"] == operation])
        for split in _SPLITS:
            scores = _finite(own, f"score.{split}")
            below = {"below": int((scores < _GOOD).to_numpy().sum())}
            row = {"operation": operation, "model": model, "split": split}
            cells.append(row | _summary(scores) | below)
    return cells


def score_text(score: float) -> str:
    """Return a score with two significant digits, as `> 999` where it is larger."""
    if math.isnan(score):
        return "--"
    if score > _LARGEST:
        return f"> {_LARGEST}"
    if score >= 99.5:
        return f"{score:.0f}"
    return "< 0.001" if 0 < score < 0.001 else f"{score:.2g}"


def _draw_scores(axes: Axes, cells: list[dict[str, Any]], models: list[str]) -> None:
    """Draw a cell for each operation, unit and split, darker for higher medians."""
    axes.set_axis_off()
    axes.set(xlim=(-0.75, 2 * len(models)), ylim=(len(TABLE_1), -0.85))
    for place, model in enumerate(models):
        axes.text(2 * place + 1, -0.55, model, ha="center", fontweight="bold")
        for half, split in enumerate(_SPLITS):
            axes.text(2 * place + half + 0.5, -0.12, split, ha="center", fontsize=style.SMALL)
    for row, operation in enumerate(TABLE_1):
        axes.text(-0.12, row + 0.5, operation_label(operation), ha="right", va="center")
    for cell in cells:
        x = 2 * models.index(cell["model"]) + _SPLITS.index(cell["split"])
        y, median, texts, share = TABLE_1.index(cell["operation"]), cell["median"], [], math.nan
        if cell["runs"]:
            beside = f"[{score_text(cell['best'])}]  {cell['below']}/{cell['runs']}"
            texts = [(0.33, score_text(median), None), (0.68, beside, style.SMALL)]
            # White for scores up to 0.1, and a blue that is full at 1,000.
            share = min(1.0, (math.log10(max(median, 0.1)) + 1) / 4)
        _add_cell(axes, x, y, share, *texts)


def _latex_of_scores(cells: list[dict[str, Any]], models: list[str], experiment: str) -> str:
    """Return median, best and share below 1 of each cell."""
    by_place = {(c["operation"], c["model"], c["split"]): c for c in cells}
    lines = []
    for operation in TABLE_1:
        row = [by_place[operation, model, split] for model in models for split in _SPLITS]
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


@kind("error over length")
def counting_lengths(context: Context) -> Product:
    """Draw median and range of the mean absolute error, in a panel for each trained loss.

    A run without a number has diverged: none is worse.
    """
    read = context.present(("name", "step", "sequence.loss", "interpolation.length"))
    tables, rows = {label: last_rows(table) for label, table in read.items()}, []
    for label, table in tables.items():
        for match, column in matching(table, r"metric\.test\.extrapolation\.(\d+)\.mae"):
            for loss, own in table.groupby("sequence.loss"):
                errors = own[column].fillna(np.inf).to_numpy(float)
                low, median, high = np.quantile(errors, (0, 0.5, 1), method="nearest")
                row = {"loss": loss, "length": int(match[1]), "runs": len(errors)}
                row |= {"median": median, "lowest": low, "highest": high, "model": plain(label)}
                rows.append(row)
    side = pd.DataFrame(rows)
    titles = {"last": "Trained on the last step", "all": "Trained on every step"}
    losses = [loss for loss in titles if loss in set(side["loss"])]
    shown = context.looks(one.name for one in context.figure.series)
    figure, ((*grid,),) = style.subplots((18.0, 9.0), 1, len(losses), sharey=True, squeeze=False)
    trained = next(iter(tables.values()))["interpolation.length"].iloc[0]
    for axes, loss in zip(grid, losses, strict=True):
        axes.axvline(trained, **style.MARK)
        for model, look in shown.items():
            of_model = (side["loss"] == loss) & (side["model"] == plain(model))
            own = side.loc[of_model & np.isfinite(side["median"])].sort_values("length")
            # A range that overflows would leave no room for the rest.
            upper = own["highest"].where(np.isfinite(own["highest"]), own["median"])
            own = own.assign(lower=own["lowest"], upper=upper)
            style.ribbon(axes, own, "length", "median", look, alpha=0.13)
        axes.set(xscale="log", yscale="log", title=titles[loss], xlabel="Digits in a sequence")
    grid[0].set_ylabel("Mean absolute error")
    # Cells that explode would leave no room for the others: no more than 20 for each digit.
    grid[0].set_ylim(top=min(grid[0].get_ylim()[1], 20 * side["length"].max()))
    return context.plotted(
        figure,
        side,
        f"Median and range of {max(side['runs'])} seeds; lines end, or leave the axes, where the "
        "median overflows or nearly does. Dashed: the length of training.",
        handles=style.legend_handles(shown, missing=shown.keys() - tables.keys()),
    )


DIGITS = Path(__file__).with_name("ten_digits.png")
"""The ten images of MNIST, beside each other, that runs on MNIST are shown at their end."""

SEED = 0
"""Of the runs whose single answers are shown."""


def _ends(context: Context) -> dict[str, pd.DataFrame]:
    """Return the last row of every run, by model."""
    tables = context.present(("name", "step", "seed"))
    return {model: last_rows(table).sort_values("seed") for model, table in tables.items()}


def _of_seed(rows: Mapping[str, pd.DataFrame]) -> dict[str, pd.Series]:
    """Return the row of the seed that is shown, of the models that have it."""
    own = {model: table.loc[table["seed"] == SEED] for model, table in rows.items()}
    return {model: rows.iloc[0] for model, rows in own.items() if len(rows)}


def _cells(row: pd.Series, pattern: str) -> Iterator[tuple[re.Match[str], float]]:
    """Yield what the names of some columns of a run hold, and the values there."""
    for match, name in matching(row.index, pattern):
        yield match, float(row[name])


@kind("running counts")
def running_counts(context: Context) -> Product:
    """Draw images, and a table for two models: its count of every digit after each image."""
    tables = context.present(("name", "step", "seed", "sequence.loss"))
    every = {m: t.loc[t["sequence.loss"] == "all"] for m, t in tables.items()}
    ends = {m: last_rows(every[m]) for m in ("NAC", "LSTM") if m in every}
    answers = {model: _answers_of(row) for model, row in _of_seed(ends).items()}
    shape: Any = {"squeeze": False, "height_ratios": (1, 9), "sharex": "col"}
    figure, grid = style.subplots((18.0, 13.0), 2, max(1, len(answers)), **shape)
    with Image.open(DIGITS) as image:
        strip = np.hsplit(np.asarray(image), 10)
    places = zip(answers.items(), grid[0], grid[1], strict=False)
    for (model, (labels, counts)), above, axes in places:
        above.set_title(model, fontweight="bold")
        above.set_axis_off()
        above.set(ylim=(0.5, -0.5))
        for step, digit in enumerate(strip):
            box = (step - 0.46, step + 0.46, 0.5, -0.5)
            look = {"cmap": "gray_r", "aspect": "auto", "interpolation": "antialiased"}
            above.imshow(digit, extent=box, **look)
        _draw_counts(axes, counts, (labels == np.arange(10)[:, None]).cumsum(1))
    side = pd.DataFrame(
        {"model": plain(model), "step": step + 1, "digit": digit, "count": counts[digit, step]}
        for model, (_, counts) in answers.items()
        for digit, step in np.ndindex(*counts.shape)
    )
    return context.plotted(
        figure,
        side,
        "What cells tell of ten images of the test after each of them: how often each digit was "
        f"there. Orange: not the true count when rounded. Seed {SEED}, trained on every step.",
    )


def _answers_of(row: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the digits that a run was shown, and its counts of each digit (10, 10) after each."""
    labels, counts = np.zeros(10, int), np.zeros((10, 10))
    for match, value in _cells(row, r"metric\.test\.shown\.(\d+)\.(digit|\d+)"):
        if match[2] == "digit":
            labels[int(match[1]) - 1] = round(value)
        else:
            counts[int(match[2]), int(match[1]) - 1] = value
    return labels, counts


def _draw_counts(axes: Axes, counts: np.ndarray, truth: np.ndarray) -> None:
    axes.imshow(np.clip(counts, 0, None), cmap="Blues", vmin=0, vmax=2 * truth.max(), aspect="auto")
    axes.grid(visible=False)
    axes.set(xlim=(-0.5, 9.5), yticks=range(10), xlabel="Images seen", ylabel="Digit")
    axes.set_xticks(range(10), [str(step) for step in range(1, 11)])
    for digit, step in np.ndindex(*counts.shape):
        count, true = float(counts[digit, step]), int(truth[digit, step])
        right = np.isfinite(count) and round(count) == true
        if not right or true:
            look: Any = {} if right else {"color": _WRONG, "fontweight": "bold"}
            text = f"{count:.1f}".replace("-", "−")
            axes.text(step, digit, text, fontsize=style.SMALL, **style.MIDDLE, **look)


_OF_READING = {"train": "training", "valid": "validation", "test": "test"}


def _selected_rows(context: Context) -> dict[str, pd.DataFrame]:
    """Return the row of the lowest validation error of every run that reads numbers, by model."""
    columns = ("name", "step", "seed", *(f"metric.{split}.mae" for split in _OF_READING))
    found = {}
    for model, table in context.present(columns).items():
        best = table.sort_values(["metric.valid.mae", "step"], kind="stable")
        found[model] = best.drop_duplicates("name").sort_values("seed")
    return found


@kind("table of errors")
def reading_errors(context: Context) -> Product:
    """Write and draw median and best absolute error of each model on the three sets.

    The drawing has a row of cells for each model, darker for higher medians.
    """
    rows, models = _selected_rows(context), [one.name for one in context.figure.series]
    cells: list[dict[str, Any]] = [
        {"model": model, "split": split} | _summary(_finite(rows.get(model), f"metric.{split}.mae"))
        for model in models
        for split in _OF_READING
    ]
    figure, axes = style.subplots((13.0, 5.2))
    axes.set_axis_off()
    axes.set(xlim=(-1.1, len(_OF_READING)), ylim=(len(models), -0.4))
    for place, name in enumerate(_OF_READING.values()):
        axes.text(place + 0.5, -0.12, name, ha="center", fontweight="bold")
    lines = []
    for row, model in enumerate(models):
        axes.text(-0.06, row + 0.5, model, ha="right", va="center")
        own = cells[row * len(_OF_READING) :][: len(_OF_READING)]
        lines.append(tex_row(model, *map(_reading_error, own)).replace("∞", "$\\infty$"))
        for x, cell in enumerate(own):
            median = cell["median"]
            share = 0.0 if math.isnan(median) else min(1.0, math.log10(1 + median) / 3)
            texts = [(0.5, _reading_error(cell), None)] if cell["runs"] else []
            _add_cell(axes, x, row, share, *texts)
    caption = "Mean absolute error of numbers in words: median [best] of runs."
    text = tabular(caption, context.figure.key, "lrrr", [tex_row("", *_OF_READING.values())], lines)
    runs = style.ascending(cell["runs"] for cell in cells if cell["runs"])
    return context.plotted(
        figure,
        pd.DataFrame(cells),
        f"Mean absolute error, median [best] of {runs or 'no'} runs, each at the logged epoch of "
        "its lowest validation error.",
        text=text,
        side="errors",
    )


def _reading_error(cell: Mapping[Any, Any]) -> str:
    texts = []
    for error in (cell["median"], cell["best"]):
        known = f"{error:.3g}" if math.isfinite(error) else "∞"
        texts.append("--" if math.isnan(error) else known)
    return f"{texts[0]} [{texts[1]}]"


@kind("answers word by word")
def word_traces(context: Context) -> Product:
    """Draw the answers of each model behind every word of some test numbers."""
    rows = _of_seed(_selected_rows(context))
    rows = {model: row for model, row in rows.items() if "metric.trace.0.number" in row}
    models = context.looks(series.name for series in context.figure.series)
    figure, panels = style.subplots((21.0, 7.6), 1, 4, sharey=True)
    side = []
    for place, axes in enumerate(panels):
        for model, row in rows.items():
            traced = {m[1]: value for m, value in _cells(row, rf"metric\.trace\.{place}\.(\w+)")}
            number = round(traced["number"])
            text = translation.words_of(number, translation.PAPER)
            answers = [traced[str(k + 1)] for k in range(len(text))]
            axes.plot(range(len(text)), answers, **models[model].style, markersize=4)
            axes.axhline(number, **style.MARK)
            axes.set(title=str(number), xticks=range(len(text)))
            axes.set_xticklabels(text, rotation=45, ha="right", rotation_mode="anchor")
            columns = {"model": plain(model), "number": number, "word": text, "value": answers}
            side.append(pd.DataFrame(columns))
    panels[0].set_ylabel("Answer behind each word")
    return context.plotted(
        figure,
        side,
        f"The first {len(panels)} test numbers of seed {SEED}, which no model has seen; "
        "dashed: what is right behind the last word.",
        "Models are trained on their answer behind the last word alone.",
        handles=style.legend_handles(models, missing=models.keys() - rows.keys()),
    )


def _ranges(row: pd.Series) -> list[tuple[int, int]]:
    """Return the ranges of numbers of a run, the training range first."""
    ends = [int(end) for end in re.findall(r"\d+", f"{row['train.range']} {row['test.ranges']}")]
    return list(zip(ends[::2], ends[1::2], strict=True))


def _digits(low: int, high: int) -> str:
    """Return how a group of bars is called: by its digits, if its numbers have as many or fewer."""
    digits = len(str(high - 1))
    return f"{digits} digits" if high == 10**digits else f"[{low}, {high})"


@kind("bars of digits")
def digit_bars(context: Context) -> Product:
    """Draw shares of digits that are right: a group of bars per range, a bar per model."""
    tables = _ends(context)
    side, heights = [], {}
    for model, table in tables.items():
        ranges = _ranges(table.iloc[0])
        for place, (low, high) in enumerate(ranges):
            name = f"metric.test.{low}-{high}.digits" if place else "metric.valid.digits"
            shares = numbers(table, name).fillna(0.0)  # A run that diverged has nothing right.
            row = {"model": plain(model), "range": f"{low}-{high}", "mean": shares.mean()}
            side.append(row | {"deviation": shares.std(), "runs": len(shares)})
        own = pd.DataFrame(side[-len(ranges) :])
        heights[model] = (own["mean"], own["deviation"])
    figure, axes = style.subplots((14.0, 7.6))
    bars = style.grouped_bars(axes, heights, context.looks(tables), 0.8)
    groups = [_digits(*ends) for ends in ranges]
    groups[0] += "\n(as in training)"
    axes.set_xticks(range(len(groups)), groups)
    axes.set(ylim=(0, 1.05), ylabel="Share of digits that are right")
    return context.plotted(
        figure,
        pd.DataFrame(side),
        f"Mean of {max(row['runs'] for row in side)} seeds, plus and minus one standard deviation.",
        "The paper's numbers are not known.",
        handles=bars,
    )


@kind("program")
def program_traces(context: Context) -> Product:
    """Draw what each model would answer after every word of a program of each range."""
    found = _of_seed(_ends(context))
    first = next(iter(found.values()))
    ranges, colors = _ranges(first), context.looks(found)
    program, nesting = str(first["program"]), float(str(first["nesting"]))
    depth = program_evaluation.USUAL_NESTING[program] if math.isnan(nesting) else int(nesting)
    shown = program_evaluation.evaluated(program, depth, ranges[0], ranges[1:])
    figure, grid = style.subplots((18.0, 7.4), 1, len(ranges), squeeze=False)
    side = []
    for axes, (low, high), of_range in zip(grid.flat, ranges, shown, strict=True):
        place = program_evaluation.shown(of_range)
        text, result = program_evaluation.words(of_range, place), int(of_range.results[place])
        axes.axhline(result, **style.MARK | {"linewidth": 0.9})
        axes.set_title(f"{_digits(low, high)}, result {result}")
        names = [f"metric.trace.{low}-{high}.{step}" for step in range(len(text))]
        answers = {model: pd.Series(row[names]).to_numpy(float) for model, row in found.items()}
        for model, look in colors.items():
            axes.plot(range(len(text)), answers[model], **look.style, markersize=3)
            columns = {"model": plain(model), "word": text, "answer": answers[model]}
            columns |= {"range": f"{low}-{high}", "step": range(len(text)), "result": result}
            side.append(pd.DataFrame(columns))
        axes.set_xticks(range(len(text)), text, rotation=0 if len(text) <= 3 else 60)
        # Answers that are far off all numbers are cut off.
        known = [0, result, *(int(word) for word in text if word.isdigit())]
        every = np.concatenate([*answers.values()])
        near = [*known, *every[np.abs(every) <= 1.5 * max(map(abs, known))]]
        room = 0.08 * (max(near) - min(near))
        axes.set_ylim(min(near) - room, max(near) + room)
    return context.plotted(
        figure,
        side,
        f"What models would answer after each word, from left to right; seed {SEED}.",
        "Dashed: what the program computes. Answers far off are cut off.",
        handles=style.legend_handles(colors),
    )


@kind("arrivals")
def arrivals(context: Context) -> Product:
    """Draw reward and step of arrival against the step asked for, with intervals over seeds."""
    tables, rows = _ends(context), []
    for model, table in tables.items():
        for match, name in matching(table, r"metric\.test\.stimulus\.(\d+)\.(reward|arrival)"):
            values = table[name].dropna().to_numpy(float)
            if len(values):
                highest = float(table["max.reward"].iloc[0]) if match[2] == "reward" else math.inf
                found = student(values, highest=highest)
                row = {"stimulus": int(match[1]), "measure": match[2], "mean": found.mean}
                row |= {"lower": found.lower, "upper": found.upper, "runs": len(values)}
                rows.append(row | {"model": plain(model)})
    side, models = pd.DataFrame(rows), context.looks(tables)
    figure, grid = style.subplots((18.0, 8.2), 1, 2)
    trained = re.findall(r"\d+", str(next(iter(tables.values()))["stimulus.range"].iloc[0]))
    low, high = map(float, trained)
    panels = (("reward", "Mean reward"), ("arrival", "Mean step of arrival"))
    for axes, (measure, title) in zip(grid, panels, strict=True):
        axes.axvspan(low - 0.5, high + 0.5, color="0.92", linewidth=0, zorder=0)
        for step in (13, 19):  # where published results change
            axes.axvline(step, **style.MARK)
        of_panel = side.loc[side["measure"] == measure]
        for model, look in models.items():
            own = of_panel.loc[of_panel["model"] == plain(model)].sort_values("stimulus")
            own = own.fillna({end: own["mean"] for end in ("lower", "upper")})
            style.ribbon(axes, own, "stimulus", "mean", look, markersize=3)
        # Intervals of three seeds may be many times as long as the axis.
        means = of_panel["mean"]
        room = 0.06 * (means.max() - means.min())
        axes.set(xlabel="Step asked for, T", ylabel=title)
        axes.set_ylim(means.min() - room, means.max() + room)
    ends = (side["stimulus"].min(), side["stimulus"].max())
    grid[1].plot(ends, ends, color="0.35", linewidth=0.8)
    return context.plotted(
        figure,
        side,
        f"Mean of {max(map(len, tables.values()))} seeds with 95 % intervals by Student's t; "
        "arrivals of those that arrive.",
        "Grey: the range of training. Dashed: T = 13 and 19, up to which the notes call the "
        "baseline and the NAC good.",
        "Reward shape assumed.",
        handles=style.legend_handles(models),
    )


_ASKED = 16
"""The step that the drawn episodes ask for; four steps after it are shown."""


@kind("episode")
def episodes(context: Context) -> Product:
    """Draw an episode of each model as a strip of frames, from what a run logged at its end."""
    found = {model: _frames(row) for model, row in _of_seed(_ends(context)).items()}
    figure, grid = style.subplots((21.0, 5.6), len(found), _ASKED + 5, squeeze=False)
    figure.get_layout_engine().set(w_pad=0.01, wspace=0)  # pyright: ignore
    for row, (model, frames) in zip(grid, found.items(), strict=True):
        label: dict[str, Any] = {"rotation": 0, "ha": "right", "va": "center", "labelpad": 4}
        row[0].set_ylabel(model, fontsize=style.SMALL, **label)
        _draw_episode(row, frames)
    for step, axes in enumerate(grid[0]):
        look = {"weight": "bold", "color": _WRONG} if step == _ASKED else {}
        axes.set_title(str(step), fontsize=style.SMALL, pad=2, **look)
    side = pd.DataFrame(
        {"model": plain(model), "step": step, "player": player, "target": target}
        for model, frames in found.items()
        for step, (player, target) in enumerate(frames)
    )
    return context.plotted(
        figure,
        side,
        f"The player (grey) is told to step on the red square at step {_ASKED}, beyond "
        f"those of training; the most likely actions of seed {SEED}.",
    )


def _frames(row: pd.Series) -> list[tuple[int, int]]:
    """Return the cells of player and target in a run's episode from its start to its end."""
    cells = _cells(row, r"metric\.test\.episode\.(\d+)")
    numbers = {int(match[1]): value for match, value in cells if not math.isnan(value)}
    return [divmod(round(numbers[step]), gridworld_time.CELLS) for step in sorted(numbers)]


def _draw_episode(row: np.ndarray, frames: list[tuple[int, int]]) -> None:
    arrived = frames[-1][0] == frames[-1][1]
    for step, axes in enumerate(row):
        axes.set(xticks=[], yticks=[], frame_on=False, box_aspect=1)
        axes.grid(visible=False)
        if step < len(frames):
            axes.imshow(gridworld_time.picture(*frames[step]), interpolation="antialiased")
            if step == len(frames) - 1 and arrived:
                axes.set_xlabel("arrived", fontsize=style.SMALL, labelpad=1)
    if len(frames) > len(row):
        end, place = f"… at {len(frames) - 1}" if arrived else "… never", (1.1, 0.5)
        look = {"fontsize": style.SMALL, "va": "center"}
        row[-1].annotate(end, place, xycoords="axes fraction", **look)


_ACCURACY = "metric.test.acc"
_BARS = {"with a bias": "#8DB7D8", "without": "#CFE1F0"}


@kind("errors by last layer")
def heads(context: Context) -> Product:
    """Draw test errors of one network with different last layers, as bars and as a table.

    Files of the series have the keys of last layers as names; those with a bias end in `-b`.
    """
    ends: dict[str, pd.DataFrame] = {}
    for name, table in context.exported(("name", "step", "seed", _ACCURACY)).items():
        ends[name] = pd.DataFrame({"seed": [], "step": [], "error": []})
        if table is not None:
            rows = last_rows(table)
            rows = rows.loc[numbers(rows, _ACCURACY).notna()]
            whole = rows[["seed", "step"]].astype(int)
            ends[name] = whole.assign(error=100 * (1 - rows[_ACCURACY].to_numpy(float)))
    keys = {one.name: one.files[0].rpartition("/")[2] for one in context.figure.series}
    parts = [rows for rows in ends.values() if len(rows)]
    side = together({name: rows for name, rows in ends.items() if len(rows)})
    side = side.reindex(columns=["model", "seed", "error", "step"])
    texts = dict.fromkeys(ends, "no data")
    for name, rows in ends.items():
        if len(right := 100 - rows["error"].to_numpy()):
            texts[name] = f"{right.mean():.1f} [{right.min():.1f}, {right.max():.1f}]"
    figure, (bars, cells) = style.subplots((18.0, 8.6), 1, 2, width_ratios=(1.25, 1))
    _draw_bars(bars, ends, keys)
    cells.set_axis_off()
    cells.set(xlim=(0, 1), ylim=(len(ends) + 0.3, -1))
    cells.text(0, -0.4, "Last layer", va="center", weight="bold")
    cells.text(0.9, -0.4, "Accuracy, %", ha="right", va="center", weight="bold")
    for y, (name, text) in enumerate(texts.items()):
        cells.text(0, y + 0.4, name, va="center")
        cells.text(0.9, y + 0.4, text, ha="right", va="center")
        cells.axhline(y + 0.9, color="0.85", linewidth=0.5)
    caption = "Test accuracy in percent by last layer: mean and range."
    head, body = [tex_row("Last layer", "accuracy")], [tex_row(*row) for row in texts.items()]
    return context.plotted(
        figure,
        side,
        f"Mean of {style.ascending(map(len, parts))} seeds (dots: each of them) after "
        f"{style.ascending(side['step'], ',')} updates; how many the paper has is not known, the "
        "public network that this is has 100,000.",
        text=tabular(caption, context.figure.key, "lr", head, body),
    )


def _draw_bars(axes: Axes, ends: Mapping[str, pd.DataFrame], keys: Mapping[str, str]) -> None:
    """Draw a pair of bars for each kind of weight: with a bias, and without."""
    names = {key.removesuffix("-b"): n.removesuffix("+ b").rstrip() for n, key in keys.items()}
    for name, rows in ends.items():
        biased = keys[name].endswith("-b")
        at = list(names).index(keys[name].removesuffix("-b")) + (-0.19 if biased else 0.19)
        if len(rows):
            errors = rows["error"].tolist()
            axes.bar(at, np.mean(errors), 0.36, color=_BARS["with a bias" if biased else "without"])
            axes.plot([at] * len(errors), errors, "o", color="0.15", markersize=2.5)
    axes.set_xticks(range(len(names)), list(names.values()))
    axes.set(ylabel="Wrong counts in the test, %", ylim=(0, None))
    axes.grid(visible=False, axis="x")
    handles = [axes.bar(0, 0, color=color) for color in _BARS.values()]
    axes.legend(handles, [*_BARS], loc="upper right", frameon=False)


Units = Mapping[str, tuple[str, str]]
"""Key of a model -> its label and flags."""


def measured(
    key: str,
    title: str,
    paper: Paper,
    number: str,
    setting: Recipe,
    units: Units,
    *parts: Part,
    **more: Any,
) -> Experiment:
    """Return an experiment whose runs are measured; they and their tables are in its folder.

    parts: of its figure. more: other fields.
    """
    folder = replace(setting, prefix=f"{key}/")
    csv = key.replace("/", "-")
    models = tuple(
        folder.model(unit, label, text, csv=f"{csv}/{unit}")
        for unit, (label, text) in units.items()
    )
    more = {"parameter": "layer.type", "criterion": MEASURED} | more
    return Experiment(key, title, paper, (number,), models, drawn(*parts) if parts else (), **more)


def layers(*names: str) -> dict[str, tuple[str, str]]:
    return {name.lower(): (name, f"--layer-type {name}") for name in names}


_mean = partial(Measure, typical="mean")
_higher = partial(Measure, typical="mean", lower=False)

_ACTIVATIONS = (
    "Hardtanh Sigmoid ReLU6 Tanh Tanhshrink Hardshrink LeakyReLU Softshrink Softsign Threshold "
    "ReLU PReLU Softplus ELU SELU"
)


def _table_1(half: str, title: str, rate: int, setting: Recipe, units: Units, note: str):
    key, title = f"nalu/table1-{half}", f"Six operations on sums over {title}"
    setting = replace(setting, variants=operations(" ".join(TABLE_1)))
    own = (key, title, TRASK_2018, f"Table 1, {half}", setting, units, Part(scores))
    splits = ("extrapolation", "interpolation")
    measures = tuple(Measure(f"score.{one}", f"score, {one}", below=1.0) for one in splits)
    note = (
        "Scores are mean squared errors in percent of those of untrained networks; the paper does "
        "not say which error it scores, nor optimiser, rate, length, widths, ranges and seeds: "
        f"here {note}"
    )
    return measured(*own, parameter="operation", measures=measures, rate=rate, note=note)


def _table_2(task: str, title: str, slower: tuple[str, ...], why: str, *more: Part):
    """Return an experiment on sequences of images; `slower` cells learn at a rate of 0.003."""
    cells = layers("LSTM", "GRU", "RNN-tanh", "RNN-ReLU", "NAC")
    cells["nalu"] = ("NALU", "--layer-type NALU --nalu-init truncated")
    flags = f"--task {task} --digit-source mnist --batch-size 16 --max-epochs 5"
    setting = Recipe("mnist_counting", flags, range(3), Resources(30), steps_per_epoch=344)
    setting = replace(setting, variants=variants("--sequence-loss", "last all"))
    rates = {name: "3e-3" if name in slower else "1e-2" for name in cells}
    units = {
        name: (label, f"{text} --learning-rate {rates[name]}")
        for name, (label, text) in cells.items()
    }
    own = (f"nalu/table2-{task}", title, TRASK_2018, f"Table 2, {task}", setting, units)
    tested = "metric.test.extrapolation"
    measures = (
        *(Measure(f"{tested}.{n}.mae", f"error of {n:,} digits") for n in (10, 100, 1000)),
        Measure(f"{tested}.1.mae", "error of a digit"),
        Measure(f"{tested}.1.acc", "accuracy of a digit", lower=False),
        Measure("metric.valid.mse", "squared error, validation"),
        Measure("metric.test.shown.*", "shown digits, *"),
    )
    note = (
        "Five epochs of MNIST, 1,720 updates of 16 sequences: runs still improve at the end. The "
        "paper does not say optimiser, rate, batch, length and sizes. What is due after the last "
        "digit is read as a loss of the last step (last); trained on what is true at every step "
        f"(all), cells learn sooner. {why} NALUs start near zero (--nalu-init truncated), as they "
        "overflow from their usual start."
    )
    judged: Any = {"parameter": "sequence.loss", "measures": measures, "rate": 40, "note": note}
    return measured(*own, Part(counting_lengths), *more, **judged)


def _programs(kind: str, title: str, number: str, note: str = ""):
    flags = f"--program {kind} --max-iterations 10000"
    setting = Recipe("program_evaluation", flags, range(3), Resources(60))
    tests = {
        "4 digits": "metric.test.1000-10000",
        "3 digits": "metric.test.100-1000",
        "2 digits": "metric.valid",
    }
    key = f"nalu/fig4-{kind}"
    title = f"Programs {title}: digits that are right, also of larger numbers"
    own = (key, title, TRASK_2018, number, setting, layers("LSTM", "UGRNN", "NAC", "NALU"))
    measures = (
        *(_higher(f"{test}.digits", f"digits right, {size}") for size, test in tests.items()),
        *(Measure(f"{test}.relative", f"relative error, {size}") for size, test in tests.items()),
        Measure("metric.trace.*", "answer *"),
    )
    note = (
        "The paper does not say its sizes, rates and lengths; its differentiable neural computer "
        "is left out. Shares of digits are harsh: an error of one in the last place costs a digit "
        f"or more.{note}"
    )
    parts = (Part(digit_bars), Part(program_traces, "{key}_program"))
    return measured(*own, *parts, measures=measures, rate=200, note=note)


_STEPS = 16_000
_HEADS = {
    f"{layer.lower()}{'-b' * bias}": (
        f"{label}{' + b' * bias}",
        f"--layer-type {layer}{'' if bias else ' --no-head-bias'}",
    )
    for layer, label in (
        ("linear", "W x"),
        ("sigmoid", "σ(W) x"),
        ("tanh", "tanh(W) x"),
        ("NAC", "NAC"),
    )
    for bias in (True, False)
}

# fmt: off
EXPERIMENTS = (
    measured(
        "nalu/fig1", "Identity by a scalar autoencoder: the error beyond the range of training",
        TRASK_2018, "Figure 1",
        Recipe("identity_autoencoder", "--max-iterations 10000", range(100), Resources(15)),
        layers(*_ACTIVATIONS.split(), "linear", "NAC", "NALU"),
        Part(extrapolations, experiment="nalu/fig1"),
        measures=(_mean("abs.error.*", "error at x = *"),
                  _mean("metric.test.extrapolation", "mean error outside"),
                  _mean("metric.valid.interpolation", "mean error inside")),
        note="The paper does not say its optimiser, rate and sampling: here Adam at 0.01 on the "
        "whole numbers from -5 to 5. Linear, NAC and NALU are not in the paper's figure. Its "
        "numbers were read off the figure, whose colours repeat: three pairs of lines were told "
        "apart by shape."),
    _table_1(
        "static", "a vector, relative to untrained networks", 5000,
        Recipe("simple_function_static",
                "--extrapolation-rule exceed --random-models 100 --max-iterations 20000",
                range(10), Resources(15)),
        {"relu6": ("Relu6", "--layer-type ReLU6"), "linear": ("None", "--layer-type linear"),
         **layers("NAC", "NALU")},
        "100 untrained Relu6 networks, 100 inputs from U[1,2], U[2,6] beyond, Adam at 0.001. Relu6 "
        "networks on products and squares are still falling at the end."),
    _table_1(
        "recurrent", "ten steps, tested on 1,000, relative to untrained LSTMs", 1000,
        Recipe("simple_function_recurrent",
                "--input-range [0,1] --subset-ratio 0.25 --random-models 10 --learning-rate 1e-2 "
                "--clip-grad-norm 1 --max-iterations 3000",
                range(10), Resources(30)),
        {**layers("LSTM"), "relu": ("ReLU", "--layer-type RNN-ReLU"), **layers("NAC", "NALU")},
        "10 untrained LSTMs, ten inputs from U[0,1) a step, Adam at 0.01. An error that overflows "
        "has the score infinity. NALUs have not settled at the end."),
    _table_2(
        "count", "How many of each digit a sequence of images has",
        ("lstm", "rnn-tanh", "rnn-relu"),
        "Adam at 0.01; at 0.003 for LSTMs, which do not learn at 0.01, and for RNNs.",
        Part(running_counts, "{key}_digits")),
    _table_2("sum", "The sum of the digits of a sequence of images", (), "Adam at 0.01."),
    measured(
        "nalu/table3", "Numbers in words: the error of an LSTM with three heads",
        TRASK_2018, "Table 3",
        Recipe("number_translation",
               "--number-range paper --head final --embedding-size 32 --hidden-size 128 "
               "--learning-rate 3e-3 --clip-grad-norm 10 --max-epochs 3000",
               range(5), Resources(30), steps_per_epoch=3),
        {"linear": ("LSTM", "--layer-type linear"),
         "nac": ("LSTM + NAC", "--layer-type NAC"),
         "nalu": ("LSTM + NALU", "--layer-type NALU")},
        Part(reading_errors), Part(word_traces, "{key}_trace"),
        measures=(Measure("metric.test.mae", "mean absolute error, test"),
                  Measure("metric.valid.mae", "mean absolute error, validation"),
                  Measure("metric.train.mae", "mean absolute error, training"),
                  Measure("metric.trace.*", "trace *")),
        rate=200, selected_by="metric.valid.mae",
        note="Of each run, the logged epoch of the lowest validation error. The paper does not say "
        "its optimiser, rate and length, and its sizes are quoted from memory only: here 32 for a "
        "word, 128 for the LSTM, Adam at 0.003 and 3,000 epochs. A NAC adds up outputs of the LSTM "
        "between -1 and 1: none of width 128 answers more than 128."),
    _programs("addition", "that add two numbers", "Programs, addition",
              " That sums are in its supplement could not be checked."),
    _programs("programs", "of two operations, +, - or if", "Figure 4"),
    measured(
        "nalu/fig5",
        "Tracking time in a grid world: arriving at a given step, beyond those of training",
        TRASK_2018, "Figure 5",
        Recipe("gridworld_time", "--max-iterations 3000", range(3), Resources(60)),
        {**layers("LSTM"),
         "nac-feedforward": ("NAC, feed-forward", "--layer-type NAC --nac-wiring feedforward"),
         "nac": ("NAC, recurrent", "--layer-type NAC"),
         "nalu": ("NALU, recurrent", "--layer-type NALU")},
        Part(arrivals), Part(episodes, "{key}_episode"),
        measures=(_higher("metric.test.beyond", "mean reward, T = 13 to 25"),
                  _higher("metric.test.within", "mean reward, T = 5 to 12"),
                  _higher("metric.train.reward", "reward in training"),
                  Measure("metric.test.episode.*", "frame at step *"),
                  _higher("metric.test.stimulus.*", "test of T = *")),
        rate=100,
        note="Reward shape assumed: an arrival at step t pays 10 - |T - t|, none pays 0; the paper "
        "does not say it. An advantage actor-critic on planes of cells stands in for A3C on "
        "pixels. How the NAC is wired is not published: both readings are trained. NALU is not in "
        "the paper's figure."),
    measured(
        "nalu/table4", "Even digits of a picture, counted by one network with eight last layers",
        TRASK_2018, "Table 4",
        Recipe("even_digit_count", f"--digit-source mnist --max-iterations {_STEPS}",
               range(3), Resources(30)),
        _HEADS,
        Part(heads),
        measures=(_higher("metric.test.acc", "test accuracy"),
                  _mean("metric.test.rmse", "root of the mean squared error"),
                  _higher("metric.valid.acc", "validation accuracy")),
        rate=40,
        note=f"{_STEPS:,} updates at a rate of 0.001; the public repository whose pictures and "
        "network these are has 100,000 at 0.0001, and how long the paper trains is not known. That "
        "its table 4 is about these pictures is an inference."),
)
