"""What single networks answer: word by word, image by image, step by step."""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stable_nalu.base.script import plain
from stable_nalu.figure.drawing import kind
from stable_nalu.figure.entry import Context, Product, last_rows, matching, numbers
from stable_nalu.figure.style import MARK, SMALL, grouped_bars, legend_handles, ribbon, subplots
from stable_nalu.statistics.intervals import student

from .nalu_tables import selected_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIGITS = Path(__file__).with_name("ten_digits.png")
"""The ten images of MNIST, beside each other, that runs on MNIST are shown at their end."""

SEED = 0
"""Of the runs whose single answers are shown."""

_WRONG = "#D55E00"


def _ends(context: Context) -> dict[str, pd.DataFrame]:
    """Return the last row of every run, by model."""
    tables = context.present(("name", "step", "seed"))
    return {model: last_rows(table).sort_values("seed") for model, table in tables.items()}


def _of_seed(rows: Mapping[str, pd.DataFrame]) -> dict[str, pd.Series]:
    """Return the row of the seed that is shown, of the models that have it."""
    return {
        model: own.iloc[0]
        for model, table in rows.items()
        if len(own := table.loc[table["seed"] == SEED])
    }


def _cells(row: pd.Series, pattern: str) -> Iterator[tuple[re.Match[str], float]]:
    """Yield what the names of some columns of a run hold, and the values there."""
    for name, value in row.items():
        if match := re.fullmatch(pattern, str(name)):
            yield match, float(value)


def _ranges(row: pd.Series) -> list[tuple[int, int]]:
    """Return the ranges of numbers of a run, that of training first."""
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
    figure, axes = subplots((14.0, 7.6))
    side = pd.DataFrame(
        {"model": plain(model), "range": f"{low}-{high}", **_shares(table, place, low, high)}
        for model, table in tables.items()
        for place, (low, high) in enumerate(_ranges(table.iloc[0]))
    )
    names = list(dict.fromkeys(side["range"]))
    own = {m: side.loc[side["model"] == plain(m)].set_index("range").reindex(names) for m in tables}
    heights = {model: (table["mean"], table["deviation"]) for model, table in own.items()}
    bars = grouped_bars(axes, heights, context.looks(tables), 0.8)
    groups = [_digits(*map(int, name.split("-"))) for name in names]
    groups[0] += "\n(as in training)"
    axes.set_xticks(range(len(names)), groups)
    axes.set(ylim=(0, 1.05), ylabel="Share of digits that are right")
    return context.plotted(
        figure,
        side,
        f"Mean of {max(side['runs'])} seeds, plus and minus one standard deviation.",
        "The paper's numbers are not known.",
        handles=bars,
    )


def _shares(table: pd.DataFrame, place: int, low: int, high: int) -> dict[str, float]:
    """Return mean and deviation over runs; a run that diverged has nothing right."""
    name = f"metric.test.{low}-{high}.digits" if place else "metric.valid.digits"
    shares = numbers(table, name).fillna(0.0).to_numpy(float)
    deviation = shares.std(ddof=1) if len(shares) > 1 else np.nan
    return {"mean": shares.mean(), "deviation": deviation, "runs": len(shares)}


@kind("program")
def program_traces(context: Context) -> Product:
    """Draw what each model would answer after every word of a program of each range."""
    found = _of_seed(_ends(context))
    first = next(iter(found.values()))
    ranges = _ranges(first)
    colors = context.looks(found)
    figure, grid = subplots((18.0, 7.4), 1, len(ranges), squeeze=False)
    side = []
    for axes, (low, high), (text, result) in zip(
        grid.flat, ranges, _programs(first, ranges), strict=True
    ):
        axes.axhline(result, **MARK | {"linewidth": 0.9})
        axes.set_title(f"{_digits(low, high)}, result {result}")
        names = [f"metric.trace.{low}-{high}.{step}" for step in range(len(text))]
        answers = {model: pd.Series(row[names]).to_numpy(float) for model, row in found.items()}
        for model, look in colors.items():
            axes.plot(range(len(text)), answers[model], **look.style, markersize=3)
            columns = {"model": plain(model), "word": text, "answer": answers[model]}
            columns |= {"range": f"{low}-{high}", "step": range(len(text)), "result": result}
            side.append(pd.DataFrame(columns))
        _frame(axes, text, result, np.concatenate([*answers.values()]))
    return context.plotted(
        figure,
        side,
        f"What models would answer after each word, from left to right; seed {SEED}.",
        "Dashed: what the program computes. Answers far off are cut off.",
        handles=legend_handles(colors),
    )


def _frame(axes: "Axes", text: list[str], result: int, answers: np.ndarray) -> None:
    """Write the words below the axis, and cut off answers that are far off all numbers."""
    axes.set_xticks(range(len(text)), text, rotation=0 if len(text) <= 3 else 60)
    numbers = [0, result, *(int(word) for word in text if word.isdigit())]
    far = 1.5 * max(map(abs, numbers))
    near = [*numbers, *answers[np.abs(answers) <= far]]
    room = 0.08 * (max(near) - min(near))
    axes.set_ylim(min(near) - room, max(near) + room)


