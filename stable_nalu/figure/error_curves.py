"""Errors of many runs in one drawing: over epochs, iterations, inputs or lengths of sequences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stable_nalu.errors import UsageError
from stable_nalu.paper.drawing import Runs, Size
from stable_nalu.paper.published import published_measures
from stable_nalu.result.run_parser import CURVE_COLUMNS
from stable_nalu.statistics.names import plain

from .decoration import SMALL, footnote, legend, say_no_data
from .entry import Context, Drawn, Part
from .panels import draw_series, offsets
from .runs import SEQUENCE_VALIDATION, read_series, tested_lengths
from .source import last_rows
from .style import DASHED, Look, looks, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _THEIRS = "#0072B2", "#D55E00"
"""Colours of our runs, and of published points."""

Titled = tuple[tuple[str, str], ...]
"""Columns of exported tables, and what panels or places call them."""


def quartiles(table: pd.DataFrame, by: str, column: str) -> pd.DataFrame:
    """Return median and quartiles of a column over runs; infinite errors count, missing do not."""
    values = pd.Series(pd.to_numeric(table[column], errors="coerce"))
    groups = values.groupby(table[by].to_numpy())
    found = {
        "lower": groups.quantile(0.25),
        "median": groups.median(),
        "upper": groups.quantile(0.75),
        "runs": groups.count(),
    }
    return pd.DataFrame(found).rename_axis(by).reset_index()


def _draw_quartiles(axes: Axes, curve: pd.DataFrame, by: str, look: Look) -> None:
    """Draw a line of medians in a ribbon of quartiles."""
    x = curve[by]
    axes.fill_between(x, curve["lower"], curve["upper"], color=look.color, alpha=0.15, linewidth=0)
    axes.plot(x, curve["median"], **look.style, markevery=max(1, len(x) // 6))


def _draw_epochs(
    panels: list[Axes],
    curves: Titled,
    by: str,
    models: Mapping[str, pd.DataFrame],
    shown: Mapping[str, Look],
) -> list[pd.DataFrame]:
    """Draw quartiles of each column against the epoch, in a panel of its own."""
    side = []
    for axes, (column, title) in zip(panels, curves, strict=True):
        axes.set(title=title, xlabel="Epoch", yscale="log")
        for model, table in models.items():
            curve = quartiles(table, by, column)
            _draw_quartiles(axes, curve.dropna(subset="median"), by, shown[model])
            side.append(curve.assign(model=model, column=column))
    panels[0].set_ylabel("Mean squared error")
    return side


def _with_counts(models: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    return {model: f" (n = {table['name'].nunique()})" for model, table in models.items()}


@dataclass(frozen=True)
class Learning(Part):
    """A panel of curves for each of some columns, and one of the last values of others."""

    KIND = "error over epochs"

    curves: Titled
    ends: Titled
    ends_title: str
    size: Size = (19.0, 8.0)

    def drawn(self, context: Context) -> Drawn:
        """Take quartiles over the runs of every model and draw them."""
        columns = [column for column, _ in (*self.curves, *self.ends)]
        tables = context.exported(("name", "step", *columns))
        found = {model: table for model, table in tables.items() if table is not None}
        shown = looks(list(tables), context.palette)
        figure = new_figure(self.size)
        *panels, last = figure.subplots(
            1, len(self.curves) + 1, sharey=True, width_ratios=[*[1.0] * len(self.curves), 0.9]
        )
        side = _draw_epochs(panels, self.curves, "step", found, shown)
        columns = [column for column, _ in self.ends]
        for (model, table), offset in zip(found.items(), offsets(len(found)), strict=True):
            ends = last_rows(table).assign(end=0)
            points = pd.concat([quartiles(ends, "end", column) for column in columns])
            x = np.arange(len(columns)) + offset
            means = points.rename(columns={"median": "mean"})
            draw_series(last, x, means, shown[model], model, line=False)
            side.append(points.assign(model=model, column=columns))
        last.set(title=self.ends_title, xticks=range(len(columns)))
        last.set_xticklabels([label for _, label in self.ends])
        last.set_xlim(-0.5, len(columns) - 0.5)
        missing = tables.keys() - found.keys()
        legend(figure, shown, _with_counts(found), missing)
        footnote(
            figure,
            "Medians over runs; ribbons and bars: quartiles.",
            "Right: test rows at the end of training, of the problems that have such outputs.",
        )
        return figure, {f"{self.stem}_plot_data": pd.concat(side, ignore_index=True)}


@dataclass(frozen=True)
class Lengths(Part):
    """Panels of errors over the epochs, and one of errors by length beside those of a reference.

    A reference adds or multiplies digits exactly, so that its errors are those of reading them.

    runs: how rows are named and chosen. reference: the model that errors by length are divided by.
    """

    KIND = "error by length"

    runs: Runs
    reference: str
    curves: Titled
    size: Size = (19.0, 8.0)

    def drawn(self, context: Context) -> Drawn:
        """Take medians and quartiles over the runs of every model and draw them."""
        logged = ("name", "epoch", SEQUENCE_VALIDATION)
        found = [read_series(one, self.runs, context.source, logged) for one in context.series]
        read = [rows for rows in found if rows is not None]
        if not read:
            raise UsageError(f"nothing to draw: {'; '.join(context.source.warnings)}")
        rows = pd.concat(read, ignore_index=True)
        of_model = {str(model): table for model, table in rows.groupby("model", sort=False)}
        wanted = (*(one.label for one in context.series if one.label), *self.runs.models)
        models = {model: of_model[model] for model in wanted if model in of_model}
        shown = looks(list(models), context.palette)
        figure = new_figure(self.size)
        *panels, last = figure.subplots(1, len(self.curves) + 1)
        side = _draw_epochs(panels, self.curves, "epoch", models, shown)
        for axes in panels:
            axes.xaxis.get_major_locator().set_params(integer=True)
        side += self._draw_lengths(last, models, shown)
        legend(figure, shown, _with_counts(models))
        footnote(
            figure,
            "Medians over runs; ribbons: quartiles.",
            f"Right: at the last epoch, divided by the median error of the {self.reference}.",
        )
        return figure, {f"{self.stem}_plot_data": pd.concat(side, ignore_index=True)}

    def _draw_lengths(
        self, axes: Axes, models: Mapping[str, pd.DataFrame], shown: Mapping[str, Look]
    ) -> list[pd.DataFrame]:
        """Draw the last errors of every model at every length."""
        axes.set(title="By length", xlabel="Digits of a sequence", yscale="log")
        axes.set_ylabel("Error relative to the reference")
        if self.reference not in models:
            raise UsageError(f"no runs of the {self.reference}, which errors are divided by")
        of_reference = _by_length(models[self.reference]).set_index("length")["median"]
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
    columns = {
        length: c for length, c in tested_lengths(last).items() if bool(last[c].notna().any())
    }
    ends = [quartiles(last.assign(length=n), "length", c) for n, c in columns.items()]
    if not ends:
        raise UsageError("no file has the error at any length")
    return pd.concat(ends, ignore_index=True)


@dataclass(frozen=True)
class CountingLengths(Part):
    """Median and range of the mean absolute error, in a panel for each loss that was trained."""

    KIND = "error over length"

    size: Size = (18.0, 9.0)

    def drawn(self, context: Context) -> Drawn:
        """Read the last rows of all runs and draw a panel for each loss that there is."""
        read = context.exported(("name", "step", "sequence.loss", "interpolation.length"))
        tables = {label: last_rows(table) for label, table in read.items() if table is not None}
        side = pd.DataFrame(
            row | {"model": plain(label)}
            for label, table in tables.items()
            for row in _over_length(table)
        )
        titles = {"last": "Trained on the last step", "all": "Trained on every step"}
        losses = [loss for loss in titles if loss in set(side["loss"])]
        shown = looks(list(read), context.palette)
        figure = new_figure(self.size)
        grid = figure.subplots(1, len(losses), sharey=True, squeeze=False)[0]
        trained = next(iter(tables.values()))["interpolation.length"].iloc[0]
        for axes, loss in zip(grid, losses, strict=True):
            axes.axvline(trained, color="0.35", linewidth=0.8, linestyle=DASHED)
            for model, look in shown.items():
                of_model = (side["loss"] == loss) & (side["model"] == plain(model))
                _draw_range(axes, side.loc[of_model].sort_values("length"), look)
            axes.set(xscale="log", yscale="log", title=titles[loss])
            axes.set_xlabel("Digits in a sequence")
        grid[0].set_ylabel("Mean absolute error")
        # Cells that explode would leave no room for the others: no more than 20 for each digit.
        grid[0].set_ylim(top=min(grid[0].get_ylim()[1], 20 * side["length"].max()))
        legend(figure, shown, missing=read.keys() - tables.keys())
        footnote(
            figure,
            f"Median and range of {side['runs'].to_numpy(int).max()} seeds; lines end, or leave "
            "the axes, where the median overflows or nearly does. Dashed: the length of training.",
        )
        return figure, {f"{self.stem}_plot_data": side}


def _over_length(table: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield a row of each loss and length; a run without a number has diverged: none is worse."""
    for column in table:
        match = re.fullmatch(r"metric\.test\.extrapolation\.(\d+)\.mae", str(column))
        for loss, own in table.groupby("sequence.loss") if match else ():
            errors = own[column].to_numpy(float)
            errors = np.where(np.isnan(errors), np.inf, errors)
            low, median, high = np.quantile(errors, (0, 0.5, 1), method="nearest")
            row = {"loss": loss, "length": int(match[1]) if match else 0, "runs": len(errors)}
            yield row | {"median": median, "lowest": low, "highest": high}


