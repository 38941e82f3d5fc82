import itertools
import math

import pytest
import torch

from stable_nalu.functional import LOG_SPACE_MODES, in_log_space, mnac
from stable_nalu.functional.mnac import MNAC_MODES, product
from tests.runs import RUNS, assert_runs_are_independent, normal


def sign(v):
    return float(v > 0) - float(v < 0)


FACTORS = {
    "prod": lambda x, w, A: x * w + 1 - w,
    "no-idendity": lambda x, w, A: x * w,
    "div": lambda x, w, A: A * (sign(x) * abs(x) ** w) + (1 - A),
    "div-sepSign": lambda x, w, A: (A * abs(x) ** w + (1 - A)) * sign(x) ** round(w),
}


def loop(x, w, mode, is_training):
    """One output of one sample, by the formula."""
    total = 1.0
    for a, b in zip(x, w, strict=True):
        active = math.tanh(1000 * b) ** 2 if is_training else abs(b)
        total *= FACTORS[mode](a, b, active)
    return total


CASES = [(mode, training) for mode in MNAC_MODES for training in (False, True)]


def inputs_for(runs):
    return normal(*runs, 4, 3), normal(*runs, 2, 3, seed=1)


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("mode", "training"), CASES)
def test_against_loops(mode, training, runs):
    x, W = inputs_for(runs)
    y = mnac(x, W, mode, training)
    assert y.shape == (*runs, 4, 2)
    for index in itertools.product(*map(range, y.shape)):
        *run, b, o = index
        row, weights = x[(*run, b)].tolist(), W[(*run, o)].tolist()
        assert y[index].item() == pytest.approx(loop(row, weights, mode, training), rel=1e-11)
    assert_runs_are_independent(lambda x, W: mnac(x, W, mode, training), runs, x.float(), W.float())


@pytest.mark.parametrize(("mode", "training"), CASES)
def test_gradient(mode, training):
    """Away from w = 0, where A changes faster than a finite difference can follow."""
    x, W = inputs_for((2,))
    W = W.sign() * (W.abs() + 0.05)
    W = W.clamp(-1.4, 1.4) if mode == "div-sepSign" else W
    inputs = (x.requires_grad_(), W.requires_grad_())
    assert torch.autograd.gradcheck(lambda x, W: mnac(x, W, mode, training), inputs)


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


EPS = 1e-7
PHI = (1 + math.sqrt(5)) / 2
LOGARITHMS = {
    "normal": lambda x: math.log(abs(x) + EPS),
    "safe": lambda x: math.log(abs(x - 1) + 1),
    "max-safe": lambda x: math.log(max(x - 1, 0) + 1),
    "trig": lambda x: math.log(x + math.sqrt(x * x + 1) + EPS),
    "golden-ratio": lambda x: math.log(abs(x) + EPS),
}
POWERS = dict.fromkeys(LOGARITHMS, math.exp) | {
    "trig": math.sinh,
    "golden-ratio": lambda s: PHI ** (s / math.log(PHI)),
}


def weighted_sum(W):
    return lambda logs: logs @ W.mT


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("mode", LOG_SPACE_MODES)
def test_log_space_against_loops(mode, runs):
    x, W = normal(*runs, 4, 3), normal(*runs, 2, 3, seed=1)
    y = in_log_space(weighted_sum(W), x, mode, EPS)
    assert y.shape == (*runs, 4, 2)
    for index in itertools.product(*map(range, y.shape)):
        *run, b, o = index
        pairs = zip(W[(*run, o)].tolist(), x[(*run, b)].tolist(), strict=True)
        total = sum(w * LOGARITHMS[mode](v) for w, v in pairs)
        assert y[index].item() == pytest.approx(POWERS[mode](total), rel=1e-10)


@pytest.mark.parametrize("mode", LOG_SPACE_MODES)
def test_gradient_in_log_space(mode):
    x, W = normal(4, 3).requires_grad_(), normal(2, 3, seed=1).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, W: in_log_space(weighted_sum(W), x, mode, EPS), (x, W)
    )


@pytest.mark.parametrize("mode", ["normal", "golden-ratio"])
def test_weights_of_one_multiply_magnitudes(mode):
    x = torch.tensor([[1.5, -2.0], [0.5, 3.0]], dtype=torch.float64)
    y = in_log_space(weighted_sum(torch.ones(1, 2, dtype=torch.float64)), x, mode, EPS)
    assert y.flatten().tolist() == pytest.approx([3.0, 1.5], rel=1e-6)


def test_unknown_modes():
    with pytest.raises(ValueError, match="mnac mode 'product' is not one of prod, no-idendity"):
        mnac(normal(1, 1), normal(1, 1), "product")
    with pytest.raises(ValueError, match="log space mode 'mnac' is not one of normal, safe"):
        in_log_space(weighted_sum(normal(1, 1)), normal(1, 1), "mnac", EPS)
