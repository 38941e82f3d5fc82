"""Numbers of a run: criteria, norms, penalties, against loops over its elements."""

import math
import statistics
from functools import partial

import pytest
import torch

from stable_nalu.functional import (
    Regualizer,
    RegualizerNAUZ,
    RegualizerNMUZ,
    get_train_criterion,
    lp_norm,
    mape,
    mean_over,
    mse,
    pcc,
    sparsity_error,
    std_over,
    var_over,
)
from stable_nalu.functional.reductions import per_run, trailing
from tests.runs import RUNS, assert_runs_are_independent, indices, normal


def mean(function):
    """The mean of a function of the elements."""
    return lambda *values: statistics.fmean(map(function, *values))


def loop_pcc(y, t):
    epsilon, n = 2.0**-52, len(y)

    def standardized(v):
        mean = sum(v) / n
        deviation = math.sqrt(max(sum((a - mean) ** 2 for a in v) / n, epsilon))
        return [(a - mean) / (deviation + epsilon) for a in v]

    pairs = zip(standardized(y), standardized(t), strict=True)
    return 1 - sum(a * b for a, b in pairs) / n


def loop_norm(order):
    return lambda values: sum(abs(v) ** order for v in values) ** (1 / order)


def between(w):
    return min(abs(w), abs(1 - abs(w)))


PENALTIES = {
    ("mnac", "bias", "linear"): lambda w: min(abs(w), abs(1 - w)),
    ("mnac", "bias", "squared"): lambda w: w**2 * (1 - w) ** 2,
    ("mnac", "oob", "linear"): lambda w: max(abs(w - 0.5) - 0.5, 0),
    ("mnac", "oob", "squared"): lambda w: max(abs(w - 0.5) - 0.5, 0) ** 2,
    ("nac", "bias", "linear"): between,
    ("nac", "bias", "squared"): lambda w: w**2 * (1 - abs(w)) ** 2,
    ("nac", "oob", "linear"): lambda w: max(abs(w) - 1, 0),
    ("nac", "oob", "squared"): lambda w: max(abs(w) - 1, 0) ** 2,
    ("npu", "W", "linear"): lambda w: abs(1 - abs(w)),
    ("inalu", "bias", "linear"): lambda w: max(20 - abs(w), 0),
}
# function, loop over the elements of a run, shape of a run, number of arguments
CASES = {
    "mse": (mse, mean(lambda y, t: (y - t) ** 2), (7, 1), 2),
    "mape": (mape, mean(lambda y, t: abs((t - y) / t)), (7, 1), 2),
    "pcc": (pcc, loop_pcc, (7, 1), 2),
    **{
        f"{function.__name__} {len(shape)}": (partial(function, ndim=len(shape)), loop, shape, 1)
        for function, loop in (
            (mean_over, statistics.fmean),
            (var_over, statistics.variance),
            (std_over, statistics.stdev),
            (sparsity_error, lambda W: max(map(between, W))),
        )
        for shape in ((5,), (5, 3))
    },
    **{
        f"norm {order} {len(shape)}": (
            partial(lp_norm, order=order, ndim=len(shape)),
            loop_norm(order),
            shape,
            1,
        )
        for order in (1, 2)
        for shape in ((), (4,), (2, 3), (2, 3, 2))
    },
    **{" ".join(key): (Regualizer(*key), mean(of), (4, 5), 1) for key, of in PENALTIES.items()},
    "gate": (
        Regualizer("mnac", "bias", "linear", ndim=1),
        mean(PENALTIES["mnac", "bias", "linear"]),
        (4,),
        1,
    ),
}


def arguments(runs, shape, count):
    return [1.5 * normal(*runs, *shape, seed=seed) for seed in range(count)]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("case", CASES)
def test_against_loops(case, runs):
    function, loop, shape, count = CASES[case]
    given = arguments(runs, shape, count)
    value = function(*given)
    assert value.shape == runs
    for index in indices(runs):
        expected = loop(*(one[index].flatten().tolist() for one in given))
        assert value[index].item() == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("case", CASES)
def test_gradient(case):
    function, _, shape, count = CASES[case]
    first, *others = arguments((3,), shape, count)
    assert torch.autograd.gradcheck(lambda x: function(x, *others), first.requires_grad_())


@pytest.mark.parametrize("case", [k for k in CASES if not k.startswith(("std", "var"))])
def test_runs_are_independent(case):
    function, _, shape, count = CASES[case]
    given = [one.float() for one in arguments((2, 3), shape, count)]
    assert_runs_are_independent(function, (2, 3), *given)


