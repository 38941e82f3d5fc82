"""Errors on sequences of digits: over the epochs at some lengths, and by length at the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd

from stable_nalu.errors import UsageError

from ..decoration import footnote, legend
from ..digit_sequences import SEQUENCE_VALIDATION, lengths
from ..entry import Context, Drawn, Part, Runs, Size
from ..runs import read_series
from ..style import Look, looks, new_figure
from .learning import draw_quartiles, quartiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEARNED = ("name", "epoch", SEQUENCE_VALIDATION)


@dataclass(frozen=True)
class Lengths(Part):
    """Panels of errors over the epochs, and one of errors by length beside those of a reference.

    A reference adds or multiplies digits exactly, so that its errors are those of reading them.

    runs: how rows are named and chosen. reference: the model that errors by length are divided by.
    curves: columns of exported tables, and what their panels are called.
    """

    KIND = "error by length"

    runs: Runs
    reference: str
    curves: tuple[tuple[str, str], ...]
    size: Size = (19.0, 8.0)

    def drawn(self, context: Context) -> Drawn:
        """Take medians and quartiles over the runs of every model and draw them."""
        found = [read_series(one, self.runs, context.source, LEARNED) for one in context.series]
        read = [rows for rows in found if rows is not None]
        if not read:
            raise UsageError(f"nothing to draw: {'; '.join(context.source.warnings)}")
        rows = pd.concat(read, ignore_index=True)
        models = {str(model): table for model, table in rows.groupby("model", sort=False)}
        wanted = (*(one.label for one in context.series if one.label), *self.runs.models)
        shown = looks([m for m in wanted if m in models], context.palette)
        figure = new_figure(self.size)
        *panels, last = figure.subplots(1, len(self.curves) + 1)
        side = []
        for axes, (column, title) in zip(panels, self.curves, strict=True):
            axes.set(title=title, xlabel="Epoch", yscale="log")
            axes.xaxis.get_major_locator().set_params(integer=True)
            for model, look in shown.items():
                curve = quartiles(models[model], "epoch", column)
                draw_quartiles(axes, curve.dropna(subset="median"), "epoch", look)
                side.append(curve.assign(model=model, column=column))
        panels[0].set_ylabel("Mean squared error")
        side += self._draw_lengths(last, models, shown)
        counts = {model: f" (n = {models[model]['name'].nunique()})" for model in shown}
        legend(figure, shown, counts)
        footnote(
            figure,
            "Medians over runs; ribbons: quartiles.",
            f"Right: at the last epoch, divided by the median error of the {self.reference}.",
        )
        return figure, {f"{self.stem}_plot_data": pd.concat(side, ignore_index=True)}

    def _draw_lengths(
        self, axes: Axes, models: dict[str, pd.DataFrame], shown: dict[str, Look]
    ) -> list[pd.DataFrame]:
        """Draw the last errors of every model at every length."""
        axes.set(title="By length", xlabel="Digits of a sequence", yscale="log")
        axes.set_ylabel("Error relative to the reference")
        if self.reference not in models:
            raise UsageError(f"no runs of the {self.reference}, which errors are divided by")
        of_reference = by_length(models[self.reference]).set_index("length")["median"]
        side = []
        for model, look in shown.items():
            ends = by_length(models[model])
            side.append(ends.assign(model=model, column="by length"))
            columns = ["lower", "median", "upper"]
            unit = of_reference.reindex(ends["length"]).to_numpy()
            ends[columns] = ends[columns].div(unit, axis=0)
            draw_quartiles(axes, ends, "length", look)
        return side


def by_length(table: pd.DataFrame) -> pd.DataFrame:
    """Return median and quartiles of the last errors of runs at every length."""
    last = table.sort_values("epoch").drop_duplicates("name", keep="last")
    columns = {length: c for length, c in lengths(last).items() if bool(last[c].notna().any())}
    ends = [quartiles(last.assign(length=n), "length", c) for n, c in columns.items()]
    if not ends:
        raise UsageError("no file has the error at any length")
    return pd.concat(ends, ignore_index=True)
