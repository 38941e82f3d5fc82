"""What single networks answer: word by word, image by image, step by step."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stable_nalu.paper.drawing import Size
from stable_nalu.statistics.intervals import student
from stable_nalu.statistics.names import plain

from .decoration import HATCHES, SMALL, footnote, legend, patch_legend
from .entry import Context, Drawn, Part
from .source import last_rows
from .style import DASHED, Look, looks, new_figure
from .tables import selected_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIGITS = Path(__file__).with_name("ten_digits.png")
"""The ten images of MNIST, beside each other, that runs on MNIST are shown at their end."""

_WRONG = "#D55E00"


def _ends(context: Context) -> dict[str, pd.DataFrame]:
    """Return the last row of every run, by model."""
    tables = context.exported(("name", "step", "seed"))
    return {
        model: last_rows(table).sort_values("seed")
        for model, table in tables.items()
        if table is not None
    }


def _of_seed(rows: Mapping[str, pd.DataFrame], seed: int) -> dict[str, pd.Series]:
    """Return the row of one seed, of the models that have it."""
    return {
        model: table.set_index("seed").loc[seed]
        for model, table in rows.items()
        if seed in table["seed"].to_list()
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


@dataclass(frozen=True)
class DigitBars(Part):
    """Shares of digits that are right: a group of bars per range, a bar per model."""

    KIND = "bars of digits"

    size: Size = (14.0, 7.6)

    def drawn(self, context: Context) -> Drawn:
        """Read the last row of each run, and draw means and one standard deviation."""
        tables = _ends(context)
        figure = new_figure(self.size)
        axes = figure.add_subplot()
        side = pd.DataFrame(
            {"model": plain(model), "range": f"{low}-{high}", **_shares(table, place, low, high)}
            for model, table in tables.items()
            for place, (low, high) in enumerate(_ranges(table.iloc[0]))
        )
        names = list(dict.fromkeys(side["range"]))
        each = 0.8 / len(tables)
        entries = {}
        for place, (model, look) in enumerate(looks(list(tables), context.palette).items()):
            own = side.loc[side["model"] == plain(model)].set_index("range").reindex(names)
            x = np.arange(len(names)) + (place + 0.5) * each - 0.4
            hatch = HATCHES[place % len(HATCHES)]
            axes.bar(
                x, own["mean"], each, yerr=own["deviation"], color=look.color, hatch=hatch,
                edgecolor="white", linewidth=0.3, error_kw={"elinewidth": 0.9, "capsize": 2},
            )  # fmt: skip
            entries[model] = (look.color, hatch)
        groups = [_digits(*map(int, name.split("-"))) for name in names]
        groups[0] += "\n(as in training)"
        axes.set_xticks(range(len(names)), groups)
        axes.set_ylim(0, 1.05)
        axes.set_ylabel("Share of digits that are right")
        axes.grid(visible=False, axis="x")
        patch_legend(figure, entries)
        runs = int(side["runs"].to_numpy().max())
        note = f"Mean of {runs} seeds, plus and minus one standard deviation."
        footnote(figure, note, "The paper's numbers are not known.")
        return figure, {f"{self.stem}_plot_data": side}


def _shares(table: pd.DataFrame, place: int, low: int, high: int) -> dict[str, float]:
    """Return mean and deviation over runs; a run that diverged has nothing right."""
    name = f"metric.test.{low}-{high}.digits" if place else "metric.valid.digits"
    shares = pd.Series(pd.to_numeric(table[name], errors="coerce")).fillna(0.0).to_numpy(float)
    deviation = shares.std(ddof=1) if len(shares) > 1 else np.nan
    return {"mean": shares.mean(), "deviation": deviation, "runs": len(shares)}


@dataclass(frozen=True)
class ProgramTraces(Part):
    """What each model would answer after every word of a program, beside what it computes.

    seed: of the runs that are shown.
    """

    KIND = "program"

    seed: int = 0
    size: Size = (18.0, 7.4)

    def drawn(self, context: Context) -> Drawn:
        """Write the program of each range along an axis, with the answers above it."""
        found = _of_seed(_ends(context), self.seed)
        first = next(iter(found.values()))
        ranges = _ranges(first)
        colors = looks(list(found), context.palette)
        figure = new_figure(self.size)
        side = []
        for axes, (low, high), (text, result) in zip(
            figure.subplots(1, len(ranges), squeeze=False).flat,
            ranges,
            _programs(first, ranges),
            strict=True,
        ):
            axes.axhline(result, color="0.35", linewidth=0.9, linestyle=DASHED)
            axes.set_title(f"{_digits(low, high)}, result {result}")
            names = [f"metric.trace.{low}-{high}.{step}" for step in range(len(text))]
            answers = {model: row[names].to_numpy(float) for model, row in found.items()}
            for model, look in colors.items():
                axes.plot(range(len(text)), answers[model], **look.style, markersize=3)
                columns = {"model": plain(model), "word": text, "answer": answers[model]}
                columns |= {"range": f"{low}-{high}", "step": range(len(text)), "result": result}
                side.append(pd.DataFrame(columns))
            _frame(axes, text, result, np.concatenate([*answers.values()]))
        legend(figure, colors)
        footnote(
            figure,
            f"What models would answer after each word, from left to right; seed {self.seed}.",
            "Dashed: what the program computes. Answers far off are cut off.",
        )
        return figure, {f"{self.stem}_plot_data": pd.concat(side, ignore_index=True)}


def _frame(axes: Axes, text: list[str], result: int, answers: np.ndarray) -> None:
    """Write the words below the axis, and cut off answers that are far off all numbers."""
    axes.set_xticks(range(len(text)), text, rotation=0 if len(text) <= 3 else 60)
    numbers = [0, result, *(int(word) for word in text if word.isdigit())]
    far = 1.5 * max(map(abs, numbers))
    near = [*numbers, *answers[np.abs(answers) <= far]]
    room = 0.08 * (max(near) - min(near))
    axes.set_ylim(min(near) - room, max(near) + room)


def _programs(row: pd.Series, ranges: list[tuple[int, int]]) -> list[tuple[list[str], int]]:
    """Return words and result of the programs that a run has logged."""
    from stable_nalu.dataset.programs import USUAL_NESTING, evaluated, shown, words

    kind, nesting = str(row["program"]), pd.to_numeric(row["nesting"], errors="coerce")
    depth = int(nesting) if nesting > 0 else USUAL_NESTING[kind]
    found = evaluated(kind, depth, ranges[0], ranges[1:])
    return [(words(p, shown(p)), int(p.results[shown(p)])) for p in found]


@dataclass(frozen=True)
class Traces(Part):
    """Answers of each model behind every word of some test numbers, by the run of one seed."""

    KIND = "answers word by word"

    numbers: int = 4
    seed: int = 0
    size: Size = (21.0, 7.6)

    def drawn(self, context: Context) -> Drawn:
        """Draw a panel for each number."""
        from stable_nalu.dataset.number_translation import PAPER, words_of

        rows = _of_seed(selected_rows(context), self.seed)
        rows = {model: row for model, row in rows.items() if "metric.trace.0.number" in row}
        models = looks([series.name for series in context.series], context.palette)
        figure = new_figure(self.size)
        panels = figure.subplots(1, self.numbers, sharey=True)
        side = []
        for place, axes in enumerate(panels):
            for model, row in rows.items():
                number = round(float(row[f"metric.trace.{place}.number"]))
                text = words_of(number, PAPER)
                answers = [float(row[f"metric.trace.{place}.{k + 1}"]) for k in range(len(text))]
                axes.plot(range(len(text)), answers, **models[model].style, markersize=4)
                axes.axhline(number, color="0.35", linewidth=0.8, linestyle=DASHED)
                axes.set(title=str(number), xticks=range(len(text)))
                axes.set_xticklabels(text, rotation=45, ha="right", rotation_mode="anchor")
                side += [
                    {"model": plain(model), "number": number, "word": word, "value": value}
                    for word, value in zip(text, answers, strict=True)
                ]
        panels[0].set_ylabel("Answer behind each word")
        legend(figure, models, missing=models.keys() - rows.keys())
        footnote(
            figure,
            f"The first {self.numbers} test numbers of seed {self.seed}, which no model has seen; "
            "dashed: what is right behind the last word.",
            "Models are trained on their answer behind the last word alone.",
        )
        return figure, {f"{self.stem}_plot_data": pd.DataFrame(side)}


@dataclass(frozen=True)
class RunningCounts(Part):
    """The images, below them a table for each model: its count of every digit after each image.

    models: labels of series. seed, loss: of the run.
    """

    KIND = "running counts"

    models: tuple[str, ...]
    seed: int = 0
    loss: str = "all"
    size: Size = (18.0, 13.0)

    def drawn(self, context: Context) -> Drawn:
        """Read what one run of each model told, and draw it below the images."""
        from PIL import Image

        tables = context.exported(("name", "step", "seed", "sequence.loss"))
        told = {
            model: found
            for model in self.models
            if (found := self._told(tables.get(model))) is not None
        }
        figure = new_figure(self.size)
        grid = figure.subplots(
            2, max(1, len(told)), squeeze=False, height_ratios=(1, 9), sharex="col"
        )
        with Image.open(DIGITS) as image:
            strip = np.hsplit(np.asarray(image), 10)
        places = zip(told.items(), grid[0], grid[1], strict=False)
        for (model, (labels, counts)), above, axes in places:
            above.set_title(model, fontweight="bold")
            above.set_axis_off()
            above.set(ylim=(0.5, -0.5))
            for step, digit in enumerate(strip):
                box = (step - 0.46, step + 0.46, 0.5, -0.5)
                above.imshow(
                    digit, cmap="gray_r", extent=box, aspect="auto", interpolation="antialiased"
                )
            truth = (labels == np.arange(10)[:, None]).cumsum(1)
            _draw_counts(axes, counts, truth)
        footnote(
            figure,
            "What cells tell of ten images of the test after each of them: how often each digit "
            f"was there. Orange: not the true count when rounded. Seed {self.seed}, "
            + ("trained on every step." if self.loss == "all" else "trained on the last step."),
        )
        side = pd.DataFrame(
            {"model": plain(model), "step": step + 1, "digit": digit, "count": counts[digit, step]}
            for model, (_, counts) in told.items()
            for digit, step in np.ndindex(*counts.shape)
        )
        return figure, {f"{self.stem}_plot_data": side}

    def _told(self, table: pd.DataFrame | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the digits that were shown, and counts of each digit (10, 10) after each."""
        if table is None:
            return None
        own = table.loc[(table["seed"] == self.seed) & (table["sequence.loss"] == self.loss)]
        if own.empty:
            return None
        row = own.sort_values("step", kind="stable").iloc[-1]
        labels, counts = np.zeros(10, int), np.zeros((10, 10))
        for match, value in _cells(row, r"metric\.test\.shown\.(\d+)\.(digit|\d+)"):
            if match[2] == "digit":
                labels[int(match[1]) - 1] = round(value)
            else:
                counts[int(match[2]), int(match[1]) - 1] = value
        return labels, counts


