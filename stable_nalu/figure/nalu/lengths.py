"""The error of cells against the length of sequences, one line for each cell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from stable_nalu.statistics.names import plain

from ..decoration import footnote, legend
from ..entry import Context, Drawn, Part, Size
from ..source import read_csv
from ..style import Look, looks, new_figure

_ERROR = re.compile(r"metric\.test\.extrapolation\.(\d+)\.mae")
_HIGHEST = 20
"""The highest error that is shown, of a digit of the longest sequences."""

_READINGS = {"last": "Trained on the last step", "all": "Trained on every step"}


@dataclass(frozen=True)
class CountingLengths(Part):
    """Median and range of the mean absolute error, in a panel for each loss that was trained."""

    KIND = "error over length"

    size: Size = (18.0, 9.0)

    def drawn(self, context: Context) -> Drawn:
        """Read the last rows of all runs and draw a panel for each loss that there is."""
        columns = ("name", "step", "sequence.loss", "interpolation.length")
        tables = context.tables(lambda path, _: _last_rows(read_csv(path, columns)))
        side = pd.DataFrame(
            row | {"model": plain(label)}
            for label, table in tables.items()
            if table is not None
            for row in _summed_up(table)
        )
        with_runs = set(side["loss"])
        readings = [reading for reading in _READINGS if reading in with_runs]
        shown = looks(list(tables), context.palette)
        figure = new_figure(self.size)
        grid = figure.subplots(1, len(readings), sharey=True, squeeze=False)[0]
        trained = next(t for t in tables.values() if t is not None)["interpolation.length"].iloc[0]
        for axes, reading in zip(grid, readings, strict=True):
            axes.axvline(trained, color="0.35", linewidth=0.8, linestyle=(0, (4, 2)))
            for model, look in shown.items():
                of_model = (side["loss"] == reading) & (side["model"] == plain(model))
                _draw(axes, side.loc[of_model].sort_values("length"), look)
            axes.set(xscale="log", yscale="log", title=_READINGS[reading])
            axes.set_xlabel("Digits in a sequence")
        grid[0].set_ylabel("Mean absolute error")
        # Cells that explode would leave no room for the others.
        grid[0].set_ylim(top=min(grid[0].get_ylim()[1], _HIGHEST * side["length"].max()))
        legend(figure, shown, missing=_missing(tables))
        runs = side["runs"].to_numpy(int).max()
        footnote(
            figure,
            f"Median and range of {runs} seeds; lines end, or leave the axes, where the median "
            "overflows or nearly does. Dashed: the "
            "length of training.",
        )
        return figure, {f"{self.stem}_plot_data": side}


def _last_rows(table: pd.DataFrame) -> pd.DataFrame:
    return table.sort_values("step", kind="stable").drop_duplicates("name", keep="last")


def _missing(tables: dict[str, pd.DataFrame | None]) -> tuple[str, ...]:
    return tuple(label for label, table in tables.items() if table is None)


def _summed_up(table: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield a row of each loss and length; a run without a number has diverged: none is worse."""
    for column in table:
        match = _ERROR.fullmatch(str(column))
        for loss, own in table.groupby("sequence.loss") if match else ():
            errors = own[column].to_numpy(float)
            errors = np.where(np.isnan(errors), np.inf, errors)
            low, median, high = np.quantile(errors, (0, 0.5, 1), method="nearest")
            yield {
                "loss": loss,
                "length": int(match[1]) if match else 0,
                "runs": len(errors),
                "median": median,
                "lowest": low,
                "highest": high,
            }


def _draw(axes, own: pd.DataFrame, look: Look) -> None:
    """Draw a line with a band for its range."""
    finite = own.loc[np.isfinite(own["median"])]
    # A range that overflows would leave no room for the rest.
    high = finite["highest"].where(np.isfinite(finite["highest"]), finite["median"])
    axes.fill_between(
        finite["length"], finite["lowest"], high, color=look.color, alpha=0.13, linewidth=0
    )
    axes.plot(finite["length"], finite["median"], **look.style)
