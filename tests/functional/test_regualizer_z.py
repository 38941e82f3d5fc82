import pytest
import torch

from stable_nalu.functional import RegualizerNAUZ, RegualizerNMUZ
from tests.runs import RUNS, indices, normal

PENALTIES = {
    RegualizerNAUZ: lambda w, x: (1 - abs(w)) * x**2,
    RegualizerNMUZ: lambda w, x: (1 - w) * (1 - x) ** 2,
}


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", PENALTIES)
def test_against_loops(kind, runs):
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
        expected = sum(PENALTIES[kind](w, m) for w, m in pairs) / len(pairs)
        assert value[index].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("kind", PENALTIES)
def test_the_gradient_reaches_weights_and_inputs(kind):
    def penalty(W, x):
        z = kind()
        z.append_input(x)
        return z(W)

    inputs = (normal(2, 3).requires_grad_(), normal(4, 3, seed=1).requires_grad_())
    assert torch.autograd.gradcheck(penalty, inputs)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("kind", PENALTIES)
def test_nothing_recorded(kind, runs):
    W = normal(*runs, 2, 3)
    forgotten, off = kind(), kind(zero=True)
    for z in (forgotten, off):
        z.append_input(normal(*runs, 4, 3, seed=1))
    forgotten.reset()
    for z in (kind(), forgotten, off):
        assert z(W).shape == runs
        assert not z(W).any()
