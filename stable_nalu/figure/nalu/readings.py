"""Networks that read numbers in words: their errors as a table, and their answers word by word."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from stable_nalu.dataset.number_translation import PAPER, words_of
from stable_nalu.statistics.names import plain

from ..decoration import footnote, legend
from ..entry import Context, Drawn, Part, Product, Size
from ..source import read_csv
from ..style import MISSING, drawing, looks, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPLITS = {"train": "training", "valid": "validation", "test": "test"}
_SELECTED_BY = "metric.valid.mae"


def selected_rows(context: Context) -> dict[str, pd.DataFrame]:
    """Return the row of the lowest validation error of every run, by model."""
    columns = ("name", "step", "seed", *(f"metric.{split}.mae" for split in SPLITS))
    found = {}
    for model, table in context.tables(lambda path, _: read_csv(path, columns)).items():
        if table is not None:
            best = table.sort_values([_SELECTED_BY, "step"], kind="stable")
            found[model] = best.drop_duplicates("name").sort_values("seed")
    return found


@dataclass(frozen=True)
class ReadingErrors(Part):
    """Median and best absolute error of each model on the three sets."""

    KIND = "table of errors"

    size: Size = (13.0, 5.2)

    def render(self, context: Context) -> Product:
        """Sum up the selected rows of all runs; write LaTeX, draw the same cells."""
        rows = selected_rows(context)
        cells = pd.DataFrame(
            {
                "model": series.name,
                "split": split,
                "runs": len(errors),
                "median": errors.median(),
                "best": errors.min(),
            }
            for series in context.series
            for split in SPLITS
            for errors in [_errors(rows.get(series.name), split)]
        )
        stem = context.stem(self.stem)
        with drawing():
            figure = new_figure(self.size)
            _draw_cells(figure.subplots(), cells)
            runs = " or ".join(map(str, sorted({n for n in cells["runs"] if n})))
            footnote(
                figure,
                f"Mean absolute error, median [best] of {runs or 'no'} runs, each at the logged "
                "epoch of its lowest validation error.",
            )
        return Product(stem, figure, _latex(cells, context.key), {f"{stem}_errors": cells})


def _errors(rows: pd.DataFrame | None, split: str) -> pd.Series:
    if rows is None:
        return pd.Series(dtype=float)
    # A run without a number has diverged: no error is worse.
    return pd.Series(pd.to_numeric(rows[f"metric.{split}.mae"], errors="coerce")).fillna(math.inf)


def _number(error: float) -> str:
    if math.isnan(error):
        return "--"
    return f"{error:.3g}" if math.isfinite(error) else "∞"


def _draw_cells(axes: Axes, cells: pd.DataFrame) -> None:
    """Draw a row of cells for each model, darker for higher medians."""
    from matplotlib.colors import to_hex
    from matplotlib.patches import Rectangle

    models, splits = list(dict.fromkeys(cells["model"])), list(SPLITS)
    axes.set_axis_off()
    axes.set_xlim(-1.1, len(splits))
    axes.set_ylim(len(models), -0.4)
    for place, split in enumerate(splits):
        axes.text(place + 0.5, -0.12, SPLITS[split], ha="center", fontweight="bold")
    for row, model in enumerate(models):
        axes.text(-0.06, row + 0.5, model, ha="right", va="center")
    for cell in cells.to_dict("records"):
        x, y = splits.index(cell["split"]), models.index(cell["model"])
        median = cell["median"]
        share = 0.0 if math.isnan(median) else min(1.0, math.log10(1 + median) / 3)
        face = to_hex((1 - 0.55 * share, 1 - 0.35 * share, 1 - 0.1 * share))
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=face, edgecolor="white"))
        middle: dict[str, Any] = {"ha": "center", "va": "center"}
        if cell["runs"]:
            text = f"{_number(median)} [{_number(cell['best'])}]"
            axes.text(x + 0.5, y + 0.5, text, **middle)
        else:
            axes.text(x + 0.5, y + 0.5, "no data", color=MISSING, **middle)


def _latex(cells: pd.DataFrame, experiment: str) -> str:
    lines = []
    for model, own in cells.groupby("model", sort=False):
        parts = [f"{_number(c['median'])} [{_number(c['best'])}]" for c in own.to_dict("records")]
        lines.append(f"{' & '.join([str(model), *parts])} \\\\".replace("∞", "$\\infty$"))
    heads = " & ".join(SPLITS.values())
    body = "\n".join(lines)
    return (
        "\\begin{table}[h]\n\\centering\n\\caption{Mean absolute error of numbers in words: median "
        "[best] of runs.}\n"
        f"\\label{{tab:{experiment.replace('/', '-')}}}\n\\begin{{tabular}}{{lrrr}}\n\\toprule\n"
        f" & {heads} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


@dataclass(frozen=True)
class Traces(Part):
    """Answers of each model behind every word of some test numbers, by the run of one seed."""

    KIND = "answers word by word"

    numbers: int = 4
    seed: int = 0
    size: Size = (21.0, 7.6)

    def drawn(self, context: Context) -> Drawn:
        """Draw a panel for each number."""
        rows = {
            model: table.set_index("seed").loc[self.seed]
            for model, table in selected_rows(context).items()
            if self.seed in table["seed"].to_list() and "metric.trace.0.number" in table
        }
        shown = looks([series.name for series in context.series], context.palette)
        figure = new_figure(self.size)
        panels = figure.subplots(1, self.numbers, sharey=True)
        side = []
        for place, axes in enumerate(panels):
            for model, row in rows.items():
                number = round(float(row[f"metric.trace.{place}.number"]))
                words = words_of(number, PAPER)
                answers = [float(row[f"metric.trace.{place}.{k + 1}"]) for k in range(len(words))]
                axes.plot(range(len(words)), answers, **shown[model].style, markersize=4)
                axes.axhline(number, color="0.35", linewidth=0.8, linestyle=(0, (4, 2)))
                axes.set(title=str(number), xticks=range(len(words)))
                axes.set_xticklabels(words, rotation=45, ha="right", rotation_mode="anchor")
                side += [
                    {"model": plain(model), "number": number, "word": word, "value": value}
                    for word, value in zip(words, answers, strict=True)
                ]
        panels[0].set_ylabel("Answer behind each word")
        missing = tuple(series.name for series in context.series if series.name not in rows)
        legend(figure, shown, missing=missing)
        footnote(
            figure,
            f"The first {self.numbers} test numbers of seed {self.seed}, which no model has seen; "
            "dashed: what is right behind the last word.",
            "Models are trained on their answer behind the last word alone.",
        )
        return figure, {f"{self.stem}_plot_data": pd.DataFrame(side)}
