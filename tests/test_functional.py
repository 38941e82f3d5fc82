"""Numbers of a run against loops over its elements, bounds as published, and how products round."""

import math
import statistics
from functools import partial

import pytest
import torch

from stable_nalu.functional import (
    Regualizer,
    RegualizerNAUZ,
    RegualizerNMUZ,
    criterion_of,
    in_log_space,
    kaiming_bound,
    linear,
    lp_norm,
    mape,
    mean_over,
    mnac,
    mse,
    nac_bound,
    nac_weight,
    nau_bound,
    pcc,
    sigmoid,
    sparsity_error,
    tanh,
    xavier_bound,
)
from tests.runs import indices, normal


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
ONE = torch.ones(1, 1)
# function, loop over the elements of a run, shape of a run, number of arguments
CASES = {
    "mse": (mse, mean(lambda y, t: (y - t) ** 2), (7, 1), 2),
    "mape": (mape, mean(lambda y, t: abs((t - y) / t)), (7, 1), 2),
    "pcc": (pcc, loop_pcc, (7, 1), 2),
    **{
        f"{function.__name__} {len(shape)}": (partial(function, ndim=len(shape)), loop, shape, 1)
        for function, loop in (
            (mean_over, statistics.fmean),
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


@pytest.mark.parametrize("runs", [(), (3,), (2, 3)])
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


@pytest.mark.parametrize("case", CASES)
def test_runs_are_independent(case):
    """All at once give, bit for bit, what each gives alone."""
    function, _, shape, count = CASES[case]
    given = [one.float() for one in arguments((2, 3), shape, count)]
    together = function(*given)
    for index in indices((2, 3)):
        assert torch.equal(together[index], function(*(one[index] for one in given)))


def test_pcc_of_constant_and_scaled_outputs_and_mape_of_zero():
    """The deviation is bounded below; sums are divided by the batch size alone."""
    t = normal(50, 1)
    assert pcc(torch.full((50, 1), 2.0), t.float()).item() == 1
    assert pcc(3.0 * t + 1, t).item() == pytest.approx(0, abs=1e-12)
    assert pcc(-0.5 * t + 1, t).item() == pytest.approx(2, abs=1e-12)
    assert pcc(t.expand(50, 4), t).item() == pytest.approx(1 - math.sqrt(4), rel=1e-12)
    assert mape(torch.ones(2, 1), torch.tensor([[1.0], [0.0]])).item() == math.inf


@pytest.mark.parametrize("kind", [RegualizerNAUZ, RegualizerNMUZ])
def test_the_gradient_of_z_reaches_weights_and_inputs(kind):
    def penalty(W, x):
        z = kind()
        z.append_input(x)
        return z(W)

    inputs = (normal(2, 3).requires_grad_(), normal(4, 3, seed=1).requires_grad_())
    assert torch.autograd.gradcheck(penalty, inputs)


@pytest.mark.parametrize("fan", [(2, 1), (100, 2), (2, 7), (10, 1), (64, 64)])
def test_bounds_draw_what_torch_draws(fan):
    xavier, kaiming = torch.nn.init.xavier_uniform_, torch.nn.init.kaiming_uniform_
    for bound, initializer, options in (
        (xavier_bound(*fan), xavier, {}),
        (xavier_bound(*fan, gain=5.0 / 3.0), xavier, {"gain": 5.0 / 3.0}),
        (kaiming_bound(*fan), kaiming, {"nonlinearity": "relu"}),
    ):
        ours, theirs = torch.empty(2, *fan[::-1], dtype=torch.float64)
        torch.manual_seed(1)
        ours.uniform_(-bound, bound)
        torch.manual_seed(1)
        assert torch.equal(ours, initializer(theirs, **options))
    assert nau_bound(*fan) == pytest.approx(min(0.5, math.sqrt(6 / sum(fan))), rel=1e-15)


def test_nac_bound_is_the_published_one_to_the_last_digit():
    for outputs, published in (
        (1, {1: 9.47140638591577, 4: 9.47140638591577, 10: 2.26046806105046}),
        (2, {4: 5.425507820881421, 10: 2.0742480588262424, 100: 0.5039089041167699}),
    ):
        assert {inputs: nac_bound(inputs, outputs) for inputs in published} == published


@pytest.mark.parametrize("with_bias", [True, False])
def test_a_run_among_others_gives_the_numbers_of_the_run_alone(with_bias):
    x, W, bias = (v.float() for v in (normal(3, 128, 2), normal(3, 1, 2), normal(3, 1, seed=2)))
    together = linear(x, W, bias if with_bias else None)
    for run in range(3):
        alone = linear(x[run], W[run], bias[run] if with_bias else None)
        assert torch.equal(together[run], alone)


def test_inputs_without_runs_serve_all_runs_and_gradients():
    x, W, bias = normal(4, 3), normal(2, 5, 3, seed=1), normal(2, 5, seed=2)
    torch.testing.assert_close(linear(x, W, bias), linear(x.expand(2, 4, 3), W, bias))
    inputs = (normal(2, 4, 3), W, bias)
    assert torch.autograd.gradcheck(linear, [v.requires_grad_() for v in inputs])


def nac_gradients(mode, dtype=torch.float64):
    """Ours, and G, tanh(W), sigmoid(M) and W that they are made of."""
    w_hat, m_hat, upstream = (normal(4, 50, seed=k).to(dtype) for k in range(3))
    inputs = w_hat.requires_grad_(), m_hat.requires_grad_()
    ours = torch.autograd.grad(nac_weight(*inputs, mode), inputs, upstream)
    return ours, upstream, torch.tanh(w_hat).detach(), torch.sigmoid(m_hat).detach(), w_hat.detach()


def test_rounding_order_of_the_normal_gradient():
    """Strictly left to right; NALU amplifies another last bit to a visible difference."""
    (dw, dm), G, t, s, _ = nac_gradients("normal", torch.float32)
    assert torch.equal(dw, (G * (1 - t * t)) * s)
    assert torch.equal(dm, ((G * t) * s) * (1 - s))
    assert not torch.equal(dm, G * (t * (s * (1 - s))))


def test_gradients_of_variants():
    (dw, dm), G, t, s, w_hat = nac_gradients("sign")
    torch.testing.assert_close(dw, G * (1 - t**2) * s)
    torch.testing.assert_close(dm, 0.1 * G * torch.sign(w_hat) * s * (1 - s))
    (dw, dm), G, t, s, _ = nac_gradients("independent")
    torch.testing.assert_close(dw, G * (1 - t**2))
    torch.testing.assert_close(dm, G * s * (1 - s))


@pytest.mark.parametrize("v", [-1e4, -93.0, -92.0, 91.9, 92.0, 93.0, 1e4])
def test_large_arguments_saturate(v):
    """Without a bound, phi^2v / phi^2v is inf / inf for float32 v above 92.18."""
    x = torch.tensor(v, requires_grad=True)
    y = tanh(x)
    assert y.item() == math.copysign(1.0, v)
    (gradient,) = torch.autograd.grad(y, x)
    assert abs(gradient.item()) < 1e-6
    assert sigmoid(torch.tensor(v)).item() == pytest.approx(float(v > 0), abs=1e-18)


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
    inputs = x.requires_grad_(), W.requires_grad_()
    values = [function(*inputs) for function in (lambda x, W: mnac(x, W, mode, True), spelled)]
    ours, expected = ((y, *torch.autograd.grad(y, inputs, upstream)) for y in values)
    assert all(map(torch.equal, ours, expected))


def test_a_stack_has_second_derivatives():
    x, W = normal(2, 3, 4).requires_grad_(), normal(2, 1, 4).requires_grad_()
    assert torch.autograd.gradgradcheck(mnac, (x.double(), W.double()))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Regualizer("npu", "W", "cubic"), "no regualizer for support, type, shape = npu"),
        (
            lambda: criterion_of("rmse", 0, 0),
            "'rmse' is not one of mse, pcc, mape, mae, half-sum, pcc-mse",
        ),
        (lambda: nac_weight(ONE, ONE, "hard"), "nac_weight mode 'hard' is not one of normal, sign"),
        (lambda: mnac(ONE, ONE, "product"), "mnac mode 'product' is not one of prod, exp-log, no-"),
        (
            lambda: in_log_space(torch.sum, ONE, "mnac", 1e-7),
            "log space mode 'mnac' is not one of normal, safe",
        ),
    ],
)
def test_unknown_names_are_refused(call, says):
    with pytest.raises(ValueError, match=says):
        call()