def _draw_counts(axes: Axes, counts: np.ndarray, truth: np.ndarray) -> None:
    """Draw a cell for each digit and step, darker for higher counts."""
    axes.imshow(np.clip(counts, 0, None), cmap="Blues", vmin=0, vmax=2 * truth.max(), aspect="auto")
    axes.grid(visible=False)
    axes.set(xlim=(-0.5, 9.5), xticks=range(10), yticks=range(10), ylabel="Digit")
    axes.set_xticklabels([str(step) for step in range(1, 11)])
    axes.set_xlabel("Images seen")
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


@dataclass(frozen=True)
class Arrivals(Part):
    """Reward and step of arrival against the step that is asked for, with intervals over seeds.

    The players of a grid world are told when to arrive.

    marks: steps at which published results change.
    """

    KIND = "arrivals"

    marks: tuple[int, ...] = ()
    size: Size = (18.0, 8.2)

    def drawn(self, context: Context) -> Drawn:
        """Read what each model did and draw both panels."""
        tables = _ends(context)
        models = looks(list(tables), context.palette)
        figure = new_figure(self.size)
        grid = figure.subplots(1, 2)
        side = pd.DataFrame(
            row | {"model": plain(model)}
            for model, table in tables.items()
            for row in _estimates(table)
        )
        trained = re.findall(r"\d+", str(next(iter(tables.values()))["stimulus.range"].iloc[0]))
        low, high = map(float, trained)
        panels = (("reward", "Mean reward"), ("arrival", "Mean step of arrival"))
        for axes, (measure, title) in zip(grid, panels, strict=True):
            axes.axvspan(low - 0.5, high + 0.5, color="0.92", linewidth=0, zorder=0)
            for mark in self.marks:
                axes.axvline(mark, color="0.35", linewidth=0.8, linestyle=DASHED)
            for model, look in models.items():
                own = side.loc[(side["model"] == plain(model)) & (side["measure"] == measure)]
                _draw_estimates(axes, own.sort_values("stimulus"), look)
            # Intervals of three seeds may be many times as long as the axis.
            means = side.loc[side["measure"] == measure, "mean"]
            room = 0.06 * (means.max() - means.min())
            axes.set_ylim(means.min() - room, means.max() + room)
            axes.set_xlabel("Step asked for, T")
            axes.set_ylabel(title)
        ends = sorted(side["stimulus"])
        grid[1].plot((ends[0], ends[-1]), (ends[0], ends[-1]), color="0.35", linewidth=0.8)
        legend(figure, models)
        runs = max(len(table) for table in tables.values())
        footnote(
            figure,
            f"Mean of {runs} seeds with 95 % intervals by Student's t; arrivals of those that "
            "arrive.",
            f"Grey: the range of training. Dashed: T = {' and '.join(map(str, self.marks))}, up "
            "to which the notes call the baseline and the NAC good.",
            "Reward shape assumed.",
        )
        return figure, {f"{self.stem}_plot_data": side}


