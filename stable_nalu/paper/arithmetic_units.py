"""Neural Arithmetic Units, and before it Measuring Arithmetic Extrapolation Performance.

Both study multiplication on the arithmetic data set: the first with the NAU and the NMU, the other
with the NALU alone, as a reproduction.
"""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.papers import MADSEN_2019, MADSEN_2020
from stable_nalu.figure import style
from stable_nalu.figure.curves import histogram
from stable_nalu.figure.panels import draw_series, sweep_panels, table
from stable_nalu.figure.runs import (
    Context,
    Only,
    Part,
    Product,
    Run,
    Runs,
    Series,
    drawn,
    kind,
    points,
    reduced_and_estimated,
)
from stable_nalu.figure.style import standard
from stable_nalu.options.flag import MODELS
from stable_nalu.statistics import setups as names

from . import experiment
from .experiment import Experiment, Model, Recipe, Resources, operations, variants


@kind("sweep", needs="outcomes")
def successes(
    context: Context, swept: tuple[tuple[str, str, Runs], ...], columns: int, height: float = 5.7
) -> Product:
    """Draw success rates only, one panel per swept parameter. `swept`: (title, file, runs)."""
    found, models = dict[str, pd.DataFrame](), list[str]()
    for title, file, runs in swept:
        if context.expect((file,), (title,)) is not None:
            by, series = ["model", "operation", runs.x], (Series((file,)),)
            _, own, found[title] = reduced_and_estimated(context, runs, by, series)
            models += own
    width, height = standard(height)
    figure = style.new_figure((width, height + 0.6))
    shown = context.looks(style.legend_order(models))
    drawn = set[str]()
    for place, (title, _, runs) in enumerate(swept):
        axes = figure.add_subplot(math.ceil(len(swept) / columns), columns, place + 1)
        axes.set(title=title, ylim=(-0.08, 1.1))
        if place % columns == 0:
            axes.set_ylabel("Success rate")
        if title not in found:
            style.say_no_data(axes, "0.35")
            continue
        for index, (model, look) in enumerate(shown.items()):
            rows = found[title].loc[found[title]["model"] == model].sort_values(runs.x)
            drawn |= {*rows["model"]}
            x, rates = rows[runs.x].to_numpy(dtype=float), points(rows, "success.rate")
            draw_series(axes, x, rates, look, model, line=True)
            texts = [f"{failed}/{n}" for failed, n in zip(rows["failed"], rows["n"], strict=True)]
            own: Any = {"xytext": (2, -9 if index else 4), "textcoords": "offset points"}
            own |= {"fontsize": style.SMALL, "color": look.color}
            for at, mean, text in zip(x, rates["mean"], texts, strict=True):
                axes.annotate(text, (at, mean), **own)
        largest = float(np.max(found[title][runs.x]))
        axes.set_xlim(-0.04 * largest, 1.06 * largest)
    handles = style.legend_handles(shown, missing=shown.keys() - drawn)
    note = "Bars: 95 % intervals. Beside the points: runs that failed, of n."
    style.footnote(figure, note, handles=handles)
    side = {
        f"{context.stem}_{title.lower().replace(' ', '_')}_plot_data": summary
        for title, summary in found.items()
    }
    return Product(context.stem, figure, side=side)


_NACS = {"nac-add": "NAC+", "nac-mul": "NAC•", "nac-sigma": "NAC•,σ", "nac-nmu": "NAC•,NMU"}
_IN_PAPERS = (
    {name.lower(): name for name in ("Linear", "ReLU", "ReLU6")}
    | _NACS
    | {name.lower(): name for name in ("NALU", "NAU", "NMU")}
    | {"gated": names.GATED}
)
_WINDOW = "--regualizer-scaling-start 5000 --regualizer-scaling-end 50000"
UNITS = {key: (name, MODELS.get(name, f"--layer-type {name}")) for key, name in _IN_PAPERS.items()}
UNITS["nau"] = ("NAU", f"{MODELS['NAU']} --regualizer 0.01 {_WINDOW}")
"""Model key -> name in the papers and flags of the two-layer script."""

_NAME, _MUL = "function_task_static", "function_task_static_mul"
_DEFAULT = Recipe("simple_function_static", "--max-iterations 5000000", range(100), Resources(720))
_PRODUCT = replace(_DEFAULT, flags="--operation mul --max-iterations 5000000", seeds=range(50))
_HIDDEN_SIZES = variants("--hidden-size", "2 3 4 5 6 7 8 9 10")
_MULTIPLYING = "nac-mul nac-sigma nac-nmu nalu nmu gated"


