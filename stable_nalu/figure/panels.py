"""Panels and tables of success rate, solved at and sparsity error."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, PercentFormatter

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import plain
from stable_nalu.options.flags import half_open
from stable_nalu.statistics.means import MARGIN
from stable_nalu.statistics.setups import operation_label
from stable_nalu.statistics.summary import MEASURES, long_form, mean_summary
from stable_nalu.statistics.table import BEST_STEP

from . import style
from .runs import Context, Product, Runs, in_order, kind, points, reduced_and_estimated
from .style import STANDARD, Size, legend_order, operation_order

_TITLES = {
    "success.rate": "Success rate",
    "converged.at": "Solved at iteration step",
    "sparse.error": "Sparsity error",
}
_SPREAD = 0.7
"""Share of a category's width that its series take together."""

_WIDE, _MOST_TICKS = 30, 8
"""Ratio of swept numbers from which the axis is logarithmic; most ticks, at swept numbers."""

_CLOSEST = 0.13
"""Distance in cm of neighbouring series below which panels are stacked, each as wide as all."""

_STATS = {
    "interpolation.last": "interpolation mse",
    "extrapolation.last": "extrapolation mse",
    "sparse.error.max": "sparsity error",
    BEST_STEP: "iteration",
    "interpolation solved": "interpolation solved",
    "extrapolation solved": "extrapolation solved",
}
"""Column -> its name in the table of plain moments."""

_EXPLAINED = (
    "Bars: 95 % intervals. Below: runs that failed, and solved runs behind each mean. "
    "Hollow: no interval. ×, –: no run."
)


@dataclass(frozen=True)
class Panels:
    """How success rate, solved at and sparsity error are drawn, against a range or a parameter.

    style: dodge: categories, with series next to each other; line: numbers; category: lines over
        categories.
    breaks: the values that the x axis prints; empty: all.
    alone: whether the success rate is the only panel.
    """

    runs: Runs
    x_label: str = "Interpolation range"
    style: Literal["dodge", "line", "category"] = "dodge"
    breaks: tuple[float, ...] = ()
    log_x: bool = False
    alone: bool = False
    size: Size = STANDARD

    @property
    def grouping(self) -> list[str]:
        columns = ("model", "operation", self.runs.x, self.runs.extra)
        return [column for column in dict.fromkeys(columns) if column]


@kind("sweep", needs="outcomes")
def sweep_panels(context: Context, **options: Any) -> Product:
    """Draw success rate, solved at and sparsity error, with the options of `Panels`.

    It also writes the tables of the published scripts.
    """
    part, stem = Panels(**options), context.stem
    runs, models, summary = reduced_and_estimated(context, part.runs, part.grouping)
    figure = draw(part, runs, models, summary, context.palette)
    parameter = {part.runs.x: "parameter"}
    plotted = long_form(summary, part.grouping).rename(columns=parameter)
    runs = runs.rename(columns=parameter)
    failures = runs.loc[~runs["solved"], ["name", "parameter", "seed"]]
    side = {
        f"{stem}_plot_data": plotted,
        f"{stem}_seeds_failure": failures.reset_index(drop=True),
        f"{stem}_final_metrics": summary.rename(columns=parameter),
    }
    if BEST_STEP in runs:
        side[f"{stem}_seeds_best"] = runs.drop(columns=BEST_STEP)
        added = {BEST_STEP: runs[BEST_STEP].where(runs["solved"])}
        added["interpolation solved"] = runs["interpolation.step.solved"].notna()
        added["extrapolation solved"] = runs["solved"]
        columns = ["model", "parameter"]
        side[f"{stem}_stats"] = mean_summary(runs.assign(**added), columns, _STATS)
    return Product(stem, figure, side=side)


