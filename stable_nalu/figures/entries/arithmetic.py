"""Neural arithmetic units: the two-layer arithmetic data set."""

from __future__ import annotations

import pandas as pd

from stable_nalu.papers import MADSEN_2019, MADSEN_2020
from stable_nalu.statistics.names import MODELS, ablation_suffix

from ..entry import Entry, Only, Runs, Threshold, standard
from ..kinds import Curves, Histogram, Panels, Successes, Table
from ..source import Series
from ..style import GATED, NAC_ADD, NAC_MUL, NAC_MUL_NMU, NAC_MUL_SIGMA, NALU_SEPARATE, NALU_SHARED

LOOKED_UP = Threshold()
MULTIPLIERS = (NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, GATED, "NALU", "NMU")
MULTIPLICATION_RANGES = (
    "U[-2,-1]",
    "U[-2,2]",
    "U[0,1]",
    "U[0.1,0.2]",
    "U[1,2]",
    "U[1.1,1.2]",
    "U[10,20]",
)
INPUT_SIZES = (4.0, 10.0, *(float(size) for size in range(25, 301, 25)))
HIDDEN_SIZES = tuple(range(2, 11))
SUBSETS = (0.05, 0.1, 0.25, 0.5)
OVERLAPS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
STRENGTHS = (0.0, 0.01, 0.1, 1.0, 10.0, 100.0)
ALL_MODELS = (
    NAC_MUL_NMU,
    NAC_MUL_SIGMA,
    NAC_MUL,
    NAC_ADD,
    GATED,
    "Linear",
    "NALU",
    "NAU",
    "NMU",
    "ReLU",
    "ReLU6",
)


def ablation(rows: pd.DataFrame) -> pd.Series:
    """Return labels with what is switched off."""
    weights = zip(rows["model"], rows["regualizer"], rows["regualizer.oob"], strict=True)
    return pd.Series(
        [model + ablation_suffix(sparse, oob) for model, sparse, oob in weights], index=rows.index
    )


def shared_nalu(rows: pd.DataFrame) -> pd.Series:
    """Return labels that tell the plain NALU, whose two paths share weights, from the other."""
    labels = {MODELS["nalu"]: NALU_SHARED}
    return pd.Series([labels.get(model, model) for model in rows["model"]], index=rows.index)


def optimizer(rows: pd.DataFrame) -> pd.Series:
    """Return the name of the optimizer, with momentum as its suffix."""
    pairs = zip(rows["learning.optimizer"], rows["learning.momentum"], strict=True)
    names = [name if momentum == 0 else f"{name}-Nesterov" for name, momentum in pairs]
    return pd.Series(names, index=rows.index)


def _swept(x: str, expected: tuple[object, ...], best_range: int = 5000) -> Runs:
    return Runs(
        x=x,
        threshold=LOOKED_UP,
        models=MULTIPLIERS,
        expected=expected,
        best_range=best_range,
        only=(Only("operation", ("mul",)),),
    )


HIDDEN = _swept("hidden.size", HIDDEN_SIZES)
INPUT = _swept("input.size", INPUT_SIZES, 15000)
OVERLAP = _swept("overlap.ratio", OVERLAPS)
SUBSET = _swept("subset.ratio", SUBSETS)
RANGE = _swept("interpolation.range", MULTIPLICATION_RANGES)


def _sweep(
    name: str, number: str, shows: str, stem: str, runs: Runs, label: str, breaks: tuple = ()
) -> Entry:
    key = f"function_task_static_mul_{name}"
    part = Panels(stem=stem, runs=runs, x_label=label, style="line", breaks=breaks)
    return Entry(key, MADSEN_2020, number, shows, (part,), (Series((key,)),))


def _hidden() -> Entry:
    stem, label = "simple_function_static_mul_hidden_size", "Hidden size"
    breaks = (2, 4, 6, 8, 10)
    parts = (
        Panels(stem=stem, runs=HIDDEN, x_label=label, style="line", breaks=breaks),
        Panels(
            stem=f"{stem}_short",
            runs=HIDDEN,
            x_label=label,
            style="line",
            breaks=breaks,
            size=standard(5.1),
        ),
    )
    key = "function_task_static_mul_hidden_size"
    return Entry(key, MADSEN_2020, "Figure 3 top", "× by hidden size", parts, (Series((key,)),))


