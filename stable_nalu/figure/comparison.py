"""Several models on the same tasks and seeds: mean ranks, and how many runs are solved when."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, PercentFormatter

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import plural
from stable_nalu.statistics.comparison import Ranks, ranked
from stable_nalu.statistics.summary import STEP
from stable_nalu.statistics.table import BEST_STEP

from . import style
from .curves import with_counts
from .runs import Context, Product, Runs, kind, reduce_series

_RUNS = Runs("interpolation.range", extra="extrapolation.range")
_BLOCK = ["operation", "interpolation.range", "extrapolation.range", "seed"]


def _steps(runs: pd.DataFrame) -> pd.Series:
    """Return the step at which each run solved its task, missing where it did not."""
    return pd.Series(runs[STEP].where(runs["solved"].astype(bool)))


@kind("critical difference", needs="outcomes")
def critical_difference(context: Context) -> Product:
    """Draw the mean rank of each model, with a bar over models that no test tells apart."""
    runs, models = reduce_series(context, _RUNS)
    whole = runs.assign(step=_steps(runs)).set_index([*_BLOCK, "model"])["step"]
    if not whole.index.is_unique:
        raise UsageError("a model has two runs of one task and seed; give them labels of their own")
    there = pd.DataFrame(whole.fillna(np.inf).unstack("model")).dropna()
    if there.shape[1] < 2 or there.empty:
        raise UsageError("a critical difference needs two models with runs of one task and seed")
    found = ranked(there)
    shown = context.looks([model for model in models if model in there])
    figure = draw_ranks(found, shown, "Mean rank (1: solved first)")
    seeds = there.index.get_level_values("seed").nunique()
    note = f"{plural(len(there) // seeds, 'task')}, {plural(seeds, 'seed')}."
    ranks = found.mean.rename("mean.rank").rename_axis("model").reset_index()
    return context.plotted(
        figure,
        ranks,
        "Ranks by the step at which a run solved its task; a run that did not ranks last. A bar "
        "joins models without a significant difference (exact test by whole seeds, Holm).",
        note,
    )


def draw_ranks(found: Ranks, shown: Mapping[str, style.Look], label: str) -> Figure:
    """Draw mean ranks on an axis with a label, and a bar over each group of equals."""
    half = (len(shown) + 1) // 2
    height = 1.6 + 0.5 * half + 0.3 * len(found.alike)
    figure, axes = style.subplots((style.STANDARD[0] * 0.7, height + 1.6))
    axes.set(xlim=(0.9, len(shown) + 0.1), ylim=(-half - 0.6, 0.5 + 0.4 * len(found.alike)))
    for place, (model, rank) in enumerate(found.mean.items()):
        left = place < half
        depth = -1 - (place if left else len(shown) - 1 - place)
        end, look = axes.get_xlim()[not left], shown[str(model)]
        axes.plot([rank, rank, end], [0, depth, depth], color=look.color, linewidth=1)
        axes.plot(rank, 0, color=look.color, marker=look.marker, clip_on=False)
        text = f"{model} {rank:.2f} " if left else f" {rank:.2f} {model}"
        aligned = {"ha": "right" if left else "left", "va": "center", "fontsize": 8}
        axes.text(end, depth, text, color=look.color, **aligned)
    for level, group in enumerate(found.alike):
        ends = found.mean[[group[0], group[-1]]] + [-0.04, 0.04]
        axes.plot(ends, [0.4 + 0.4 * level] * 2, color="0.2", linewidth=3)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set(xticks=range(1, len(shown) + 1), yticks=[], xlabel=label)
    axes.spines[["left", "right", "bottom"]].set_visible(False)
    axes.spines["top"].set_visible(True)
    axes.grid(visible=False)
    return figure


@kind("performance profile", needs="outcomes")
def profile(context: Context) -> Product:
    """Draw the share of runs that have solved their tasks against the step."""
    runs, models = reduce_series(context, _RUNS)
    shown, steps = context.looks(models), _steps(runs)
    end = float(np.nanmax([steps.max(), runs[BEST_STEP].max()]))
    figure, axes = style.subplots((style.STANDARD[0] * 0.6, style.STANDARD[1]))
    each, side = dict[str, pd.DataFrame](), []
    for model in (model for model in models if model in set(runs["model"])):
        each[model] = runs.loc[runs["model"] == model]
        own = np.sort(steps.loc[each[model].index].dropna().to_numpy())
        share = np.arange(len(own) + 1) / len(each[model])
        x, y = [0.0, *own, end], [*share, share[-1]]
        look = shown[model]
        every = max(1, len(x) // 6)
        axes.step(x, y, where="post", **look.style, markevery=every)
        side.append(pd.DataFrame({"model": model, "step": x, "share": y}))
    axes.set(xlim=(0, end), ylim=(-0.03, 1.03), xlabel="Step", ylabel="Share of runs solved")
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    note = "Runs that are solved at their end, by the first step with a test error low enough."
    return context.plotted(figure, side, note, handles=with_counts(shown, each))
