"""Error over the input, a small panel for each model: what happens beyond the training range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from stable_nalu.paper.published import PublishedMeasure, published_measures
from stable_nalu.result.run_parser import CURVE_COLUMNS

from ..decoration import SMALL, footnote
from ..entry import Context, Drawn, Part, Size
from ..source import read_csv
from ..style import MISSING, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _THEIRS = "#0072B2", "#D55E00"
_BY_SHAPE = "its colours repeat, so that three pairs of its lines were told apart by their shape"


@dataclass(frozen=True)
class Extrapolations(Part):
    """Absolute errors of many runs over the input: mean, quartiles, and published points.

    experiment: whose published numbers are marked. highest: the upper end of the axis.
    """

    KIND = "error over input"

    experiment: str
    columns: int = 6
    highest: float = 20.0
    size: Size = (18.0, 11.5)

    def drawn(self, context: Context) -> Drawn:
        """Read the curves of every model and draw a panel of each."""
        tables = context.tables(lambda path, _: read_csv(path, ("name", "step", "seed")))
        known = published_measures(self.experiment)
        figure = new_figure(self.size)
        rows = -(-len(tables) // self.columns)
        grid = figure.subplots(rows, self.columns, sharex=True, sharey=True, squeeze=False)
        side, ranges, runs = [], set(), set()
        for axes, (model, table) in zip(grid.flat, tables.items(), strict=False):
            axes.set_title(model, pad=3)
            if table is None:
                axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center", color=MISSING)
                continue
            curve, of_training = curves(table), str(table["train.range"].iloc[0])
            low, high = map(float, of_training.split())
            axes.axvspan(low, high, color="0.92", linewidth=0, zorder=0)
            draw_curve(axes, curve)
            mark_published(axes, [one for one in known if one.model == model.lower()])
            ranges.add(f"[{low:g}, {high:g}]")
            runs.add(int(curve["runs"].to_numpy().max()))
            side.append(curve.assign(model=model))
        for axes in list(grid.flat)[len(tables) :]:
            axes.set_axis_off()
        grid[0][0].set_ylim(0, self.highest)
        for below in grid[-1]:
            below.set_xlabel("x")
        for beside in grid[:, 0]:
            beside.set_ylabel("Absolute error")
        footnote(
            figure,
            f"Mean (line) and quartiles (band) of {max(runs)} models each; means of those whose "
            f"error is finite. Number: the mean at the right end.",
            f"Grey: the range of training, {' or '.join(sorted(ranges))}.",
            f"Rings: the paper, {known[0].standing}; {_BY_SHAPE}." if known else "",
        )
        return figure, {f"{self.stem}_plot_data": pd.concat(side, ignore_index=True)}


def curves(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean and quartiles of the error at every input, over the last rows of all runs."""
    names = [name for name in table if str(name).startswith(CURVE_COLUMNS)]
    ends = table.sort_values("step").drop_duplicates("name", keep="last")
    rows = []
    for name in names:
        errors = pd.Series(pd.to_numeric(ends[name], errors="coerce"))
        row = {"x": float(str(name).removeprefix(CURVE_COLUMNS)), "mean": errors.mean()}
        quartiles = {"lower": errors.quantile(0.25), "upper": errors.quantile(0.75)}
        rows.append(row | quartiles | {"runs": errors.count()})
    return pd.DataFrame(rows).sort_values("x", ignore_index=True)


def draw_curve(axes: Axes, curve: pd.DataFrame) -> None:
    """Draw mean and quartiles."""
    axes.fill_between(curve["x"], curve["lower"], curve["upper"], color=_OURS, alpha=0.25, lw=0)
    axes.plot(curve["x"], curve["mean"], color=_OURS)
    last = curve["mean"].iloc[-1]
    axes.text(
        0.5, 0.93, f"{last:.2g}", transform=axes.transAxes, ha="center", va="top",
        fontsize=SMALL, color=_OURS, bbox={"facecolor": "1", "edgecolor": "none", "pad": 1},
    )  # fmt: skip


def mark_published(axes: Axes, known: list[PublishedMeasure]) -> None:
    """Draw a ring at every published point of a model."""
    points = [
        (float(one.measure.removeprefix(CURVE_COLUMNS)), one.number)
        for one in known
        if one.measure.startswith(CURVE_COLUMNS) and one.number is not None
    ]
    if points:
        axes.plot(
            *zip(*points, strict=True), linestyle="none", marker="o", markersize=5,
            markerfacecolor="none", markeredgecolor=_THEIRS, clip_on=False,
        )  # fmt: skip
