"""Curves of the NALU paper and its articles: over epochs, iterations, inputs and lengths."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from stable_nalu.base.script import plain
from stable_nalu.base.tags import CURVE_COLUMNS
from stable_nalu.figure import style
from stable_nalu.figure.drawing import kind
from stable_nalu.figure.entry import Context, Product, last_rows, matching, numbers
from stable_nalu.figure.error_curves import Titled, draw_epochs, quartiles, with_counts
from stable_nalu.figure.panels import draw_series, offsets

from .published import published_measures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _THEIRS = style.Look("#0072B2", "", "-"), "#D55E00"
"""How our curves look, and the colour of published points, in drawings of one model."""


@kind("error over epochs")
def learning(context: Context, curves: Titled, ends: Titled, ends_title: str) -> Product:
    """Draw a panel of curves for each of some columns, and one of the last values of others."""
    columns = [column for column, _ in ends]
    found = context.present(("name", "step", *(column for column, _ in curves), *columns))
    shown = context.looks(one.name for one in context.figure.series)
    widths = [*[1.0] * len(curves), 0.9]
    figure, grid = style.subplots((19.0, 8.0), 1, len(widths), sharey=True, width_ratios=widths)
    *panels, last = grid
    side = draw_epochs(panels, curves, "step", found, shown)
    for (model, table), offset in zip(found.items(), offsets(len(found)), strict=True):
        ended = last_rows(table).assign(end=0)
        points = pd.concat([quartiles(ended, "end", column) for column in columns])
        means = points.rename(columns={"median": "mean"})
        x = np.arange(len(columns)) + offset
        draw_series(last, x, means, shown[model], model, line=False)
        side.append(points.assign(model=model, column=columns))
    last.set(title=ends_title, xlim=(-0.5, len(columns) - 0.5))
    last.set_xticks(range(len(columns)), [label for _, label in ends])
    return context.plotted(
        figure,
        side,
        "Medians over runs; ribbons and bars: quartiles.",
        "Right: test rows at the end of training, of the problems that have such outputs.",
        handles=with_counts(shown, found),
    )


@kind("error over length")
def counting_lengths(context: Context) -> Product:
    """Draw median and range of the mean absolute error, in a panel for each trained loss."""
    read = context.present(("name", "step", "sequence.loss", "interpolation.length"))
    tables = {label: last_rows(table) for label, table in read.items()}
    side = pd.DataFrame(
        row | {"model": plain(label)}
        for label, table in tables.items()
        for row in _over_length(table)
    )
    titles = {"last": "Trained on the last step", "all": "Trained on every step"}
    losses = [loss for loss in titles if loss in set(side["loss"])]
    shown = context.looks(one.name for one in context.figure.series)
    figure, ((*grid,),) = style.subplots((18.0, 9.0), 1, len(losses), sharey=True, squeeze=False)
    trained = next(iter(tables.values()))["interpolation.length"].iloc[0]
    for axes, loss in zip(grid, losses, strict=True):
        axes.axvline(trained, **style.MARK)
        for model, look in shown.items():
            of_model = (side["loss"] == loss) & (side["model"] == plain(model))
            own = side.loc[of_model & np.isfinite(side["median"])].sort_values("length")
            # A range that overflows would leave no room for the rest.
            upper = own["highest"].where(np.isfinite(own["highest"]), own["median"])
            own = own.assign(lower=own["lowest"], upper=upper)
            style.ribbon(axes, own, "length", "median", look, alpha=0.13)
        axes.set(xscale="log", yscale="log", title=titles[loss], xlabel="Digits in a sequence")
    grid[0].set_ylabel("Mean absolute error")
    # Cells that explode would leave no room for the others: no more than 20 for each digit.
    grid[0].set_ylim(top=min(grid[0].get_ylim()[1], 20 * side["length"].max()))
    return context.plotted(
        figure,
        side,
        f"Median and range of {max(side['runs'])} seeds; lines end, or leave the axes, where the "
        "median overflows or nearly does. Dashed: the length of training.",
        handles=style.legend_handles(shown, missing=shown.keys() - tables.keys()),
    )


def _over_length(table: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield a row of each loss and length; a run without a number has diverged: none is worse."""
    for match, column in matching(table, r"metric\.test\.extrapolation\.(\d+)\.mae"):
        for loss, own in table.groupby("sequence.loss"):
            errors = own[column].to_numpy(float)
            errors = np.where(np.isnan(errors), np.inf, errors)
            low, median, high = np.quantile(errors, (0, 0.5, 1), method="nearest")
            row = {"loss": loss, "length": int(match[1]), "runs": len(errors)}
            yield row | {"median": median, "lowest": low, "highest": high}