def _programs(row: pd.Series, ranges: list[tuple[int, int]]) -> list[tuple[list[str], int]]:
    """Return words and result of the programs that a run has logged."""
    from stable_nalu.task.program_evaluation import USUAL_NESTING, evaluated, shown, words

    program = str(row["program"])
    nesting = float(str(row["nesting"]))
    depth = USUAL_NESTING[program] if math.isnan(nesting) else int(nesting)
    found = evaluated(program, depth, ranges[0], ranges[1:])
    return [(words(p, shown(p)), int(p.results[shown(p)])) for p in found]


@kind("answers word by word")
def word_traces(context: Context) -> Product:
    """Draw the answers of each model behind every word of some test numbers."""
    from stable_nalu.task.number_translation import PAPER, words_of

    rows = _of_seed(selected_rows(context))
    rows = {model: row for model, row in rows.items() if "metric.trace.0.number" in row}
    models = context.looks(series.name for series in context.figure.series)
    figure, panels = subplots((21.0, 7.6), 1, 4, sharey=True)
    side = []
    for place, axes in enumerate(panels):
        for model, row in rows.items():
            traced = {m[1]: value for m, value in _cells(row, rf"metric\.trace\.{place}\.(\w+)")}
            number = round(traced["number"])
            text = words_of(number, PAPER)
            answers = [traced[str(k + 1)] for k in range(len(text))]
            axes.plot(range(len(text)), answers, **models[model].style, markersize=4)
            axes.axhline(number, **MARK)
            axes.set(title=str(number), xticks=range(len(text)))
            axes.set_xticklabels(text, rotation=45, ha="right", rotation_mode="anchor")
            side += [
                {"model": plain(model), "number": number, "word": word, "value": value}
                for word, value in zip(text, answers, strict=True)
            ]
    panels[0].set_ylabel("Answer behind each word")
    return context.plotted(
        figure,
        pd.DataFrame(side),
        f"The first {len(panels)} test numbers of seed {SEED}, which no model has seen; "
        "dashed: what is right behind the last word.",
        "Models are trained on their answer behind the last word alone.",
        handles=legend_handles(models, missing=models.keys() - rows.keys()),
    )


@kind("running counts")
def running_counts(context: Context, models: tuple[str, ...]) -> Product:
    """Draw images, and a table for each model: its count of every digit after each image.

    models: labels of series, whose runs are trained on every step.
    """
    from PIL import Image

    tables = context.present(("name", "step", "seed", "sequence.loss"))
    trained = {m: tables[m].loc[tables[m]["sequence.loss"] == "all"] for m in models if m in tables}
    ends = {model: last_rows(table) for model, table in trained.items()}
    answers = {model: _answers_of(row) for model, row in _of_seed(ends).items()}
    shape = (2, max(1, len(answers)))
    figure, grid = subplots((18.0, 13.0), *shape, squeeze=False, height_ratios=(1, 9), sharex="col")
    with Image.open(DIGITS) as image:
        strip = np.hsplit(np.asarray(image), 10)
    places = zip(answers.items(), grid[0], grid[1], strict=False)
    for (model, (labels, counts)), above, axes in places:
        above.set_title(model, fontweight="bold")
        above.set_axis_off()
        above.set(ylim=(0.5, -0.5))
        for step, digit in enumerate(strip):
            box = (step - 0.46, step + 0.46, 0.5, -0.5)
            above.imshow(
                digit, cmap="gray_r", extent=box, aspect="auto", interpolation="antialiased"
            )
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


def _draw_counts(axes: "Axes", counts: np.ndarray, truth: np.ndarray) -> None:
    """Draw a cell for each digit and step, darker for higher counts."""
    axes.imshow(np.clip(counts, 0, None), cmap="Blues", vmin=0, vmax=2 * truth.max(), aspect="auto")
    axes.grid(visible=False)
    axes.set(xlim=(-0.5, 9.5), yticks=range(10), xlabel="Images seen", ylabel="Digit")
    axes.set_xticks(range(10), [str(step) for step in range(1, 11)])
    for digit, step in np.ndindex(*counts.shape):
        count, true = float(counts[digit, step]), int(truth[digit, step])
        right = np.isfinite(count) and round(count) == true
        if right and not true:
            continue
        axes.text(
            step, digit, f"{count:.1f}".replace("-", "−"), ha="center", va="center",
            fontsize=SMALL, color="black" if right else _WRONG,
            fontweight="normal" if right else "bold",
        )  # fmt: skip


