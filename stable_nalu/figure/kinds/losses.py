"""The training error of every run over the iterations, with quartiles and published points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stable_nalu.paper.published import PublishedMeasure, published_measures

from ..decoration import footnote
from ..entry import Context, Drawn, Part, Size
from ..source import read_csv
from ..style import new_figure

_OURS, _THEIRS = "#0072B2", "#D55E00"
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Losses(Part):
    """Mean squared errors of many runs, so that trainings on more and fewer rows compare.

    experiment: whose published errors are marked. column: the error. half_sum: the loss that was
    trained, half the sum of squared errors over all rows. below: the loss of a run that arrives.
    """

    KIND = "loss over iterations"

    experiment: str
    column: str
    half_sum: str
    below: float
    size: Size = (14.0, 8.5)

    def drawn(self, context: Context) -> Drawn:
        """Read the runs of all files and draw them in one panel."""
        read = ("name", "step", "train.size", self.column, self.half_sum)
        tables = context.tables(lambda path, _: read_csv(path, read))
        rows = pd.concat([table for table in tables.values() if table is not None])
        curves = rows.pivot_table(index="step", columns="name", values=self.column)
        ends = rows.sort_values("step").drop_duplicates("name", keep="last")
        size, arrived = (
            int(rows["train.size"].iloc[0]),
            int((ends[self.half_sum] < self.below).to_numpy().sum()),
        )
        quartiles = curves.ffill().quantile(QUARTILES, axis=1).T
        known = [one for one in published_measures(self.experiment) if one.number is not None]
        figure = new_figure(self.size)
        axes = figure.add_subplot()
        axes.plot(curves.index, curves, color=_OURS, alpha=0.18, linewidth=0.5)
        for quartile, width in zip(QUARTILES, (1.2, 2.4, 1.2), strict=True):
            axes.plot(quartiles.index, quartiles[quartile], color=_OURS, linewidth=width)
        points = self._published(known)
        axes.plot(
            points["step"], points["error"], linestyle="none", marker="o",
            markersize=5, markerfacecolor="white", markeredgecolor=_THEIRS, zorder=4,
        )  # fmt: skip
        axes.axhline(2 * self.below / size, color="0.35", linewidth=0.8, linestyle="--")
        axes.set_yscale("log")
        axes.set_xlabel("Iteration")
        axes.set_ylabel("Mean squared error")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        footnote(
            figure,
            f"{curves.shape[1]} seeds (thin) on {size:,} rows, median and quartiles (thick).",
            f"Dashed: a loss of {self.below:g}, half the sum over all rows; {arrived} of "
            f"{curves.shape[1]} seeds end below it.",
            f"Rings: the one run shown, on 10,000 rows, {known[0].standing}." if known else "",
        )
        side = quartiles.set_axis([f"quartile.{q:g}" for q in QUARTILES], axis=1)
        side.insert(0, "runs", curves.notna().sum(axis=1))
        return figure, {f"{self.stem}_plot_data": side.reset_index()}

    def _published(self, known: list[PublishedMeasure]) -> pd.DataFrame:
        """Return step and error of the published points of the column."""
        found = [
            (int(step), one.number)
            for one in known
            for name, _, step in [one.measure.partition("@")]
            if name == self.column and step
        ]
        return pd.DataFrame(found, columns=np.array(["step", "error"]))
