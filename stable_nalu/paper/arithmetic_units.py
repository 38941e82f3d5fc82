"""Neural Arithmetic Units: the arithmetic data set; `sequences` has those of digits."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.options.paper_names import MODELS
from stable_nalu.papers import MADSEN_2020, Paper

from .drawing import Only, Run, Runs, Series, Sketch, Threshold, drawn, sketch, standard
from .experiment import Experiment, Model, Resources, Setting, Shown
from .labels import (
    GATED,
    NAC_ADD,
    NAC_MUL,
    NAC_MUL_NMU,
    NAC_MUL_SIGMA,
    NALU_SEPARATE,
    NALU_SHARED,
    ablation_suffix,
)
from .sweeps import INPUT_SIZES, MULTIPLICATION_PAIRS, crossed, operations, values, variants

_IN_PAPERS = {
    "linear": "Linear",
    "relu": "ReLU",
    "relu6": "ReLU6",
    "nac-add": "NAC+",
    "nac-mul": "NAC•",
    "nac-sigma": "NAC•,σ",
    "nac-nmu": "NAC•,NMU",
    "nalu": "NALU",
    "nau": "NAU",
    "nmu": "NMU",
    "gated": "Gated NAU/NMU",
}
_WINDOW = "--regualizer-scaling-start 5000 --regualizer-scaling-end 50000"
UNITS = {key: (name, MODELS.get(name, f"--layer-type {name}")) for key, name in _IN_PAPERS.items()}
UNITS["nau"] = ("NAU", f"{MODELS['NAU']} --regualizer 0.01 {_WINDOW}")
"""Model key -> name in the papers and flags of the two-layer script."""

_LONG = ("nac-mul", "nac-sigma", "nalu", "nmu")
"""Units whose jobs were given more time than the rest."""
_MULTIPLYING = ("nac-mul", "nac-sigma", "nac-nmu", "nalu", "nmu", "gated")
_DEFAULT = Setting("simple_function_static", "--max-iterations 5000000", range(100), Resources(720))
_MUL = replace(_DEFAULT, flags="--operation mul --max-iterations 5000000", seeds=range(50))
_HIDDEN_SIZES = variants("--hidden-size", "2 3 4 5 6 7 8 9 10")
_RANGES = ["U[-2,-1]", "U[-2,2]", "U[0,1]", "U[0.1,0.2]", "U[1,2]", "U[1.1,1.2]", "U[10,20]"]


def _models(
    setting: Setting, name: str, keys: tuple[str, ...], minutes: int | None = None
) -> tuple[Model, ...]:
    return tuple(
        setting.model(key, *UNITS[key], name=name, minutes=minutes if key in _LONG else None)
        for key in keys
    )


def pick(models: tuple[Model, ...], *keys: str) -> tuple[Model, ...]:
    """Return the models of these keys."""
    found = {model.key: model for model in models}
    return tuple(found[key] for key in keys)


def by_operation(models: tuple[Model, ...], wanted: dict[str, str]) -> tuple[Model, ...]:
    """Return models for some operations each, given by model key, in the order of the keys."""
    found = {model.key: model for model in models}
    return tuple(found[key].only_variants(*names.split()) for key, names in wanted.items())


def judged_by_task(
    paper: Paper,
    key: str,
    title: str,
    numbers: tuple[str, ...],
    models: tuple[Model, ...],
    *parts: Sketch,
    files: tuple[str, ...] = (),
    parameter: str = "operation",
    note: str = "",
    rate: float | None = None,
) -> Experiment:
    """Return an experiment on the arithmetic data set, whose table has the name of its key.

    files: other tables.
    """
    series = tuple(Series((file,)) for file in files or (key,))
    return Experiment(
        key=key,
        title=title,
        shown=tuple(Shown(paper, number) for number in numbers),
        models=models,
        parameter=parameter,
        criterion="arithmetic",
        note=note,
        rate=rate,
        drawings=drawn(*parts, series=series) if parts else (),
    )


def swept(x: str, *, x_values: tuple[object, ...], best_range: int = 5000) -> Runs:
    """Return how runs of multiplying units become points."""
    return Runs(
        x=x,
        threshold=Threshold(),
        models=(NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, GATED, "NALU", "NMU"),
        expected=x_values,
        only=(Only("operation", ("mul",)),),
        best_range=best_range,
    )


HIDDEN = swept("hidden.size", x_values=tuple(range(2, 11)))
INPUT = swept("input.size", x_values=(4.0, 10.0, *map(float, range(25, 301, 25))), best_range=15000)
OVERLAP = swept("overlap.ratio", x_values=(0.0, 0.1, 0.25, 0.5, 0.75, 1.0))
SUBSET = swept("subset.ratio", x_values=(0.05, 0.1, 0.25, 0.5))
RANGE = swept("interpolation.range", x_values=tuple(_RANGES))
_OPERATIONS = Runs(
    x="operation",
    threshold=Threshold(),
    models=(NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, NAC_ADD, GATED)
    + ("Linear", "NALU", "NAU", "NMU", "ReLU", "ReLU6"),
)
Rows = tuple[tuple[str, tuple[str, ...]], ...]


def default_table(rows: Rows = (), ending: str = "", *, long: bool = False) -> Sketch:
    """Return the table of success rates, steps and sparsity errors of the default parameters."""
    caption = "Arithmetic data set, default parameters: success rate, step and sparsity error."
    label = f"function-task-static-defaults{ending}"
    return sketch("Table", runs=_OPERATIONS, label=label, caption=caption, rows=rows, long=long)


def line(name: str, runs: Runs, label: str, breaks: tuple[float, ...] = (), **more: object):
    """Return the three panels of a sweep of numbers."""
    stem = f"simple_function_static_mul_{name}"
    return sketch("Panels", stem, runs=runs, x_label=label, style="line", breaks=breaks, **more)


def _hidden(ending: str = "", runs: Runs = HIDDEN, **more: object) -> Sketch:
    return line(f"hidden_size{ending}", runs, "Hidden size", (2, 4, 6, 8, 10), **more)


ALL = _models(
    replace(_DEFAULT, variants=operations("add sub mul div squared root")),
    "function_task_static",
    tuple(UNITS),
)
_NAME = "function_task_static"
_SWEEP = f"{_NAME}_mul"


def _sweep_models(what: str, setting: Setting, minutes: int | None = 840) -> tuple[Model, ...]:
    return _models(setting, f"{_SWEEP}_{what}", _MULTIPLYING, minutes)


HIDDEN_MODELS = _sweep_models("hidden_size", replace(_MUL, variants=_HIDDEN_SIZES), 1440)
INPUT_MODELS = _sweep_models("input_size", replace(_MUL, variants=INPUT_SIZES), None)
OVERLAP_MODELS = _sweep_models(
    "overlap", replace(_MUL, variants=variants("--overlap-ratio", "0.0 0.1 0.25 0.5 0.75 1.0"))
)
SUBSET_MODELS = _sweep_models(
    "subset", replace(_MUL, variants=variants("--subset-ratio", "0.05 0.10 0.25 0.50"))
)
RANGE_MODELS = _sweep_models("range", replace(_MUL, points=MULTIPLICATION_PAIRS))

_SIMPLE = judged_by_task(
    MADSEN_2020,
    "simple_mul",
    "The four-input function (x1+x2)(x1+x2+x3+x4)",
    ("Table 1",),
    _models(
        replace(
            _DEFAULT,
            flags="--operation mul --simple --max-iterations 200000",
            resources=Resources(20, cores=2),
        ),
        "simple_mul",
        ("nac-mul", "nac-sigma", "nalu", "nmu", "gated"),
    ),
    sketch(
        "Table",
        "simple_mul",
        runs=replace(_OPERATIONS, models=("Linear", *HIDDEN.models)),
        label="very-simple-function-results",
        caption="A very simple product of four inputs.",
        rows=(("mul", ("Linear", "NMU", NAC_MUL, "NALU")),),
    ),
    note="The table prints NAC•, NALU and NMU.",
)

_ADDERS = ("Linear", "NAU", NAC_ADD, "NALU")
_DEFAULTS = (
    judged_by_task(
        MADSEN_2020,
        _NAME,
        "The arithmetic data set, default parameters",
        ("Table 2",),
        by_operation(
            ALL,
            {
                "nac-mul": "mul",
                "nmu": "mul",
                "linear": "add sub",
                "nac-add": "add sub",
                "nalu": "add sub mul",
                "nau": "add sub",
            },
        ),
        default_table((("mul", ("NMU", NAC_MUL, "NALU")), ("add", _ADDERS), ("sub", _ADDERS))),
    ),
    judged_by_task(
        MADSEN_2020,
        f"{_NAME}_all",
        "The arithmetic data set, every unit and operation",
        ("Table 6",),
        ALL,
        default_table(ending="-all", long=True),
        files=(_NAME,),
        note="The first layer of NAC•,NMU is NAC+ in the paper, NAU in its scripts and here.",
    ),
)

_SLOW = 12_000
"""Iterations per CPU second: ten hidden units take several times as long as two."""


def _ablated(run: Run) -> str:
    """Return the label with what is switched off."""
    return str(run["model"]) + ablation_suffix(run["regualizer"], run["regualizer.oob"])


_NO_CLAMP = "--oob-mode regualized --regualizer-oob 0"
_ABLATION = tuple(
    replace(_MUL, flags=f"{_MUL.flags} {UNITS['nmu'][1]}", variants=_HIDDEN_SIZES).model(
        key,
        label,
        text,
        name=f"{_SWEEP}_hidden_size_ablation",
        minutes=1440 if key == "nmu" else None,
        memory_gb=8 if key == "nmu" else None,
    )
    for key, label, text in (
        ("nmu", "NMU", ""),
        ("no-sparse", "NMU, no R_sparse", "--regualizer 0"),
        ("no-clamp", "NMU, no W-clamp", _NO_CLAMP),
        ("neither", "NMU, no R_sparse, no W-clamp", f"{_NO_CLAMP} --regualizer 0"),
    )
)
_SWEEPS = (
    judged_by_task(
        MADSEN_2020,
        f"{_SWEEP}_hidden_size",
        "Multiplication against the hidden size",
        ("Figure 3 (top)",),
        HIDDEN_MODELS,
        _hidden(),
        _hidden("_short", size=standard(5.1)),
        parameter="hidden.size",
        note="The published figure was drawn from 26 to 38 of the 50 seeds.",
        rate=_SLOW,
    ),
    judged_by_task(
        MADSEN_2020,
        f"{_SWEEP}_range",
        "Multiplication against the training range",
        ("Figure 3 (bottom)",),
        RANGE_MODELS,
        sketch(
            "Panels",
            "simple_function_static_mul_range",
            runs=RANGE,
            x_label="Interpolation range",
        ),
        parameter="interpolation.range",
    ),
    judged_by_task(
        MADSEN_2020,
        f"{_SWEEP}_hidden_size_ablation",
        "Ablation of the NMU against the hidden size",
        ("Figure 7",),
        _ABLATION,
        _hidden(
            "_ablation",
            replace(
                HIDDEN,
                models=tuple(
                    f"NMU{ablation_suffix(sparse, oob)}" for sparse in (10, 0) for oob in (1, 0)
                ),
                relabel=_ablated,
            ),
        ),
        parameter="hidden.size",
        rate=_SLOW,
    ),
    judged_by_task(
        MADSEN_2020,
        f"{_SWEEP}_input_size",
        "Multiplication against the input size",
        ("Figure 8 (input size)",),
        INPUT_MODELS,
        line("input_size", INPUT, "Size of the input vector", (0, 100, 200, 300)),
        parameter="input.size",
    ),
    judged_by_task(
        MADSEN_2020,
        f"{_SWEEP}_overlap",
        "Multiplication against the overlap of subsets",
        ("Figure 8 (overlap)",),
        OVERLAP_MODELS,
        line("overlap", OVERLAP, "The ratio of which subsets overlap with each other"),
        parameter="overlap.ratio",
    ),
    judged_by_task(
        MADSEN_2020,
        f"{_SWEEP}_subset",
        "Multiplication against the size of subsets",
        ("Figure 8 (subset)",),
        SUBSET_MODELS,
        line("subset", SUBSET, "Relative size of subsets compared to input size"),
        parameter="subset.ratio",
    ),
)


def _shared_nalu(run: Run) -> str:
    """Return a label that tells the plain NALU, whose two paths share weights, from the other."""
    return NALU_SHARED if run["model"] == "NALU" else str(run["model"])


_GATES = Runs(
    x="operation",
    threshold=Threshold(),
    models=(GATED, NALU_SEPARATE, NALU_SHARED),
    relabel=_shared_nalu,
    only=(Only("operation", ("mul", "add")),),
)
_NALU = "--layer-type NALU --first-layer NAC"
_GATE = judged_by_task(
    MADSEN_2020,
    f"{_NAME}_nalu",
    "The gate of the NALU behind an adding layer",
    ("Figure 9", "Table 5"),
    tuple(
        replace(_DEFAULT, variants=operations("add mul")).model(
            key, label, text, name=f"{_NAME}_nalu"
        )
        for key, label, text in (
            ("nalu-shared", "NALU (shared)", _NALU),
            ("nalu-separate", "NALU (separate)", f"{_NALU} --nalu-two-nac"),
            (
                "gated",
                "Gated NAU/NMU",
                "--layer-type ReRegualizedLinearNALU --first-layer ReRegualizedLinearNAC "
                "--nalu-two-nac --nalu-mul mnac",
            ),
        )
    ),
    sketch(
        "Histogram",
        f"{_NAME}_nalu",
        runs=_GATES,
        column="network.layer_2.nalu.gate.mean",
        size=standard(7.0),
    ),
    sketch(
        "Table",
        f"{_NAME}_nalu",
        runs=_GATES,
        label="simple-function-static-nalu-gate-table",
        caption="Gated units that must choose between adding and multiplying.",
    ),
)

_STRENGTHS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
_REGUALIZATION = f"{_NAME}_regualization"


def _regualization(operation: str, model: str) -> Sketch:
    runs = Runs(
        x="regualizer",
        threshold=Threshold(),
        models=(model,),
        closed=True,
        expected=_STRENGTHS,
        only=(
            Only("operation", (operation,)),
            Only("regualizer.scaling.start", (5000.0,), ("NAU",)),
        ),
    )
    stem = f"simple_function_static_regualization_{operation}"
    label = "Sparse regualizer"
    return sketch("Panels", stem, runs=runs, x_label=label, style="category", size=standard(5.0))


_PENALISED = replace(
    _DEFAULT, seeds=range(50), points=values("--regualizer", "0 0.01 0.1 1 10 100")
)
_PENALTY = judged_by_task(
    MADSEN_2020,
    _REGUALIZATION,
    "Strength of the sparsity penalty",
    ("Figure 10", "Figure 11", "Figure 12"),
    (
        replace(_PENALISED, variants=operations("add sub")).model(
            "nau", "NAU", f"--layer-type ReRegualizedLinearNAC {_WINDOW}", name=_REGUALIZATION
        ),
        replace(_PENALISED, variants=operations("mul")).model(
            "nmu", *UNITS["nmu"], name=_REGUALIZATION
        ),
    ),
    *map(_regualization, ("add", "sub", "mul"), ("NAU", "NAU", "NMU")),
    parameter="regualizer",
    note="The published script stores seeds 25-49 only; the figure has about 50 seeds.",
)


def _optimizer(run: Run) -> str:
    """Return the name of the optimizer, with momentum as its suffix."""
    name = str(run["learning.optimizer"])
    return name if run["learning.momentum"] == 0 else f"{name}-Nesterov"


def _learning(operation: str, nac: str) -> Sketch:
    runs = Runs(
        x="learning.rate",
        threshold=Threshold(),
        models=(nac, "NALU"),
        closed=True,
        expected=(1e-5, 1e-4, 1e-3, 1e-2, 1e-1),
        only=(Only("operation", (operation,)),),
        extra="optimizer",
        derive=(("optimizer", _optimizer),),
    )
    stem = f"simple_function_static_learning_{operation}"
    options = {"style": "line", "log_x": True, "size": standard(5.0)}
    return sketch("Panels", stem, runs=runs, x_label="Learning rate", **options)


_RATES = replace(
    _DEFAULT,
    seeds=range(25),
    points=values("--learning-rate", "1e-5 1e-4 1e-3 1e-2 1e-1"),
    variants=operations("add sub mul div"),
)
_OPTIMIZERS = judged_by_task(
    MADSEN_2020,
    f"{_NAME}_learning",
    "Learning rates and optimizers",
    ("learning-rate figures (not in the final text)",),
    tuple(
        _RATES.model(
            f"{key}-{suffix}",
            f"{UNITS[key][0]} ({label})",
            f"{UNITS[key][1]} {text}",
            name=f"{_NAME}_learning",
        )
        for key in ("nac-add", "nac-mul", "nalu")
        for suffix, label, text in (
            ("adam", "Adam", "--optimizer adam"),
            ("sgd", "SGD", "--optimizer sgd"),
            ("sgd-momentum", "SGD-Nesterov", "--optimizer sgd --momentum 0.9"),
        )
    ),
    *map(_learning, ("add", "sub", "mul", "div"), (NAC_ADD, NAC_ADD, NAC_MUL, NAC_MUL)),
    parameter="learning.rate",
)

_SUBSET_PAIRS = tuple(
    replace(both, name=f"{hidden}-{subsets}")
    for hidden, subsets in ((2, 2), (3, 3), (4, 4), (5, 5), (4, 2), (6, 3), (8, 4), (10, 5))
    for both in crossed(
        variants("--hidden-size", str(hidden)), variants("--num-subsets", str(subsets))
    )
)
_SUBSETS = judged_by_task(
    MADSEN_2020,
    f"{_SWEEP}_num_subsets",
    "Products of more than two sums",
    (),
    _models(
        replace(_MUL, seeds=range(25), variants=_SUBSET_PAIRS),
        f"{_SWEEP}_num_subsets",
        ("nac-mul", "nac-sigma", "nalu", "nmu", "nac-nmu"),
        1440,
    ),
    parameter="hidden.size",
    note="The published script left the hidden size of NAC•,NMU at 2; here it varies, too.",
)

EXPERIMENTS = (_SIMPLE, *_DEFAULTS, *_SWEEPS, _GATE, _PENALTY, _OPTIMIZERS, _SUBSETS)
