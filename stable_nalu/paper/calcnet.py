"""CalcNet: six operations by NAC, NALU and their golden-ratio forms, as published and as logged."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.papers import RANA_2019
from stable_nalu.figure import style
from stable_nalu.figure.runs import Context, Part, Product, kind, last_rows, numbers, together
from stable_nalu.statistics.table import TEST, VALIDATION

from .experiment import Measure, Recipe, Resources, Variant, flags, variants
from .nalu import measured
from .published import published_measures

_NAMES = {"add": "a + b", "sub": "a − b", "mul": "a b", "div": "a / b"}
_NAMES |= {"square": "a²", "sqrt": "√a"}
_MARKS = {"PUB": ("D", "#D55E00"), "LOG": ("s", "#009E73")}


@kind("errors by operation")
def errors_by_operation(context: Context, experiment: str = "") -> Product:
    """Draw the error of each run outside the training range, with medians, a panel per operation.

    experiment: whose published numbers are marked.
    """
    needed = ("name", "step", "equation", "learning.rate", TEST, VALIDATION)
    rows = last_rows(together(context.exported(needed)))
    rows["error"] = numbers(rows, TEST)
    rows["valid"] = numbers(rows, VALIDATION).fillna(np.inf)
    if several := rows["learning.rate"].astype(float).nunique() > 1:
        rows["model"] += rows["learning.rate"].map(lambda rate: f", {float(rate):g}")
    names = {name: place for place, name in enumerate(sorted(set(rows["model"]), key=_place))}
    shown = [name for name in _NAMES if f"calc-{name}" in set(rows["equation"])]
    figure, grid = style.subplots((18.0, 11.0), -(-len(shown) // 3), 3, sharex=True, squeeze=False)
    found, labels = [], {key: label for key, (label, _) in _UNITS.items()}
    for axes, operation in zip(grid.flat, shown, strict=False):
        equation = f"calc-{operation}"
        axes.set_title(_NAMES[operation], pad=3)
        axes.set_yscale("log")
        for model, part in rows.loc[rows["equation"] == equation].groupby("model"):
            at, errors = names[str(model)], part["error"].fillna(np.inf)
            finite = errors[np.isfinite(errors)]
            axes.plot([at] * len(finite), finite, "o", color="#0072B2", markersize=3, alpha=0.3)
            middle, low, high = _median(errors)
            axes.plot([at - 0.3, at + 0.3], [middle] * 2, color="black", linewidth=1.2)
            axes.vlines(at, low, high if np.isfinite(high) else finite.max(), color="black")
            row = {"operation": operation, "model": model, "runs": len(errors), "median": middle}
            lost = len(errors) - len(finite)
            found.append(row | {"lower": low, "upper": high, "diverged": lost})
        for known in published_measures(experiment):
            here = known.point == f"equation={equation}" and known.measure == TEST
            if here and (model := labels[known.model]) in names:
                marker, color = _MARKS[known.label]
                look: Any = {"color": color, "markerfacecolor": "none", "markersize": 5}
                axes.plot(names[model] + 0.25, known.number, marker, **look)
        axes.set_xticks([*names.values()], [*names], rotation=60, ha="right")
    for axes in list(grid.flat)[len(shown) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel("RMS error outside")
    table = pd.DataFrame(found)
    marks = "Orange diamonds: the paper's table; green squares: the released log; both as roots."
    return context.plotted(
        figure,
        table,
        f"Points: runs; lines: medians of {style.ascending(table['runs'])} runs, with 95 % "
        f"intervals by order statistics. {table['diverged'].sum()} runs diverged and are worst.",
        _comparison(rows) if several else marks,
    )


def _place(name: str) -> tuple[int, str]:
    return [label for label, _ in _UNITS.values()].index(name.split(", ")[0]), name


def _median(errors: pd.Series) -> tuple[float, float, float]:
    """Return a median and the ends of its 95 % interval, which order statistics give."""
    ordered, n = np.sort(errors), len(errors)
    off = int(np.floor((n - 1.96 * np.sqrt(n)) / 2))
    low = max(off - 1, 0) if n > 5 else 0
    return float(np.median(ordered)), float(ordered[low]), float(ordered[n - 1 - low])


def _comparison(rows: pd.DataFrame) -> str:
    """Return by which share of seeds G-NALU is better than NALU, each at its better rate."""
    said = []
    rows = rows.assign(unit=rows["model"].str.split(", ").str[0])
    for equation, own in rows.groupby("equation", sort=False):
        best = {}
        for unit, part in own.groupby("unit"):
            medians = part.groupby("learning.rate")["valid"].median()
            chosen = part.loc[part["learning.rate"] == medians.idxmin()]
            best[unit] = chosen.set_index("seed")["error"].fillna(np.inf)
        pairs = pd.DataFrame(best).dropna()
        wins = int((pairs["G-NALU"] < pairs["NALU"]).sum())
        said.append(f"{_NAMES[str(equation)[5:]]} {wins} of {len(pairs)}")
    return f"Each at its better rate by validation, G-NALU has the lower error: {', '.join(said)}."


# An experiment is a table.
# fmt: off
_ABS = "--layer-option gate_of_abs=true"
_UNITS = {
    "nac": ("NAC", "--layer-type NAC"),
    "gnac": ("G-NAC", "--layer-type NAC --nac-weight golden-ratio"),
    "nalu": ("NALU", "--layer-type NALU"),
    "nalu-abs": ("NALU, |x|", f"--layer-type NALU {_ABS}"),
    "gnalu": ("G-NALU", "--layer-type G-NALU"),
    "gnalu-abs": ("G-NALU, |x|", f"--layer-type G-NALU {_ABS}"),
}
_EVERY = "--hidden-layers 1 --hidden-size 3 --optimizer nadam --adam-epsilon 1e-7 --noise 0"
_SCRIPTED = f"{_EVERY} --batch-size 1024 --tenth-every 640 --max-iterations 1920 --start calcnet"
_STATIC = Recipe(
    "equations", f"{_SCRIPTED} --learning-rate 1e-2 --log-interval 1920", range(8), Resources(60),
    variants=variants("--equation", " ".join(f"calc-{name}" for name in _NAMES)))
_TUNED = replace(
    _STATIC,
    flags=f"{_EVERY} --tenth-every 1000 --max-iterations 3000 --log-interval 3000 "
    "--pytorch-precision 64",
    seeds=range(100),
    variants=tuple(
        Variant(f"{name}-{rate}", flags(f"--equation calc-{name} --learning-rate {rate}"))
        for name in ("add", "sub", "mul", "sqrt") for rate in ("1e-2", "1e-1")))
_MEASURES = Measure(TEST, "RMS outside, to five times the range"), Measure(VALIDATION, "RMS inside")
EXPERIMENTS = (
    measured(
        "calcnet/static", "Six operations by NAC, NALU and their golden-ratio forms",
        RANA_2019, "Table 1", _STATIC, _UNITS,
        Part(errors_by_operation, experiment="calcnet/static"),
        parameter="equation", measures=_MEASURES, rate=3000,
        note="Two layers of three and one units; 10 epochs of 2^16 points at each of three rates, "
        "a tenth of the published length. The paper does not say which gate its NALU has; its code "
        "has gates of |x| for G-NALU, and all gates start at 10. Batches are drawn with "
        "replacement; Nadam is not restarted when the rate falls. Published squares are written "
        "as roots. NAC and G-NAC, 8 seeds each, give the log's errors on ab, a² and √a within 2 % "
        "(NAC 830, 1,039, 6.14; logged 828.5, 1,031, 6.15); the table has 3.2, 4.4 and 3.7, which "
        "no NAC can reach: the log is reproduced, the table is not."),
    measured(
        "calcnet/tuned", "NALU and G-NALU at equal tuning",
        RANA_2019, "Table 1, its claim", _TUNED, {key: _UNITS[key] for key in ("nalu", "gnalu")},
        Part(errors_by_operation), parameter="equation", measures=_MEASURES, rate=30_000,
        note="G-NALU is NALU with all values before tanh and sigmoid multiplied by ln phi, 0.4812: "
        "another start and step. Both have the layer's initial weights, batches of 128, 1000 "
        "iterations at each of three rates, the first one 0.01 or 0.1, in float64: powers of phi "
        "overflow later, at 1,475."),
)
