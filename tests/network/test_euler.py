"""Explicit Euler steps: their gradient, and L-BFGS on losses of several runs."""

import numpy as np
import pytest
import torch

from stable_nalu.abstract import default_dtype, stack_models
from stable_nalu.network.euler import euler, through
from stable_nalu.network.pair import PairNetwork
from stable_nalu.training.lbfgs import minimise


@pytest.mark.parametrize("unit", ["NPU", "RealNPU", "Tanh"])
def test_the_gradient_is_that_of_unrolled_steps(unit):
    with default_dtype(torch.float64):
        torch.manual_seed(1)
        model = stack_models([PairNetwork(unit, 3, 4, 3, {"gain": 0.2}) for _ in range(2)])
        with torch.no_grad():
            for name, p in model.named_parameters():
                p.add_(0.1 if name.endswith("W_im") else 0)
        start = torch.tensor([[[2.0, -0.5, 0.0]], [[1.0, 0.3, -2.0]]])
        wanted = torch.randn(2, 9, 3)
        states = torch.from_numpy(euler(model.field(), start.numpy(), 8))
        unrolled = [start]
        for _ in range(8):
            unrolled.append(unrolled[-1] + model(unrolled[-1]))
        plain = torch.cat(unrolled, -2)
        torch.testing.assert_close(states, plain.detach(), rtol=1e-12, atol=1e-12)
        error = states - wanted
        found = through(model, states, (error**2).sum((-1, -2)), 2 * error)
        expected = ((plain - wanted) ** 2).sum((-1, -2))
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
        own = [*model.parameters()]
        slopes, known = (torch.autograd.grad(v.sum(), own) for v in (found, expected))
        for slope, exact in zip(slopes, known, strict=True):
            torch.testing.assert_close(slope, exact, rtol=1e-9, atol=1e-9)


def test_lbfgs_finds_the_minimum_of_every_run():
    with default_dtype(torch.float64):
        x = torch.nn.Parameter(torch.tensor([[-1.2, 1.0], [3.0, -2.0]]))

        def rosenbrock():
            a, b = x.unbind(-1)
            return (1 - a) ** 2 + 100 * (b - a * a) ** 2

        assert minimise([x], rosenbrock, 200).max() < 1e-18
        np.testing.assert_allclose(x.detach(), np.ones((2, 2)), rtol=1e-8)


def test_lbfgs_keeps_what_it_cannot_evaluate():
    x = torch.nn.Parameter(torch.tensor([[1.0], [2.0]]))
    good = torch.tensor([1.0, torch.nan])
    found = minimise([x], lambda: good * (x.squeeze(-1) - 3) ** 2, 50)
    assert x[:, 0].tolist() == [pytest.approx(3), 2.0]
    assert found[0] < 1e-9
    wall = torch.nn.Parameter(torch.tensor([1.0]))
    minimise([wall], lambda: torch.where(wall < 1, torch.nan, wall).sum(), 50)
    assert wall.item() == 1.0