def _estimates(table: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield mean and interval over seeds of every measure at every step asked for."""
    for name in table:
        match = re.fullmatch(r"metric\.test\.stimulus\.(\d+)\.(reward|arrival)", str(name))
        values = table[name].to_numpy(float) if match else np.empty(0)
        values = values[~np.isnan(values)]
        if match and len(values):
            highest = float(table["max.reward"].iloc[0]) if match[2] == "reward" else math.inf
            found = student(values, highest=highest)
            row = {"stimulus": int(match[1]), "measure": match[2], "mean": found.mean}
            yield row | {"lower": found.lower, "upper": found.upper, "runs": len(values)}


def _draw_estimates(axes: Axes, own: pd.DataFrame, look: Look) -> None:
    lower, upper = (own[end].fillna(own["mean"]) for end in ("lower", "upper"))
    axes.fill_between(own["stimulus"], lower, upper, color=look.color, alpha=0.15, linewidth=0)
    axes.plot(own["stimulus"], own["mean"], **look.style, markersize=3)


@dataclass(frozen=True)
class Episodes(Part):
    """One episode of each model as a strip of frames, from what a run logged at its end.

    stimulus: the step asked for. behind: steps behind it that are shown. seed: of the run.
    """

    KIND = "episode"

    stimulus: int
    behind: int = 4
    seed: int = 0
    size: Size = (21.0, 5.6)

    def drawn(self, context: Context) -> Drawn:
        """Read the frames of each model and draw them in a row."""
        from stable_nalu.network.gridworld import CELLS, picture

        rows = _of_seed(_ends(context), self.seed)
        found = {model: _frames(row) for model, row in rows.items()}
        columns = self.stimulus + self.behind + 1
        figure = new_figure(self.size)
        figure.get_layout_engine().set(w_pad=0.01, wspace=0)  # pyright: ignore
        grid = figure.subplots(len(found), columns, squeeze=False)
        for row, (model, frames) in zip(grid, found.items(), strict=True):
            player, target = divmod(frames[-1], CELLS)
            arrived = player == target
            row[0].set_ylabel(
                model, rotation=0, ha="right", va="center", fontsize=SMALL, labelpad=4
            )
            for step, axes in enumerate(row):
                axes.set(xticks=[], yticks=[], frame_on=False, box_aspect=1)
                axes.grid(visible=False)
                if step < len(frames):
                    axes.imshow(picture(*divmod(frames[step], CELLS)), interpolation="antialiased")
                    if step == len(frames) - 1 and arrived:
                        axes.set_xlabel("arrived", fontsize=SMALL, labelpad=1)
            if len(frames) > columns:
                end = f"… at {len(frames) - 1}" if arrived else "… never"
                row[-1].annotate(
                    end, (1.1, 0.5), xycoords="axes fraction", fontsize=SMALL, va="center"
                )
        for step, axes in enumerate(grid[0]):
            asked = step == self.stimulus
            axes.set_title(
                str(step), fontsize=SMALL, pad=2, weight="bold" if asked else "normal",
                color=_WRONG if asked else "black",
            )  # fmt: skip
        footnote(
            figure,
            f"The player (grey) is told to step on the red square at step {self.stimulus}, beyond "
            f"those of training; the most likely actions of seed {self.seed}.",
        )
        side = pd.DataFrame(
            {"model": plain(model), "step": step, "player": frame // CELLS, "target": frame % CELLS}
            for model, frames in found.items()
            for step, frame in enumerate(frames)
        )
        return figure, {f"{self.stem}_plot_data": side}


def _frames(row: pd.Series) -> list[int]:
    """Return the frames of a run's episode from its start to its end."""
    cells = _cells(row, r"metric\.test\.episode\.(\d+)")
    numbers = {int(match[1]): value for match, value in cells if not math.isnan(value)}
    return [round(numbers[step]) for step in sorted(numbers)]
