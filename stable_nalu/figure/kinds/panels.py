"""Panels over a range or a parameter: success rate, solved at, sparsity error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.means import MARGIN
from stable_nalu.statistics.summary import MEASURES, long_form, mean_summary

from ..decoration import GAP, LEFT, RIGHT, counts, framed, legend_handles
from ..entry import Context, Drawn, Part, Runs, Size
from ..runs import BEST_STEP, Reduced, points, reduced_and_estimated, x_values
from ..style import MISSING, STANDARD, Look, half_open, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    "success.rate": "Success rate",
    "converged.at": "Solved at iteration step",
    "sparse.error": "Sparsity error",
}
SPREAD = 0.7
"""Share of a category's width that its series take together."""

CLOSEST = 0.13
"""Distance in cm of neighbouring series below which panels are stacked, each as wide as all."""

STATS = {
    "interpolation.last": "interpolation mse",
    "extrapolation.last": "extrapolation mse",
    "sparse.error.max": "sparsity error",
    BEST_STEP: "iteration",
    "interpolation solved": "interpolation solved",
    "extrapolation solved": "extrapolation solved",
}
"""Column -> its name in the table of plain moments."""

EXPLAINED = (
    "Bars: 95 % intervals. Below: runs that failed, and solved runs behind each mean. "
    "Hollow: no interval. ×, –: no run."
)


@dataclass(frozen=True)
class Panels(Part):
    """Success rate, solved at and sparsity error, against a range or a parameter.

    style: dodge: categories, with series beside each other; line: numbers; category: lines over
        categories.
    breaks: the values that the x axis prints; empty: all.
    alone: whether the success rate is the only panel.
    """

    NEEDS = "outcomes"

    runs: Runs
    x_label: str
    style: Literal["dodge", "line", "category"] = "dodge"
    breaks: tuple[float, ...] = ()
    log_x: bool = False
    alone: bool = False
    size: Size = STANDARD

    @property
    def kind(self) -> str:
        """Return `range`, `distribution` or `sweep`, by what is on the x axis."""
        if self.runs.x == "distribution":
            return "distribution"
        return "range" if self.runs.x == "interpolation.range" else "sweep"

    @property
    def grouping(self) -> list[str]:
        """Return the columns that make a plotted point."""
        extra = [self.runs.extra] if self.runs.extra else []
        return ["model", "operation", self.runs.x, *extra]

    def drawn(self, context: Context) -> Drawn:
        """Reduce, estimate, draw."""
        reduced, summary = reduced_and_estimated(self.runs, self.grouping, context)
        return draw(self, reduced, summary, context), side_tables(self, reduced, summary)