@kind("arrivals")
def arrivals(context: Context, marks: tuple[int, ...]) -> Product:
    """Draw reward and step of arrival against the step asked for, with intervals over seeds.

    marks: steps at which published results change.
    """
    tables = _ends(context)
    models = context.looks(tables)
    figure, grid = subplots((18.0, 8.2), 1, 2)
    side = pd.DataFrame(
        row | {"model": plain(model)} for model, table in tables.items() for row in _rewards(table)
    )
    trained = re.findall(r"\d+", str(next(iter(tables.values()))["stimulus.range"].iloc[0]))
    low, high = map(float, trained)
    panels = (("reward", "Mean reward"), ("arrival", "Mean step of arrival"))
    for axes, (measure, title) in zip(grid, panels, strict=True):
        axes.axvspan(low - 0.5, high + 0.5, color="0.92", linewidth=0, zorder=0)
        for step in marks:
            axes.axvline(step, **MARK)
        for model, look in models.items():
            own = side.loc[(side["model"] == plain(model)) & (side["measure"] == measure)]
            own = own.sort_values("stimulus")
            own = own.fillna({end: own["mean"] for end in ("lower", "upper")})
            ribbon(axes, own, "stimulus", "mean", look, markersize=3)
        # Intervals of three seeds may be many times as long as the axis.
        means = side.loc[side["measure"] == measure, "mean"]
        room = 0.06 * (means.max() - means.min())
        axes.set(xlabel="Step asked for, T", ylabel=title)
        axes.set_ylim(means.min() - room, means.max() + room)
    ends = sorted(side["stimulus"])
    grid[1].plot((ends[0], ends[-1]), (ends[0], ends[-1]), color="0.35", linewidth=0.8)
    return context.plotted(
        figure,
        side,
        f"Mean of {max(map(len, tables.values()))} seeds with 95 % intervals by Student's t; "
        "arrivals of those that arrive.",
        f"Grey: the range of training. Dashed: T = {' and '.join(map(str, marks))}, up to which "
        "the notes call the baseline and the NAC good.",
        "Reward shape assumed.",
        handles=legend_handles(models),
    )


def _rewards(table: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield mean and interval over seeds of every measure at every step asked for."""
    for match, name in matching(table, r"metric\.test\.stimulus\.(\d+)\.(reward|arrival)"):
        values = table[name].dropna().to_numpy(float)
        if len(values):
            highest = float(table["max.reward"].iloc[0]) if match[2] == "reward" else math.inf
            found = student(values, highest=highest)
            row = {"stimulus": int(match[1]), "measure": match[2], "mean": found.mean}
            yield row | {"lower": found.lower, "upper": found.upper, "runs": len(values)}


@kind("episode")
def episodes(context: Context, stimulus: int) -> Product:
    """Draw an episode of each model as a strip of frames, from what a run logged at its end.

    stimulus: the step asked for; four steps after it are shown.
    """
    found = {model: _frames(row) for model, row in _of_seed(_ends(context)).items()}
    columns = stimulus + 5
    figure, grid = subplots((21.0, 5.6), len(found), columns, squeeze=False)
    figure.get_layout_engine().set(w_pad=0.01, wspace=0)  # pyright: ignore
    for row, (model, frames) in zip(grid, found.items(), strict=True):
        row[0].set_ylabel(model, rotation=0, ha="right", va="center", fontsize=SMALL, labelpad=4)
        _draw_episode(row, frames)
    for step, axes in enumerate(grid[0]):
        asked = step == stimulus
        axes.set_title(
            str(step), fontsize=SMALL, pad=2, weight="bold" if asked else "normal",
            color=_WRONG if asked else "black",
        )  # fmt: skip
    side = pd.DataFrame(
        {"model": plain(model), "step": step, "player": player, "target": target}
        for model, frames in found.items()
        for step, (player, target) in enumerate(frames)
    )
    return context.plotted(
        figure,
        side,
        f"The player (grey) is told to step on the red square at step {stimulus}, beyond "
        f"those of training; the most likely actions of seed {SEED}.",
    )


def _frames(row: pd.Series) -> list[tuple[int, int]]:
    """Return the cells of player and target in a run's episode from its start to its end."""
    from stable_nalu.task.gridworld_time import CELLS

    cells = _cells(row, r"metric\.test\.episode\.(\d+)")
    numbers = {int(match[1]): value for match, value in cells if not math.isnan(value)}
    return [divmod(round(numbers[step]), CELLS) for step in sorted(numbers)]


def _draw_episode(row: np.ndarray, frames: list[tuple[int, int]]) -> None:
    """Draw frames beside each other, and say how the episode ends."""
    from stable_nalu.task.gridworld_time import picture

    arrived = frames[-1][0] == frames[-1][1]
    for step, axes in enumerate(row):
        axes.set(xticks=[], yticks=[], frame_on=False, box_aspect=1)
        axes.grid(visible=False)
        if step < len(frames):
            axes.imshow(picture(*frames[step]), interpolation="antialiased")
            if step == len(frames) - 1 and arrived:
                axes.set_xlabel("arrived", fontsize=SMALL, labelpad=1)
    if len(frames) > len(row):
        end = f"… at {len(frames) - 1}" if arrived else "… never"
        row[-1].annotate(end, (1.1, 0.5), xycoords="axes fraction", fontsize=SMALL, va="center")