def draw(
    part: Panels,
    runs: pd.DataFrame,
    models: Sequence[str],
    summary: pd.DataFrame,
    palette: style.Palette = "safe",
) -> Figure:
    """Draw the whole figure: runs, the models of its legend, and the summary of the runs."""
    values = in_order([*part.runs.expected, *runs[part.runs.x].dropna()], part.runs.x)
    series, dodged = _split(part, models, summary), part.style == "dodge"
    shown = style.looks(list(series), palette)
    measures: Sequence[str] = MEASURES[:1] if part.alone else MEASURES
    counted, texts = _run_texts(series)
    absent = [label for label, table in series.items() if table.empty]
    handles = style.legend_handles(shown, texts, absent, lines=not dodged)
    each = style.panel_width(part.size[0], len(measures)) / max(len(values) * len(series), 1)
    stacked = dodged and len(measures) > 1 and _SPREAD * each < _CLOSEST
    slanted = dodged and not stacked
    longest = max((len(_tick_text(value)) for value in values), default=1)
    ticks = 0.25 + 0.085 * longest if slanted else 0.4
    note = f"{counted}{_EXPLAINED}"
    figure, frames = style.framed(part.size, len(measures), ticks, handles, note, stacked=stacked)
    for measure, (axes, below) in zip(measures, frames, strict=True):
        below.set_xlabel(part.x_label)
        x = _draw_x_axis(part, axes, below, values, slanted=slanted)
        found = {label: _at(part, values, table, measure) for label, table in series.items()}
        for (label, table), offset in zip(found.items(), offsets(len(found)), strict=True):
            places = x + offset if dodged else x
            draw_series(axes, places, table, shown[label], label, line=not dodged)
            if measure == "success.rate" and label not in absent:
                gone = places[table["count"].isna().to_numpy()]
                cross: dict[str, Any] = {"color": style.MISSING, "clip_on": False, "zorder": 4}
                axes.plot(gone, np.zeros(len(gone)), "x", gid="missing", **cross)
        _draw_y_axis(axes, measure)
        if not any(table["mean"].notna().any() for table in found.values()):
            solved = bool((summary["n"] > summary["failed"]).any())
            text = "not defined" if solved else "no run solved"
            axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color="0.35")
        written = {label: table["written"].to_numpy(float) for label, table in found.items()}
        style.counts(below, x, written, shown, "failed" if measure == MEASURES[0] else "solved")
        axes.set_title(_TITLES[measure])
    return figure


