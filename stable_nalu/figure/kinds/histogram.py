"""Distribution of a gate over runs, at the row that each run is judged at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.judge import VALIDATION
from stable_nalu.statistics.names import operation_label, plain

from ..decoration import footnote, patch_legend
from ..entry import Context, Drawn, Part, Runs, Size
from ..runs import LOGGED, Reduced, read_series, reduce_series
from ..style import STANDARD, looks, new_figure

OUTCOMES = ("solved", "not solved")
_HATCHES = ("", "////")
_WORDS = {"mul": "Multiplication", "add": "Addition"}


@dataclass(frozen=True)
class Histogram(Part):
    """Distribution of a gate over runs, by model and operation, split by success."""

    KIND = "histogram"

    runs: Runs
    column: str
    bins: int = 25
    size: Size = STANDARD

    def drawn(self, context: Context) -> Drawn:
        """Reduce, take the gates, draw."""
        reduced = reduce_series(context.series, self.runs, context.source, context.setups)
        runs = with_gates(self, context, reduced)
        return draw(self, context, reduced, runs), {f"{self.stem}_seeds_best": runs}


def with_gates(part: Histogram, context: Context, reduced: Reduced) -> pd.DataFrame:
    """Add the gate at the row that each run is judged at."""
    gates = []
    for one in context.series:
        rows = read_series(one, part.runs, context.source, (*LOGGED, VALIDATION))
        if rows is None:
            continue
        if part.column not in rows:
            raise UsageError(
                f"{one.files[0]}.csv lacks the column {part.column}: export with --export-gate"
            )
        rows = rows.sort_values(["model", "name", "step"], kind="stable")
        place = rows.groupby(["model", "name"], sort=False).cumcount() + 1
        gates.append(rows.assign(**{"best.model.step": place}))
    keys = ["model", "name", "best.model.step"]
    table = pd.concat(gates)[[*keys, part.column]]
    return reduced.runs.merge(table, on=keys, how="left")


def draw(part: Histogram, context: Context, reduced: Reduced, runs: pd.DataFrame):
    """Draw one row of panels per operation and one column per model."""
    operations = [name for name in ("mul", "add") if name in set(runs["operation"])]
    operations += sorted(set(runs["operation"]) - set(operations))
    figure = new_figure(part.size)
    grid = figure.subplots(len(operations), len(reduced.models), sharex=True, squeeze=False)
    shown = looks(OUTCOMES, context.palette)
    edges = np.linspace(0, 1, part.bins + 1)
    for line, operation in zip(grid, operations, strict=True):
        for axes, model in zip(line, reduced.models, strict=True):
            group = runs.loc[(runs["model"] == model) & (runs["operation"] == operation)]
            draw_gates(axes, group, part.column, edges, shown)
            failed = int(np.sum(~group["solved"].to_numpy(bool)))
            word = _WORDS.get(operation, operation_label(operation))
            axes.set_title(f"{word} – {model}\nn = {len(group)}, failed: {failed}", fontsize=7)
            if model in reduced.missing or group.empty:
                axes.text(0.5, 0.5, "no data", transform=axes.transAxes, ha="center")
                context.source.warn(f"missing: {plain(model)} on {operation} (no run of it)")
        line[0].set_ylabel("Runs")
    for axes in grid[-1]:
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["mul", "0.25", "0.50", "0.75", "add"])
        axes.set_xlabel("Gate")
    patch_legend(figure, {o: (shown[o].color, h) for o, h in zip(OUTCOMES, _HATCHES, strict=True)})
    footnote(figure, "Gate at the row that a run is judged at.")
    return figure


def draw_gates(axes, group: pd.DataFrame, column: str, edges: np.ndarray, shown: dict) -> None:
    """Draw the counts of solved and failed runs beside each other."""
    width = (edges[1] - edges[0]) / 2
    for index, outcome in enumerate(OUTCOMES):
        values = group.loc[group["solved"] == (index == 0), column].dropna().to_numpy(dtype=float)
        heights, _ = np.histogram(values, bins=edges)
        axes.bar(
            edges[:-1] + index * width,
            heights,
            width=width,
            align="edge",
            color=shown[outcome].color,
            hatch=_HATCHES[index],
            edgecolor="white",
            linewidth=0.3,
            label=outcome,
        )