def side_tables(part: Panels, reduced: Reduced, summary: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the tables that the published scripts write beside the figure."""
    x, stem = part.runs.x, part.stem
    plotted = long_form(summary, part.grouping).rename(columns={x: "parameter"})
    runs = reduced.runs.rename(columns={x: "parameter"})
    failures = runs.loc[~runs["solved"], ["name", "parameter", "seed"]]
    tables = {
        f"{stem}_plot_data": plotted,
        f"{stem}_seeds_failure": failures.reset_index(drop=True),
        f"{stem}_final_metrics": summary.rename(columns={x: "parameter"}),
    }
    if BEST_STEP in runs:
        tables[f"{stem}_seeds_best"] = runs.drop(columns=BEST_STEP)
        tables[f"{stem}_stats"] = stats(runs)
    return tables


def stats(runs: pd.DataFrame) -> pd.DataFrame:
    """Return plain moments of what the runs came to, by model and point."""
    solved = runs.assign(
        **{
            BEST_STEP: runs[BEST_STEP].where(runs["solved"]),
            "interpolation solved": runs["interpolation.step.solved"].notna(),
            "extrapolation solved": runs["solved"],
        }
    )
    return mean_summary(solved, ["model", "parameter"], STATS)


def draw(part: Panels, reduced: Reduced, summary: pd.DataFrame, context: Context) -> Figure:
    """Draw the whole figure."""
    values = x_values(reduced, part.runs)
    series = split(part, reduced, summary)
    shown = looks(list(series), context.palette)
    measures: Sequence[str] = MEASURES[:1] if part.alone else MEASURES
    runs, texts = run_texts(series)
    absent = tuple(label for label, table in series.items() if table.empty)
    note = " ".join(filter(None, (runs, EXPLAINED)))
    handles = legend_handles(shown, texts, absent, lines=part.style != "dodge")
    longest = max((len(tick_text(value)) for value in values), default=1)
    stacked = part.style == "dodge" and too_close(part, len(measures), len(values), len(series))
    slanted = part.style == "dodge" and not stacked
    ticks = 0.25 + 0.085 * longest if slanted else 0.4
    frame = framed(part.size, len(measures), ticks, handles, note, stacked=stacked)
    for measure, (axes, below) in zip(measures, frame.panels, strict=True):
        below.set_xlabel(part.x_label)
        draw_x_axis(axes, below, part, values, slanted=slanted)
        draw_measure(axes, measure, part, values, series, shown)
        draw_counts(below, measure, part, values, series, shown)
        axes.set_title(TITLES[measure])
    return frame.figure


def too_close(part: Panels, panels: int, values: int, series: int) -> bool:
    """Say whether series would lie on each other if the panels stood beside each other."""
    each = (part.size[0] - LEFT - RIGHT - GAP * (panels - 1)) / panels
    return panels > 1 and SPREAD * each / max(values * series, 1) < CLOSEST


def split(part: Panels, reduced: Reduced, summary: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return series in the order of the legend; a model without runs has an empty one."""
    extra = part.runs.extra
    series = {}
    for model in reduced.models:
        of_model = summary.loc[summary["model"] == model]
        if extra is None or of_model.empty:
            series[model] = of_model
            continue
        for value, rows in of_model.groupby(extra):
            series[f"{model}, {value}"] = rows
    return series


def run_texts(series: dict[str, pd.DataFrame]) -> tuple[str, dict[str, str]]:
    """Return the runs per point: one sentence where all are alike, else texts for the legend."""
    spans = {label: _span(table) for label, table in series.items() if not table.empty}
    if len(set(spans.values())) == 1:
        return f"n = {next(iter(spans.values()))} runs per point.", {}
    return "", {label: f" (n = {span})" for label, span in spans.items()}


def _span(table: pd.DataFrame) -> str:
    counts = table["n"].to_numpy()
    low, high = counts.min(), counts.max()
    return f"{low}" if low == high else f"{low}–{high}"


def offsets(number: int) -> np.ndarray:
    """Return the places of the series of a category, around its middle."""
    step = SPREAD / max(number, 1)
    return (np.arange(number) - (number - 1) / 2) * step


def positions(part: Panels, values: list, index: int, number: int) -> np.ndarray:
    """Return the x coordinates of one series at all values."""
    if part.style == "line":
        try:
            return np.asarray(values, dtype=float)
        except ValueError as error:
            problem = f"{part.runs.x} has no place on an axis of numbers: {error}"
            raise UsageError(f"{problem}; draw it as another kind, such as distribution") from None
    places = np.arange(len(values), dtype=float)
    return places + offsets(number)[index] if part.style == "dodge" else places


def aligned(table: pd.DataFrame, x: str, values: list, measure: str) -> pd.DataFrame:
    """Return the points of a series at all values, missing where it has none."""
    if table.empty:
        return pd.DataFrame(np.nan, index=values, columns=["mean", "lower", "upper", "count"])
    found = points(table, measure).set_axis(pd.Index(table[x]))
    again = found.index[found.index.duplicated()]
    if len(again):
        problem = f"runs of several operations are there at {x} {again[0]}"
        raise UsageError(f"{problem}; draw each operation from a file of its own, with a label")
    return found.reindex(values)


def draw_measure(
    axes: Axes,
    measure: str,
    part: Panels,
    values: list,
    series: dict[str, pd.DataFrame],
    shown: dict[str, Look],
) -> None:
    """Draw one panel."""
    any_point = False
    for index, (label, table) in enumerate(series.items()):
        x = positions(part, values, index, len(series))
        found = aligned(table, part.runs.x, values, measure)
        if measure == "sparse.error":
            # The papers' fit cuts errors of exactly 0 to its margin.
            found = found.mask(found <= MARGIN, 0.0)
        any_point |= bool(found["mean"].notna().any())
        draw_series(axes, x, found, shown[label], label, line=part.style != "dodge")
        if measure == "success.rate" and not table.empty:
            gone = found["count"].isna().to_numpy()
            mark_missing(axes, x[gone])
    draw_y_axis(axes, measure)
    if not any_point:
        solved = any(
            (table["n"] > table["failed"]).any() for table in series.values() if len(table)
        )
        told = "not defined" if solved else "no run solved"
        axes.text(0.5, 0.5, told, transform=axes.transAxes, ha="center", color="0.35")


def draw_series(
    axes: Axes, x: np.ndarray, found: pd.DataFrame, look: Look, label: str, *, line: bool
) -> None:
    """Draw means with their intervals; a mean without interval is hollow."""
    mean = found["mean"].to_numpy(dtype=float)
    lower, upper = found["lower"].to_numpy(dtype=float), found["upper"].to_numpy(dtype=float)
    here, bounded = ~np.isnan(mean), ~(np.isnan(lower) | np.isnan(upper))
    if line:
        axes.plot(x[here], mean[here], color=look.color, linestyle=look.line, gid=f"{label} line")
    for chosen, face in ((here & bounded, look.color), (here & ~bounded, "white")):
        axes.plot(
            x[chosen],
            mean[chosen],
            linestyle="none",
            marker=look.marker,
            color=look.color,
            markerfacecolor=face,
            gid=f"{label} mean",
            label=label,
            zorder=3,
        )
    bars = here & bounded
    axes.vlines(
        x[bars],
        lower[bars],
        upper[bars],
        color=look.color,
        linewidth=0.8,
        alpha=0.75,
        gid=f"{label} interval",
    )


def mark_missing(axes: Axes, x: np.ndarray) -> None:
    """Draw crosses at the bottom where a series has no runs."""
    axes.plot(
        x,
        np.zeros(len(x)),
        linestyle="none",
        marker="x",
        color=MISSING,
        clip_on=False,
        gid="missing",
        zorder=4,
    )


def draw_y_axis(axes: Axes, measure: str) -> None:
    """Begin the axis just below 0, so that no marker lies on the frame; rates end above 1."""
    from matplotlib.ticker import EngFormatter, PercentFormatter

    if measure == "success.rate":
        axes.set_ylim(-0.06, 1.06)
        axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        return
    top = axes.dataLim.ymax if axes.has_data() else 1.0
    flat = not (np.isfinite(top) and top > 0)
    top = 1.0 if flat else axes.get_ylim()[1]
    axes.set_ylim(-0.05 * top, top)
    if flat:
        axes.set_yticks([0.0], ["0"])
    elif measure == "converged.at":
        axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    else:
        axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 3), useMathText=True)