def _split(part: Panels, models: Sequence[str], summary: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return series in the order of the legend; a model without runs has an empty one."""
    extra = part.runs.extra
    series = {}
    for model in models:
        of_model = summary.loc[summary["model"] == model]
        if extra is None or of_model.empty:
            series[model] = of_model
        else:
            series |= {f"{model}, {value}": rows for value, rows in of_model.groupby(extra)}
    return series


def _at(part: Panels, values: list, table: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return the points of a series at all values of x, missing where it has none."""
    found = points(table, measure).set_axis(pd.Index(table[part.runs.x]))
    again = found.index[found.index.duplicated()].tolist()
    if again:
        problem = f"runs of several operations are there at {part.runs.x} {again[0]}"
        raise UsageError(f"{problem}; draw each operation from a file of its own, with a label")
    if measure == "sparse.error":
        # The papers' fit cuts errors of exactly 0 to its margin.
        ends = found[["mean", "lower", "upper"]]
        found = found.assign(**ends.mask(ends <= MARGIN, 0.0))
    return found.reindex(values)


def _run_texts(series: Mapping[str, pd.DataFrame]) -> tuple[str, dict[str, str]]:
    """Return the runs per point: one sentence where all are alike, else texts for the legend."""
    spans = {}
    for label, table in series.items():
        if not table.empty:
            low, high = min(table["n"]), max(table["n"])
            spans[label] = f"{low}" if low == high else f"{low}–{high}"
    if len(set(spans.values())) == 1:
        return f"n = {next(iter(spans.values()))} runs per point. ", {}
    return "", {label: f" (n = {span})" for label, span in spans.items()}


def offsets(number: int) -> np.ndarray:
    """Return the places of the series of a category, around its middle."""
    return (np.arange(number) - (number - 1) / 2) * (_SPREAD / max(number, 1))


def draw_series(
    axes: Axes, x: np.ndarray, found: pd.DataFrame, look: style.Look, label: str, *, line: bool
) -> None:
    """Draw means with their intervals; a mean without interval is hollow."""
    mean, lower, upper = (found[c].to_numpy(dtype=float) for c in ("mean", "lower", "upper"))
    here, bounded = ~np.isnan(mean), ~(np.isnan(lower) | np.isnan(upper))
    own: dict[str, Any] = {"color": look.color} | look.weight
    bars = here & bounded
    if line:
        axes.plot(x[here], mean[here], linestyle=look.line, gid=f"{label} line", **own)
    own |= {"linestyle": "none", "marker": look.marker, "gid": f"{label} mean", "zorder": 3}
    for chosen, face in ((bars, look.color), (here & ~bounded, "white")):
        axes.plot(x[chosen], mean[chosen], markerfacecolor=face, label=label, **own)
    thin: dict[str, Any] = {"color": look.color, "linewidth": 0.8, "alpha": 0.75}
    axes.vlines(x[bars], lower[bars], upper[bars], gid=f"{label} interval", **thin)


def _draw_y_axis(axes: Axes, measure: str) -> None:
    """Begin the axis just below 0, so that no marker lies on the frame; rates end above 1."""
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


def _draw_x_axis(
    part: Panels, axes: Axes, below: Axes, values: list, *, slanted: bool
) -> np.ndarray:
    """Write ticks below the counts, also where no series has a mean; return where values are."""
    x = np.arange(len(values), dtype=float)
    if part.style == "line":
        try:
            x = np.asarray(values, dtype=float)
        except ValueError as error:
            problem = f"{part.runs.x} has no place on an axis of numbers: {error}"
            raise UsageError(f"{problem}; draw it as another kind, such as distribution") from None
        ends = [(end, 0.0) for end in (x.min(), x.max())] if len(x) else []
        axes.update_datalim(ends, updatey=False)
        wide = not part.breaks and len(x) > 1 and x.min() > 0 and x.max() >= _WIDE * x.min()
        if part.log_x or wide:
            axes.set_xscale("log")
            axes.set_xticks([], minor=True)
        ticks = part.breaks or values[:: max(1, -(-len(values) // _MOST_TICKS))]
        axes.set_xticks(ticks, [_tick_text(value) for value in ticks])
    else:
        printed = part.breaks or values
        axes.set_xticks(x, [_tick_text(value) if value in printed else "" for value in values])
        axes.set_xlim(-0.5, len(values) - 0.5)
    axes.tick_params(axis="x", labelbottom=False, length=0)
    below.tick_params(axis="x", labelbottom=True)
    if slanted:
        for text in below.get_xticklabels():
            text.set(rotation=45, ha="right", va="center", rotation_mode="anchor")
    return x


def _tick_text(value: object) -> str:
    """Return a value as the axis prints it: `U[1,2)`, `TN(0,1) [-5,5)`, `0.25`."""
    return half_open(value).replace(":", " ") if isinstance(value, str) else f"{value:g}"


Measures = tuple[tuple[str, str, str], ...]
ONE_RANGE: Measures = (
    ("success.rate.mean", "Success", "Rate"),
    ("converged.at.median", "Solved at", "Median"),
    ("converged.at.mean", "Solved at", "Mean"),
    ("sparse.error.mean", "Sparsity error", "Mean"),
)
"""Column of a summary -> upper and lower head of its column in a table."""

BY_RANGE = (ONE_RANGE[0], *ONE_RANGE[2:])


def tabular(
    caption: str, label: str, alignment: str, head: list[str], body: list[str], long: bool = False
) -> str:
    """Return a LaTeX table with its surroundings; long: it may go on over pages."""
    named = f"\\caption{{{caption}}}\n\\label{{tab:{label.replace('/', '-')}}}"
    headed = "\n".join(("\\toprule", *head, "\\midrule"))
    if long:
        begin = f"\\begin{{longtable}}{{{alignment}}}\n{named} \\\\"
        headed = f"{headed}\n\\endfirsthead\n{headed}\n\\endhead"
        end = "\\end{longtable}"
    else:
        begin = f"\\begin{{table}}[h]\n\\centering\n{named}\n\\begin{{tabular}}{{{alignment}}}"
        end = "\\end{tabular}\n\\end{table}"
    return "\n".join((begin, headed, *body, "\\bottomrule", end)) + "\n"


def tex_row(*cells: str) -> str:
    return f"{' & '.join(cells)} \\\\"


@dataclass(frozen=True)
class Table:
    """What a table of success rates, steps and sparsity errors shows.

    rows: operation -> models, where a table shows some only.
    within: columns within which the best value is bold; empty: nothing is.
    """

    runs: Runs
    label: str
    caption: str
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    show_operation: bool = True
    show_range: bool = False
    within: tuple[str, ...] = ("operation",)
    long: bool = False


@kind("table", needs="outcomes")
def table(context: Context, **options: Any) -> Product:
    """Write success rate, solved at and sparsity error in LaTeX, with the options of `Table`."""
    part = Table(**options)
    by = ["model", "operation"]
    if part.show_range and part.runs.x not in by:
        by.append(part.runs.x)
    *_, summary = reduced_and_estimated(context, part.runs, by)
    there = list(zip(summary["operation"], summary["model"], strict=True))
    if pairs := [(operation, model) for operation, models in part.rows for model in models]:
        summary = summary.loc[[pair in pairs for pair in there]]
    for operation, model in pairs:
        if (operation, model) not in there:
            context.warn(f"missing: {plain(model)} on {operation} (no run of it)")
    chosen = _in_order(summary, part)
    if chosen.empty:
        raise UsageError(f"table {context.stem} has no row: no run of its models")
    side = {f"{context.stem}_final_metrics": chosen}
    return Product(context.stem, text=latex(chosen, part), side=side)


def _in_order(summary: pd.DataFrame, part: Table) -> pd.DataFrame:
    places: dict[Any, list] = {
        "operation": operation_order(summary["operation"]),
        "model": legend_order(summary["model"]),
    }
    if part.show_range:
        summary = summary.loc[summary[part.runs.x].notna()]
        places.setdefault(part.runs.x, in_order(summary[part.runs.x], part.runs.x))
    return summary.sort_values(
        list(places), key=lambda own: own.map(places[own.name].index), ignore_index=True
    )


def latex(rows: pd.DataFrame, part: Table) -> str:
    """Return the table with its surroundings; columns of one group share the upper head."""
    columns = BY_RANGE if part.show_range else ONE_RANGE
    heads = [*(["Op"] if part.show_operation else []), "Model"]
    by_range = part.runs.x == "interpolation.range"
    heads += ["Range" if by_range else part.runs.x] if part.show_range else []
    left = "cr" if part.show_operation else "r"
    alignment = left + "l" * (len(heads) - len(left) + len(columns))
    spans = Counter(group for _, group, _ in columns)
    upper = [
        group if span == 1 else f"\\multicolumn{{{span}}}{{c}}{{{group}}}"
        for group, span in spans.items()
    ]
    lower = [*[""] * len(heads), *(name for *_, name in columns)]
    head, body = [tex_row(*heads, *upper), tex_row(*lower)], _body_lines(rows, part, columns)
    return tabular(part.caption, part.label, alignment, head, body, long=part.long)


def _body_lines(rows: pd.DataFrame, part: Table, columns: Measures) -> list[str]:
    """Return one line per row, with a rule between operations and no page break within one."""
    best = best_cells(rows, part, columns)
    lines = []
    operations = rows["operation"].astype(str).tolist()
    for index, (_, row) in enumerate(rows.iterrows()):
        operation = operations[index]
        starts = operation not in operations[:index]
        cells = []
        if part.show_operation:
            sign = operation_label(operation, latex=True)
            count = operations.count(operation)
            cells.append(f"\\multirow{{{count}}}{{*}}{{{sign}}}" if starts else "")
        cells.append(str(row["model"]))
        if part.show_range:
            cells.append(half_open(str(row[part.runs.x])))
        cells += [cell(row, name, (index, name) in best) for name, *_ in columns]
        if starts and index:
            lines.append("\\midrule")
        goes_on = operation in operations[index + 1 :]
        lines.append(tex_row(*cells) + ("*" if goes_on else ""))
    return lines


def best_cells(rows: pd.DataFrame, part: Table, columns: Measures) -> set[tuple[object, str]]:
    """Return the best means of each group, ties included: the largest rate, the smallest others."""
    best = set()
    for _, group in rows.groupby(list(part.within), sort=False) if part.within else ():
        for name, *_ in columns:
            values = group.loc[np.isfinite(group[name].to_numpy(float)), name]
            top = values.max() if name.startswith("success") else values.min()
            best |= {(index, name) for index in values.index[values == top]}
    return best


def cell(row: pd.Series, name: str, bold: bool) -> str:
    """Return a mean with its distances to both ends of the interval."""
    mean = float(row.loc[name])
    if not math.isfinite(mean):
        return "---"
    measure, statistic = name.rsplit(".", 1)
    write = scientific if measure != "success.rate" else lambda share: f"{round(100 * share)}\\%"
    text = f"\\mathbf{{{write(mean)}}}" if bold else write(mean)
    lower, upper = (float(row.get(f"{measure}.{end}", math.nan)) for end in ("lower", "upper"))
    if statistic != "mean" or not (math.isfinite(lower) and math.isfinite(upper)):
        return f"${text}$"
    return f"${text} {{~}}^{{+{write(upper - mean)}}}_{{-{write(mean - lower)}}}$"


def scientific(value: float) -> str:
    r"""Return a number as `2.8 \cdot 10^{6}`."""
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    return f"{value / 10.0**exponent:.1f} \\cdot 10^{{{exponent}}}"
