"""The parts of the published fit: minimiser, second derivatives, spline, reading of the profile."""

import math

import numpy as np
import pytest
from scipy.stats import gamma
from threadpoolctl import threadpool_info

from stable_nalu.statistics.means import beta_objective, gamma_objective, start_v
from stable_nalu.statistics.published_fit import (
    NotFiniteError,
    end_cubic_spline,
    hessian,
    interval,
    minimize_in_box,
    published_fit,
    standard_error,
    value_and_gradient,
)


def bowl(p):
    return (p[0] - 3) ** 2 + 2 * (p[1] + 1) ** 2


def test_the_minimiser_finds_the_bottom_and_respects_the_box():
    free, lowest = minimize_in_box(bowl, (0.0, 0.0), (-9, -9), (9, 9))
    np.testing.assert_allclose(free, [3, -1], atol=1e-4)
    assert lowest == pytest.approx(0, abs=1e-7)
    boxed, _ = minimize_in_box(bowl, (0.0, 2.0), (-9, 0), (1, 9))
    np.testing.assert_allclose(boxed, [1, 0], atol=1e-9)


def test_a_value_that_is_not_finite_ends_the_search():
    with pytest.raises(NotFiniteError):
        minimize_in_box(lambda p: np.where(p[0] < 1, math.inf, p[0]), (2.0,), (0,), (9,))


def test_differences_are_cut_short_at_a_bound():
    """At 0.0004 above the bound: (f(x + 0.001) - f(bound)) / 0.0014."""
    value, gradient = value_and_gradient(lambda p: p[0] ** 2, np.array([0.0004]), [0.0], [1.0])
    assert value == 0.0004**2
    assert gradient[0] == pytest.approx(0.0014**2 / 0.0014, rel=1e-9)


def test_steps_around_a_million_are_not_moved_from_the_sample_mean():
    """One gradient step from the start, and no further: parameters are not scaled."""
    steps = np.array([8e5, 9e5, 1.1e6, 1.6e6])
    mean, variance = steps.mean(), steps.var(ddof=1)

    def negative(m):
        return -gamma.logpdf(steps, m * m / variance, scale=variance / m).sum()

    found, _ = minimize_in_box(
        gamma_objective(steps), (mean, variance), (0, 1e-5), (math.inf, math.inf)
    )
    slope = (negative(mean + 10) - negative(mean - 10)) / 20
    assert abs(slope) > 1e-8
    assert found[0] - mean == pytest.approx(-slope, rel=1e-2)
    assert found[1] == pytest.approx(variance, rel=1e-12)


def test_second_derivatives_of_a_known_function():
    """f = x³ y + exp(y): f_xx = 6xy, f_xy = 3x², f_yy = exp(y)."""
    found = hessian(lambda p: p[0] ** 3 * p[1] + np.exp(p[1]), np.array([2.0, 0.5]))
    np.testing.assert_allclose(found, [[6, 12], [12, math.exp(0.5)]], rtol=1e-7)


def test_second_derivatives_of_a_tiny_parameter_leave_the_domain():
    def positive_only(p):
        return np.where(p[0] < 0, math.nan, p[0] ** 2)

    assert np.isfinite(hessian(positive_only, np.array([1.8e-5]))).all()
    assert np.isnan(hessian(positive_only, np.array([1.7e-5]))).all()


def test_linear_algebra_has_one_thread_while_fitting():
    """On busy cores, the threads of matrices of two rows do nothing but wait for each other."""
    steps = gamma_objective(np.array([5000.0, 6000.0]))
    threads = set()

    def objective(parameters):
        threads.update(i["num_threads"] for i in threadpool_info() if i["user_api"] == "blas")
        return steps(parameters)

    assert published_fit(objective, (5500.0, 5e5), (0, 1e-5), (math.inf, math.inf)) is not None
    assert threads == {1}


class Counted:
    """An objective that counts how often it is called, and for how many places."""

    def __init__(self, objective):
        self.objective = objective
        self.calls = self.places = 0

    def __call__(self, parameters):
        self.calls += 1
        self.places += parameters.shape[1]
        return self.objective(parameters)


