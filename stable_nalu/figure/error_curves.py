"""Errors of many runs in one drawing: over epochs, iterations, inputs or lengths of sequences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from stable_nalu.console import plain
from stable_nalu.errors import UsageError
from stable_nalu.options.layer_options import half_open
from stable_nalu.paper.experiment import Runs
from stable_nalu.paper.published import published_measures
from stable_nalu.statistics.judge import TEST
from stable_nalu.statistics.names import operation_label
from stable_nalu.statistics.table import groups, refuse_repeated
from stable_nalu.tags import CURVE_COLUMNS

from . import style
from .entry import Context, Product, kind, last_rows, matching, numbers
from .panels import draw_series, offsets
from .runs import SEQUENCE_VALIDATION, judgement_of, logged, tested_lengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_FLOOR = 1e-32
"""What errors of 0 are drawn as."""

_OURS, _THEIRS = style.Look("#0072B2", "", "-"), "#D55E00"
"""How our curves look, and the colour of published points, in drawings of one model."""


Titled = tuple[tuple[str, str], ...]
"""Columns of exported tables, and what panels or places call them."""


def _quartiles(table: pd.DataFrame, by: str, column: str) -> pd.DataFrame:
    """Return median and quartiles of a column over runs; infinite errors count, missing do not."""
    groups = numbers(table, column).groupby(table[by].to_numpy())
    found = {
        "lower": groups.quantile(0.25),
        "median": groups.median(),
        "upper": groups.quantile(0.75),
        "runs": groups.count(),
    }
    return pd.DataFrame(found).rename_axis(by).reset_index()


def _draw_quartiles(axes: Axes, curve: pd.DataFrame, by: str, look: style.Look) -> None:
    style.ribbon(axes, curve, by, "median", look, markevery=max(1, len(curve) // 6))


def _draw_epochs(
    panels: list[Axes],
    curves: Titled,
    by: str,
    models: Mapping[str, pd.DataFrame],
    shown: Mapping[str, style.Look],
) -> list[pd.DataFrame]:
    """Draw quartiles of each column against the epoch, in a panel of its own."""
    side = []
    for axes, (column, title) in zip(panels, curves, strict=True):
        axes.set(title=title, xlabel="Epoch", yscale="log")
        for model, table in models.items():
            curve = _quartiles(table, by, column)
            _draw_quartiles(axes, curve.dropna(subset="median"), by, shown[model])
            side.append(curve.assign(model=model, column=column))
    panels[0].set_ylabel("Mean squared error")
    return side


def _with_counts(shown: dict[str, style.Look], models: dict[str, pd.DataFrame]) -> list[Line2D]:
    """Return the entries of a legend, with the number of runs of each model."""
    texts = {model: f" (n = {table['name'].nunique()})" for model, table in models.items()}
    return style.legend_handles(shown, texts, shown.keys() - models.keys())


@kind("curve")
def iterations(context: Context, column: str, y_label: str, runs: Runs) -> Product:
    """Draw a column of arithmetic runs against the iteration, in a panel for each training range.

    A run that diverged counts as an infinite error. The threshold is drawn where the test error is.

    runs: how runs are named, and what their thresholds are.
    """
    rows = logged(context, runs, ("name", "step", column))
    refuse_repeated(rows, ["model", "name", "step"])
    parts: dict[Any, pd.DataFrame] = dict(groups(rows, ["operation", runs.x]))
    places = [
        (operation, trained)
        for operation in style.operation_order(map(str, rows["operation"]))
        for trained in style.range_order(map(str, rows[runs.x]))
        if (operation, trained) in parts
    ]
    listed = list(dict.fromkeys(one.label for one in context.figure.series if one.label))
    shown = context.looks(listed or style.legend_order(map(str, rows["model"])))
    across = min(3, len(places))
    down = -(-len(places) // across)
    size = (max(9.0, 6.5 * across), 6.0 * down + 2.0)
    figure, grid = style.subplots(size, down, across, squeeze=False, sharey=True)
    side = []
    for axes in list(grid.flat)[len(places) :]:
        axes.set_axis_off()
    for axes, (operation, trained) in zip(grid.flat, places, strict=False):
        table = parts[operation, trained]
        title = f"{operation_label(operation)} on {half_open(trained)}"
        axes.set(title=title, xlabel="Iteration")
        for (model,), own in groups(table, ["model"]):
            curve = _draw_runs(axes, own, column, shown[model])
            place = {"model": model, "operation": operation, runs.x: trained}
            side.append(curve.reset_index().assign(**place))
        if column == TEST:
            judgement = judgement_of(runs, context)
            for limit in set(judgement.limits(table.drop_duplicates("name"))):
                axes.axhline(limit.threshold, **style.MARK)
    errors = rows[column].to_numpy(float)
    if (errors[np.isfinite(errors)] >= 0).all():
        grid[0][0].set_yscale("log")
    for beside in grid[:, 0]:
        beside.set_ylabel(y_label)
    each = {model: table for (model,), table in groups(rows, ["model"])}
    return context.plotted(
        figure,
        side,
        "Thin: every run. Thick: the median; band: quartiles; a run that diverged counts as the "
        "largest error.",
        "Dashed: the threshold below which a run is solved." if column == TEST else "",
        handles=_with_counts(shown, each),
    )


def _draw_runs(axes: Axes, table: pd.DataFrame, column: str, look: style.Look) -> pd.DataFrame:
    """Draw every run thin, and median and quartiles, which are returned, thick."""
    values = numbers(table, column).fillna(np.inf)
    runs = table.assign(value=values).pivot(index="step", columns="name", values="value")
    levels = runs.quantile((0.25, 0.5, 0.75), axis=1, interpolation="nearest").T
    levels = levels.set_axis(["lower", "median", "upper"], axis=1)
    drawn = runs.mask(runs == 0, _FLOOR).replace(np.inf, np.nan)
    axes.plot(drawn.index, drawn, color=look.color, alpha=0.2, linewidth=0.5, gid="run")
    seen = levels.mask(levels == 0, _FLOOR).replace(np.inf, np.nan).reset_index()
    _draw_quartiles(axes, seen, "step", look)
    return levels.assign(runs=runs.notna().sum(axis=1))


@kind("error over epochs")
def learning(context: Context, curves: Titled, ends: Titled, ends_title: str) -> Product:
    """Draw a panel of curves for each of some columns, and one of the last values of others."""
    columns = [column for column, _ in ends]
    found = context.present(("name", "step", *(column for column, _ in curves), *columns))
    shown = context.looks(one.name for one in context.figure.series)
    widths = [*[1.0] * len(curves), 0.9]
    figure, grid = style.subplots((19.0, 8.0), 1, len(widths), sharey=True, width_ratios=widths)
    *panels, last = grid
    side = _draw_epochs(panels, curves, "step", found, shown)
    for (model, table), offset in zip(found.items(), offsets(len(found)), strict=True):
        ended = last_rows(table).assign(end=0)
        points = pd.concat([_quartiles(ended, "end", column) for column in columns])
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
        handles=_with_counts(shown, found),
    )


@kind("error by length")
def lengths(context: Context, runs: Runs, reference: str, curves: Titled) -> Product:
    """Draw errors over the epochs, and errors by length beside those of a reference.

    A reference adds or multiplies digits exactly, so that its errors are those of reading them.

    runs: how rows are named and chosen. reference: the model that errors by length are divided by.
    """
    rows = logged(context, runs, ("name", "epoch", SEQUENCE_VALIDATION))
    of_model = {str(model): table for model, table in rows.groupby("model", sort=False)}
    wanted = (*(one.label for one in context.figure.series if one.label), *runs.models)
    models = {model: of_model[model] for model in wanted if model in of_model}
    shown = context.looks(models)
    figure, grid = style.subplots((19.0, 8.0), 1, len(curves) + 1)
    *panels, last = grid
    side = _draw_epochs(panels, curves, "epoch", models, shown)
    for axes in panels:
        axes.xaxis.get_major_locator().set_params(integer=True)
    side += _draw_lengths(last, models, shown, reference)
    return context.plotted(
        figure,
        side,
        "Medians over runs; ribbons: quartiles.",
        f"Right: at the last epoch, divided by the median error of the {reference}.",
        handles=_with_counts(shown, models),
    )


def _draw_lengths(
    axes: Axes, models: Mapping[str, pd.DataFrame], shown: Mapping[str, style.Look], reference: str
) -> list[pd.DataFrame]:
    """Draw the last errors of every model at every length."""
    axes.set(title="By length", yscale="log", xlabel="Digits of a sequence")
    axes.set_ylabel("Error relative to the reference")
    if reference not in models:
        raise UsageError(f"no runs of the {reference}, which errors are divided by")
    of_reference = _by_length(models[reference]).set_index("length")["median"]
    side = []
    for model, look in shown.items():
        ends = _by_length(models[model])
        side.append(ends.assign(model=model, column="by length"))
        columns = ["lower", "median", "upper"]
        unit = of_reference.reindex(ends["length"]).to_numpy()
        ends[columns] = ends[columns].div(unit, axis=0)
        _draw_quartiles(axes, ends, "length", look)
    return side


def _by_length(table: pd.DataFrame) -> pd.DataFrame:
    """Return median and quartiles of the last errors of runs at every length."""
    last = last_rows(table, "epoch")
    columns = {n: c for n, c in tested_lengths(last).items() if bool(last[c].notna().any())}
    ends = [_quartiles(last.assign(length=n), "length", c) for n, c in columns.items()]
    if not ends:
        raise UsageError("no file has the error at any length")
    return pd.concat(ends, ignore_index=True)


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


def _ring(axes: Axes, points: Sequence[tuple[float, float | None]], **options: Any) -> None:
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