def _draw_range(axes: Axes, own: pd.DataFrame, look: Look) -> None:
    """Draw a line with a band for its range."""
    finite = own.loc[np.isfinite(own["median"])]
    # A range that overflows would leave no room for the rest.
    high = finite["highest"].where(np.isfinite(finite["highest"]), finite["median"])
    axes.fill_between(
        finite["length"], finite["lowest"], high, color=look.color, alpha=0.13, linewidth=0
    )
    axes.plot(finite["length"], finite["median"], **look.style)


@dataclass(frozen=True)
class Losses(Part):
    """Mean squared errors of many runs, so that trainings on more and fewer rows compare.

    experiment: whose published errors are marked. column: the error. half_sum: the loss that was
    trained, half the sum of squared errors over all rows. below: the loss of a run that arrives.
    """

    KIND = "loss over iterations"

    experiment: str
    column: str
    half_sum: str
    below: float
    size: Size = (14.0, 8.5)

    def drawn(self, context: Context) -> Drawn:
        """Read the runs of all files and draw them in one panel."""
        tables = context.exported(("name", "step", "train.size", self.column, self.half_sum))
        rows = pd.concat([table for table in tables.values() if table is not None])
        curves = rows.pivot_table(index="step", columns="name", values=self.column)
        arrived = int((last_rows(rows)[self.half_sum] < self.below).to_numpy().sum())
        size = int(rows["train.size"].iloc[0])
        levels = curves.ffill().quantile((0.25, 0.5, 0.75), axis=1).T
        known = [one for one in published_measures(self.experiment) if one.number is not None]
        figure = new_figure(self.size)
        axes = figure.add_subplot()
        axes.plot(curves.index, curves, color=_OURS, alpha=0.18, linewidth=0.5)
        for level, width in zip(levels, (1.2, 2.4, 1.2), strict=True):
            axes.plot(levels.index, levels[level], color=_OURS, linewidth=width)
        parts = [(one.measure.partition("@"), one.number) for one in known]
        points = [(int(at), error) for (name, _, at), error in parts if name == self.column and at]
        axes.plot(
            *np.array(points).reshape(-1, 2).T, linestyle="none", marker="o",
            markersize=5, markerfacecolor="white", markeredgecolor=_THEIRS, zorder=4,
        )  # fmt: skip
        axes.axhline(2 * self.below / size, color="0.35", linewidth=0.8, linestyle="--")
        axes.set(yscale="log", xlabel="Iteration", ylabel="Mean squared error")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        footnote(
            figure,
            f"{curves.shape[1]} seeds (thin) on {size:,} rows, median and quartiles (thick).",
            f"Dashed: a loss of {self.below:g}, half the sum over all rows; {arrived} of "
            f"{curves.shape[1]} seeds end below it.",
            f"Rings: the one run shown, on 10,000 rows, {known[0].standing}." if known else "",
        )
        side = levels.set_axis([f"quartile.{level:g}" for level in levels], axis=1)
        side.insert(0, "runs", curves.notna().sum(axis=1))
        return figure, {f"{self.stem}_plot_data": side.reset_index()}