def draw_counts(
    axes: Axes,
    measure: str,
    part: Panels,
    values: list,
    series: dict[str, pd.DataFrame],
    shown: dict[str, Look],
) -> None:
    """Write failed runs below the success rates, solved ones below the other means."""
    rows = {}
    for label, table in series.items():
        found = aligned(table, part.runs.x, values, measure)["count"]
        if measure == "success.rate" and not table.empty:
            failed = pd.Series(table["failed"].to_numpy(), index=pd.Index(table[part.runs.x]))
            found = failed.loc[~failed.index.duplicated()].reindex(values)
        x = positions(part, values, 0, 1)
        rows[label] = (x, found.to_numpy(dtype=float))
    counts(axes, rows, shown, "failed" if measure == "success.rate" else "solved")


def draw_x_axis(axes: Axes, below: Axes, part: Panels, values: list, *, slanted: bool) -> None:
    """Write ticks below the counts, also where no series has a mean."""
    if part.style == "line":
        x = positions(part, values, 0, 1)
        ends = [(end, 0.0) for end in (x.min(), x.max())] if len(x) else []
        axes.update_datalim(ends, updatey=False)
        if part.log_x:
            axes.set_xscale("log")
        if part.breaks:
            axes.set_xticks(part.breaks)
    else:
        shown = [not part.breaks or value in part.breaks for value in values]
        texts = [tick_text(v) if s else "" for v, s in zip(values, shown, strict=True)]
        axes.set_xticks(np.arange(len(values)), texts)
        axes.set_xlim(-0.5, len(values) - 0.5)
    axes.tick_params(axis="x", labelbottom=False, length=0)
    below.tick_params(axis="x", labelbottom=True)
    if slanted:
        for text in below.get_xticklabels():
            text.set(rotation=45, ha="right", va="center", rotation_mode="anchor")


def tick_text(value: object) -> str:
    """Return a value as the axis prints it: `U[1,2)`, `TN(0,1) [-5,5)`, `0.25`."""
    return half_open(value).replace(":", " ") if isinstance(value, str) else f"{value:g}"
