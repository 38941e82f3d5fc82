"""Tables, in LaTeX and as pictures: success of models, scores and errors of single tasks."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import plain
from stable_nalu.options.layer_options import half_open
from stable_nalu.statistics.names import operation_label

from .drawing import Runs, kind
from .entry import Context, Product
from .runs import in_order, reduced_and_estimated
from .style import legend_order, operation_order

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
    caption: str, label: str, alignment: str, head: Sequence[str], body: Sequence[str], *,
    long: bool = False,
) -> str:  # fmt: skip
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
    """Return a row of a LaTeX table."""
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
    """Write success rate, solved at and sparsity error in LaTeX; options are those of `Table`."""
    part = Table(**options)
    by = ["model", "operation"]
    if part.show_range and part.runs.x not in by:
        by.append(part.runs.x)
    *_, summary = reduced_and_estimated(part.runs, by, context)
    there = list(zip(summary["operation"], summary["model"], strict=True))
    if pairs := [(operation, model) for operation, models in part.rows for model in models]:
        summary = summary.loc[[pair in pairs for pair in there]]
    for operation, model in pairs:
        if (operation, model) not in there:
            context.source.warn(f"missing: {plain(model)} on {operation} (no run of it)")
    chosen = _in_order(summary, part)
    if chosen.empty:
        raise UsageError(f"table {context.stem} has no row: no run of its models")
    side = {f"{context.stem}_final_metrics": chosen}
    return Product(context.stem, text=latex(chosen, part), side=side)


def _in_order(summary: pd.DataFrame, part: Table) -> pd.DataFrame:
    """Return rows in the order of the table: operation, model, range."""
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
    """Return the table with its surroundings."""
    columns = BY_RANGE if part.show_range else ONE_RANGE
    heads = [*(["Op"] if part.show_operation else []), "Model"]
    by_range = part.runs.x == "interpolation.range"
    heads += ["Range" if by_range else part.runs.x] if part.show_range else []
    left = "cr" if part.show_operation else "r"
    alignment = left + "l" * (len(heads) - len(left) + len(columns))
    head, body = _header(heads, columns), _body_lines(rows, part, columns)
    return tabular(part.caption, part.label, alignment, head, body, long=part.long)


def _header(heads: list[str], columns: Measures) -> list[str]:
    """Return two rows of heads; columns of one group share the upper one."""
    spans = Counter(group for _, group, _ in columns)
    upper = [
        group if span == 1 else f"\\multicolumn{{{span}}}{{c}}{{{group}}}"
        for group, span in spans.items()
    ]
    return [tex_row(*heads, *upper), tex_row(*[""] * len(heads), *(name for *_, name in columns))]


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
    write = percent if measure == "success.rate" else scientific
    center = write(mean)
    text = f"\\mathbf{{{center}}}" if bold else center
    if statistic != "mean":
        return f"${text}$"
    lower, upper = float(row.loc[f"{measure}.lower"]), float(row.loc[f"{measure}.upper"])
    if not (math.isfinite(lower) and math.isfinite(upper)):
        return f"${text}$"
    return f"${text} {{~}}^{{+{write(upper - mean)}}}_{{-{write(mean - lower)}}}$"


def percent(value: float) -> str:
    r"""Return a share as `31\%`."""
    return f"{round(100 * value)}\\%"


def scientific(value: float) -> str:
    r"""Return a number as `2.8 \cdot 10^{6}`."""
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    return f"{value / 10.0**exponent:.1f} \\cdot 10^{{{exponent}}}"
