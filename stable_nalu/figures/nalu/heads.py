"""Errors of one network with different last layers: bars, and the paper's table beside ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from stable_nalu.catalogue.published import PublishedMeasure, published_measures

from ..entry import Context, Part, Product, Size
from ..kinds.decoration import SMALL, footnote
from ..source import read_csv
from ..style import drawing, new_figure

ACCURACY = "metric.test.acc"
PREVIOUS = "previous best"
"""How the source of a known number ends that is that of the network to be improved."""
_OURS, _THEIRS = ("#8DB7D8", "#CFE1F0"), "#A04000"


@dataclass(frozen=True)
class Heads(Part):
    """Test errors of one network with different last layers, as bars and as a table.

    experiment: whose known numbers stand beside ours, by its keys, as which the files of the series
    are called; those of last layers with a bias end in `-b`.
    """

    KIND = "errors by last layer"

    experiment: str
    size: Size = (18.0, 8.6)

    def render(self, context: Context) -> Product:
        """Read the last row of every run, draw bars and table, write LaTeX."""
        tables = context.tables(lambda path, _: read_csv(path, ("name", "step", "seed", ACCURACY)))
        known = [one for one in published_measures(self.experiment) if one.measure == ACCURACY]
        previous = next((one for one in known if one.source.endswith(PREVIOUS)), None)
        others = [one for one in known if one != previous]
        rows = [
            _summed_up(one.files[0].rpartition("/")[2], one.name, tables[one.name], others)
            for one in context.series
        ]
        stem = context.stem(self.stem)
        with drawing():
            figure = new_figure(self.size)
            bars, cells = figure.subplots(1, 2, width_ratios=(1.25, 1))
            _draw_errors(bars, rows, previous)
            _draw_cells(cells, rows)
            steps = sorted({step for row in rows for step in row["steps"]})
            runs = sorted({len(row["errors"]) for row in rows if len(row["errors"])})
            footnote(
                figure,
                f"Mean of {' or '.join(map(str, runs))} seeds (dots: each of them) after "
                f"{' or '.join(f'{step:,}' for step in steps)} updates; how many the paper has is "
                "not known, the public network that this is has 100,000.",
                f"Diamonds, dashed line and “paper”: {known[0].standing}." if known else "",
            )
        side = pd.DataFrame(
            {"model": row["label"], "seed": seed, "error": error, "step": step}
            for row in rows
            for seed, error, step in zip(row["seeds"], row["errors"], row["steps"], strict=True)
        )
        text = _latex(rows, self.experiment)
        return Product(stem, figure, text, {f"{stem}_plot_data": side})


def _summed_up(
    key: str, label: str, table: pd.DataFrame | None, known: list[PublishedMeasure]
) -> dict:
    """Return the test error in percent of each run of a last layer, and the known one."""
    ends = pd.DataFrame({"seed": [], "step": [], ACCURACY: []})
    if table is not None:
        ends = table.sort_values("step").drop_duplicates("name", keep="last")
        ends = ends.loc[pd.Series(pd.to_numeric(ends[ACCURACY], errors="coerce")).notna()]
    number = next((one.number for one in known if one.model == key), None)
    return {
        "label": label,
        "weight": key.removesuffix("-b"),
        "place": -0.5 if key.endswith("-b") else 0.5,
        "seeds": ends["seed"].astype(int).tolist(),
        "steps": ends["step"].astype(int).tolist(),
        "errors": (100 * (1 - ends[ACCURACY].to_numpy(float))).tolist(),
        "known": None if number is None else 100 * (1 - number),
    }


def _draw_errors(axes, rows: list[dict], previous: PublishedMeasure | None) -> None:
    """Draw a pair of bars for each kind of weight: with a bias, and without."""
    names = {row["weight"]: row["label"].removesuffix("+ b").rstrip() for row in rows}
    for row in rows:
        at = list(names).index(row["weight"]) + 0.38 * row["place"]
        if row["errors"]:
            axes.bar(at, np.mean(row["errors"]), 0.36, color=_OURS[row["place"] > 0])
            axes.plot([at] * len(row["errors"]), row["errors"], "o", color="0.15", markersize=2.5)
        if row["known"] is not None:
            axes.plot(at, row["known"], "D", color=_THEIRS, markerfacecolor="none", markersize=5)
    if previous is not None and previous.number is not None:
        error = 100 * (1 - previous.number)
        axes.axhline(error, color=_THEIRS, linestyle=(0, (4, 2)), linewidth=1)
        axes.text(
            len(names) - 0.55, error, f"previous best, {error:.1f}", ha="right", va="bottom",
            fontsize=SMALL, color=_THEIRS,
            bbox={"facecolor": "1", "alpha": 0.8, "edgecolor": "none", "pad": 1},
        )  # fmt: skip
    axes.set_xticks(range(len(names)), list(names.values()))
    axes.set_ylabel("Wrong counts in the test, %")
    axes.set_ylim(bottom=0)
    axes.grid(visible=False, axis="x")
    handles = [axes.bar(0, 0, color=color) for color in _OURS]
    axes.legend(handles, ["with a bias", "without"], loc="upper right", frameon=False)


def _draw_cells(axes, rows: list[dict]) -> None:
    """Draw the paper's table: accuracy of each last layer, ours and the known one."""
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(rows) + 0.3, -1)
    for x, head in zip((0.0, 0.62, 0.98), ("Accuracy, %", "ours", "paper"), strict=True):
        axes.text(x, -0.4, head, ha="left" if x == 0 else "right", va="center", weight="bold")
    for y, row in enumerate(rows):
        axes.text(0, y + 0.4, row["label"], va="center")
        axes.text(0.62, y + 0.4, _ours(row), ha="right", va="center")
        theirs = "not remembered" if row["known"] is None else f"rec. {100 - row['known']:.1f}"
        axes.text(0.98, y + 0.4, theirs, ha="right", va="center", color=_THEIRS, fontsize=SMALL + 1)
        axes.axhline(y + 0.9, color="0.85", linewidth=0.5)


def _ours(row: dict) -> str:
    """Return mean and range of the accuracies."""
    accuracies = 100 - np.array(row["errors"])
    if not len(accuracies):
        return "no data"
    return f"{accuracies.mean():.1f} [{accuracies.min():.1f}, {accuracies.max():.1f}]"


def _latex(rows: list[dict], experiment: str) -> str:
    """Return the table with its surroundings."""
    lines = [
        f"{row['label']} & {_ours(row)} & "
        f"{'---' if row['known'] is None else format(100 - row['known'], '.1f')} \\\\"
        for row in rows
    ]
    body = "\n".join(lines)
    return (
        "\\begin{table}[h]\n\\centering\n\\caption{Test accuracy in percent by last layer: mean "
        "and range of ours, and the recalled, unconfirmed number.}\n"
        f"\\label{{tab:{experiment.replace('/', '-')}}}\n\\begin{{tabular}}{{lrr}}\n\\toprule\n"
        f"Last layer & ours & paper \\\\\n\\midrule\n{body}\n\\bottomrule\n"
        "\\end{tabular}\n\\end{table}\n"
    )
