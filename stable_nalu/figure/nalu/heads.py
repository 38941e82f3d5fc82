"""Errors of one network with different last layers: bars, and a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..decoration import footnote
from ..entry import Context, Part, Product, Size
from ..source import read_csv
from ..style import drawing, new_figure

ACCURACY = "metric.test.acc"
_OURS = ("#8DB7D8", "#CFE1F0")


@dataclass(frozen=True)
class Heads(Part):
    """Test errors of one network with different last layers, as bars and as a table.

    Files of the series have the keys of last layers as names; those with a bias end in `-b`.
    """

    KIND = "errors by last layer"

    size: Size = (18.0, 8.6)

    def render(self, context: Context) -> Product:
        """Read the last row of every run, draw bars and table, write LaTeX."""
        tables = context.tables(lambda path, _: read_csv(path, ("name", "step", "seed", ACCURACY)))
        rows = [
            _summed_up(one.files[0].rpartition("/")[2], one.name, tables[one.name])
            for one in context.series
        ]
        stem = context.stem(self.stem)
        with drawing():
            figure = new_figure(self.size)
            bars, cells = figure.subplots(1, 2, width_ratios=(1.25, 1))
            _draw_errors(bars, rows)
            _draw_cells(cells, rows)
            steps = sorted({step for row in rows for step in row["steps"]})
            runs = sorted({len(row["errors"]) for row in rows if len(row["errors"])})
            footnote(
                figure,
                f"Mean of {' or '.join(map(str, runs))} seeds (dots: each of them) after "
                f"{' or '.join(f'{step:,}' for step in steps)} updates; how many the paper has is "
                "not known, the public network that this is has 100,000.",
            )
        side = pd.DataFrame(
            {"model": row["label"], "seed": seed, "error": error, "step": step}
            for row in rows
            for seed, error, step in zip(row["seeds"], row["errors"], row["steps"], strict=True)
        )
        text = _latex(rows, context.key)
        return Product(stem, figure, text, {f"{stem}_plot_data": side})


def _summed_up(key: str, label: str, table: pd.DataFrame | None) -> dict:
    """Return the test error in percent of each run of a last layer."""
    ends = pd.DataFrame({"seed": [], "step": [], ACCURACY: []})
    if table is not None:
        ends = table.sort_values("step").drop_duplicates("name", keep="last")
        ends = ends.loc[pd.Series(pd.to_numeric(ends[ACCURACY], errors="coerce")).notna()]
    return {
        "label": label,
        "weight": key.removesuffix("-b"),
        "place": -0.5 if key.endswith("-b") else 0.5,
        "seeds": ends["seed"].astype(int).tolist(),
        "steps": ends["step"].astype(int).tolist(),
        "errors": (100 * (1 - ends[ACCURACY].to_numpy(float))).tolist(),
    }


def _draw_errors(axes, rows: list[dict]) -> None:
    """Draw a pair of bars for each kind of weight: with a bias, and without."""
    names = {row["weight"]: row["label"].removesuffix("+ b").rstrip() for row in rows}
    for row in rows:
        at = list(names).index(row["weight"]) + 0.38 * row["place"]
        if row["errors"]:
            axes.bar(at, np.mean(row["errors"]), 0.36, color=_OURS[row["place"] > 0])
            axes.plot([at] * len(row["errors"]), row["errors"], "o", color="0.15", markersize=2.5)
    axes.set_xticks(range(len(names)), list(names.values()))
    axes.set_ylabel("Wrong counts in the test, %")
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    handles = [axes.bar(0, 0, color=color) for color in _OURS]
    axes.legend(handles, ["with a bias", "without"], loc="upper right", frameon=False)


def _draw_cells(axes, rows: list[dict]) -> None:
    """Draw the accuracy of each last layer as a table."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(rows) + 0.3, -1)
    for x, head, side in ((0.0, "Last layer", "left"), (0.9, "Accuracy, %", "right")):
        axes.text(x, -0.4, head, ha=side, va="center", weight="bold")
    for y, row in enumerate(rows):
        axes.text(0, y + 0.4, row["label"], va="center")
        axes.text(0.9, y + 0.4, _ours(row), ha="right", va="center")
        axes.axhline(y + 0.9, color="0.85", linewidth=0.5)


def _ours(row: dict) -> str:
    """Return mean and range of the accuracies."""
    accuracies = 100 - np.array(row["errors"])
    if not len(accuracies):
        return "no data"
    return f"{accuracies.mean():.1f} [{accuracies.min():.1f}, {accuracies.max():.1f}]"


def _latex(rows: list[dict], experiment: str) -> str:
    """Return the table with its surroundings."""
    body = "\n".join(f"{row['label']} & {_ours(row)} \\\\" for row in rows)
    return (
        "\\begin{table}[h]\n\\centering\n\\caption{Test accuracy in percent by last layer: mean "
        "and range.}\n"
        f"\\label{{tab:{experiment.replace('/', '-')}}}\n\\begin{{tabular}}{{lr}}\n\\toprule\n"
        f"Last layer & accuracy \\\\\n\\midrule\n{body}\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n"
    )