@dataclass(frozen=True)
class Extrapolations(Part):
    """Absolute errors of many runs over the input: mean, quartiles, and published points.

    There is a small panel for each model, to show what happens beyond the training range.

    experiment: whose published numbers are marked.
    """

    KIND = "error over input"

    experiment: str
    columns: int = 6
    size: Size = (18.0, 11.5)

    def drawn(self, context: Context) -> Drawn:
        """Read the curves of every model and draw a panel of each."""
        tables = context.exported(("name", "step", "seed"))
        known = published_measures(self.experiment)
        figure = new_figure(self.size)
        rows = -(-len(tables) // self.columns)
        grid = figure.subplots(rows, self.columns, sharex=True, sharey=True, squeeze=False)
        side, ranges = [], set()
        for axes, (model, table) in zip(grid.flat, tables.items(), strict=False):
            axes.set_title(model, pad=3)
            if table is None:
                say_no_data(axes)
                continue
            low, high = map(float, str(table["train.range"].iloc[0]).split())
            axes.axvspan(low, high, color="0.92", linewidth=0, zorder=0)
            ranges.add(f"[{low:g}, {high:g}]")
            curve = _error_curve(table)
            _draw_error_curve(axes, curve)
            of_model = {m.measure: m.number for m in known if m.model == model.lower()}
            _mark_published(axes, of_model)
            side.append(curve.assign(model=model))
        for axes in list(grid.flat)[len(tables) :]:
            axes.set_axis_off()
        grid[0][0].set_ylim(0, 20)
        for below in grid[-1]:
            below.set_xlabel("x")
        for beside in grid[:, 0]:
            beside.set_ylabel("Absolute error")
        curves = pd.concat(side, ignore_index=True)
        by_shape = "its colours repeat, so that three pairs of its lines were told apart by their"
        footnote(
            figure,
            f"Mean (line) and quartiles (band) of {curves['runs'].to_numpy().max()} models each; "
            "means of those whose error is finite. Number: the mean at the right end.",
            f"Grey: the range of training, {' or '.join(sorted(ranges))}.",
            f"Rings: the paper, {known[0].standing}; {by_shape} shape." if known else "",
        )
        return figure, {f"{self.stem}_plot_data": curves}


def _error_curve(table: pd.DataFrame) -> pd.DataFrame:
    """Return mean and quartiles of the error at every input, over the last rows of all runs."""
    ends = last_rows(table)
    rows = []
    for name in [name for name in table if str(name).startswith(CURVE_COLUMNS)]:
        errors = pd.Series(pd.to_numeric(ends[name], errors="coerce"))
        row = {"x": float(str(name).removeprefix(CURVE_COLUMNS)), "mean": errors.mean()}
        bounds = {"lower": errors.quantile(0.25), "upper": errors.quantile(0.75)}
        rows.append(row | bounds | {"runs": errors.count()})
    return pd.DataFrame(rows).sort_values("x", ignore_index=True)


def _draw_error_curve(axes: Axes, curve: pd.DataFrame) -> None:
    axes.fill_between(curve["x"], curve["lower"], curve["upper"], color=_OURS, alpha=0.25, lw=0)
    axes.plot(curve["x"], curve["mean"], color=_OURS)
    axes.text(
        0.5, 0.93, f"{curve['mean'].iloc[-1]:.2g}", transform=axes.transAxes, ha="center",
        va="top", fontsize=SMALL, color=_OURS,
        bbox={"facecolor": "1", "edgecolor": "none", "pad": 1},
    )  # fmt: skip


def _mark_published(axes: Axes, known: Mapping[str, float | None]) -> None:
    """Draw a ring at every published point of a model."""
    points = [
        (float(measure.removeprefix(CURVE_COLUMNS)), number)
        for measure, number in known.items()
        if measure.startswith(CURVE_COLUMNS) and number is not None
    ]
    if points:
        axes.plot(
            *zip(*points, strict=True), linestyle="none", marker="o", markersize=5,
            markerfacecolor="none", markeredgecolor=_THEIRS, clip_on=False,
        )  # fmt: skip
