"""Readers of programs: digits that are right, by the size of the numbers, and one program each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stable_nalu.dataset.programs import USUAL_NESTING, evaluated, shown, words
from stable_nalu.statistics.names import plain

from ..decoration import HATCHES, footnote, legend, patch_legend
from ..entry import Context, Drawn, Part, Size
from ..kinds.arrivals import last_rows
from ..style import looks, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH = 0.8


def _ranges(table: pd.DataFrame) -> list[tuple[int, int]]:
    """Return the ranges of numbers of a table's runs, that of training first."""
    text = f"{table['train.range'].iloc[0]} {table['test.ranges'].iloc[0]}"
    ends = [int(end) for end in re.findall(r"\d+", text)]
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
        tables = {name: t for name, t in last_rows(context).items() if t is not None}
        colors = looks(list(tables), context.palette)
        figure = new_figure(self.size)
        axes = figure.add_subplot()
        side = pd.DataFrame(
            {"model": plain(model), "range": f"{low}-{high}", **_shares(table, place, low, high)}
            for model, table in tables.items()
            for place, (low, high) in enumerate(_ranges(table))
        )
        names = list(dict.fromkeys(side["range"]))
        each = _WIDTH / len(tables)
        entries = {}
        for place, (model, look) in enumerate(colors.items()):
            own = side.loc[side["model"] == plain(model)].set_index("range").reindex(names)
            x = np.arange(len(names)) + (place + 0.5) * each - _WIDTH / 2
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
        found = {}
        for model, table in last_rows(context).items():
            if table is not None and self.seed in table["seed"].to_list():
                found[model] = table.loc[table["seed"] == self.seed]
        first = next(iter(found.values()))
        ranges = _ranges(first)
        programs = _programs(first, ranges)
        colors = looks(list(found), context.palette)
        figure = new_figure(self.size)
        side = []
        for axes, (low, high), (text, result) in zip(
            figure.subplots(1, len(ranges), squeeze=False).flat, ranges, programs, strict=True
        ):
            axes.axhline(result, color="0.35", linewidth=0.9, linestyle=(0, (4, 2)))
            axes.set_title(f"{_digits(low, high)}, result {result}")
            drawn = []
            for model, look in colors.items():
                names = [f"metric.trace.{low}-{high}.{step}" for step in range(len(text))]
                answers = found[model][names].iloc[0].to_numpy(float)
                axes.plot(range(len(text)), answers, **look.style, markersize=3)
                drawn.append(
                    pd.DataFrame({"model": plain(model), "word": text, "answer": answers}).assign(
                        range=f"{low}-{high}", step=range(len(text)), result=result
                    )
                )
            _frame(axes, text, result, np.concatenate([own["answer"] for own in drawn]))
            side += drawn
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
    shown = [*numbers, *answers[np.abs(answers) <= far]]
    room = 0.08 * (max(shown) - min(shown))
    axes.set_ylim(min(shown) - room, max(shown) + room)


def _programs(table: pd.DataFrame, ranges: list[tuple[int, int]]) -> list[tuple[list[str], int]]:
    """Return words and result of the programs that runs of a table have logged."""
    kind = str(table["program"].iloc[0])
    nesting = pd.Series(pd.to_numeric(table["nesting"], errors="coerce")).iloc[0]
    found = evaluated(
        kind, int(nesting) if nesting > 0 else USUAL_NESTING[kind], ranges[0], ranges[1:]
    )
    return [(words(p, shown(p)), int(p.results[shown(p)])) for p in found]