def _models(setting: Recipe, name: str, keys: str, minutes: int | None = None):
    """Return some units; the minutes are of those whose jobs were given more than the rest."""
    longer: dict[str, int | None] = dict.fromkeys(("nac-mul", "nac-sigma", "nalu", "nmu"), minutes)
    return tuple(
        setting.model(key, *UNITS[key], name=name, minutes=longer.get(key)) for key in keys.split()
    )


def pick(models: tuple[Model, ...], *keys: str) -> tuple[Model, ...]:
    found = {model.key: model for model in models}
    return tuple(found[key] for key in keys)


def by_operation(models: tuple[Model, ...], wanted: dict[str, str]) -> tuple[Model, ...]:
    """Return models for some operations each, given by model key, in the order of the keys."""
    chosen = zip(pick(models, *wanted), wanted.values(), strict=True)
    return tuple(model.only_variants(*kept.split()) for model, kept in chosen)


on_data_set = partial(Experiment, parameter="operation", criterion="arithmetic")


def _swept(x: str, x_values: tuple[object, ...]) -> Runs:
    models = (names.NAC_MUL_NMU, names.NAC_MUL_SIGMA, names.NAC_MUL, names.GATED, "NALU", "NMU")
    only = (Only("operation", ("mul",)),)
    return Runs(x, models=models, expected=x_values, only=only)


HIDDEN = _swept("hidden.size", tuple(range(2, 11)))
INPUT = _swept("input.size", (4.0, 10.0, *map(float, range(25, 301, 25))))
OVERLAP = _swept("overlap.ratio", (0.0, 0.1, 0.25, 0.5, 0.75, 1.0))
SUBSET = _swept("subset.ratio", (0.05, 0.1, 0.25, 0.5))
RANGE = _swept(
    "interpolation.range",
    ("U[-2,-1]", "U[-2,2]", "U[0,1]", "U[0.1,0.2]", "U[1,2]", "U[1.1,1.2]", "U[10,20]"),
)
_OPERATIONS = Runs(
    x="operation",
    models=(names.NAC_MUL_NMU, names.NAC_MUL_SIGMA, names.NAC_MUL, names.NAC_ADD, names.GATED)
    + ("Linear", "NALU", "NAU", "NMU", "ReLU", "ReLU6"),
)


def default_table(rows: tuple[object, ...] = (), ending: str = "", *, long: bool = False):
    """Return the table of success rates, steps and sparsity errors of the default parameters."""
    caption = "Arithmetic data set, default parameters: success rate, step and sparsity error."
    label = f"function-task-static-defaults{ending}"
    return drawn(Part(table, runs=_OPERATIONS, label=label, caption=caption, rows=rows, long=long))


def panels(name: str, runs: Runs, label: str, style: str = "line", **more: Any) -> Part:
    stem = f"simple_function_static_{name}"
    return Part(sweep_panels, stem, runs=runs, x_label=label, style=style, **more)


def _hidden(ending: str = "", runs: Runs = HIDDEN, **more: Any) -> Part:
    name, breaks = f"mul_hidden_size{ending}", (2, 4, 6, 8, 10)
    return panels(name, runs, "Hidden size", breaks=breaks, **more)


def _optimizer(run: Run) -> str:
    return run["learning.optimizer"] + ("" if run["learning.momentum"] == 0 else "-Nesterov")


