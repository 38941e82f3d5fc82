"""Errors and sparsity of single runs against the iteration."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.judge import SPARSITY, TEST, VALIDATION
from stable_nalu.statistics.names import plain

from ..entry import Context, Drawn, Part, Runs, Size
from ..runs import LOGGED, read_series
from ..style import STANDARD, legend_order, looks, new_figure
from .decoration import Bottom, footnote, legend

PANELS = (
    (TEST, "Extrapolation error [MSE]", True),
    (VALIDATION, "Interpolation error [MSE]", True),
    (SPARSITY, "Sparsity error", False),
)


@dataclass(frozen=True)
class Curves(Part):
    """Errors of single runs against the iteration."""

    KIND = "curve"

    runs: Runs
    seed: int
    threshold_line: float
    size: Size = STANDARD

    def drawn(self, context: Context) -> Drawn:
        """Choose the run of each model and draw it."""
        tables = [read_series(one, self.runs, context.source, LOGGED) for one in context.series]
        found = [table for table in tables if table is not None]
        if not found:
            raise UsageError(f"nothing to draw: {'; '.join(context.source.warnings)}")
        rows = pd.concat(found).sort_values(["model", "name", "step"], kind="stable")
        models = legend_order([*self.runs.models, *rows["model"]])
        absent = tuple(model for model in models if model not in set(rows["model"]))
        for model in absent:
            context.source.warn(f"missing: {plain(model)} (no run of seed {self.seed})")
        side = rows.filter(["model", "name", "seed", "step", VALIDATION, TEST, SPARSITY])
        figure = draw(self, context, rows, models, absent)
        return figure, {f"{self.stem}_plot_data": side.reset_index(drop=True)}


def draw(part: Curves, context: Context, rows: pd.DataFrame, models: list[str], absent: tuple):
    """Draw three panels, one line per run."""
    figure = new_figure((part.size[0], part.size[1] + 1))
    shown = looks(models, context.palette)
    for place, (column, title, log) in enumerate(PANELS, start=1):
        axes = figure.add_subplot(1, 3, place)
        axes.set_title(title)
        axes.set_xlabel("Iteration")
        for _, run in rows.groupby(["model", "name"], sort=False):
            model = str(run["model"].iloc[0])
            look = shown[model]
            axes.plot(
                run["step"],
                run[column],
                **look.style,
                markevery=max(1, len(run) // 6),
                markersize=3,
                alpha=0.8,
                label=model,
            )
        if log:
            axes.set_yscale("log")
        if column == TEST:
            axes.axhline(part.threshold_line, color="0.35", linewidth=0.8, gid="threshold")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.locator_params(axis="x", nbins=4)
    legend(figure, Bottom(shown, {}, absent, "", "", lines=True))
    footnote(
        figure,
        f"One run of each model (seed {part.seed}). Line: error {part.threshold_line:g}.",
    )
    return figure
