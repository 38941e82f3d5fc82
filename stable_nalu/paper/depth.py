"""Depth: how often units learn operations on operations, by how many there are."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.papers import OWN_STUDIES
from stable_nalu.figure import style
from stable_nalu.figure.panels import draw_series
from stable_nalu.figure.runs import Context, Part, Product, kind, last_rows, numbers
from stable_nalu.statistics.intervals import wilson

from .experiment import Experiment, Measure, Recipe, Resources, variants
from .nalu import measured

Counted = tuple[str, tuple[tuple[float, int, int], ...]]
"""A label, and the parameter, the runs that succeeded and all runs of each point."""

_ERROR, BELOW = "metric.test.extrapolation", 1e-5
"""Squared error beyond the range of training, relative to the target's, and what is a success."""

_ASIDE = 0.5
"""Share of the distance of two points that counted series take side by side."""


@kind("success over a parameter")
def shares(
    context: Context, parameter: str, x_label: str, published: tuple[Counted, ...] = ()
) -> Product:
    """Draw which share of runs ends with an error below the limit, with Wilson's 95 % intervals.

    published: series that are counted elsewhere.
    """
    counted: list[Counted] = []
    for label, table in context.present(("name", "step", parameter, _ERROR)).items():
        ends = last_rows(table)
        solved = numbers(ends, _ERROR) < BELOW  # An error that is missing is not low.
        rows = solved.groupby(ends[parameter].astype(float).to_numpy()).agg(["sum", "count"])
        counted.append((label, tuple((at, int(k), int(n)) for at, k, n in rows.itertuples())))
    found = pd.DataFrame(
        {"model": label, parameter: at, "solved": k, "n": n} | wilson(k, n)._asdict()
        for label, rows in (*counted, *published)
        for at, k, n in rows
    )
    labels = list(dict.fromkeys(found["model"]))
    values = sorted(set(found[parameter]))
    shown = context.looks(labels)
    figure, axes = style.subplots((14.0, 8.5))
    for place, label in enumerate(labels):
        own = found.loc[found["model"] == label]
        x = np.array([values.index(value) for value in own[parameter]], float)
        x += _ASIDE * (place - (len(labels) - 1) / 2) / len(labels)
        draw_series(axes, x, own, shown[label], label, line=True)
    axes.set_xticks(range(len(values)), [f"{value:g}" for value in values])
    axes.set(xlabel=x_label, ylabel="Solved runs", ylim=(-0.04, 1.04))
    axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    runs = sorted({runs for _, rows in counted for *_, runs in rows})
    return context.plotted(
        figure,
        found,
        f"n = {' to '.join(map(str, dict.fromkeys((runs[0], runs[-1]))))} runs per point, with "
        "95 % intervals; points of one value side by side.",
        *(f"{label}: counted elsewhere, on targets of its own." for label, _ in published),
        handles=style.legend_handles(shown),
    )


_ITERATIONS = 20_000
_RAMP = "--regualizer 0.01 --regualizer-scaling-start 6000 --regualizer-scaling-end 12000"
_WIDTH = f"--layer-option width=4 iterations={_ITERATIONS}"
_UNITS = {
    "nmu": ("NAU, NMU", f"--layer-type NMU --sum-layer NAU {_RAMP}"),
    "nru": ("NAU, NRU", f"--layer-type NRU --sum-layer NAU {_RAMP}"),
    "nalu": ("NALU", "--layer-type NALU"),
    "inalu": ("iNALU", "--layer-type iNALU --clip-grad-value 0.1"),
    "eql": ("EQL", f"--layer-type EQL --batch-size 20 {_WIDTH}"),
    "eml": ("EML, own chains", "--layer-type EML --operations eml --learning-rate 0.03"),
}
_SOURCE = "EML, its README"
_PUBLISHED = {
    "random": ((2, 32, 32), (3, 17, 64), (4, 15, 64), (5, 2, 128), (6, 0, 128)),
    "near": ((5, 4, 4), (6, 4, 4)),
}
"""Start -> depth, trees that were found, and all of them, as the published code tells."""


_SWEPT = {
    "depth": ("--depth 1 2 3 4 5 6", "Depth"),
    "noise": ("--noise 0 0.01 0.02 0.05 0.1", "Relative deviation of the noise"),
    "redundant": ("--redundant 0 1 3 10 30 100", "Redundant inputs"),
}


_MEASURES = (
    Measure(_ERROR, "relative error beyond the range", below=BELOW),
    Measure("metric.valid.interpolation", "relative error within", below=BELOW),
)


def _study(name: str, title: str, flags: str, swept: str, units: str, note: str) -> Experiment:
    text, x_label = _SWEPT[swept]
    every = f"--max-iterations {_ITERATIONS} --log-interval 10000 --learning-rate 1e-2 {flags}"
    setting = Recipe("depth", every, range(100), Resources(60))
    setting = replace(setting, variants=variants(*text.split(maxsplit=1)))
    published = ((_SOURCE, _PUBLISHED[name]),) if name in _PUBLISHED else ()
    part = Part(shares, parameter=swept, x_label=x_label, published=published)
    own = (setting, {unit: _UNITS[unit] for unit in units.split()}, part)
    more: Any = {"parameter": swept, "measures": _MEASURES, "rate": 100_000, "note": note}
    return measured(f"depth/{name}", title, OWN_STUDIES, f"depth, {name}", *own, **more)


_STARTED, _SEARCHED = "nmu nru nalu inalu eml", "nmu nru nalu inalu eql"
_TOLD = (
    "A chain adds and multiplies in turn: ((x1 + x2) x3 + x4) x5 has depth 4. NAU, NMU and NRU are "
    "told which levels add. Trained on [1, 2], tested on [2, 6]. EML trees, in which a sum alone "
    "has depth 5, learn chains of their own operation, exp(x) - ln(h)."
)
_RANDOM = (
    f"{_TOLD} The README of the published EML code counts trees that were found, of targets of its "
    "own and several starts."
)
_NEAR = (
    f"{_TOLD} Normal noise has half the size of the largest weight, as in the README of the "
    "published EML code, whose targets are its own. A warm start is no discovery."
)
_CURRICULUM = (
    f"{_TOLD} All levels but the last one start from exact weights, as if a curriculum had solved "
    "the chain of one operation less; all of them are trained."
)
_NOISE = "The chain (x1 + x2) x3. Noise is uniform and in training only."
_REDUNDANT = "The chain (x1 + x2) x3 among inputs that the target does not use."
_BY = "of operations, by their depth"
_BY_NOISE = "A sum times a number, by the noise of the targets"
_BY_INPUTS = "A sum times a number, by the number of redundant inputs"
_FROM_NEAR = "Chains of operations from nearly exact weights, by their depth"
_LAST_STEP = f"The last step of a curriculum on chains {_BY}"

EXPERIMENTS = (
    _study("random", f"Chains {_BY}", "", "depth", "nmu nru nalu inalu eql eml", _RANDOM),
    _study("near", _FROM_NEAR, "--start near", "depth", _STARTED, _NEAR),
    _study("curriculum", _LAST_STEP, "--start curriculum", "depth", _STARTED, _CURRICULUM),
    _study("noise", _BY_NOISE, "--depth 2", "noise", _SEARCHED, _NOISE),
    _study("redundant", _BY_INPUTS, "--depth 2", "redundant", _SEARCHED, _REDUNDANT),
)