def _regualization(operation: str, model: str) -> Part:
    start = Only("regualizer.scaling.start", (5000.0,), ("NAU",))
    only, expected = (Only("operation", (operation,)), start), (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
    runs = Runs("regualizer", (model,), closed=True, expected=expected, only=only)
    name = f"regualization_{operation}"
    return panels(name, runs, "Sparse regualizer", "category", size=standard(5.0))


def _learning(operation: str, nac: str) -> Part:
    shown: Any = {"closed": True, "expected": (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)}
    shown |= {"only": (Only("operation", (operation,)),), "extra": "optimizer"}
    runs = Runs("learning.rate", (nac, "NALU"), derive=(("optimizer", _optimizer),), **shown)
    return panels(f"learning_{operation}", runs, "Learning rate", log_x=True, size=standard(5.0))


def _sweep_models(name: str, minutes: int | None = 840, **swept: object) -> tuple[Model, ...]:
    return _models(replace(_PRODUCT, **swept), f"{_MUL}_{name}", _MULTIPLYING, minutes)


_OVERLAPS, _SUBSETS = "0.0 0.1 0.25 0.5 0.75 1.0", "0.05 0.10 0.25 0.50"
ALL = _models(
    replace(_DEFAULT, variants=operations("add sub mul div squared root")), _NAME, " ".join(UNITS)
)
HIDDEN_MODELS = _sweep_models("hidden_size", 1440, variants=_HIDDEN_SIZES)
INPUT_MODELS = _sweep_models("input_size", None, variants=experiment.INPUT_SIZES)
OVERLAP_MODELS = _sweep_models("overlap", variants=variants("--overlap-ratio", _OVERLAPS))
SUBSET_MODELS = _sweep_models("subset", variants=variants("--subset-ratio", _SUBSETS))
RANGE_MODELS = _sweep_models("range", points=experiment.MULTIPLICATION_PAIRS)

_ADDERS = ("Linear", "NAU", names.NAC_ADD, "NALU")
_ABLATED = (
    ("model", lambda r: r["model"] + names.ablation_suffix(r["regualizer"], r["regualizer.oob"])),
)
_NO_CLAMP = "--oob-mode regualized --regualizer-oob 0"
_ABLATION = replace(_PRODUCT, flags=f"{_PRODUCT.flags} {UNITS['nmu'][1]}", variants=_HIDDEN_SIZES)
_GATES = Runs(
    "operation",
    models=(names.GATED, names.NALU_SEPARATE, names.NALU_SHARED),
    derive=(("model", lambda r: names.NALU_SHARED if r["model"] == "NALU" else r["model"]),),
    only=(Only("operation", ("mul", "add")),),
)
_NALU = "--layer-type NALU --first-layer NAC"
_GATED = (
    "--layer-type ReRegualizedLinearNALU --first-layer ReRegualizedLinearNAC --nalu-two-nac "
    "--nalu-mul mnac"
)
_STRENGTHS = experiment.values("--regualizer", "0 0.01 0.1 1 10 100")
_PENALISED = replace(_DEFAULT, seeds=range(50), points=_STRENGTHS)
_SPEEDS = experiment.values("--learning-rate", "1e-5 1e-4 1e-3 1e-2 1e-1")
_BASIC = operations("add sub mul div")
_RATES = replace(_DEFAULT, seeds=range(25), points=_SPEEDS, variants=_BASIC)
_SUBSET_PAIRS = tuple(
    replace(pair, name=f"{hidden}-{subsets}")
    for hidden, subsets in ((2, 2), (3, 3), (4, 4), (5, 5), (4, 2), (6, 3), (8, 4), (10, 5))
    for pair in variants("--num-subsets", str(subsets), f"--hidden-size {hidden}")
)


# fmt: off
_DATA_SET = (
    on_data_set(
        "simple_mul", "The four-input function (x1+x2)(x1+x2+x3+x4)", MADSEN_2020, ("Table 1",),
        _models(replace(_DEFAULT, flags="--operation mul --simple --max-iterations 200000",
                        resources=Resources(20, cores=2)),
                "simple_mul", "nac-mul nac-sigma nalu nmu gated"),
        drawn(Part(table, "simple_mul",
                     runs=replace(_OPERATIONS, models=("Linear", *HIDDEN.models)),
                     label="very-simple-function-results",
                     caption="A very simple product of four inputs.",
                     rows=(("mul", ("Linear", "NMU", names.NAC_MUL, "NALU")),))),
        note="The table prints NAC•, NALU and NMU."),
    on_data_set(
        _NAME, "The arithmetic data set, default parameters", MADSEN_2020, ("Table 2",),
        by_operation(ALL, {"nac-mul": "mul", "nmu": "mul", "linear": "add sub",
                           "nac-add": "add sub", "nalu": "add sub mul", "nau": "add sub"}),
        default_table((("mul", ("NMU", names.NAC_MUL, "NALU")),
                       ("add", _ADDERS), ("sub", _ADDERS)))),
    on_data_set(
        f"{_NAME}_all", "The arithmetic data set, every unit and operation",
        MADSEN_2020, ("Table 6",),
        ALL, default_table(ending="-all", long=True),
        note="The first layer of NAC•,NMU is NAC+ in the paper, NAU in its scripts and here."),
    on_data_set(
        f"{_MUL}_hidden_size", "Multiplication against the hidden size",
        MADSEN_2020, ("Figure 3 (top)",),
        HIDDEN_MODELS, drawn(_hidden(), _hidden("_short", size=standard(5.1))),
        parameter="hidden.size",
        note="The published figure was drawn from 26 to 38 of the 50 seeds."),
    on_data_set(
        f"{_MUL}_range", "Multiplication against the training range",
        MADSEN_2020, ("Figure 3 (bottom)",),
        RANGE_MODELS, drawn(panels("mul_range", RANGE, "Interpolation range", "dodge")),
        parameter="interpolation.range"),
    on_data_set(
        f"{_MUL}_hidden_size_ablation", "Ablation of the NMU against the hidden size",
        MADSEN_2020, ("Figure 7",),
        tuple(
            _ABLATION.model(key, f"NMU{off}", text, name=f"{_MUL}_hidden_size_ablation",
                            minutes=minutes, memory_gb=memory)
            for key, off, text, minutes, memory in (
                ("nmu", "", "", 1440, 8),
                ("no-sparse", ", no R_sparse", "--regualizer 0", None, None),
                ("no-clamp", ", no W-clamp", _NO_CLAMP, None, None),
                ("neither", ", no R_sparse, no W-clamp", f"{_NO_CLAMP} --regualizer 0", None, None),
            )
        ),
        drawn(_hidden("_ablation", replace(HIDDEN, derive=_ABLATED, models=tuple(
            f"NMU{names.ablation_suffix(sparse, oob)}" for sparse in (10, 0) for oob in (1, 0))))),
        parameter="hidden.size"),
    on_data_set(
        f"{_MUL}_input_size", "Multiplication against the input size",
        MADSEN_2020, ("Figure 8 (input size)",), INPUT_MODELS,
        drawn(panels("mul_input_size", INPUT, "Size of the input vector",
                     breaks=(0, 100, 200, 300))),
        parameter="input.size", best_range=15000),
    on_data_set(
        f"{_MUL}_overlap", "Multiplication against the overlap of subsets",
        MADSEN_2020, ("Figure 8 (overlap)",), OVERLAP_MODELS,
        drawn(panels("mul_overlap", OVERLAP, "The ratio of which subsets overlap with each other")),
        parameter="overlap.ratio"),
    on_data_set(
        f"{_MUL}_subset", "Multiplication against the size of subsets",
        MADSEN_2020, ("Figure 8 (subset)",), SUBSET_MODELS,
        drawn(panels("mul_subset", SUBSET, "Relative size of subsets compared to input size")),
        parameter="subset.ratio"),
    on_data_set(
        f"{_NAME}_nalu", "The gate of the NALU after an adding layer",
        MADSEN_2020, ("Figure 9", "Table 5"),
        tuple(
            replace(_DEFAULT, variants=operations("add mul")).model(
                key, label, text, name=f"{_NAME}_nalu")
            for key, label, text in (
                ("nalu-shared", "NALU (shared)", _NALU),
                ("nalu-separate", "NALU (separate)", f"{_NALU} --nalu-two-nac"),
                ("gated", "Gated NAU/NMU", _GATED),
            )
        ),
        drawn(
            Part(histogram, f"{_NAME}_nalu", runs=_GATES, size=standard(7.0),
                   column="network.layer_2.nalu.gate.mean"),
            Part(table, f"{_NAME}_nalu", runs=_GATES,
                   label="simple-function-static-nalu-gate-table",
                   caption="Gated units that must choose between adding and multiplying."),
        )),
    on_data_set(
        f"{_NAME}_regualization", "Strength of the sparsity penalty",
        MADSEN_2020, ("Figure 10", "Figure 11", "Figure 12"),
        (
            replace(_PENALISED, variants=operations("add sub")).model(
                "nau", "NAU", f"--layer-type ReRegualizedLinearNAC {_WINDOW}",
                name=f"{_NAME}_regualization"),
            replace(_PENALISED, variants=operations("mul")).model(
                "nmu", *UNITS["nmu"], name=f"{_NAME}_regualization"),
        ),
        drawn(*map(_regualization, ("add", "sub", "mul"), ("NAU", "NAU", "NMU"))),
        parameter="regualizer",
        note="The published script stores seeds 25-49 only; the figure has about 50 seeds."),
    on_data_set(
        f"{_NAME}_learning", "Learning rates and optimizers",
        MADSEN_2020, ("learning-rate figures (not in the final text)",),
        tuple(
            _RATES.model(f"{key}-{suffix}", f"{UNITS[key][0]} ({label})",
                         f"{UNITS[key][1]} --optimizer {text}", name=f"{_NAME}_learning")
            for key in ("nac-add", "nac-mul", "nalu")
            for suffix, label, text in (("adam", "Adam", "adam"), ("sgd", "SGD", "sgd"),
                                        ("sgd-momentum", "SGD-Nesterov", "sgd --momentum 0.9"))
        ),
        drawn(*(_learning(name, names.NAC_ADD) for name in ("add", "sub")),
              *(_learning(name, names.NAC_MUL) for name in ("mul", "div"))),
        parameter="learning.rate"),
    on_data_set(
        f"{_MUL}_num_subsets", "Products of more than two sums", None, (),
        _models(replace(_PRODUCT, seeds=range(25), variants=_SUBSET_PAIRS), f"{_MUL}_num_subsets",
                "nac-mul nac-sigma nalu nmu nac-nmu", 1440),
        parameter="hidden.size",
        note="The published script left the hidden size of NAC•,NMU at 2; here it varies, too."),
)

_EARLY_MULTIPLIERS, _EARLY_ADDERS = (names.NAC_MUL, "NALU"), ("Linear", names.NAC_ADD, "NALU")

# Title of a panel, table, runs as points, and the models with what is added to their keys.
_STUDIES = (
    ("Hidden Size", "hidden_size", HIDDEN, "hidden-size", HIDDEN_MODELS),
    ("Input Size", "input_size", INPUT, "input-size", INPUT_MODELS),
    ("Overlap Ratio", "overlap", OVERLAP, "overlap", OVERLAP_MODELS),
    ("Subset Ratio", "subset", SUBSET, "subset", SUBSET_MODELS),
)
_PANELS = tuple(
    (title, f"{_MUL}_{name}", replace(runs, models=_EARLY_MULTIPLIERS, closed=True))
    for title, name, runs, _, _ in _STUDIES
)
_PARAMETERS = "simple_function_static_mul_parameter"
_RANGES = ("U[0,1]", "U[0.1,0.2]", "U[1,2]", "U[1.1,1.2]", "U[10,20]")
_SHOWN_RANGES = replace(RANGE, models=_EARLY_MULTIPLIERS, closed=True, expected=_RANGES)
_SHOWN_RANGES = replace(_SHOWN_RANGES, only=(*RANGE.only, Only("interpolation.range", _RANGES)))
_POSITIVE = tuple(
    pair for pair in experiment.MULTIPLICATION_PAIRS if "-" not in pair["--interpolation-range"][0]
)

# fmt: off
_MEASURED = (
    on_data_set(
        f"{_NAME}_reproduce", "Reproduction of the NALU on the arithmetic data set",
        MADSEN_2019, ("table of default parameters",),
        by_operation(ALL, {"linear": "add sub", "nac-add": "add sub",
                           "nac-mul": "mul div", "nalu": "add sub mul div"}),
        default_table((("mul", _EARLY_MULTIPLIERS), ("div", _EARLY_MULTIPLIERS),
                             ("add", _EARLY_ADDERS), ("sub", _EARLY_ADDERS)))),
    on_data_set(
        f"{_MUL}_paramaters", "Multiplication by NAC• and NALU against data set parameters",
        MADSEN_2019, ("figure of data set parameters",),
        tuple(replace(model, key=f"{model.key}-{added}") for *_, added, models in _STUDIES
              for model in pick(models, "nac-mul", "nalu")),
        drawn(Part(successes, _PARAMETERS, swept=_PANELS, columns=2, height=9.0),
              Part(successes, f"{_PARAMETERS}_onerow", swept=_PANELS, columns=4)),
        parameter="hidden.size"),
    on_data_set(
        f"{_MUL}_range_reproduce", "Multiplication by NAC• and NALU against the training range",
        MADSEN_2019, ("figure of training ranges",),
        tuple(replace(m, points=_POSITIVE) for m in pick(RANGE_MODELS, "nac-mul", "nalu")),
        drawn(panels("mul_range_reproduce", _SHOWN_RANGES, "Interpolation range", "dodge")),
        parameter="interpolation.range"),
)

EXPERIMENTS = (*_DATA_SET, *_MEASURED)
