"""The experiments of the NPU paper: a fractional SIR model, four functions, sums of 100 inputs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

from stable_nalu.base.files import cells_of
from stable_nalu.base.papers import HEIM_2020
from stable_nalu.figure import style
from stable_nalu.figure.runs import Context, Part, Product, kind, last_rows, numbers

from .experiment import Experiment, Measure, Recipe, Resources, Variant, flags, values, variants
from .nalu import measured

_VALID, _TEST = "metric.valid.interpolation", "metric.test.extrapolation"
_HERE = Path(__file__).parent


def _points(experiment: str) -> pd.DataFrame:
    """Return the released points of a figure: model, panel, weights and error of each run."""
    rows = []
    for cells in cells_of(_HERE / "npu_points.csv"):
        pairs = (pair.split(":") for pair in cells["weights_and_log10_error"].split())
        own = cells["experiment"], cells["model"], cells["operation"], "paper"
        rows += [(*own, float(weights), 10 ** float(log)) for weights, log in pairs]
    columns = ["experiment", "model", "panel", "source", "weights", "error"]
    found = pd.DataFrame(rows, columns=columns)
    return found.loc[found["experiment"] == experiment]


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
        ends = last_rows(table)
        lengths = ends.groupby(parameter)["step"] if parameter else ends["step"]
        ends = ends.loc[ends["step"] == (lengths.transform("max") if parameter else lengths.max())]
        own = {"weights": numbers(ends, weights), "error": numbers(ends, error)}
        panel = ends[parameter].astype(str) if parameter else ""
        every.append(pd.DataFrame(own).assign(panel=panel, model=label, source="here"))
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
    "code": ("as the released code", -0.2, "#0072B2"),
    "text": ("rate and range of the text", 0.05, "#D55E00"),
    "order": ("order of layers of the text", 0.3, "#009E73"),
}


@kind("errors by reading")
def readings(context: Context) -> Product:
    """Draw errors of four outputs: means of each reading, and the published numbers."""
    tables = context.present(("name", "step", *(f"metric.test.{name}" for name in _OUTPUTS)))
    units = list(dict.fromkeys(label.partition(",")[0] for label in tables))
    published = [cells for cells in cells_of(_HERE / "npu_table.csv") if cells["model"] in units]
    figure, grid = style.subplots((24.0, 8.5), 1, 4)
    side = []
    for axes, (name, title) in zip(grid, _OUTPUTS.items(), strict=True):
        for label, table in tables.items():
            unit, _, reading = label.partition(", ")
            own = numbers(last_rows(table), f"metric.test.{name}").dropna().to_numpy()
            mean, error = own.mean(), own.std(ddof=1) / np.sqrt(len(own))
            _, aside, color = _READINGS[reading]
            ends = [[min(error, 0.9 * mean)], [error]]
            axes.errorbar(units.index(unit) + aside, mean, ends, fmt="o", color=color)
            cells = {"unit": unit, "reading": reading, "output": name, "runs": len(own)}
            side.append(cells | {"mean": mean, "standard.error": error, "median": np.median(own)})
        for cells in (cells for cells in published if cells["output"] == name):
            value, half = float(cells["error"]), float(cells["deviation"])
            ends = [[min(half, 0.9 * value)], [half]]
            axes.errorbar(units.index(cells["model"]) - 0.4, value, ends, fmt="D", color="0.1")
        axes.set(yscale="log", title=title)
        axes.set_xticks(range(len(units)), units, rotation=40, ha="right")
    grid[0].set_ylabel("Mean absolute error on the grid")
    looks = [
        *((text, "o", color) for text, _, color in _READINGS.values()),
        ("published", "D", "0.1"),
    ]
    handles = [grid[0].plot([], [], mark, color=c, label=text)[0] for text, mark, c in looks]
    said = "Means with standard errors; published numbers with their deviations."
    return context.plotted(figure, pd.DataFrame(side), said, handles=handles)


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
    Part(pareto, experiment="npu/fsir", error=_VALID, weights="metric.weights.above-0.001",
        top=1e3),
    parameter="hidden.size",
    measures=(
        Measure(_VALID, "squared error"),
        Measure("metric.valid.before-lbfgs", "squared error before L-BFGS"),
        Measure(_TEST, "squared error of the 205 days after"),
        Measure("metric.weights.above-0.001", "weights above 0.001")),
    rate=40,
    note="By the released code: RMSProp of Flux at 0.005 (the text: Adam), 3,000 steps, then "
    "L-BFGS of at most 1,000, as the text says. Its line search here is by halving; states between "
    "two Euler steps are interpolated linearly. Exact states have a tolerance of 1e-11.",
)

_WIDE = f"--sums-first --hidden-size 100 --start positive --batch-size 128 {_FLUX} --regualizer-l1"
_BETAS = {"add": "1e-5 1e-4", "mul": "1e-5 1e-4", "inv": "1e-9 1e-7", "sqrt": "1e-6 1e-4"}
_OF_NMU = {"add": ("1e-7 1e-7", 10_000), "mul": ("1e-9 1e-9", 20_000)}


def _wide(units: dict[str, tuple[str, str]], own: dict[str, tuple[str, int]]) -> Experiment:
    """Return the wide tasks; own: betas and lengths that differ."""
    found = []
    for name, usual in _BETAS.items():
        betas, length = own.get(name, (usual, 100_000))
        start, end = betas.split()
        text = f"--function {name} --max-iterations {length} --log-interval {length}"
        text += f" --regualizer-beta-start {start} --regualizer-beta-end {end}"
        text += f" --learning-rate {'1e-2' if name == 'add' else '5e-3'}"
        found.append(Variant(name, flags(text)))
    return measured(
        "npu/large", "Two sums of 100 inputs, added, multiplied, inverted and under a root",
        HEIM_2020, "Table 2 and figure 7",
        Recipe("powers", _WIDE, range(20), Resources(600), variants=tuple(found)), units,
        Part(pareto, experiment="npu/large", error=_TEST, weights="metric.weights.above-0.01",
            top=1e6, parameter="function"),
        parameter="function",
        measures=(
            Measure(_TEST, "squared test error"),
            Measure("metric.test.range-of-paper", "the same on the ranges of the text"),
            Measure(_VALID, "squared error of training inputs"),
            Measure("metric.weights.above-0.01", "weights above 0.01")),
        rate=1500,
        note="By the released code, whose runs are the ten with the lowest test errors of 10 or "
        "20; the text says ten runs. Test ranges of the code: [-2, 2], of the inverse [-0.5, 0], "
        "of the root [0, 4]; of the text [-4, 4], [-0.5, 0.5], [0, 4]. Sobol points are those of "
        "scipy, in Gray order without the origin.",
    )


_NAIVE = {"naive": ("NaiveNPU", "--layer-type NPU --layer-option npu_gate=open")}
_LARGE = _wide({n: _UNITS[n] for n in ("npu", "realnpu", "nalu")} | _NAIVE, {})
_LARGE = replace(_LARGE, models=(*_LARGE.models, *_wide({"nmu": _UNITS["nmu"]}, _OF_NMU).models))

EXPERIMENTS = (_SIR, _SIMPLE, _LARGE)
