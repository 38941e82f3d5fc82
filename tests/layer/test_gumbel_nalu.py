"""GumbelNALU: noise shared by both paths, multiplying layer, temperatures."""

import pytest
import torch

from stable_nalu.layer import GeneralizedCell, GumbelMNACLayer, GumbelNACLayer, GumbelNALULayer

X = torch.tensor([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]])


def build(**options):
    torch.manual_seed(0)
    layer = GumbelNALULayer(3, 2, **options)
    with torch.no_grad():
        layer.nac_add.W_hat.normal_()
    return layer


def gumbel_weight(nac, u):
    q = torch.softmax(nac.log_probabilities() - torch.log(-torch.log(u)), dim=-1)
    return q[..., 0] - q[..., 1]


def test_a_shared_nac_multiplies_with_the_noise_of_its_sum():
    layer = build()
    torch.manual_seed(1)
    y = layer(X)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    W = gumbel_weight(layer.nac_add, torch.empty(2, 3, 3).uniform_(1e-10, 1))
    assert torch.equal(state, torch.get_rng_state())
    g = torch.sigmoid(X @ layer.G_add.mT)
    expected = g * (X @ W.mT) + (1 - g) * torch.exp(torch.log(X.abs() + 1e-7) @ W.mT)
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)


def test_two_nacs_draw_their_own_noise():
    layer = build(nalu_two_nac=True)
    torch.manual_seed(1)
    y = layer(X)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    W_add, W_mul = (
        gumbel_weight(nac, torch.empty(2, 3, 3).uniform_(1e-10, 1))
        for nac in (layer.nac_add, layer.nac_mul)
    )
    assert torch.equal(state, torch.get_rng_state())
    g = torch.sigmoid(X @ layer.G_add.mT)
    expected = g * (X @ W_add.mT) + (1 - g) * torch.exp(torch.log(X.abs() + 1e-7) @ W_mul.mT)
    torch.testing.assert_close(y, expected, rtol=1e-6, atol=1e-6)


def test_a_gumbel_mnac_can_multiply():
    layer = build(nalu_two_nac=True, nalu_mul="mnac")
    assert type(layer.nac_add) is GumbelNACLayer
    assert type(layer.nac_mul) is GumbelMNACLayer
    with layer.no_random():
        g = torch.sigmoid(X @ layer.G_add.mT)
        expected = g * layer.nac_add(X) + (1 - g) * layer.nac_mul(X)
        torch.testing.assert_close(layer(X), expected)


def test_the_temperature_reaches_the_nacs_and_not_the_gate():
    layer = build(nalu_two_nac=True, nalu_gate="gumbel")
    torch.manual_seed(1)
    before = layer.gate(X, layer.G_add)
    layer.set_parameter("tau", 0.5)
    assert (layer.nac_add.tau.item(), layer.nac_mul.tau.item()) == (0.5, 0.5)
    torch.manual_seed(1)
    assert torch.equal(layer.gate(X, layer.G_add), before)


def test_construction_draws_only_the_gate():
    torch.manual_seed(2)
    layer = GumbelNALULayer(3, 2)
    state = torch.get_rng_state()
    torch.manual_seed(2)
    gate = torch.nn.init.xavier_uniform_(torch.empty(2, 3))
    assert torch.equal(layer.G_add.data, gate)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("steps", [1, 3])
def test_the_registered_cell_works(steps):
    cell = GeneralizedCell(2, 3, "GumbelNALU")
    assert type(cell.cell.op) is GumbelNALULayer
    h = torch.ones(4, 3)
    for _ in range(steps):
        h = cell(torch.ones(4, 2), h)
    (gradient,) = torch.autograd.grad(h.sum(), [cell.cell.op.nac_add.W_hat])
    assert gradient.abs().max() > 0
