import pytest
import torch

from stable_nalu.functional import Regualizer, RegualizerNAUZ, RegualizerNMUZ
from tests.runs import RUNS, assert_runs_are_independent, indices, normal

PENALTIES = {
    ("mnac", "bias", "linear"): lambda w: min(abs(w), abs(1 - w)),
    ("mnac", "bias", "squared"): lambda w: w**2 * (1 - w) ** 2,
    ("mnac", "oob", "linear"): lambda w: max(abs(w - 0.5) - 0.5, 0),
    ("mnac", "oob", "squared"): lambda w: max(abs(w - 0.5) - 0.5, 0) ** 2,
    ("nac", "bias", "linear"): lambda w: min(abs(w), abs(1 - abs(w))),
    ("nac", "bias", "squared"): lambda w: w**2 * (1 - abs(w)) ** 2,
    ("nac", "oob", "linear"): lambda w: max(abs(w) - 1, 0),
    ("nac", "oob", "squared"): lambda w: max(abs(w) - 1, 0) ** 2,
    ("npu", "W", "linear"): lambda w: abs(1 - abs(w)),
    ("inalu", "bias", "linear"): lambda w: max(20 - abs(w), 0),
}


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("key", PENALTIES)
def test_against_loops(key, runs):
    W = 1.5 * normal(*runs, 2, 3)
    value = Regualizer(*key)(W)
    assert value.shape == runs
    for index in indices(runs):
        elements = W[index].flatten().tolist()
        expected = sum(map(PENALTIES[key], elements)) / len(elements)
        assert value[index].item() == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("runs", RUNS)
def test_parameters_of_one_dimension(runs):
    g = normal(*runs, 4)
    value = Regualizer("mnac", "bias", "linear", ndim=1)(g)
    assert value.shape == runs
    for index in indices(runs):
        expected = sum(min(abs(v), abs(1 - v)) for v in g[index].tolist()) / 4
        assert value[index].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("key", PENALTIES)
def test_gradient(key):
    W = (1.5 * normal(3, 2, 4)).requires_grad_()
    assert torch.autograd.gradcheck(Regualizer(*key), W)


@pytest.mark.parametrize("key", PENALTIES)
def test_runs_are_independent(key):
    assert_runs_are_independent(Regualizer(*key), (2, 3), 1.5 * normal(2, 3, 4, 5).float())


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


def test_unknown_combination():
    with pytest.raises(ValueError, match="no regualizer for support, type, shape = npu, W, cubic"):
        Regualizer("npu", "W", "cubic")


Z_PENALTIES = {
    RegualizerNAUZ: lambda w, x: (1 - abs(w)) * x**2,
    RegualizerNMUZ: lambda w, x: (1 - w) * (1 - x) ** 2,
}


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", Z_PENALTIES)
def test_z_against_loops(kind, runs):
    W, inputs = normal(*runs, 2, 3), [normal(*runs, 4, 3, seed=1), normal(*runs, 2, 3, seed=2)]
    z = kind()
    for x in inputs:
        z.append_input(x)
    value = z(W)
    assert value.shape == runs
    for index in indices(runs):
        rows = [row for x in inputs for row in x[index].tolist()]
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        pairs = [(w, m) for row in W[index].tolist() for w, m in zip(row, means, strict=True)]
        expected = sum(Z_PENALTIES[kind](w, m) for w, m in pairs) / len(pairs)
        assert value[index].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", Z_PENALTIES)
def test_the_gradient_reaches_weights_and_inputs(kind):
    def penalty(W, x):
        z = kind()
        z.append_input(x)
        return z(W)

    inputs = (normal(2, 3).requires_grad_(), normal(4, 3, seed=1).requires_grad_())
    assert torch.autograd.gradcheck(penalty, inputs)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", Z_PENALTIES)
def test_nothing_recorded(kind, runs):
    W = normal(*runs, 2, 3)
    forgotten, off = kind(), kind(zero=True)
    for z in (forgotten, off):
        z.append_input(normal(*runs, 4, 3, seed=1))
    forgotten.reset()
    for z in (kind(), forgotten, off):
        assert z(W).shape == runs
        assert not z(W).any()
