"""What figures of certain keys consist of: checked where every figure is drawn."""

import numpy as np
import pandas as pd
import pytest

from stable_nalu.figure.curves import accuracies, counted
from stable_nalu.paper.division import EPSILON, TARGET, chain_error
from stable_nalu.paper.index import find_figure
from tests.figure.drawing import by_gid, legend_texts, texts, tick_texts, titles

CHECKS = {}
"""Key -> what is asked of its products."""


def of(key):
    """Keep a function as the check of a key."""

    def kept(check):
        CHECKS[key] = check
        return check

    return kept


@of("function_task_static_nalu")
def histograms_hold_every_run(figures):
    (figure,) = figures
    models = ("Gated NAU/NMU", "NALU (separate)", "NALU (shared)")
    heads = [title.split("\n")[0] for title in titles(figure)]
    assert heads == [f"{w} – {m}" for w in ("Multiplication", "Addition") for m in models]
    for axes in figure.axes:
        assert sum(bar.get_height() for bar in axes.patches) == 4
        assert "n = 4, failed: " in axes.get_title()
    assert legend_texts(figure) == ["solved", "not solved"]


@of("static-mnist-mul-colour-concat")
def curves_over_epochs_have_ribbons(figures):
    entry = find_figure("static-mnist-mul-colour-concat")
    labels = [one.label for one in entry.series]
    for part, figure in zip(entry.parts, figures, strict=True):
        if part.kind.__name__ == "epoch_curves":
            (axes,) = figure.axes
            assert axes.get_ylabel() == part.options["y_label"]
            assert all(len(by_gid(axes, f"{label} interval")) == 1 for label in labels)
            assert legend_texts(figure) == [f"{label} (n = 3)" for label in labels]


@of("divBy0_gold_test_errors")
def errors_of_exact_weights(figures):
    (figure,) = figures
    tasks = ("[a]; Output: 1/a", "[a,b]; Output: 1/a", "[a,b]; Output: a/b")
    assert titles(figure) == [f"Input: {task}" for task in tasks]
    assert legend_texts(figure) == ["RealNPU", "RealNPU (eps=0)", "NRU", "NMRU"]
    for axes in figure.axes:
        errors = [error for line in axes.lines for error in line.get_ydata()]
        low, high = axes.get_ylim()
        assert low < min(errors)
        assert high > max(errors)
        ticks = tick_texts(axes.get_xticklabels())
        assert ticks == [f"U[0,1e{power:+d})" for power in range(-8, 1)]


@of("class_accs-mul-1digit_conv-Adam")
def accuracy_by_class(figures):
    (figure,) = figures
    assert [len(axes.patches) for axes in figure.axes] == [50, 50]
    assert [axes.get_ylim() for axes in figure.axes] == [(0, 1), (0.96, 1.0)]
    assert legend_texts(figure) == ["mul", "fc", "nmu", "snmu", "snmu [1,1+1/sd(x)]"]


@of("confusion_matrix")
def confusion_matrix(figures):
    (figure,) = figures
    counts = [int(text.get_text()) for text in figure.axes[0].texts]
    assert (len(counts), f"n = {sum(counts)} digits" in texts(figure)) == (100, True)
    table = pd.DataFrame({"true": [0, 0, 1], "predicted": [0, 9, 1], "count": [3, 1, 2]})
    assert accuracies(counted(table))["accuracy"].tolist() == [0.75, 1.0]


@of("surface-mul")
def surfaces(figures):
    (figure,) = figures
    assert titles(figure) == [one.label for one in find_figure("surface-mul").series]
    *facets, bar = figure.axes
    assert bar.get_ylabel() == "Prediction"
    assert len(tick_texts(bar.get_yticklabels())) == 6
    for axes in facets:
        assert len(by_gid(axes, "interpolation")) == len(by_gid(axes, "extrapolation")) == 1


@of("loss_landscape")
def landscapes(figures):
    """Their zero is where the task is solved, but for epsilon."""
    made = figures
    heads = [figure.axes[0].get_title().split(",")[0] for figure in made]
    assert heads == ["NAC•", "NMU", "NRU", "NRU with tanh gates"]
    for figure in made:
        assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("$w_1$", "$w_2$")
    assert pytest.approx(13.2) == TARGET
    one = np.array([1.0])
    for part in find_figure("loss_landscape").parts:
        error = chain_error(part.options["unit"], one, one, EPSILON)[0]
        z = np.array([2.2, 6.0]) + EPSILON
        assert error == pytest.approx(abs(np.prod(z) - TARGET), abs=1e-9)