def _hidden_ablation() -> Entry:
    key = "function_task_static_mul_hidden_size_ablation"
    suffixes = [ablation_suffix(sparse, oob) for sparse in (10, 0) for oob in (1, 0)]
    runs = Runs(
        x="hidden.size",
        threshold=LOOKED_UP,
        models=tuple(f"NMU{suffix}" for suffix in suffixes),
        expected=HIDDEN_SIZES,
        relabel=ablation,
        only=(Only("operation", ("mul",)),),
    )
    part = Panels(
        stem="simple_function_static_mul_hidden_size_ablation",
        runs=runs,
        x_label="Hidden size",
        style="line",
        breaks=(2, 4, 6, 8, 10),
    )
    return Entry(
        key, MADSEN_2020, "Figure 7", "NMU without penalty or clamp", (part,), (Series((key,)),)
    )


def _range() -> Entry:
    key = "function_task_static_mul_range"
    few = ("U[0,1]", "U[0.1,0.2]", "U[1,2]", "U[1.1,1.2]", "U[10,20]")
    reproduce = Runs(
        x="interpolation.range",
        threshold=LOOKED_UP,
        models=(NAC_MUL, "NALU"),
        closed=True,
        expected=few,
        only=(Only("operation", ("mul",)), Only("interpolation.range", few)),
    )
    stem, label = "simple_function_static_mul_range", "Interpolation range"
    parts = (
        Panels(stem=stem, runs=RANGE, x_label=label),
        Panels(stem=f"{stem}_reproduce", runs=reproduce, x_label=label),
    )
    number = "Figure 3 bottom"
    return Entry(key, MADSEN_2020, number, "× by interpolation range", parts, (Series((key,)),))


def _regualization() -> Entry:
    key = "function_task_static_regualization"
    parts = []
    for operation, model in (("add", "NAU"), ("sub", "NAU"), ("mul", "NMU")):
        runs = Runs(
            x="regualizer",
            threshold=LOOKED_UP,
            models=(model,),
            closed=True,
            expected=STRENGTHS,
            only=(
                Only("operation", (operation,)),
                Only("regualizer.scaling.start", (5000.0,), ("NAU",)),
            ),
        )
        parts.append(
            Panels(
                stem=f"simple_function_static_regualization_{operation}",
                runs=runs,
                x_label="Sparse regualizer",
                style="category",
                size=standard(5.0),
            )
        )
    shows = "Strength of the sparsity penalty, by operation"
    return Entry(key, MADSEN_2020, "Figures 10–12", shows, tuple(parts), (Series((key,)),))


def _learning() -> Entry:
    key = "function_task_static_learning"
    parts = []
    for operation in ("add", "sub", "mul", "div"):
        nac = NAC_ADD if operation in ("add", "sub") else NAC_MUL
        runs = Runs(
            x="learning.rate",
            threshold=LOOKED_UP,
            models=(nac, "NALU"),
            closed=True,
            expected=RATES,
            only=(Only("operation", (operation,)),),
            extra="optimizer",
            derive=(("optimizer", optimizer),),
        )
        parts.append(
            Panels(
                stem=f"simple_function_static_learning_{operation}",
                runs=runs,
                x_label="Learning rate",
                style="line",
                log_x=True,
                size=standard(5.0),
            )
        )
    shows = "Learning rates and optimizers, by operation"
    return Entry(key, MADSEN_2020, "", shows, tuple(parts), (Series((key,)),))


def _parameters() -> Entry:
    base = "function_task_static_mul"
    chosen = (
        ("Hidden Size", f"{base}_hidden_size", HIDDEN),
        ("Input Size", f"{base}_input_size", INPUT),
        ("Overlap Ratio", f"{base}_overlap", OVERLAP),
        ("Subset Ratio", f"{base}_subset", SUBSET),
    )
    panels = tuple(
        (
            title,
            file,
            Runs(
                x=runs.x,
                threshold=runs.threshold,
                models=(NAC_MUL, "NALU"),
                closed=True,
                expected=runs.expected,
                only=runs.only,
            ),
        )
        for title, file, runs in chosen
    )
    stem = "simple_function_static_mul_parameter"
    parts = (
        Successes(stem=stem, panels=panels, columns=2, size=standard(9.0)),
        Successes(stem=f"{stem}_onerow", panels=panels, columns=4),
    )
    shows = "× by four parameters of the data set, success rates"
    series = tuple(Series((file,)) for _, file, _ in chosen)
    return Entry(f"{base}_paramaters", MADSEN_2019, "", shows, parts, series)


