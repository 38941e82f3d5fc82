"""LaTeX tables of success rate, solved at and sparsity error."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.statistics.names import OPERATIONS, plain

from ..entry import Context, Part, Product, Runs
from ..runs import in_order, reduced_and_estimated
from ..style import half_open, legend_order, operation_order

Columns = tuple[tuple[str, str, str], ...]
ONE_RANGE: Columns = (
    ("success.rate.mean", "Success", "Rate"),
    ("converged.at.median", "Solved at", "Median"),
    ("converged.at.mean", "Solved at", "Mean"),
    ("sparse.error.mean", "Sparsity error", "Mean"),
)
BY_RANGE = (ONE_RANGE[0], *ONE_RANGE[2:])


@dataclass(frozen=True)
class Table(Part):
    """LaTeX table of success rate, solved at and sparsity error.

    rows: operation -> models, where a table shows some only.
    within: columns within which the best value is bold; empty: nothing is.
    """

    KIND = "table"
    NEEDS = "outcomes"

    runs: Runs
    label: str
    caption: str
    rows: tuple[tuple[str, tuple[str, ...]], ...] = ()
    show_operation: bool = True
    show_range: bool = False
    within: tuple[str, ...] = ("operation",)
    long: bool = False

    def render(self, context: Context) -> Product:
        """Reduce, estimate, write LaTeX."""
        by = ["model", "operation", *([self.runs.x] if self.show_range else [])]
        _, summary = reduced_and_estimated(self.runs, by, context)
        chosen = select(summary, self)
        for operation, model in absent_rows(chosen, self):
            context.source.warn(f"missing: {plain(model)} on {operation} (no run of it)")
        stem = context.stem(self.stem)
        if chosen.empty:
            raise UsageError(f"table {stem} has no row: no run of its models")
        text = latex(chosen, self)
        return Product(stem, text=text, side={f"{stem}_final_metrics": chosen})


def select(summary: pd.DataFrame, part: Table) -> pd.DataFrame:
    """Return rows in the order of the table: operation, model, range."""
    if part.rows:
        pairs = {(operation, model) for operation, models in part.rows for model in models}
        wanted = [
            pair in pairs for pair in zip(summary["operation"], summary["model"], strict=True)
        ]
        summary = summary.loc[wanted]
    places = {
        "operation": operation_order(summary["operation"]),
        "model": legend_order(summary["model"]),
    }
    if part.show_range:
        summary = summary.loc[summary[part.runs.x].notna()]
        places[part.runs.x] = in_order(summary[part.runs.x], part.runs.x)
    keys = [summary[column].map(order.index) for column, order in places.items()]
    order = np.lexsort([key.to_numpy() for key in reversed(keys)])
    return summary.iloc[order].reset_index(drop=True)


def absent_rows(chosen: pd.DataFrame, part: Table) -> list[tuple[str, str]]:
    """Return the rows that the table should have and has not."""
    there = set(zip(chosen["operation"], chosen["model"], strict=True))
    wanted = [(operation, model) for operation, models in part.rows for model in models]
    return [pair for pair in wanted if pair not in there]


def latex(rows: pd.DataFrame, part: Table) -> str:
    """Return the table with its surroundings."""
    columns = BY_RANGE if part.show_range else ONE_RANGE
    heads = [*(["Op"] if part.show_operation else []), "Model"]
    by_range = part.runs.x == "interpolation.range"
    heads += ["Range" if by_range else part.runs.x] if part.show_range else []
    alignment = ("c" if part.show_operation else "") + "r" + "l" * (len(heads) - 1 + len(columns))
    if part.show_operation:
        alignment = "cr" + "l" * len(columns)
    head = header(heads, columns)
    body = "".join(body_lines(rows, part, columns))
    caption = f"\\caption{{{part.caption}}}\n\\label{{tab:{part.label}}}"
    if part.long:
        return (
            f"\\begin{{longtable}}{{{alignment}}}\n{caption} \\\\\n\\toprule\n{head}\\midrule\n"
            f"\\endfirsthead\n\\toprule\n{head}\\midrule\n\\endhead\n{body}\\bottomrule\n"
            "\\end{longtable}\n"
        )
    return (
        f"\\begin{{table}}[h]\n\\centering\n{caption}\n\\begin{{tabular}}{{{alignment}}}\n"
        f"\\toprule\n{head}\\midrule\n{body}\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def header(heads: list[str], columns: Columns) -> str:
    """Return two rows of heads; columns of one group share the upper one."""
    groups: list[list[str | int]] = []
    for _, group, _ in columns:
        if groups and groups[-1][0] == group:
            groups[-1][1] = int(groups[-1][1]) + 1
        else:
            groups.append([group, 1])
    first = heads + [
        str(group) if span == 1 else f"\\multicolumn{{{span}}}{{c}}{{{group}}}"
        for group, span in groups
    ]
    second = [""] * len(heads) + [name for *_, name in columns]
    return f"{' & '.join(first)} \\\\\n{' & '.join(second)} \\\\\n"


def body_lines(rows: pd.DataFrame, part: Table, columns: Columns) -> list[str]:
    """Return one line per row, with a rule between operations and no page break within one."""
    best = best_cells(rows, part, columns)
    lines = []
    sizes = rows["operation"].value_counts(sort=False)
    last = None
    for index, (_, row) in enumerate(rows.iterrows()):
        operation = str(row["operation"])
        starts = operation != last
        cells = []
        if part.show_operation:
            sign = OPERATIONS.get(operation, (operation, operation))[0]
            cells.append(f"\\multirow{{{sizes[operation]}}}{{*}}{{{sign}}}" if starts else "")
        cells.append(str(row["model"]))
        if part.show_range:
            cells.append(half_open(str(row[part.runs.x])))
        cells += [cell(row, name, (index, name) in best) for name, *_ in columns]
        if starts and last is not None:
            lines.append("\\midrule\n")
        following = rows["operation"].iloc[index + 1] if index + 1 < len(rows) else None
        end = "\\\\*" if following == operation else "\\\\"
        lines.append(f"{' & '.join(cells)} {end}\n")
        last = operation
    return lines


def best_cells(rows: pd.DataFrame, part: Table, columns: Columns) -> set[tuple[object, str]]:
    """Return the best means of each group, ties included: the largest rate, the smallest others."""
    best = set()
    groups = rows.groupby(list(part.within), sort=False) if part.within else ()
    for _, group in groups:
        for name, *_ in columns:
            values = {i: v for i, v in group.loc[:, name].items() if math.isfinite(v)}
            if values:
                top = (max if name.startswith("success") else min)(values.values())
                best |= {(index, name) for index, value in values.items() if value == top}
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
