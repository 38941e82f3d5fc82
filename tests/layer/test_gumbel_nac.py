"""GumbelNAC: noisy and expected weights, temperature, reuse of noise."""

import math

import pytest
import torch

from stable_nalu.layer import GumbelNACCell, GumbelNACLayer

X = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.5, 3.0, -1.0, 2.0]], dtype=torch.float64)


def build(dtype=torch.float64):
    layer = GumbelNACLayer(4, 3).to(dtype)
    with torch.no_grad():
        layer.W_hat.normal_(generator=torch.Generator().manual_seed(0))
    return layer


def softmax(values):
    total = sum(math.exp(v) for v in values)
    return [math.exp(v) / total for v in values]


@pytest.mark.parametrize("tau", [1.0, 0.5])
def test_noisy_weights_are_the_formula(tau):
    layer = build()
    layer.set_parameter("tau", tau)
    torch.manual_seed(1)
    y = layer(X)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    u = torch.empty(3, 4, 3, dtype=torch.float64).uniform_(1e-10, 1)
    assert torch.equal(state, torch.get_rng_state())
    for b in range(2):
        for o in range(3):
            expected = 0.0
            for i in range(4):
                p = softmax([*layer.W_hat[o, i].tolist(), 0.0])
                gumbel = [-math.log(-math.log(v)) for v in u[o, i].tolist()]
                q = softmax([(math.log(a) + g) / tau for a, g in zip(p, gumbel, strict=True)])
                expected += (q[0] - q[1]) * X[b, i].item()
            assert y[b, o].item() == pytest.approx(expected, rel=1e-10)


def test_without_randomness_the_expected_weight_is_used_and_nothing_is_drawn():
    layer = build()
    layer.set_parameter("tau", 0.5)
    state = torch.get_rng_state()
    with layer.no_random():
        y = layer(X)
    assert torch.equal(state, torch.get_rng_state())
    for o in range(3):
        p = [softmax([*layer.W_hat[o, i].tolist(), 0.0]) for i in range(4)]
        expected = sum((p[i][0] - p[i][1]) * X[1, i].item() for i in range(4))
        assert y[1, o].item() == pytest.approx(expected, rel=1e-12)


def test_noise_depends_on_allow_random_and_not_on_the_training_mode():
    layer = build().eval()
    state = torch.get_rng_state()
    layer(X)
    assert not torch.equal(state, torch.get_rng_state())


def test_reuse_keeps_the_noise():
    layer = build()
    y = layer(X)
    state = torch.get_rng_state()
    assert torch.equal(layer(X, reuse=True), y)
    assert torch.equal(state, torch.get_rng_state())


def test_construction_draws_nothing_and_starts_at_zero():
    state = torch.get_rng_state()
    layer = GumbelNACLayer(4, 3)
    assert torch.equal(state, torch.get_rng_state())
    assert layer.W_hat.abs().max() == 0
    assert (layer.tau.item(), layer.tau.shape, layer.tau.requires_grad) == (1.0, (), False)
    assert layer.weights().abs().max() == 0


def test_float64_throughout():
    layer = build()
    assert layer(X).dtype == torch.float64
    assert {t.dtype for t in layer.state_dict().values()} == {torch.float64}


def test_a_temperature_per_run():
    layer = build()
    stacked = build()
    stacked.W_hat = torch.nn.Parameter(layer.W_hat.detach().expand(2, 3, 4, 2).clone())
    stacked.W_hat_k = layer.W_hat_k.expand(2, 3, 4, 1)
    stacked.tau = torch.nn.Parameter(torch.tensor([1.0, 0.5]).double(), requires_grad=False)
    torch.manual_seed(3)
    y = stacked(X.expand(2, 2, 4))
    for run, tau in enumerate((1.0, 0.5)):
        layer.set_parameter("tau", tau)
        torch.manual_seed(3)
        torch.testing.assert_close(y[run], layer(X), rtol=1e-12, atol=0)


def test_logs_the_expected_weight_always_as_text():
    layer = build()
    logged = [(o.kind, o.name, o.verbose_only) for o in layer.observations()]
    assert logged == [("histogram", "W", True), ("tensor", "W", False)]
    assert torch.equal(layer.observations()[1].value(), layer.weights())


def test_gradients_pass_through_several_time_steps_of_the_cell():
    cell = GumbelNACCell(2, 3)
    h = torch.ones(5, 3)
    for _ in range(3):
        h = cell(torch.ones(5, 2), h)
    (gradient,) = torch.autograd.grad(h.sum(), [cell.op.W_hat])
    assert torch.isfinite(gradient).all()
    assert gradient.abs().max() > 0
