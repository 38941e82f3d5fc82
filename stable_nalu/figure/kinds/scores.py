"""Scores of units on operations, as a table and as a picture of one: median and best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from stable_nalu.paper.nalu import TABLE_1
from stable_nalu.statistics.names import operation_label

from ..decoration import SMALL, footnote
from ..entry import Context, Part, Product, Size
from ..source import read_csv
from ..style import MISSING, drawing, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPLITS = ("interpolation", "extrapolation")
LARGEST = 999
"""Scores above it are told as such, as in the paper's table."""

GOOD = 1.0


@dataclass(frozen=True)
class Scores(Part):
    """Median and best score, and the share of runs below 1, by operation and unit."""

    KIND = "table of scores"

    size: Size = (18.0, 10.5)

    def render(self, context: Context) -> Product:
        """Sum up the last rows of all runs; write LaTeX, draw the same cells."""
        needed = ("name", "step", "operation", *(f"score.{split}" for split in SPLITS))
        tables = context.tables(lambda path, _: read_csv(path, needed))
        cells = pd.DataFrame(
            [cell for model, table in tables.items() for cell in summed_up(model, table)]
        )
        stem = context.stem(self.stem)
        with drawing():
            figure = new_figure(self.size)
            draw_cells(figure.subplots(), cells, [*tables])
            runs = sorted({count for count in cells["runs"] if count})
            footnote(
                figure,
                "Error in percent of that of untrained networks: median [best] of "
                f"{' or '.join(map(str, runs))} runs, and how many score below {GOOD:g}.",
            )
        side = {f"{stem}_scores": cells}
        return Product(stem, figure, latex(cells, [*tables], context.key), side)


def summed_up(model: str, table: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Return a cell of every operation and split, empty without runs."""
    cells: list[dict[str, Any]] = []
    for operation in TABLE_1:
        ends = None
        if table is not None:
            own = table.loc[table["operation"] == operation]
            ends = own.sort_values("step").drop_duplicates("name", keep="last")
        for split in SPLITS:
            scores = pd.Series(dtype=float) if ends is None else ends[f"score.{split}"]
            # A run without a number has diverged: no score is worse.
            scores = pd.Series(pd.to_numeric(scores, errors="coerce")).fillna(math.inf)
            cells.append(
                {
                    "operation": operation,
                    "model": model,
                    "split": split,
                    "runs": len(scores),
                    "median": scores.median() if len(scores) else math.nan,
                    "best": scores.min() if len(scores) else math.nan,
                    "below": int((scores < GOOD).to_numpy().sum()),
                }
            )
    return cells


def number(score: float) -> str:
    """Return a score with two significant digits, as `> 999` where it is larger."""
    if math.isnan(score):
        return "--"
    if score > LARGEST:
        return f"> {LARGEST}"
    if score >= 99.5:
        return f"{score:.0f}"
    if 0 < score < 0.001:
        return "< 0.001"
    return f"{score:.2g}"


def draw_cells(axes: Axes, cells: pd.DataFrame, models: list[str]) -> None:
    """Draw a cell for each operation, unit and split, darker for higher medians."""
    from matplotlib.patches import Rectangle

    axes.set_axis_off()
    axes.set_xlim(-0.75, 2 * len(models))
    axes.set_ylim(len(TABLE_1), -0.85)
    for place, model in enumerate(models):
        axes.text(2 * place + 1, -0.55, model, ha="center", fontweight="bold")
        for half, split in enumerate(SPLITS):
            axes.text(2 * place + half + 0.5, -0.12, split, ha="center", fontsize=SMALL)
    for row, operation in enumerate(TABLE_1):
        label = operation_label(operation)
        axes.text(-0.12, row + 0.5, label, ha="right", va="center")
    for cell in cells.to_dict("records"):
        x = 2 * models.index(cell["model"]) + SPLITS.index(cell["split"])
        y = TABLE_1.index(cell["operation"])
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=shade(cell["median"]), edgecolor="white"))
        if not cell["runs"]:
            axes.text(x + 0.5, y + 0.5, "no data", ha="center", va="center", color=MISSING)
        else:
            axes.text(x + 0.5, y + 0.33, number(cell["median"]), ha="center", va="center")
            beside = f"[{number(cell['best'])}]  {cell['below']}/{cell['runs']}"
            axes.text(x + 0.5, y + 0.68, beside, ha="center", va="center", fontsize=SMALL)


def shade(score: float) -> str:
    """Return white for scores up to 0.1, and a blue that is full at 1,000."""
    from matplotlib.colors import to_hex

    if math.isnan(score):
        return "0.95"
    share = min(1.0, max(0.0, (math.log10(max(score, 0.1)) + 1) / 4))
    return to_hex((1 - 0.55 * share, 1 - 0.35 * share, 1 - 0.1 * share))


def latex(cells: pd.DataFrame, models: list[str], experiment: str) -> str:
    """Return the table with its surroundings: median, best and share below 1 of each cell."""
    by_place = {(c["operation"], c["model"], c["split"]): c for c in cells.to_dict("records")}
    heads = " & ".join(f"\\multicolumn{{2}}{{c}}{{{model}}}" for model in models)
    halves = " & ".join("inter. & extra." for _ in models)
    lines = []
    for operation in TABLE_1:
        row = [by_place[operation, model, split] for model in models for split in SPLITS]
        name = operation_label(operation, latex=True)
        ours = [f"${_tex(c['median'])}$ [${_tex(c['best'])}$]" if c["runs"] else "---" for c in row]
        shares = [f"{c['below']}/{c['runs']}" if c["runs"] else "" for c in row]
        lines += [f"{' & '.join([name, *ours])} \\\\*", f"{' & '.join(['', *shares])} \\\\"]
        lines.append("\\midrule")
    body = "\n".join(lines[:-1])
    return (
        "\\begin{table}[h]\n\\centering\n\\caption{Median [best] error in percent of that of "
        "untrained networks, and runs below 1.}\n"
        f"\\label{{tab:{experiment.replace('/', '-')}}}\n"
        f"\\begin{{tabular}}{{l{'rr' * len(models)}}}\n\\toprule\n & {heads} \\\\\n"
        f" & {halves} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def _tex(score: float) -> str:
    return number(score).replace("--", "\\text{--}")