def test_pcc_of_constant_and_scaled_outputs_and_of_several():
    """The deviation is bounded below; sums are divided by the batch size alone."""
    t = normal(50, 1)
    assert pcc(torch.full((50, 1), 2.0), t.float()).item() == 1
    assert pcc(3.0 * t + 1, t).item() == pytest.approx(0, abs=1e-12)
    assert pcc(-0.5 * t + 1, t).item() == pytest.approx(2, abs=1e-12)
    assert pcc(t.expand(50, 4), t).item() == pytest.approx(1 - math.sqrt(4), rel=1e-12)


def test_mape_of_a_zero_target_is_infinite():
    assert mape(torch.ones(2, 1), torch.tensor([[1.0], [0.0]])).item() == math.inf


@pytest.mark.parametrize("runs", RUNS)
def test_per_run_broadcasts_over_the_dimensions_of_a_run(runs):
    x, value = normal(*runs, 4, 2), normal(*runs)
    product = x * per_run(value, 2)
    for index in indices(runs):
        assert product[index].equal(x[index] * value[index])
    assert (trailing(0), trailing(2)) == ((), (-2, -1))


@pytest.mark.parametrize(("weight", "error"), [(0, 0), (-1, 0), (2.5, 1.5)])
def test_worked_sparsity_errors(weight, error):
    assert sparsity_error(torch.full((1, 2), float(weight))).item() == error


@pytest.mark.parametrize("kind", ["bias", "oob"])
@pytest.mark.parametrize("support", ["mnac", "nac"])
def test_discrete_weights_cost_nothing(support, kind):
    W = torch.tensor([[0.0, 1.0], [1.0, 0.0 if support == "mnac" else -1.0]])
    for shape in ("linear", "squared"):
        assert Regualizer(support, kind, shape)(W).item() == 0


def test_a_gate_halfway_feels_no_pull():
    """At the tie, each side of the minimum takes half of the gradient, and they cancel."""
    g = torch.full((2,), 0.5, requires_grad=True)
    penalty = Regualizer("mnac", "bias", "linear", ndim=1)(g)
    assert penalty.item() == 0.5
    assert torch.autograd.grad(penalty, g)[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(
    "regualizer", [Regualizer("nac", "oob", "none"), Regualizer("nac", "oob", "linear", zero=True)]
)
def test_switched_off(regualizer, runs):
    assert regualizer.is_zero
    value = regualizer(normal(*runs, 2, 3))
    assert value.shape == runs
    assert not value.any()


def test_unknown_names():
    with pytest.raises(ValueError, match="no regualizer for support, type, shape = npu, W, cubic"):
        Regualizer("npu", "W", "cubic")
    with pytest.raises(ValueError, match="'rmse' is not one of mse, pcc, mape, pcc-mse"):
        get_train_criterion("rmse", 0, 0)


Z_PENALTIES = {
    RegualizerNAUZ: lambda w, x: (1 - abs(w)) * x**2,
    RegualizerNMUZ: lambda w, x: (1 - w) * (1 - x) ** 2,
}


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", Z_PENALTIES)
def test_z_against_loops(kind, runs):
    W, inputs = normal(*runs, 2, 3), [normal(*runs, 4, 3, seed=1), normal(*runs, 2, 3, seed=2)]
    z, off, forgotten = kind(), kind(zero=True), kind()
    for x in inputs:
        for one in (z, off, forgotten):
            one.append_input(x)
    forgotten.reset()
    value = z(W)
    assert value.shape == runs
    for index in indices(runs):
        rows = [row for x in inputs for row in x[index].tolist()]
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        pairs = [(w, m) for row in W[index].tolist() for w, m in zip(row, means, strict=True)]
        expected = sum(Z_PENALTIES[kind](w, m) for w, m in pairs) / len(pairs)
        assert value[index].item() == pytest.approx(expected, rel=1e-12)
    for nothing in (kind(), off, forgotten):
        assert nothing(W).shape == runs
        assert not nothing(W).any()


@pytest.mark.parametrize("kind", Z_PENALTIES)
def test_the_gradient_of_z_reaches_weights_and_inputs(kind):
    def penalty(W, x):
        z = kind()
        z.append_input(x)
        return z(W)

    inputs = (normal(2, 3).requires_grad_(), normal(4, 3, seed=1).requires_grad_())
    assert torch.autograd.gradcheck(penalty, inputs)
