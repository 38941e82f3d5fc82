"""Players of the grid world who are told when to arrive: when they do, and one episode of each."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from stable_nalu.environment.worlds import CELLS, picture
from stable_nalu.statistics.intervals import student
from stable_nalu.statistics.names import plain

from ..decoration import SMALL, footnote, legend
from ..entry import Context, Drawn, Part, Size
from ..source import read_csv
from ..style import Look, looks, new_figure

_TESTED = re.compile(r"metric\.test\.stimulus\.(\d+)\.(reward|arrival)")
_EPISODE = re.compile(r"metric\.test\.episode\.(\d+)")
_PANELS = (("reward", "Mean reward"), ("arrival", "Mean step of arrival"))


def last_rows(context: Context) -> dict[str, pd.DataFrame | None]:
    """Return the last row of every run, by model."""

    def read(path, _):
        table = read_csv(path, ("name", "step", "seed")).sort_values("step", kind="stable")
        return table.drop_duplicates("name", keep="last").sort_values("seed")

    return context.tables(read)


@dataclass(frozen=True)
class Arrivals(Part):
    """Reward and step of arrival against the step that is asked for, with intervals over seeds.

    marks: steps at which published results change.
    """

    KIND = "arrivals"

    marks: tuple[int, ...] = ()
    size: Size = (18.0, 8.2)

    def drawn(self, context: Context) -> Drawn:
        """Read what each model did and draw both panels."""
        tables = {name: t for name, t in last_rows(context).items() if t is not None}
        shown = looks(list(tables), context.palette)
        figure = new_figure(self.size)
        grid = figure.subplots(1, 2)
        side = pd.DataFrame(
            row | {"model": plain(model)}
            for model, table in tables.items()
            for row in _estimates(table)
        )
        trained = _range_of_training(tables)
        for axes, (measure, title) in zip(grid, _PANELS, strict=True):
            axes.axvspan(*trained, color="0.92", linewidth=0, zorder=0)
            for mark in self.marks:
                axes.axvline(mark, color="0.35", linewidth=0.8, linestyle=(0, (4, 2)))
            for model, look in shown.items():
                own = side.loc[(side["model"] == plain(model)) & (side["measure"] == measure)]
                _draw(axes, own, look)
            # Intervals of three seeds may be many times as long as the axis.
            means = side.loc[side["measure"] == measure, "mean"]
            room = 0.06 * (means.max() - means.min())
            axes.set_ylim(means.min() - room, means.max() + room)
            axes.set_xlabel("Step asked for, T")
            axes.set_ylabel(title)
        ends = sorted(side["stimulus"])
        grid[1].plot((ends[0], ends[-1]), (ends[0], ends[-1]), color="0.35", linewidth=0.8)
        legend(figure, shown)
        runs = max(len(table) for table in tables.values())
        marks = " and ".join(map(str, self.marks))
        footnote(
            figure,
            f"Mean of {runs} seeds with 95 % intervals by Student's t; arrivals of those that "
            "arrive.",
            f"Grey: the range of training. Dashed: T = {marks}, up to which the notes call the "
            "baseline and the NAC good.",
            "Reward shape assumed.",
        )
        return figure, {f"{self.stem}_plot_data": side}


def _estimates(table: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield mean and interval over seeds of every measure at every step asked for."""
    for name in table:
        match = _TESTED.fullmatch(str(name))
        values = table[name].to_numpy(float) if match else np.empty(0)
        values = values[~np.isnan(values)]
        if match and len(values):
            highest = float(table["max.reward"].iloc[0]) if match[2] == "reward" else math.inf
            found = student(values, highest=highest)
            yield {
                "stimulus": int(match[1]),
                "measure": match[2],
                "mean": found.mean,
                "lower": found.lower,
                "upper": found.upper,
                "runs": len(values),
            }


def _range_of_training(tables: Mapping[str, pd.DataFrame]) -> tuple[float, float]:
    text = str(next(iter(tables.values()))["stimulus.range"].iloc[0])
    low, high = map(float, re.findall(r"\d+", text))
    return low - 0.5, high + 0.5


def _draw(axes, own: pd.DataFrame, look: Look) -> None:
    own = own.sort_values("stimulus")
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
        found = {}
        for model, table in last_rows(context).items():
            if table is not None and self.seed in table["seed"].to_list():
                found[model] = _frames(table.set_index("seed").loc[self.seed])
        columns = self.stimulus + self.behind + 1
        figure = new_figure(self.size)
        figure.get_layout_engine().set(w_pad=0.01, wspace=0)  # pyright: ignore
        grid = figure.subplots(len(found), columns, squeeze=False)
        for row, (model, frames) in zip(grid, found.items(), strict=True):
            row[0].set_ylabel(
                model, rotation=0, ha="right", va="center", fontsize=SMALL, labelpad=4
            )
            for step, axes in enumerate(row):
                axes.set(xticks=[], yticks=[], frame_on=False, box_aspect=1)
                axes.grid(visible=False)
                if step < len(frames):
                    axes.imshow(picture(*divmod(frames[step], CELLS)), interpolation="antialiased")
                    if step == len(frames) - 1 and _arrived(frames):
                        axes.set_xlabel("arrived", fontsize=SMALL, labelpad=1)
            end = f"at {len(frames) - 1}" if _arrived(frames) else "never"
            if len(frames) > columns:
                row[-1].annotate(
                    f"… {end}", (1.1, 0.5), xycoords="axes fraction", fontsize=SMALL, va="center"
                )
        for step, axes in enumerate(grid[0]):
            asked = step == self.stimulus
            axes.set_title(
                str(step), fontsize=SMALL, pad=2, weight="bold" if asked else "normal",
                color="#D55E00" if asked else "black",
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
    numbers: dict[int, float] = {}
    for name, value in row.items():
        match = _EPISODE.fullmatch(str(name))
        if match and not math.isnan(float(value)):
            numbers[int(match[1])] = float(value)
    return [round(numbers[step]) for step in sorted(numbers)]


def _arrived(frames: list[int]) -> bool:
    player, target = np.divmod(frames[-1], CELLS)
    return bool(player == target)
