"""Means and intervals as published.

`published_fits.json` holds samples with the fits that R 4.2 and its package bbmle make of the
same densities: well-behaved ones, ones that start over from better parameters, walks cut off at a
bound or after a hundred steps, flat ones. An end without a figure is one that R has none for.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from stable_nalu.statistics.intervals import student
from stable_nalu.statistics.means import mean_sparsity, solved_at

FIXTURE = Path(__file__).parent / "fixtures" / "published_fits.json"
CASES = json.loads(FIXTURE.read_text(encoding="utf-8"))
ESTIMATE = {"gamma": solved_at, "beta": mean_sparsity}


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['density']}-{len(c['values'])}")
def test_fits_agree_with_the_reference(case):
    found = ESTIMATE[case["density"]](np.array(case["values"], dtype=float))
    for name in ("mean", "nuisance", "lower", "upper"):
        expected = math.nan if case[name] is None else case[name]
        assert getattr(found, name) == pytest.approx(expected, rel=1e-4, nan_ok=True), name


@pytest.mark.parametrize("steps", [[], [7000.0], [5000.0, 5000.0, 5000.0], [0.0, 1000.0, 3000.0]])
@pytest.mark.parametrize("fit", ["published", "frozen", "profile"])
def test_steps_without_a_gamma_fit_have_students_interval(steps, fit):
    values = np.array(steps)
    found, plain = solved_at(values, fit), student(values, 0, math.inf)
    expected = (plain.mean, plain.lower, plain.upper)
    assert (found.mean, found.lower, found.upper) == pytest.approx(expected, nan_ok=True)
    variance = np.var(values, ddof=1) if len(values) > 1 else math.nan
    assert found.nuisance == pytest.approx(variance, nan_ok=True)


@pytest.mark.parametrize("fit", ["compat", "scaled"])
@pytest.mark.parametrize("errors", [[], [0.03], [0.0, 0.0], [0.7, 0.9, 0.5], [1e-12, 2e-11]])
def test_errors_without_a_beta_fit_have_students_interval(errors, fit):
    values = np.clip(np.array(errors), 1e-16, 0.5 - 1e-16)
    found, plain = mean_sparsity(np.array(errors), fit), student(values, 0, 0.5)
    expected = (plain.mean, plain.lower, plain.upper)
    assert (found.mean, found.lower, found.upper) == pytest.approx(expected, nan_ok=True)


def test_equal_errors_have_an_infinite_v():
    assert mean_sparsity(np.zeros(4)).nuisance == math.inf
    assert math.isnan(mean_sparsity(np.array([0.1])).nuisance)


def test_tiny_errors_are_not_halved_and_others_are():
    """Published quirk: the beta's mean is twice what is printed, unless the fit fails."""
    spread = np.array([0.5, 0.8, 1.0, 1.2, 1.5])
    assert mean_sparsity(1e-6 * spread).mean == pytest.approx(1e-6, rel=1e-12)
    assert mean_sparsity(1e-2 * spread).mean == pytest.approx(0.5e-2, rel=2e-2)


def test_a_tiny_mean_keeps_the_v_of_the_sample():
    values = np.array([1e-6, 2e-6, 6e-6])
    m, variance = values.mean(), values.var(ddof=1)
    assert mean_sparsity(values).nuisance == pytest.approx(m * (0.5 - m) / variance - 1)


def test_a_fallback_interval_is_cut_at_the_bounds():
    found = mean_sparsity(np.array([1e-7, 9e-6, 2e-6]))
    assert found.lower == 0
    assert found.upper > found.mean
