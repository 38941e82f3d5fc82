import pytest
import torch

from stable_nalu.functional import lp_norm
from tests.runs import RUNS, assert_runs_are_independent, indices, normal


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shape", [(), (4,), (2, 3), (2, 3, 2)])
def test_against_loops(shape, order, runs):
    p = normal(*runs, *shape)
    value = lp_norm(p, order, len(shape))
    assert value.shape == runs
    for index in indices(runs):
        elements = p[index].flatten().tolist()
        expected = sum(abs(v) ** order for v in elements) ** (1 / order)
        assert value[index].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_gradient(order):
    assert torch.autograd.gradcheck(
        lambda p: lp_norm(p, order, 2), normal(3, 2, 4).requires_grad_()
    )


def test_runs_are_independent():
    assert_runs_are_independent(lambda p: lp_norm(p, 2, 2), (2, 3), normal(2, 3, 4, 5).float())
