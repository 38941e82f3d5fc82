"""EQL of 2016: equations of a pendulum, a cart and three formulas, chosen by two ranks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.papers import MARTIUS_2016
from stable_nalu.figure import style
from stable_nalu.figure.runs import Context, Part, Product, kind, last_rows, numbers

from .experiment import Measure, Recipe, Resources, Variant, flags, values
from .nalu import measured
from .published import published_measures

KEY, NOISE = "eql/2016", 0.01
_VALID, _ACTIVE = "metric.valid.interpolation", "metric.active"
_TESTS = {
    "metric.test.inside": "inside",
    "metric.test.near": "near",
    "metric.test.extrapolation": "far",
}
_LOOKS = {"EQL": ("#0072B2", "o", -0.12), "MLP": ("#E69F00", "s", 0.12)}


def chosen(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the network of each equation and seed that the paper's rule chooses.

    Networks are ranked by validation error and by active units; the smallest Euclidean norm of both
    ranks wins, and of several the lowest error. Without active units the error alone counts.
    """
    found = []
    for _, own in rows.groupby(["equation", "seed"], sort=False):
        error = numbers(own, _VALID).fillna(np.inf)
        norm = error.rank(method="min") ** 2
        if _ACTIVE in own and own[_ACTIVE].notna().any():
            norm = norm + numbers(own, _ACTIVE).rank(method="min") ** 2
        order = pd.DataFrame({"norm": norm, "error": error}).sort_values(["norm", "error"])
        found.append(own.loc[order.index[0]])
    return pd.DataFrame(found)


@kind("errors around the cube of training")
def errors_around(context: Context) -> Product:
    """Draw the errors of chosen networks inside, near and far, a panel for each equation."""
    tables = context.present(("name", "step", "equation", "seed", _VALID, *_TESTS))
    best = {name: chosen(last_rows(table)) for name, table in tables.items()}
    figure, grid = style.subplots((18.0, 6.5), 1, len(_NETWORKS), sharey=True, squeeze=False)
    found, said = [], []
    for axes, equation in zip(grid.flat, _NETWORKS, strict=True):
        axes.set_title(equation, pad=3)
        axes.set_yscale("log")
        for name, table in best.items():
            own = table.loc[table["equation"] == equation]
            if own.empty:
                continue
            color, marker, aside = _LOOKS[name]
            for at, (column, label) in enumerate(_TESTS.items()):
                errors = np.sqrt(numbers(own, column) ** 2 + NOISE**2)
                look: Any = {"color": color, "markersize": 3, "linestyle": "none"}
                axes.plot([at + aside] * len(errors), errors, marker, alpha=0.3, **look)
                low, middle, high = errors.quantile([0.25, 0.5, 0.75])
                axes.vlines(at + aside, low, high, color=color, linewidth=2)
                row = {"model": name, "equation": equation, "test": label, "runs": len(own)}
                found.append(row | {"lower": low, "median": middle, "upper": high})
        for known in published_measures(KEY):
            if known.point == f"equation={equation}":
                label = {"eql": "EQL", "mlp": "MLP"}[known.model]
                color, marker, aside = _LOOKS[label]
                look = {"color": color, "markerfacecolor": "none", "markersize": 6}
                at = [*_TESTS].index(known.measure) + 2.2 * aside
                axes.plot(at, known.number, marker, **look)
        axes.set_xticks(range(len(_TESTS)), [*_TESTS.values()])
    grid[0][0].set_ylabel("RMS error of noisy targets")
    points = pd.DataFrame(found)
    far = points.loc[points["test"] == "far"].pivot(index="equation", columns="model")["median"]
    for equation in far.index.intersection([*_NETWORKS]) if {"EQL", "MLP"} <= {*far} else ():
        said.append(f"{equation} {far.loc[equation, 'EQL']:.2g} and {far.loc[equation, 'MLP']:.2g}")
    return context.plotted(
        figure,
        points,
        f"Blue: EQL; orange: MLP of tanh. Small points: the network chosen of each of "
        f"{style.ascending(points['runs'])} seeds, with quartiles; hollow: the paper's means. "
        "Noise of 0.01 is added to errors on exact targets.",
        f"Medians far away, EQL and MLP: {', '.join(said)}." if said else "",
    )


_NETWORKS = {
    "pendulum": ((2, 1), (2, 3), (2, 5)),
    "F-1": ((2, 10), (3, 10)),
    "F-2": ((2, 10), (3, 10)),
    "F-3": ((2, 10), (3, 10)),
    "cart": ((2, 5), (3, 5)),
}
"""Equation -> layers and width of each EQL that is trained."""
_LENGTHS = dict.fromkeys(_NETWORKS, 20_000) | {"pendulum": 50_000}


def _variant(equation: str, layers: int, width: int) -> Variant:
    length = _LENGTHS[equation]
    options = f"layers={layers} width={width} iterations={length} sigmoids=true l1=0"
    text = f"--equation {equation} --max-iterations {length} --log-interval {length}"
    name = f"{equation}-l{layers}-w{width}"
    return Variant(name, flags(f"{text} --layer-option {options}"))


_SETTING = Recipe(
    "equations",
    "--batch-size 20",
    range(8),
    Resources(120),
    prefix=f"{KEY}/",
    points=values("--regualizer-z", "1e-5 1e-4 1e-3"),
    variants=tuple(_variant(name, *own) for name, every in _NETWORKS.items() for own in every),
)
_PLAIN = replace(
    _SETTING,
    points=(),
    variants=tuple(
        Variant(
            name,
            flags(f"--equation {name} --max-iterations {length} --log-interval {length}"),
        )
        for name, length in _LENGTHS.items()
    ),
)
EXPERIMENTS = (
    replace(
        measured(
            KEY,
            "Equations of 2016, learned in a cube and tested near and far from it",
            MARTIUS_2016,
            "tables of results",
            _SETTING,
            {},
            Part(errors_around),
            parameter="equation",
            measures=(
                *(Measure(column, f"RMS {label}") for column, label in reversed(_TESTS.items())),
                Measure(_VALID, "RMS of noisy targets inside"),
                Measure(_ACTIVE, "active hidden units", optional=True),
            ),
            rate=10_000,
            note="A part of the published scan: lambda 1e-5, 1e-4 and 1e-3 of nine values, 8 "
            "starts, 50,000 iterations (pendulum) and 20,000, where the paper has 450,000 and "
            "4,500,000. The penalty acts from a quarter to 19/20 of them, then small weights are "
            "0. MLPs have two layers of 20 tanh units and no penalty. The mean squared error is "
            "that of an output. Tables here sum up all networks, figures those that are chosen.",
        ),
        models=(
            _SETTING.model("eql", "EQL", "--layer-type EQL", csv="eql-2016/eql"),
            _PLAIN.model("mlp", "MLP", "--layer-type Tanh --hidden-size 20", csv="eql-2016/mlp"),
        ),
    ),
)
