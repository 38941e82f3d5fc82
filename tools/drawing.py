"""The pictures of the page, of figures with a published number.

Success rates have their intervals: published ones are hollow squares, ours filled circles. Other
figures are drawn as the gallery draws them.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from stable_nalu.base.errors import UsageError
from stable_nalu.figure.entries import made
from stable_nalu.figure.style import drawing, looks, new_figure
from stable_nalu.inspection.saved_model import FAILURES
from stable_nalu.options.flags import half_open
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import all_entries
from stable_nalu.result.document import SURROUNDINGS, as_svg
from stable_nalu.result.judged import ALL_POINTS, CHOSEN
from stable_nalu.statistics.intervals import Estimate

from . import grouped
from .atlas import unit_of
from .kept_runs import files_of, kept
from .long_table import RATE, Line, Lines

_POINTS_PER_ROW = 36


class Mark(NamedTuple):
    """A place on the axis of points, and the rates there."""

    label: str
    published: Estimate | None
    ours: Estimate | None


def pictures_of(experiment: Experiment, lines: Lines, data: Path) -> dict[str, str]:
    """Return the pictures of an experiment as SVG, by their names on the page.

    There are none where no published number stands beside ours.
    """
    own = [line for line in lines if line.key == experiment.key]
    if not any(line.source for line in own):
        return {}
    if experiment.is_measured:
        return _as_in_the_gallery(experiment, data)
    rates = [line for line in own if line.measure == RATE]
    shown = [line for line in rates if line.point != ALL_POINTS]
    units = grouped(shown, lambda line: (line.model, line.unit))
    if len(units) == len(shown):
        panels = [("Success rate", [mark(line, line.unit) for line in shown])]
    else:
        panels = [
            (unit, [mark(line, half_open(line.point)) for line in of_unit])
            for (_, unit), of_unit in units
        ]
    if whole := [line for line in rates if line.point == ALL_POINTS]:
        panels.insert(0, ("All ranges together", [mark(line, line.unit) for line in whole]))
    return {f"pictures/{experiment.stem}.svg": draw(panels)}


def mark(line: Line, label: str) -> Mark:
    ours = None if line.verdict == CHOSEN else line.here
    return Mark(label, line.there if line.published_n else None, ours)


def _as_in_the_gallery(experiment: Experiment, data: Path) -> dict[str, str]:
    entries, found = all_entries(), {}
    for entry in (entries[key] for key in experiment.figure_keys if key in entries):
        if not files_of(entry, data):
            continue
        context = kept(entry, data)
        for part in entry.parts:
            try:
                product = made(part, context)
            except UsageError:  # of what is not kept
                continue
            if product.figure is not None:
                found[f"pictures/{product.stem}.svg"] = clipped_svg(product.figure)
    return found


def clipped_svg(figure: Figure) -> str:
    """Return a figure whose lines are cut at their axes, with clips named by what they hold.

    Matplotlib names them by numbers that are not rounded, whose last digits differ from layout to
    layout of the same axes.
    """
    svg = as_svg(figure, SURROUNDINGS)
    clips = re.findall(r'<clipPath id="(\w+)">(.*?)</clipPath>', svg, re.DOTALL)
    names = {old: hashlib.sha256(content.encode()).hexdigest()[:10] for old, content in clips}
    for old, new in names.items():
        svg = svg.replace(f'id="{old}"', f'id="p{new}"').replace(f"url(#{old})", f"url(#p{new})")
    return svg


def draw(panels: Sequence[tuple[str, Sequence[Mark]]], *, horizontal: bool = False) -> str:
    """Draw panels of a title and marks, and return the SVG text.

    horizontal: whether the points stand below one another, for long names.
    """
    most = max(len(marks) for _, marks in panels)
    letters = max(len(mark.label) for _, marks in panels for mark in marks)
    columns = 1 if horizontal else min(len(panels), max(1, _POINTS_PER_ROW // most))
    rows = -(-len(panels) // columns)
    size = (1.5 + columns * (1.5 + 0.55 * most), rows * (4.4 + 0.14 * letters))
    with drawing():
        figure = new_figure((19.0, 2.2 + 0.62 * most) if horizontal else size)
        axes = _axes(figure, columns, len(panels), sharey=True)
        for axis, (title, marks) in zip(axes, panels, strict=True):
            _panel(axis, marks, horizontal=horizontal)
            axis.set_title(title, loc="left", fontweight="bold")
        return as_svg(figure)


def _axes(figure: Figure, columns: int, count: int, *, sharey: bool) -> list[Any]:
    """Return the axes of so many panels; what is left of the last row is hidden."""
    shape = (-(-count // columns), columns)
    axes = list(figure.subplots(*shape, squeeze=False, sharey=sharey).flat)
    for axis in axes[count:]:
        axis.set_visible(False)
    return axes[:count]


def _panel(axis: Axes, marks: Sequence[Mark], *, horizontal: bool) -> None:
    theirs = "elsewhere"
    shown = looks(("here", theirs))
    for name, marker, shift in ((theirs, "s", -0.14), ("here", "o", 0.14)):
        rates = [mark.published if name == theirs else mark.ours for mark in marks]
        found = [(i + shift, rate) for i, rate in enumerate(rates) if rate is not None]
        places = np.array([place for place, _ in found])
        values = np.array([[r.lower, r.mean, r.upper] for _, r in found]).reshape(-1, 3)
        # One line through all bars, broken by NaN, is a single path.
        bars = np.column_stack([values[:, [0, 2]], np.full(len(found), np.nan)]).ravel()
        color = shown[name].color
        how = {"color": color, "markerfacecolor": "white" if name == theirs else color}
        how |= {"clip_on": False, "in_layout": False}
        means = {"linestyle": "none", "marker": marker, "label": f"{name} (bar: 95 % interval)"}
        parts = (np.repeat(places, 3), bars, {"linestyle": "-"}), (places, values[:, 1], means)
        for along, shares, style in parts:
            axis.plot(*((shares, along) if horizontal else (along, shares)), **how, **style)
    shares, along = (axis.xaxis, axis.yaxis) if horizontal else (axis.yaxis, axis.xaxis)
    shares.set_ticks([0, 0.5, 1], labels=["0 %", "50 %", "100 %"])
    # In labels matplotlib finds no mathematics.
    labels = [mark.label.replace("$", r"\$") for mark in marks]
    slanted = {} if horizontal else {"rotation": 55, "ha": "right", "rotation_mode": "anchor"}
    along.set_ticks(range(len(marks)), labels=labels, **slanted)
    along.grid(visible=False)
    axis.tick_params(length=0)
    if horizontal:
        axis.set(xlim=(0, 1), ylim=(len(marks) - 0.5, -0.5))
        axis.legend(loc="upper right", bbox_to_anchor=(1, -0.05), ncols=2)
    else:
        axis.set(ylim=(0, 1), xlim=(-0.5, len(marks) - 0.5))


LANDSCAPES, FAILURES_PICTURE = "failure_landscapes.csv", "pictures/failures.svg"


def landscapes(data: Path) -> dict[str, str]:
    """Return the picture of failed runs: the error over planes of weights, and paths."""
    path = data / LANDSCAPES
    if not path.exists():
        return {}
    table = pd.read_csv(path)
    shown = [why for why in FAILURES if why in set(table["failure"])]
    with drawing():
        figure = new_figure((22, 7.5 * -(-len(shown) // 2)))
        for axis, why in zip(_axes(figure, 2, len(shown), sharey=False), shown, strict=True):
            _landscape(figure, axis, table.loc[table["failure"] == why])
        return {FAILURES_PICTURE: as_svg(figure)}


def _landscape(figure: Any, axis: Any, own: pd.DataFrame) -> None:
    """Draw one class: a plane of errors, a path on it, and a star where another seed ended."""
    parts = {part: own.loc[own["part"] == part] for part in ("plane", "path", "solved")}
    plane, path, first = parts["plane"], parts["path"], own.iloc[0]
    errors = plane.pivot(index="v", columns="u", values="error")
    levels = np.log10(errors.replace([np.inf, 0.0], np.nan).to_numpy())
    drawn = axis.contourf(errors.columns, errors.index, levels, levels=14, cmap="cividis")
    figure.colorbar(drawn, ax=axis, label="log10 of the error")
    axis.plot(path["u"], path["v"], color="white", linewidth=1.5, marker=".", markersize=4)
    axis.plot(*path[["u", "v"]].iloc[0], "s", color="white", markeredgecolor="black")
    axis.plot(*path[["u", "v"]].iloc[-1], "X", color="white", markeredgecolor="black", ms=9)
    if len(parts["solved"]):
        axis.plot(parts["solved"]["u"], parts["solved"]["v"], "*", c="w", mec="black", ms=13)
    unit = unit_of(str(first["key"]), str(first["model"]))
    at, _, seed = str(first["run"]).rpartition(" ")
    axis.set_title(f"{first['failure']}: {unit}, {at}, seed {seed}", loc="left", fontsize="small")
    towards = "towards a seed that solved" if len(parts["solved"]) else "where the path bends"
    axis.set(xlabel="back to the start", ylabel=towards)