@kind("loss over iterations")
def losses(context: Context, experiment: str, column: str, half_sum: str, below: float) -> Product:
    """Draw mean squared errors of many runs, so that trainings on more and fewer rows compare.

    experiment: whose published errors are marked. column: the error. half_sum: the loss that was
    trained, half the sum of squared errors over all rows. below: the loss of a run that arrives.
    """
    tables = context.present(("name", "step", "train.size", column, half_sum))
    rows = pd.concat([*tables.values()])
    curves = rows.pivot_table(index="step", columns="name", values=column)
    arrived = int((last_rows(rows)[half_sum] < below).to_numpy().sum())
    size = int(rows["train.size"].iloc[0])
    levels = curves.ffill().quantile((0.25, 0.5, 0.75), axis=1).T
    known = [one for one in published_measures(experiment) if one.number is not None]
    figure, axes = style.subplots((14.0, 8.5))
    axes.plot(curves.index, curves, color=_OURS.color, alpha=0.18, linewidth=0.5)
    for level, width in zip(levels, (1.2, 2.4, 1.2), strict=True):
        axes.plot(levels.index, levels[level], color=_OURS.color, linewidth=width)
    parts = [(one.measure.partition("@"), one.number) for one in known]
    points = [(int(at), number) for (name, _, at), number in parts if name == column and at]
    _ring(axes, points, markerfacecolor="white", zorder=4)
    axes.axhline(2 * below / size, color="0.35", linewidth=0.8, linestyle="--")
    axes.set(yscale="log", xlabel="Iteration", ylabel="Mean squared error")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    seeds = curves.shape[1]
    side = levels.set_axis([f"quartile.{level:g}" for level in levels], axis=1)
    side.insert(0, "runs", curves.notna().sum(axis=1))
    return context.plotted(
        figure,
        side.reset_index(),
        f"{seeds} seeds (thin) on {size:,} rows, median and quartiles (thick).",
        f"Dashed: a loss of {below:g}, half the sum over all rows; {arrived} of {seeds} seeds end "
        "below it.",
        f"Rings: the one run shown, on 10,000 rows, {known[0].standing}." if known else "",
    )


def _ring(axes: "Axes", points: Sequence[tuple[float, float | None]], **options: Any) -> None:
    """Draw rings around published points."""
    x, y = np.array(points).reshape(-1, 2).T
    axes.plot(x, y, linestyle="none", marker="o", markersize=5, markeredgecolor=_THEIRS, **options)


COLUMNS = 6


@kind("error over input")
def extrapolations(
    context: Context, experiment: str, top: float = 20, x_label: str = "x"
) -> Product:
    """Draw absolute errors of many runs over the input, in a small panel for each model.

    experiment: whose published numbers are marked. top: the largest error that is shown.
    """
    tables = context.exported(("name", "step", "seed"))
    known = published_measures(experiment)
    across = min(COLUMNS, len(tables))
    rows = -(-len(tables) // across)
    size = (18.0, 11.5 if rows > 1 else 7.0)
    figure, grid = style.subplots(size, rows, across, sharex=True, sharey=True, squeeze=False)
    side, ranges = [], set()
    for axes, (model, table) in zip(grid.flat, tables.items(), strict=False):
        axes.set_title(model, pad=3)
        if table is None:
            style.say_no_data(axes)
            continue
        if "train.range" in table:
            low, high = map(float, str(table["train.range"].iloc[0]).split())
            axes.axvspan(low, high, color="0.92", linewidth=0, zorder=0)
            ranges.add(f"[{low:g}, {high:g}]")
        curve = _error_curve(table)
        style.ribbon(axes, curve, "x", "mean", _OURS, alpha=0.25)
        axes.text(
            0.5, 0.93, f"{curve['mean'].iloc[-1]:.2g}", transform=axes.transAxes, ha="center",
            va="top", fontsize=style.SMALL, color=_OURS.color,
            bbox={"facecolor": "1", "edgecolor": "none", "pad": 1},
        )  # fmt: skip
        points = [
            (float(m.measure.removeprefix(CURVE_COLUMNS)), m.number)
            for m in known
            if m.model == model.lower()
            and m.number is not None
            and m.measure.startswith(CURVE_COLUMNS)
        ]
        if points:
            _ring(axes, points, markerfacecolor="none", clip_on=False)
        side.append(curve.assign(model=model))
    for axes in list(grid.flat)[len(tables) :]:
        axes.set_axis_off()
    grid[0][0].set_ylim(0, top)
    for below in grid[-1]:
        below.set_xlabel(x_label)
    for beside in grid[:, 0]:
        beside.set_ylabel("Absolute error")
    curves = pd.concat(side, ignore_index=True)
    by_shape = "its colours repeat, so that three pairs of its lines were told apart by their"
    return context.plotted(
        figure,
        curves,
        f"Mean (line) and quartiles (band) of {max(curves['runs'])} models each; "
        "means of those whose error is finite. Number: the mean at the right end.",
        f"Grey: the range of training, {' or '.join(sorted(ranges))}." if ranges else "",
        f"Rings: the paper, {known[0].standing}; {by_shape} shape." if known else "",
    )


def _error_curve(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean and quartiles of the error at every input, over the last rows of all runs."""
    ends = last_rows(table)
    rows = []
    for match, name in matching(table, re.escape(CURVE_COLUMNS) + "(.+)"):
        errors = numbers(ends, name)
        row = {"x": float(match[1]), "mean": errors.mean()}
        bounds = {"lower": errors.quantile(0.25), "upper": errors.quantile(0.75)}
        rows.append(row | bounds | {"runs": errors.count()})
    return pd.DataFrame(rows).sort_values("x", ignore_index=True)