@pytest.mark.parametrize("steps", [[1200, 1300], [3, 4], [97, 5], [3, 167, 1], [1e5, 2e6]])
def test_groups_of_few_runs_are_fitted_in_bounded_time(steps):
    """The worst that was found among 470 made-up groups needs 12,000 likelihoods in 4,000 calls."""
    objective = Counted(gamma_objective(np.array(steps, float)))
    start = (float(np.mean(steps)), float(np.var(steps, ddof=1)))
    published_fit(objective, start, (0, 1e-5), (math.inf, math.inf))
    assert objective.places <= 12_000
    assert objective.calls <= 4_000


def fit_of_errors(values):
    objective = Counted(beta_objective(values))
    start = (float(np.mean(values)), start_v(values))
    return published_fit(objective, start, (0, 1e-5), (0.5, math.inf)), objective.calls


def nearly_equal(size, mean, variation):
    return mean * (1 + variation * np.random.default_rng(3).standard_normal(size))


@pytest.mark.parametrize("mean", [3e-5, 1e-4, 2e-3])
@pytest.mark.parametrize("variation", [5e-5, 3e-4, 5e-4, 1e-3, 1e-2, 0.03, 0.2])
@pytest.mark.parametrize("size", [2, 25, 225])
def test_groups_of_nearly_equal_errors_are_fitted_in_bounded_time(size, mean, variation):
    """Some creep through 10,000 fits, of 40 evaluations each, when every one is walked."""
    _, calls = fit_of_errors(nearly_equal(size, mean, variation))
    assert calls <= 4_000


def test_a_creep_that_is_cut_short_ends_where_the_whole_walk_does(monkeypatch):
    values = nearly_equal(5, 5e-4, 5e-3)
    short, calls = fit_of_errors(values)
    monkeypatch.setattr("stable_nalu.statistics.published_fit._WALKED", math.inf)
    whole, all_calls = fit_of_errors(values)
    assert all_calls > 4 * calls
    for name in ("mean", "lower", "upper", "nuisance"):
        assert getattr(short, name) == pytest.approx(getattr(whole, name), rel=1e-7), name


def test_standard_error_needs_a_positive_variance():
    assert standard_error(np.diag([4.0, 1.0])) == pytest.approx(0.5)
    assert standard_error(np.array([[2.0, 1.0], [1.0, 1.0]])) == pytest.approx(1.0)
    assert standard_error(np.full((2, 2), np.nan)) is None
    assert standard_error(np.zeros((2, 2))) is None
    assert standard_error(np.diag([-4.0, 1.0])) is None


def test_standard_error_drops_a_parameter_of_another_scale():
    """Inverse variance 1 - 0.5²/0.5 with both, 1 when the second, 1e-9 of the first, is dropped."""
    both = np.array([[1.0, 0.5], [0.5, 0.5]])
    assert standard_error(both) == pytest.approx(math.sqrt(2))
    assert standard_error(np.array([[1.0, 2e-5], [2e-5, 1e-9]])) == pytest.approx(1, rel=1e-6)


def test_the_spline_reproduces_a_cubic():
    x = np.array([0.0, 1.0, 2.5, 3.0, 5.0])
    at = np.linspace(0, 5, 23)
    found = end_cubic_spline(x, x**3 - 2 * x, at)
    np.testing.assert_allclose(found, at**3 - 2 * at, atol=1e-12)


def test_an_interval_ends_where_z_is_1_96():
    places = np.linspace(-4.0, 8.0, 7)
    lower, upper = interval(places, (places - 2) / 2)
    assert (lower, upper) == pytest.approx((2 - 2 * 1.959964, 2 + 2 * 1.959964), rel=1e-6)


def test_an_end_that_the_profile_does_not_reach_is_missing():
    lower, upper = interval(np.arange(5.0), np.array([-3.0, -2.0, -1.0, 0.0, 1.0]))
    assert lower == pytest.approx(1.040036, rel=1e-6)
    assert math.isnan(upper)


def test_a_spline_that_does_not_rise_gives_way_to_straight_lines():
    places = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    levels = np.array([-4000.0, -3.0, -1.5, 0.0, 1.5, 3.0])
    lower, upper = interval(places, levels)
    assert lower == pytest.approx(1 + (3 - 1.959964) / 1.5, rel=1e-6)
    assert upper == pytest.approx(4 + (1.959964 - 1.5) / 1.5, rel=1e-6)
