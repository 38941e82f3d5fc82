"""How products round, and what they give at zero; formulas and gradients are those of layers."""

import math

import pytest
import torch

from stable_nalu.functional import in_log_space, mnac
from stable_nalu.functional.mnac import product
from tests.runs import normal


def gradients(function, x, W, upstream):
    x, W = x.clone().requires_grad_(), W.clone().requires_grad_()
    y = function(x, W)
    return y.detach(), *torch.autograd.grad(y, (x, W), upstream)


def spelled_prod(x, W):
    w = W.t().unsqueeze(0)
    return torch.prod((x.unsqueeze(2) * w + 1) - w, 1)


def spelled_div(x, W):
    w, x = W.t().unsqueeze(0), x.unsqueeze(2)
    active = torch.tanh(1000 * w) ** 2
    return torch.prod(active * (torch.sign(x) * torch.abs(x) ** w) + (1 - active), 1)


@pytest.mark.parametrize(("mode", "spelled"), [("prod", spelled_prod), ("div", spelled_div)])
def test_rounding_order(mode, spelled):
    """Bit for bit the explicit expression, left to right, over one broadcast view of W."""
    x, W, upstream = normal(128, 5).float(), normal(3, 5, seed=1).float(), normal(128, 3).float()
    ours = gradients(lambda x, W: mnac(x, W, mode, True), x, W, upstream)
    for own, expected in zip(ours, gradients(spelled, x, W, upstream), strict=True):
        assert torch.equal(own, expected)


def test_rounding_order_matters():
    """The order is a choice: x w + (1 - w) rounds otherwise."""
    x, W = normal(128, 5).float(), normal(3, 5, seed=1).float()
    w = W.t().unsqueeze(0)
    assert not torch.equal(mnac(x, W), torch.prod(x.unsqueeze(2) * w + (1 - w), 1))


@pytest.mark.parametrize("mode", ["div", "div-sepSign"])
def test_a_zero_weight_ignores_its_input(mode):
    x = torch.tensor([[0.0, 4.0]])
    assert mnac(x, torch.tensor([[0.0, -1.0]]), mode, True).item() == 0.25


def test_a_zero_input_with_a_negative_weight():
    x, W = torch.zeros(1, 1), torch.tensor([[-1.0]])
    assert mnac(x, W, "div", True).isnan().item()
    assert mnac(x, W, "div-sepSign", True).item() == math.inf


ZEROS = {
    "no zero": [[1.5, -2.0], [0.5, 3.0], [-1.0, 0.25]],
    "one zero": [[1.5, 0.0], [0.5, 3.0], [0.0, 0.25]],
    "two zeros": [[0.0, 0.0], [0.5, 0.0], [0.0, 0.25]],
}


@pytest.mark.parametrize("name", ZEROS)
def test_gradients_of_products_leave_each_factor_out(name):
    factors = torch.tensor(ZEROS[name], dtype=torch.float64, requires_grad=True)
    y = product(factors)
    torch.testing.assert_close(y, factors[0] * factors[1] * factors[2])
    (gradient,) = torch.autograd.grad(y.sum(), factors)
    for i in range(3):
        others = [j for j in range(3) if j != i]
        torch.testing.assert_close(gradient[i], factors[others[0]] * factors[others[1]])


def test_a_stack_has_second_derivatives():
    x, W = normal(2, 3, 4).requires_grad_(), normal(2, 1, 4).requires_grad_()
    assert torch.autograd.gradgradcheck(mnac, (x.double(), W.double()))


def test_unknown_modes():
    with pytest.raises(ValueError, match="mnac mode 'product' is not one of prod, no-idendity"):
        mnac(normal(1, 1), normal(1, 1), "product")
    with pytest.raises(ValueError, match="log space mode 'mnac' is not one of normal, safe"):
        in_log_space(torch.sum, normal(1, 1), "mnac", 1e-7)
