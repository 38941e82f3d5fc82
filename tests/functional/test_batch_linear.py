import pytest
import torch

from stable_nalu.functional import batch_linear
from tests.runs import RUNS, assert_runs_are_independent, normal


@pytest.mark.parametrize("runs", RUNS)
def test_against_loops(runs):
    x, W, b = normal(*runs, 4, 3), normal(*runs, 4, 2, 3, seed=1), normal(*runs, 4, 2, seed=2)
    expected = torch.zeros(*runs, 4, 2, dtype=torch.float64)
    for i in range(3):
        expected += W[..., i] * x[..., i].unsqueeze(-1)
    torch.testing.assert_close(batch_linear(x, W), expected)
    torch.testing.assert_close(batch_linear(x, W, b), expected + b)


@pytest.mark.parametrize("runs", RUNS[1:])
def test_runs_are_independent(runs):
    x, W = normal(*runs, 4, 3), normal(*runs, 4, 2, 3, seed=1)
    assert_runs_are_independent(batch_linear, runs, x, W)


@pytest.mark.parametrize("shape", [(4, 2, 5), (5, 2, 3)])
def test_refuses_shapes_that_do_not_fit(shape):
    with pytest.raises(ValueError, match="does not fit"):
        batch_linear(normal(4, 3), normal(*shape))
