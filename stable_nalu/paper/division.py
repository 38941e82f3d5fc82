"""Learning Division, and its journal version: single modules, small divisors, digit pairs."""

from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection

from stable_nalu.base.papers import MISTRY_2022_DIVISION, MISTRY_2022_MECHANISMS
from stable_nalu.base.script import plain
from stable_nalu.figure import style
from stable_nalu.figure.curves import chosen_rows, read_pairs, scatter
from stable_nalu.figure.runs import Context, Part, Product, Runs, Series, drawn, kind
from stable_nalu.figure.style import INCH, MISSING, STANDARD, WIDE, subplots
from stable_nalu.options.flags import half_open
from stable_nalu.statistics.table import numeric

from . import experiment
from .experiment import Experiment, FurtherTable, Measure, Model, Recipe, Resources
from .primer import RUNS, panels

_ANSWER = "metric.{}.output_rounded_{}dp.acc"


@kind("violin", needs="epochs")
def violin(context: Context) -> Product:
    """Draw how right answers at the chosen row are distributed over runs, a violin each model."""
    column = _ANSWER.format("test", 5)
    rows, labels, _ = read_pairs(context, column)
    chosen = chosen_rows(rows, _ANSWER.format("train", 5))
    models = [model for model in ("DIV", "Real NPU (mod)", "NRU", "NMRU") if model in labels]
    values = {m: chosen.loc[chosen["model"] == m, column].dropna() for m in models}
    figure, axes = subplots(WIDE)
    for place, some in enumerate(values.values(), start=1):
        _draw_violin(axes, place, some.to_numpy())
    texts = [f"{model}\n(n = {len(some)})" for model, some in values.items()]
    axes.set_yticks(range(1, len(models) + 1), texts)
    axes.set(ylim=(0.4, len(models) + 0.6), xlabel="accuracy (%)", ylabel="Model")
    drawn = chosen.filter(["model", "name", "seed", "epoch", column])
    return context.plotted(figure, drawn, "Box: quartiles. Points: outliers.")


def _draw_violin(axes: Axes, place: int, some: np.ndarray) -> None:
    if len(some) == 0:
        middle = axes.get_yaxis_transform()
        axes.text(0.5, place, "no data", transform=middle, color=MISSING, **style.MIDDLE)
        return
    lying: dict[str, Any] = {"positions": [place], "orientation": "horizontal"}
    if len(some) > 1 and np.ptp(some) > 0:
        body = axes.violinplot([some], widths=0.7, showextrema=False, **lying)
        for shape in cast(list[PolyCollection], body["bodies"]):
            shape.set(facecolor="cornflowerblue", alpha=0.8, edgecolor="0.3", linewidth=0.5)
    lying["medianprops"] = {"color": "black"}
    lying["flierprops"] = {"marker": ".", "markersize": 3, "markeredgecolor": "#D55E00"}
    axes.boxplot([some], widths=0.08, manage_ticks=False, **lying)


EPSILON, X = 0.1, np.array([1.0, 1.2, 1.8, 2.0])
TARGET = float((X[0] + X[1]) * X.sum())


@kind("landscape", needs="nothing")
def landscape(context: Context, unit: str, title: str) -> Product:
    """Draw the loss of a chain of two layers over one weight of each, computed: no file is read.

    x = (1, 1.2, 1.8, 2),   t = (x1 + x2)(x1 + x2 + x3 + x4) = 13.2
    z = ((w1, w1, 0, 0) x, (w1, w1, w1, w1) x),   y = unit(z; w2, w2)
    """
    step = 0.01
    weights = np.arange(-1.0, 1.0 - step / 2, step)
    w1, w2 = np.meshgrid(weights, weights, indexing="ij")
    figure = style.new_figure((7 * INCH, 4.6 * INCH), layout=None)
    axes: Any = figure.add_subplot(projection="3d")
    look = {"cmap": "Spectral", "rcount": 80, "ccount": 80, "linewidth": 0, "rasterized": True}
    surface = axes.plot_surface(w1, w2, chain_error(unit, w1, w2, EPSILON), **look)
    axes.view_init(elev=45, azim=-45)
    axes.set(xlabel="$w_1$", ylabel="$w_2$", zlabel="RMSE", title=f"{title}, ε = {EPSILON}")
    figure.colorbar(surface, ax=axes, shrink=0.6, pad=0.14)
    text = f"Computed, no runs. Input {tuple(map(float, X))}, target {TARGET:g}."
    figure.text(0.5, 0.02, text, ha="center", **style.GREY)
    return Product(context.stem, figure)


