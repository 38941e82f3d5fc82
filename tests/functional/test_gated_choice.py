import pytest
import torch

from stable_nalu.functional import gated_choice
from tests.runs import RUNS, normal


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("mode", ["normal", "test", "gate-free-gradient"])
def test_value(mode, runs):
    g, a, m = torch.sigmoid(normal(*runs, 4, 2)), normal(*runs, 4, 2), normal(*runs, 4, 2, seed=1)
    expected = [
        p * q + (1 - p) * r
        for p, q, r in zip(*(v.flatten().tolist() for v in (g, a, m)), strict=True)
    ]
    y = gated_choice(g, a, m, mode)
    assert y.shape == g.shape
    assert y.flatten().tolist() == pytest.approx(expected, rel=1e-14)


def test_normal_gradient():
    inputs = [normal(3, 2, seed=s).requires_grad_() for s in range(3)]
    assert torch.autograd.gradcheck(gated_choice, inputs)


def test_gate_free_gradient_leaves_the_paths_unscaled():
    g, a, m = (normal(3, 2, seed=s).requires_grad_() for s in range(3))
    upstream = normal(3, 2, seed=3)
    y = gated_choice(g, a, m, "gate-free-gradient")
    dg, da, dm = torch.autograd.grad(y, (g, a, m), upstream)
    torch.testing.assert_close(dg, upstream * (a - m))
    assert torch.equal(da, upstream)
    assert torch.equal(dm, upstream)


def test_unknown_mode():
    with pytest.raises(ValueError, match="gated_choice mode 'soft'"):
        gated_choice(*(normal(1, 1) for _ in range(3)), mode="soft")