def _gates() -> Entry:
    key = "function_task_static_nalu"
    runs = Runs(
        x="operation",
        threshold=LOOKED_UP,
        models=(GATED, NALU_SEPARATE, NALU_SHARED),
        relabel=shared_nalu,
        only=(Only("operation", ("mul", "add")),),
    )
    parts = (
        Histogram(stem=key, runs=runs, column="network.layer_2.nalu.gate.mean", size=standard(7.0)),
        Table(
            stem=key,
            runs=runs,
            label="simple-function-static-nalu-gate-table",
            caption="Gated units that must choose between adding and multiplying.",
        ),
    )
    shows = "Gates of NALU and Gated NAU/NMU at the selected step"
    return Entry(key, MADSEN_2020, "Figure 9, Table 5", shows, parts, (Series((key,)),))


def _tables() -> Entry:
    key = "function_task_static"
    runs = Runs(x="operation", threshold=LOOKED_UP, models=ALL_MODELS)
    main = ("Linear", "NAU", NAC_ADD, "NALU")
    label = "function-task-static-defaults"
    caption = "Arithmetic data set, default parameters: success rate, step and sparsity error."
    parts = (
        Table(
            stem=key,
            runs=runs,
            label=label,
            caption=caption,
            rows=(("mul", ("NMU", NAC_MUL, "NALU")), ("add", main), ("sub", main)),
        ),
        Table(
            stem=f"{key}_reproduce",
            runs=runs,
            label=label,
            caption=caption,
            rows=(
                ("mul", (NAC_MUL, "NALU")),
                ("div", (NAC_MUL, "NALU")),
                ("add", ("Linear", NAC_ADD, "NALU")),
                ("sub", ("Linear", NAC_ADD, "NALU")),
            ),
        ),
        Table(stem=f"{key}_all", runs=runs, label=f"{label}-all", caption=caption, long=True),
    )
    return Entry(key, MADSEN_2020, "Tables 2 and 6", "Default parameters", parts, (Series((key,)),))


def _simple() -> Entry:
    runs = Runs(x="operation", threshold=LOOKED_UP, models=("Linear", *MULTIPLIERS))
    part = Table(
        stem="simple_mul",
        runs=runs,
        label="very-simple-function-results",
        caption="A very simple product of four inputs.",
        rows=(("mul", ("Linear", "NMU", NAC_MUL, "NALU")),),
    )
    series = (Series(("simple_mul",)),)
    return Entry("simple_mul", MADSEN_2020, "Table 1", "Four inputs, ×", (part,), series)


def _ablation_table() -> Entry:
    key = "function_task_static_ablation"
    part = Table(
        stem=key,
        runs=Runs(x="operation", threshold=LOOKED_UP, relabel=ablation),
        label="function-task-static-ablation",
        caption="Units without sparsity penalty or clamp of weights.",
        show_operation=False,
        within=(),
    )
    return Entry(key, MADSEN_2020, "", "Ablations, default parameters", (part,), (Series((key,)),))


def _example() -> Entry:
    runs = Runs(
        x="operation",
        threshold=LOOKED_UP,
        models=("NMU", "NALU", NAC_MUL),
        closed=True,
        only=(Only("operation", ("mul",)), Only("seed", (1,))),
    )
    part = Curves(
        stem="function-task-static-example",
        runs=runs,
        seed=1,
        threshold_line=0.2,
        size=standard(5.0),
    )
    series = (Series(("function_task_static",)),)
    shows = "Errors of one run of three models"
    return Entry("function_task_static_plot_example", MADSEN_2020, "", shows, (part,), series)


ENTRIES = (
    _simple(),
    _tables(),
    _hidden(),
    _range(),
    _hidden_ablation(),
    _sweep(
        "input_size",
        "Figure 8",
        "× by size of the input",
        "simple_function_static_mul_input_size",
        INPUT,
        "Size of the input vector",
        (0, 100, 200, 300),
    ),
    _sweep(
        "overlap",
        "Figure 8",
        "× by overlap of the subsets",
        "simple_function_static_mul_overlap",
        OVERLAP,
        "The ratio of which subsets overlap with each other",
    ),
    _sweep(
        "subset",
        "Figure 8",
        "× by size of the subsets",
        "simple_function_static_mul_subset",
        SUBSET,
        "Relative size of subsets compared to input size",
    ),
    _gates(),
    _regualization(),
    _learning(),
    _parameters(),
    _ablation_table(),
    _example(),
)