def chain_output(unit: str, z: np.ndarray, w2: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the output of a unit with both weights w2, for z of shape (2, ...)."""
    if unit == "nmu":
        return np.prod(z * w2 + 1 - w2, axis=0)
    power = (np.abs(z) + epsilon) ** w2
    if unit == "nac-mul":
        return np.prod(power, axis=0)
    gate = np.tanh(1000.0 * w2) ** 2 if unit == "nru-tanh" else np.abs(w2)
    return np.prod(np.sign(z) * power * gate + 1 - gate, axis=0)


def chain_error(unit: str, w1: np.ndarray, w2: np.ndarray, epsilon: float) -> np.ndarray:
    """Return |y - t|."""
    z = np.stack([w1 * X[:2].sum(), w1 * X.sum()])
    shift = np.abs(z) + epsilon if unit == "nmu" else z
    with np.errstate(over="ignore", divide="ignore"):
        return np.abs(chain_output(unit, shift, w2, epsilon) - TARGET)


GOLD_MODULES = ("RealNPU", "RealNPU (eps=0)", "NRU", "NMRU")
GOLD_TASKS = {
    "easy": "Input: [a]; Output: 1/a",
    "medium": "Input: [a,b]; Output: 1/a",
    "hard": "Input: [a,b]; Output: a/b",
}


@kind("gold-errors")
def gold_errors(context: Context) -> Product:
    """Draw the error that is left with exact weights, against the sampled range of a divisor."""
    columns = ("module", "parameter", "test.mse", "range")
    path = context.require(context.figure.series[0])
    table = numeric(context.read(path, columns, "a table of gold errors"), ("test.mse",), path)
    absent = [module for module in GOLD_MODULES if module not in set(table["module"])]
    for module in absent:
        context.warn(f"missing: {plain(module)} (no row in {path})")
    shown = context.looks([*GOLD_MODULES, *sorted(set(table["module"]) - set(GOLD_MODULES))])
    ranges = sorted(table["range"].unique(), key=lambda label: max(style.numbers_of(label)))
    places = np.arange(len(ranges))
    size = (STANDARD[0], STANDARD[1] + 1.2)
    figure, ((*grid,),) = style.subplots(size, 1, len(GOLD_TASKS), sharey=True, squeeze=False)
    for axes, (parameter, title) in zip(grid, GOLD_TASKS.items(), strict=True):
        for module, look in shown.items():
            chosen = (table["module"] == module) & (table["parameter"] == parameter)
            errors = table[chosen].set_index("range")["test.mse"].reindex(ranges)
            axes.plot(places, errors, **look.style, label=module)
        axes.set(title=title, yscale="log", xlabel="Range that inputs are sampled from")
        axes.margins(0.08)
        axes.set_xticks(places, [half_open(r) for r in ranges])
        for text in axes.get_xticklabels():
            text.set(rotation=45, ha="right", rotation_mode="anchor")
    grid[0].set_ylabel("Mean squared test error")
    note = "Computed in float32 with the weights that solve the task exactly: no runs."
    style.footnote(figure, note, handles=style.legend_handles(shown, missing=absent))
    return Product(context.stem, figure)


_PAIR_EPOCHS = (*range(10), *range(10, 50, 5), *range(50, 1001, 50))
"""Epochs whose errors and shares are kept for curves: every one of few, some of many."""


def measures_of_pairs(loss: str, answer: str = "output_rounded") -> tuple[Measure, ...]:
    """Return the measures of runs on pairs; shares are percentages.

    loss: how columns call the error. answer: how they call answers that are counted.
    """
    shares = {answer: "answers", "label1_rounded": "left digits", "label2_rounded": "right digits"}
    sets, kept = ("test", "train"), partial(Measure, steps=_PAIR_EPOCHS)
    rights = [
        kept(f"metric.{part}.{column}.acc", f"% of {label} right, {part}", lower=False)
        for part in sets
        for column, label in shares.items()
    ]
    errors = [kept(f"metric.{part}.output.{loss}", f"error, {part}") for part in sets]
    others = [kept(f"metric.{part}.*", f"other measures, {part}: *") for part in sets]
    return (*rights, *errors, *others)


_UNREGULARISED = (
    "--layer-type RealNPU --nac-mul real-npu --learning-rate 5e-3 --regualizer-shape none "
    "--regualizer 0"
)
_CONSTRAINED = "--npu-Wr-init xavier-uniform-constrained"
_REAL_NPU = "Real NPU (modified)"


def _betas(start: str, end: str) -> str:
    weights = f"--regualizer-beta-start {start} --regualizer-beta-end {end}"
    return f"{_UNREGULARISED} {weights} --regualizer-l1"


_BASELINE = _betas("1e-9", "1e-7")


def _window(start: int, end: int) -> str:
    return f"--regualizer-scaling-start {start} --regualizer-scaling-end {end}"


def _ramp(start: int, end: int) -> str:
    """Return the flags of NPU penalties that follow the window instead of beta."""
    return f"--reg-scale-type madsen {_window(start, end)}"


def _modified(start: int, end: int) -> str:
    return (
        f"{_BASELINE} --npu-clip wg --regualizer-npu-w 1 --regualizer-gate 1 {_CONSTRAINED} "
        f"{_ramp(start, end)}"
    )


def _nru(start: int, end: int, rate: str) -> str:
    return f"--layer-type NRU --nac-mul mnac {_window(start, end)} --learning-rate {rate}"


def _nmru(start: int, end: int) -> str:
    """Return the NMRU with sign retrieval and clipped gradients."""
    return f"--layer-type SignNMRU {_window(start, end)} --clip-grad-norm 1 --learning-rate 1e-2"


_TWO = "--operation div --max-iterations 50000 --no-cuda"
_TEN = (
    "--operation div --input-size 10 --subset-ratio 0.1 --overlap-ratio 0 --max-iterations 100000 "
    "--no-cuda"
)
_NINE = experiment.SINGLE_MODULE_RANGES
_IN2 = Recipe("single_layer", _TWO, range(25), Resources(40), "sltr-in2/", _NINE)
_IN10 = replace(_IN2, flags=_TEN, resources=Resources(60), prefix="sltr-in10/")


# Both papers draw success rates, steps and sparsity errors of every model.
_OTHER_TABLES = {
    "sltr-in2/realnpu_modified": "sltr-in2/realnpu-modified",
    "RealNPU-mod_inSize2_lr/5e-4": "RealNPU-mod_inSize2_lr/RealNPU-mod_inSize2_lr/5e-4",
    "sltr-in2/realnpu-modifications/L2": "realnpu-modifications/L2",
    "sltr-in2/realnpu-modifications/init/XUC": "realnpu-modifications/init/XUC",
} | {
    f"sltr-in10/nmru-extra/{name}": f"nmru-extra/{name}"
    for name in (
        *("nmru", "nmru_gnc-1", "sign-nmru_gnc-F", "sign-nmru_gnc-1_gate-1"),
        *("lr-1e-3", "lr-1e-1", "sgd"),
    )
}
"""Table of a model -> where the published plots, or other scripts, have it."""


# fmt: off
_RANGES = panels("div")
_SIGNS = panels("div", replace(RUNS, expected=(
    "U[-2,2]", "U[-2,-0.1] & U[0.1,2]", "U[0.1,2] & U[-2,-0.1]", "U[-2,-1] & U[1,2]",
    "U[1,2] & U[-2,-1]",
)))
_SAMPLED = panels("div", Runs("distribution", expected=(
    "B:[10,100]", "TN(-1,3):[-5,10]", "TN(1,3):[-10,5]", "TN(0,1):[-5,5]", "U:[-50,50]",
    "U:[-100,100]",
)))
_LANDSCAPES = tuple(
    Part(landscape, f"rmse-{unit}", unit=unit, title=text)
    for unit, text in (("nac-mul", "NAC•"), ("nmu", "NMU"), ("nru", "NRU"),
                       ("nru-tanh", "NRU with tanh gates"))
)
# fmt: on


def _ranges(
    key: str, title: str, number: str, *models: Model, part: Part = _RANGES, **more: Any
) -> Experiment:
    """Return an experiment that is drawn with a series for each of its models.

    number: the figure of the paper; empty: in the appendix of its journal version.
    """
    files = [tuple(filter(None, (m.csv, _OTHER_TABLES.get(m.csv)))) for m in models]
    series = tuple(Series(own, m.label) for own, m in zip(files, models, strict=True))
    paper = MISTRY_2022_DIVISION if number else MISTRY_2022_MECHANISMS
    numbers = (f"Figure {number}" if number else "appendix",)
    drawings = drawn(part, series=series)
    return Experiment(key, title, paper, numbers, models, drawings, **more)


_computed = partial(Experiment, paper=MISTRY_2022_DIVISION, models=(), note="Needs no training.")


def _mixed_signs(
    size: str, setting: Recipe, real_npu: tuple[str, str], nru: str, nmru: str
) -> tuple[Model, ...]:
    """Return three units on mixed signs; `real_npu` has its key and flags."""
    folder = f"mixedSigns-{size}/"
    signs, (key, flags) = replace(setting, points=experiment.MIXED_SIGNS, prefix=folder), real_npu
    return (
        signs.model(key, _REAL_NPU, flags, csv=f"{folder}realnpu-modified"),
        signs.model("nru", "NRU", nru),
        signs.model("nmru", "NMRU", nmru),
    )


def _distributions(
    size: str, number: str, setting: Recipe, real_npu: str, nru: str, nmru: str
) -> Experiment:
    """Return three units on every distribution of inputs, in a folder of the setting's."""
    folder, key = f"{setting.prefix}distributions/", f"nips-{size}-distributions"
    own = {"flags": f"{setting.flags} --log-interval 1000", "prefix": folder}
    drawn_from = replace(setting, points=(), variants=experiment.DISTRIBUTIONS, **own)
    models = (
        drawn_from.model("realnpu", _REAL_NPU, real_npu, csv=f"{folder}realnpu_modified"),
        drawn_from.model("nru", "NRU", nru),
        drawn_from.model("sign-nmru", "NMRU", nmru),
    )
    title = f"Division{'' if size == 'in2' else ' with redundancy'}, more distributions"
    judged = {"parameter": "train.distribution", "criterion": "distributions"}
    return _ranges(key, title, number, *models, part=_SAMPLED, **judged)


def _near_zero(task: str, text: str, number: str, flags: str, real_npu: str, nru: str):
    """Return three units on ever smaller divisors."""
    folder = f"SLTR_divBy0/{task}"
    setting = replace(_IN2, flags=f"{flags} --no-cuda", points=experiment.NEAR_ZERO)
    setting = replace(setting, prefix=f"in2_divBy0/{task}/")
    units = {"realnpu": ("Real NPU", real_npu), "nru": ("NRU", nru), "signNMRU": ("NMRU", _NMRU_2)}
    expected = ("U[0,0.0001]", "U[0,0.001]", "U[0,0.01]", "U[0,0.1]", "U[0,1]")
    part = panels("div" if task == "hard" else "reciprocal", replace(RUNS, expected=expected))
    models = tuple(
        setting.model(f"{task}-{name}", label, unit, name=name, csv=f"{folder}/{name}")
        for name, (label, unit) in units.items()
    )
    series = tuple(Series((name,), label) for name, (label, _) in units.items())
    drawings = drawn(part, series=series, folders=(folder, f"in2_divBy0/{task}"))
    key, title = f"nips-divBy0-{task}", f"Division by small numbers, {text}"
    own = (MISTRY_2022_DIVISION, (f"Figure {number}",), models, drawings)
    return Experiment(key, title, *own, criterion=f"zero.range.{task}")


# One module with two inputs.
_MODIFIED_2, _NRU_2, _NMRU_2 = _modified(40000, 50000), _nru(20000, 35000, "1"), _nmru(20000, 35000)
_CHANGES = replace(_IN2, prefix="sltr-in2/realnpu-modifications/")
_RATES = replace(_IN2, prefix="RealNPU-mod_inSize2_lr/")
_PENALISED_GATE = f"{_BASELINE} --npu-clip wg --regualizer-gate 1 {_ramp(40000, 50000)}"
_baseline = _IN2.model("realnpu_baseline", "Real NPU (baseline)", _BASELINE)
_modified_2 = _IN2.model("realnpu_modified", _REAL_NPU, _MODIFIED_2)
_nru_2 = _IN2.model("nru", "NRU", _NRU_2)
_nmru_2 = _IN2.model("sign-nmru", "NMRU", _NMRU_2)
_l1_off = _CHANGES.model("L1F", "L1 off", _UNREGULARISED)
_clip = tuple(
    _CHANGES.model(f"clip-{label}", label, f"{_BASELINE} --npu-clip {clip}", name=f"clip/{label}")
    for label, clip in (("G", "g"), ("W", "w"), ("GW", "wg"))
)
_gate_and_weight = _CHANGES.model(
    "G1-W1", "GW", f"{_PENALISED_GATE} --regualizer-npu-w 1", name="discretisation/G1-W1"
)
_signs_2 = _mixed_signs(
    "in2", _IN2, ("realnpu-modified", _MODIFIED_2), f"{_NRU_2} --id 1", f"{_NMRU_2} --id 2"
)


def _beta_model(ends: str) -> Model:
    start, end = ends.split()
    name = f"{start}_{end}"
    text = _betas(start, end)
    return _CHANGES.model(name, f"({start},{end})", text, name=f"L1_beta_sweep/{name}")


def _rate_model(rate: str, number: int) -> Model:
    flags = f"{_MODIFIED_2} --learning-rate {rate} --id {number}"
    return _RATES.model(f"realnpu-lr-{rate}", rate, flags, name=rate)


# fmt: off
_TWO_INPUTS = (
    _ranges("nips-realnpu-L1", "Real NPU: L1 penalty", "1a",
            _l1_off, _baseline.named("L1 on")),
    _ranges("nips-realnpu-L1_sweep", "Real NPU: beta of L1", "1b",
            _beta_model("1e-11 1e-9"), _baseline.named("(1e-9,1e-7)", "1e-9_1e-7"),
            *map(_beta_model, ("1e-8 1e-6", "1e-7 1e-5", "1e-5 1e-3", "1e-3 1e-1", "1e-1 10"))),
    _ranges("nips-realnpu-clipping", "Real NPU: clipping", "2a",
            _baseline.named("None"), *_clip),
    _ranges("nips-realnpu-discretisation", "Real NPU: discretisation", "2b",
            _clip[2].named("None"),
            _CHANGES.model("G1", "G", _PENALISED_GATE, name="discretisation/G1"),
            _gate_and_weight),
    _ranges("nips-realnpu-init", "Real NPU: start weights", "2c",
            _gate_and_weight.named("Xavier-Uniform"),
            _CHANGES.model("XUC", "Xavier-Uniform Constrained", _MODIFIED_2, name="init/XUC")),
    _ranges("nips-sltr-in2", "Division without redundancy", "3",
            _baseline, _modified_2, _nru_2, _nmru_2),
    _ranges("mixed-sign-ds_realnpu-modified", "Mixed signs, modified Real NPU", "4",
            replace(_signs_2[0], csv="sltr-in2/mixed-sign-ds_realnpu-modified"), part=_SIGNS),
    _ranges("in2-mixedSigns", "Mixed signs", "", *_signs_2, part=_SIGNS),
    _computed("divBy0_gold_test_errors", "Errors of perfect modules on small divisors",
              numbers=("Figure 5",),
              drawings=drawn(Part(gold_errors), series=(Series(("divBy0_test_errors",)),)),
              tables=(FurtherTable(
                  "export/single_layer_task/generate_divBy0_extrap_thresholds.py",
                  "--csv-out {csv}/divBy0_test_errors.csv"),)),
    _distributions("in2", "6 (distributions)", _IN2, _MODIFIED_2, _NRU_2, _NMRU_2),
    _computed("loss_landscape", "Loss landscapes of multiplication",
              numbers=("Figure 9",), drawings=drawn(*_LANDSCAPES)),
    _ranges("nips-in2-nru-lr", "NRU: learning rates", "10",
            *(_IN2.model(f"nru-lr-{r}", r, _nru(20000, 35000, r), name=f"nru-extra/lr-{r}")
              for r in ("1e-3", "1e-2", "1e-1")),
            _nru_2.named("1")),
    _near_zero("easy", "[a] to 1/a", "11",
               "--operation reciprocal --input-size 1 --subset-ratio 1 --num-subsets 1 "
               "--max-iterations 5000",
               f"{_UNREGULARISED} --npu-clip wg {_CONSTRAINED}", _nru(15000, 20000, "1")),
    _near_zero("medium", "[a,b] to 1/a", "12", "--operation reciprocal --max-iterations 50000",
               _MODIFIED_2, _NRU_2),
    _near_zero("hard", "[a,b] to a/b", "13", "--operation div --max-iterations 50000",
               _MODIFIED_2, _NRU_2),
    _ranges("nips-realnpu-L2", "Real NPU: L2 penalty", "14",
            _l1_off.named("No reg"), _baseline.named("L1"),
            _CHANGES.model("L2", "L2", f"{_betas('1e-7', '1e-5')} --lp-norm 2")),
    _ranges("nips-in2-realnpu-lr", "Real NPU: learning rates", "",
            _rate_model("5e-1", 8), _rate_model("5e-2", 7), _modified_2.named("5e-3"),
            _rate_model("5e-4", 6)),
)
# fmt: on

# One module with ten inputs, two of which matter.
_LATE = (50000, 75000)
_MODIFIED_10, _NRU_10, _NMRU_10 = _modified(*_LATE), _nru(*_LATE, "1e-3"), _nmru(*_LATE)
_modified_10 = _IN10.model("realnpu_modified", _REAL_NPU, _MODIFIED_10)
_nru_10 = _IN10.model("nru", "NRU", _NRU_10)
_nmru_10 = _IN10.model("sign-nmru", "NMRU", _NMRU_10)
_NPU = f"{_MODIFIED_10} --layer-type NPU --nac-mul npu"
_RATE = f"{_window(*_LATE)} --learning-rate 1e-2"


def _extra(key: str, label: str, text: str, name: str = "") -> Model:
    return _IN10.model(key, label, text, name=f"nmru-extra/{name or key}")


def _nmru_rate(rate: str) -> Model:
    return _extra(f"nmru-lr-{rate}", rate, f"{_NMRU_10} --learning-rate {rate}", f"lr-{rate}")


def _losses(unit: str, label: str, number: str, model: Model, text: str, **more: Any):
    others = (
        _IN10.model(f"{model.key}_{loss}", loss.upper(), f"{text} --train-criterion {loss}")
        for loss in ("pcc", "mape")
    )
    key = f"nips-sltr-in10-losses-{unit}"
    return _ranges(key, f"Losses: {label}", number, model.named("MSE"), *others, **more)


# fmt: off
_TEN_INPUTS = (
    _ranges("nips-sltr-in10", "Division with redundancy", "6 (redundancy)",
            _IN10.model("realnpu_baseline", "Real NPU (baseline)", _BASELINE),
            _modified_10, _nru_10, _nmru_10),
    _distributions("in10", "7", _IN10, _MODIFIED_10, _NRU_10, _NMRU_10),
    _ranges("in10-mixedSigns", "Mixed signs with redundancy", "",
            *_mixed_signs("in10", _IN10, ("realnpu_mod", f"{_MODIFIED_10} --id 3"),
                          f"{_NRU_10} --id 4", f"{_NMRU_10} --id 5"),
            part=_SIGNS),
    _ranges("nips-sltr-in10-npu", "NPU", "15",
            _modified_10,
            _IN10.model("npu", "NPU (no constraints)", _NPU, name="npu/realMod"),
            _IN10.model("npu-clip", "NPU (clip & reg)", f"{_NPU} --npu-clip wig",
                        name="npu/realMod_Reg-Wim-l1_clip-wig")),
    _ranges("nips-in10-realnpu-W-reg", "Real NPU: targets of the weight penalty", "16",
            _modified_10.named("{-1,1}"),
            _IN10.model("realnpu_modified_W-nau-reg", "{-1,0,1}",
                        f"{_MODIFIED_10} --realnpu-reg-type bias")),
    _ranges("nips-in10-nmru-ablation", "NMRU: ablation", "17",
            _extra("nmru", "vanilla", f"--layer-type NMRU {_RATE}"),
            _extra("nmru_gnc-1", "gnc", f"--layer-type NMRU {_RATE} --clip-grad-norm 1"),
            _extra("sign-nmru_gnc-F", "sign", f"--layer-type SignNMRU {_RATE}"),
            _nmru_10.named("gnc+sign"),
            _extra("sign-nmru_gnc-1_gate-1", "gnc+sign+gating",
                   f"--layer-type GatedSignNMRU {_RATE} --clip-grad-norm 1 "
                   "--reg-scale-type madsen --regualizer-gate 1")),
    _ranges("nips-in10-nmru-lr", "NMRU: learning rates", "18",
            _nmru_rate("1e-3"), _nmru_10.named("1e-2"), _nmru_rate("1e-1")),
    _ranges("nips-in10-nmru-optimiser", "NMRU: optimiser", "19",
            _extra("nmru-sgd", "sgd", f"{_NMRU_10} --optimizer sgd", "sgd"),
            _nmru_10.named("adam")),
    _ranges("nips-in10-nru-separate-mag-sign", "NRU: magnitude and sign apart", "20",
            _nru_10.named("together"),
            _IN10.model("nru-sepSign", "separate", f"{_NRU_10} --nru-div-mode div-sepSign")),
    _losses("realnpu", "Real NPU", "21", _modified_10, _MODIFIED_10,
            note="The last published code trains on MSE whatever the criterion; this honours it."),
    _losses("nru", "NRU", "22", _nru_10, _NRU_10),
    _losses("nmru", "NMRU", "23", _nmru_10, _NMRU_10),
)
# fmt: on

# Pairs of digits.
_LEARNED = "--use-nalm --learn-labels2out --nalm-name"
_EPOCHS = "--operation div --max-epochs 1000 --dataset-workers 5"
_GPU = (range(10), Resources(1440, cores=5, memory_gb=8, gpu=True), "two-digit-mnist/div/")
_DIGITS = Recipe("two_digit_mnist", _EPOCHS, *_GPU, steps_per_epoch=571)


def _digits(key: str, label: str, name: str, text: str) -> Model:
    return _DIGITS.model(key, label, f"{text} --id {name[2:4]}", name=name, csv=name)


# fmt: off
_PAIRS = Experiment(
    "div-1digit_conv-Adam-s3Init", "Division of digit pairs",
    MISTRY_2022_MECHANISMS, ("MNIST division figure",),
    (
        _digits("div", "DIV", "ID79-1digit_conv-div", ""),
        _digits("mlp", "MLP", "ID84-1digit_conv-mlp_2L-256HU_wDecay-1e-3",
                "--learn-labels2out --weight-decay 0.001"),
        _digits("nru", "NRU", "ID78-1digit_conv-nru_R30-40-2_gnc1_s3Init",
                f"{_LEARNED} nru {_window(30, 40)} --regualizer 2 --clip-grad-norm 1"),
        _digits("realnpu-mod", "Real NPU (mod)", "ID80-1digit_conv-realnpu-mod_R30-40-2_s3Init",
                f"{_LEARNED} realnpu-mod {_window(30, 40)} --regualizer-npu-w 2 "
                "--regualizer-gate 2"),
        _digits("nmru-sign", "NMRU", "ID81-1digit_conv-nmruSign_R30-40-2_gncF_s3Init",
                f"{_LEARNED} nmru-sign {_window(30, 40)} --regualizer 2"),
    ),
    parameter="model", criterion="accuracy",
    measures=measures_of_pairs("mse", "output_rounded_5dp"),
    drawings=drawn(
        Part(scatter, "{key}_dp_acc",
               metrics=(
                   *(((_ANSWER.format(part, places),), f"output {places} d.p. ({part})")
                     for places in (4, 5) for part in ("train", "test")),
                   *(((f"metric.{part}.label{digit}.acc",), f"label {digit} ({part})")
                     for digit in (1, 2) for part in ("train", "test")),
               ),
               y_label="accuracy (%)", best=_ANSWER.format("train", 5),
               order=("DIV", "MLP", "Real NPU (mod)", "NRU", "NMRU")),
        Part(violin, "{key}_5dp_test_acc_violin"),
        folders=("static-mnist/div",),
    ),
)
# fmt: on

EXPERIMENTS = (*_TWO_INPUTS, *_TEN_INPUTS, _PAIRS)
