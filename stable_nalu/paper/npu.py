"""The experiments of the NPU paper: a fractional SIR model, four functions, sums of 100 inputs."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

from stable_nalu.base.files import cells_of
from stable_nalu.base.papers import HEIM_2020
from stable_nalu.figure import style
from stable_nalu.figure.runs import Context, Part, Product, kind, last_rows, numbers
from stable_nalu.statistics.table import TEST, VALIDATION

from .experiment import Measure, Recipe, Resources, Variant, flags, values, variants
from .nalu import measured

_HERE = Path(__file__).parent


def _points(experiment: str) -> pd.DataFrame:
    """Return the released points of a figure: model, panel, weights and error of each run."""
    rows = [
        (experiment, cells["model"], cells["operation"], "paper", float(weights), 10 ** float(log))
        for cells in cells_of(_HERE / "npu_points.csv")
        if cells["experiment"] == experiment
        for weights, log in (p.split(":") for p in cells["weights_and_log10_error"].split())
    ]
    columns = ["experiment", "model", "panel", "source", "weights", "error"]
    return pd.DataFrame(rows, columns=columns)


_TICKS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


@kind("error over the number of weights")
def pareto(
    context: Context, experiment: str, error: str, weights: str, top: float, parameter: str = ""
) -> Product:
    """Draw error against the number of weights of each run, and the front that none beats.

    Hollow points are the released ones of the paper. parameter: a panel for each of its values.
    top: larger errors are drawn there.
    """
    columns = ("name", "step", error, weights, *([parameter] * bool(parameter)))
    every = [_points(experiment)]
    for label, table in context.present(columns).items():
        ends = last_rows(table).assign(model=label, source="here", panel="")
        if parameter:
            ends["panel"] = ends[parameter].astype(str)
        ends = ends.loc[ends["step"] == ends.groupby("panel")["step"].transform("max")]
        own = {"weights": numbers(ends, weights), "error": numbers(ends, error)}
        every.append(ends[["model", "panel", "source"]].assign(**own))
    side = pd.concat(every, ignore_index=True)
    side["error"] = side["error"].fillna(np.inf).clip(upper=top)
    shown, panels = context.looks(dict.fromkeys(side["model"])), list(dict.fromkeys(side["panel"]))
    figure, grid = style.subplots((10.0 + 4.0 * len(panels), 9.0), 1, len(panels), squeeze=False)
    for (panel, model, source), runs in side.groupby(["panel", "model", "source"]):
        axes, look, ours = grid[0][panels.index(panel)], shown[str(model)], source == "here"
        fill = look.color if ours else "none"
        how = {"color": look.color, "markersize": 4, "markerfacecolor": fill, "alpha": 0.7}
        axes.plot(runs["weights"], runs["error"], look.marker, **how)
        rows = runs.sort_values(["weights", "error"])
        front = rows.loc[rows["error"] < rows["error"].cummin().shift(fill_value=np.inf)]
        axes.plot(front["weights"], front["error"], "-" if ours else ":", color=look.color)
        axes.set(xscale="log", yscale="log", xlabel="Weights that count", title=panel)
        axes.set_xticks(_TICKS, map(str, _TICKS), minor=False)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlim(*axes.dataLim.intervalx * (0.8, 1.25))
    grid[0][0].set_ylabel("Mean squared error")
    counts = side.groupby(["source", "model"]).size()
    said = ", ".join(f"{n} {model} ({source})" for (source, model), n in counts.items())
    return context.plotted(
        figure,
        side,
        "Filled points, solid fronts: runs here. Hollow points, dotted fronts: released runs of "
        f"the paper. Errors above {top:g} are drawn there. Runs: {said}.",
        handles=style.legend_handles(shown),
    )


_OUTPUTS = {"add": "x + y", "mul": "x y", "div": "x / y", "sqrt": "√x"}
_READINGS = {
    "code": ("as the released code", -0.2, "#0072B2", "o"),
    "text": ("rate and range of the text", 0.05, "#D55E00", "o"),
    "order": ("order of layers of the text", 0.3, "#009E73", "o"),
    "published": ("published", -0.4, "0.1", "D"),
}


@kind("errors by reading")
def readings(context: Context) -> Product:
    """Draw errors of four outputs: means of each reading, and the published numbers."""
    tables = context.present(("name", "step", *(f"metric.test.{name}" for name in _OUTPUTS)))
    units = list(dict.fromkeys(label.partition(",")[0] for label in tables))
    rows = []
    for output, (label, table) in product(_OUTPUTS, tables.items()):
        unit, _, reading = label.partition(", ")
        own = numbers(last_rows(table), f"metric.test.{output}").dropna().to_numpy()
        cells = {"unit": unit, "reading": reading, "output": output, "runs": len(own)}
        cells |= {"mean": own.mean(), "standard.error": own.std(ddof=1) / np.sqrt(len(own))}
        rows.append(cells | {"median": np.median(own)})
    known = [c for c in cells_of(_HERE / "npu_table.csv") if c["unit"] in units]
    figure, grid = style.subplots((24.0, 8.5), 1, 4)
    panels = dict(zip(_OUTPUTS, grid, strict=True))
    for cells in (*rows, *known):
        _, aside, color, marker = _READINGS[cells.get("reading", "published")]
        mean, half = float(cells["mean"]), float(cells["standard.error"])
        ends, look = [[min(half, 0.9 * mean)], [half]], {"fmt": marker, "color": color}
        panels[cells["output"]].errorbar(units.index(cells["unit"]) + aside, mean, ends, **look)
    for output, axes in panels.items():
        axes.set(yscale="log", title=_OUTPUTS[output])
        axes.set_xticks(range(len(units)), units, rotation=40, ha="right")
    grid[0].set_ylabel("Mean absolute error on the grid")
    looks = {text: style.Look(color, marker, "-") for text, _, color, marker in _READINGS.values()}
    handles = style.legend_handles(looks, lines=False)
    said = "Means with standard errors; published numbers with their deviations."
    return context.plotted(figure, pd.DataFrame(rows), said, handles=handles)


# An experiment is a table.
# fmt: off
_FLUX = "--optimizer flux-rmsprop"
_UNITS = {
    "npu": ("NPU", "--layer-type NPU"),
    "realnpu": ("Real NPU", "--layer-type RealNPU"),
    "nmu": ("NMU", "--layer-type NMU"),
    "nalu": ("NALU", f"--layer-type NALU {_FLUX}"),
    "inalu": ("iNALU", f"--layer-type iNALU {_FLUX} --learning-rate 1e-3"),
    "dense": ("Dense", "--layer-type Sigmoid --hidden-size 50"),
}
_READ = (
    ("code", "", ("npu", "realnpu", "nmu", "nalu", "inalu", "dense")),
    ("text", "--upper 2 --learning-rate 1e-3", ("npu", "realnpu", "nmu", "dense")),
    ("order", "--sums-first", ("npu", "realnpu", "nmu")),
)
_FOUR = "--learning-rate 5e-3 --max-iterations 20000 --log-interval 20000"
_MODELS = {
    f"{unit}-{reading}": (f"{_UNITS[unit][0]}, {reading}", f"{_UNITS[unit][1]} {text}")
    for reading, text, units in _READ for unit in units
}
_MODELS["dense-text"] = ("Dense, text", f"{_MODELS['dense-text'][1]} --hidden-size 10")
_SIMPLE = measured(
    "npu/simple",
    "A sum, a product, a quotient and a root at once: the error around the training range",
    HEIM_2020, "Table A2 and figure 6",
    Recipe("powers", _FOUR, range(20), Resources(60)), _MODELS, Part(readings),
    measures=tuple(
        Measure(f"metric.test.{name}", f"absolute error of {title}", typical="mean")
        for name, title in _OUTPUTS.items()),
    rate=4000,
    note="Readings: of the released code (Adam at 0.005, inputs up to 2.1, unit then sum), of the "
    "text (0.001, up to 2, 10 dense units) and of the text's order of layers. The iNALU has no "
    "penalty: the released settings lack its threshold. The caption says medians and median "
    "absolute deviations, the code computes means and standard errors.",
)

_SIR = measured(
    "npu/fsir",
    "A fractional SIR model as a neural differential equation: error and weights that count",
    HEIM_2020, "Figure 4, left",
    Recipe(
        "fractional_sir", f"{_FLUX} --max-iterations 3000 --log-interval 3000", range(5),
        Resources(120), points=values("--beta", "0 0.01 0.1 1"),
        variants=variants("--hidden-size", "6 9 12 15 20")),
    {n: _UNITS[n] for n in ("npu", "realnpu")} | {"dense": ("Dense", "--layer-type Tanh")},
    Part(pareto, experiment="npu/fsir", error=VALIDATION, weights="metric.weights.above-0.001",
        top=1e3),
    parameter="hidden.size",
    measures=(
        Measure(VALIDATION, "squared error"),
        Measure("metric.valid.before-lbfgs", "squared error before L-BFGS"),
        Measure(TEST, "squared error of the 205 days after"),
        Measure("metric.weights.above-0.001", "weights above 0.001")),
    rate=40,
    note="By the released code: RMSProp of Flux at 0.005 (the text: Adam), 3,000 steps, then "
    "L-BFGS of at most 1,000, as the text says. Its line search here is by halving; states between "
    "two Euler steps are interpolated linearly. Exact states have a tolerance of 1e-11.",
)

_WIDE = f"--sums-first --hidden-size 100 --start positive --batch-size 128 {_FLUX} --regualizer-l1"
_TASK = (
    "--function {} --max-iterations {} --log-interval {} --regualizer-beta-start {} "
    "--regualizer-beta-end {} --learning-rate {}")
_TASKS = {
    "add": (100_000, "1e-5", "1e-4", "1e-2"), "mul": (100_000, "1e-5", "1e-4", "5e-3"),
    "inv": (100_000, "1e-9", "1e-7", "5e-3"), "sqrt": (100_000, "1e-6", "1e-4", "5e-3"),
}
_OF_NMU = {"add": (10_000, "1e-7", "1e-7", "1e-2"), "mul": (20_000, "1e-9", "1e-9", "5e-3")}
"""Name -> length, first and last beta, learning rate."""


def _setting(tasks: dict[str, tuple[int, str, str, str]]) -> Recipe:
    each = (Variant(name, flags(_TASK.format(name, own[0], *own))) for name, own in tasks.items())
    return Recipe("powers", _WIDE, range(20), Resources(600), "npu/large/", variants=tuple(each))


_NAIVE = {"naive": ("NaiveNPU", "--layer-type NPU --layer-option npu_gate=open")}
_NMU = _setting(_TASKS | _OF_NMU).model("nmu", *_UNITS["nmu"], csv="npu-large/nmu")
_LARGE = measured(
    "npu/large", "Two sums of 100 inputs, added, multiplied, inverted and under a root",
    HEIM_2020, "Table 2 and figure 7",
    _setting(_TASKS), {n: _UNITS[n] for n in ("npu", "realnpu", "nalu")} | _NAIVE,
    Part(pareto, experiment="npu/large", error=TEST, weights="metric.weights.above-0.01",
        top=1e6, parameter="function"),
    parameter="function",
    measures=(
        Measure(TEST, "squared test error"),
        Measure("metric.test.range-of-paper", "the same on the ranges of the text"),
        Measure(VALIDATION, "squared error of training inputs"),
        Measure("metric.weights.above-0.01", "weights above 0.01")),
    rate=1500,
    note="By the released code, whose runs are the ten with the lowest test errors of 10 or "
    "20; the text says ten runs. Test ranges of the code: [-2, 2], of the inverse [-0.5, 0], "
    "of the root [0, 4]; of the text [-4, 4], [-0.5, 0.5], [0, 4]. Sobol points are scipy's, "
    "in Gray order without the origin.",
)
EXPERIMENTS = (_SIR, _SIMPLE, replace(_LARGE, models=(*_LARGE.models, _NMU)))
