"""GumbelMNAC: noisy and expected weights of a product."""

import math

import pytest
import torch

from stable_nalu.layer import GeneralizedCell, GumbelMNACLayer

X = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.5, 3.0, -1.0, 2.0]], dtype=torch.float64)


def build():
    layer = GumbelMNACLayer(4, 3).double()
    with torch.no_grad():
        layer.W_hat.normal_(generator=torch.Generator().manual_seed(0))
    return layer


def sigmoid(v):
    return 1 / (1 + math.exp(-v))


@pytest.mark.parametrize("tau", [1.0, 0.5])
def test_noisy_weights_are_the_formula(tau):
    layer = build()
    layer.set_parameter("tau", tau)
    torch.manual_seed(1)
    y = layer(X)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    u = torch.rand(3, 4, dtype=torch.float64)
    assert torch.equal(state, torch.get_rng_state())
    for b in range(2):
        for o in range(3):
            expected = 1.0
            for i in range(4):
                noise = -math.log(1e-8 - math.log(u[o, i].item() + 1e-8))
                w = sigmoid((layer.W_hat[o, i].item() + noise) / tau)
                expected *= X[b, i].item() * w + 1 - w
            assert y[b, o].item() == pytest.approx(expected, rel=1e-10)


def test_without_randomness_the_plain_sigmoid_is_used_and_nothing_is_drawn():
    layer = build()
    layer.set_parameter("tau", 0.5)
    state = torch.get_rng_state()
    with layer.no_random():
        y = layer(X)
    assert torch.equal(state, torch.get_rng_state())
    for o in range(3):
        w = [sigmoid(v) for v in layer.W_hat[o].tolist()]
        expected = math.prod(X[0, i].item() * w[i] + 1 - w[i] for i in range(4))
        assert y[0, o].item() == pytest.approx(expected, rel=1e-12)


def test_construction_draws_nothing_and_starts_at_one_half():
    state = torch.get_rng_state()
    layer = GumbelMNACLayer(4, 3)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(layer.weights(), torch.full((3, 4), 0.5))
    assert (layer.tau.item(), layer.tau.shape, layer.tau.requires_grad) == (1.0, (), False)


def test_runs_without_a_dimension_in_the_source_share_their_numbers():
    layer, stacked = build(), build()
    stacked.W_hat = torch.nn.Parameter(layer.W_hat.detach().expand(2, 3, 3, 4).clone())
    stacked.tau = torch.nn.Parameter(torch.ones(2, 3).double(), requires_grad=False)
    torch.manual_seed(7)
    y = layer(X)
    torch.manual_seed(7)
    torch.testing.assert_close(stacked(X.expand(2, 3, 2, 4)), y.expand(2, 3, 2, 3))


def test_logs_the_expected_weight_always_as_text():
    layer = build()
    logged = [(o.kind, o.name, o.verbose_only) for o in layer.observations()]
    assert logged == [("histogram", "W", True), ("tensor", "W", False)]
    assert torch.equal(layer.observations()[0].value(), torch.sigmoid(layer.W_hat))


def test_the_registered_cell_works():
    cell = GeneralizedCell(2, 3, "GumbelMNAC")
    assert type(cell.cell.op) is GumbelMNACLayer
    assert cell(torch.ones(4, 2), torch.ones(4, 3)).shape == (4, 3)
