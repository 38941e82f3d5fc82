import pytest
import torch

from stable_nalu.functional import linear
from tests.runs import RUNS, indices, normal


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("with_bias", [True, False])
def test_against_loops(runs, with_bias):
    x, W = normal(*runs, 4, 3), normal(*runs, 2, 3, seed=1)
    bias = normal(*runs, 2, seed=2) if with_bias else None
    y = linear(x, W, bias)
    assert y.shape == (*runs, 4, 2)
    for index in indices(runs):
        for b, row in enumerate(x[index].tolist()):
            for o, weights in enumerate(W[index].tolist()):
                expected = sum(p * q for p, q in zip(row, weights, strict=True))
                expected += bias[index][o].item() if with_bias else 0
                assert y[index][b, o].item() == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("with_bias", [True, False])
def test_a_run_among_others_gives_the_numbers_of_the_run_alone(with_bias):
    x, W, bias = (v.float() for v in (normal(3, 128, 2), normal(3, 1, 2), normal(3, 1, seed=2)))
    together = linear(x, W, bias if with_bias else None)
    for run in range(3):
        alone = linear(x[run], W[run], bias[run] if with_bias else None)
        assert torch.equal(together[run], alone)


def test_inputs_without_runs_serve_all_runs():
    x, W, bias = normal(4, 3), normal(2, 5, 3), normal(2, 5)
    torch.testing.assert_close(linear(x, W, bias), linear(x.expand(2, 4, 3), W, bias))


def test_gradient():
    inputs = (normal(2, 4, 3), normal(2, 5, 3, seed=1), normal(2, 5, seed=2))
    assert torch.autograd.gradcheck(linear, [v.requires_grad_() for v in inputs])
