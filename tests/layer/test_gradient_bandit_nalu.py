"""GradientBanditNALU: sampled weights, learned from the loss, shared by both paths."""

import pytest
import torch

from stable_nalu.layer import GeneralizedCell, GradientBanditNALULayer

X = torch.tensor([[1.5, -2.0, 0.25], [0.5, 3.0, -1.0]])
SIGNS = torch.tensor([1.0, -1.0, 0.0])


def build(**options):
    torch.manual_seed(0)
    return GradientBanditNALULayer(3, 2, **options)


def expected_output(layer, W_add, W_mul):
    g = torch.sigmoid(X @ layer.G_add.mT)
    return g * (X @ W_add.mT) + (1 - g) * torch.exp(torch.log(X.abs() + 1e-7) @ W_mul.mT)


def sample(nac):
    p = nac.probabilities().detach()
    return SIGNS[torch.multinomial(p.reshape(-1, 3), 1).reshape(2, 3)]


def test_a_shared_nac_multiplies_with_the_weights_of_its_sum():
    layer = build()
    torch.manual_seed(1)
    y = layer(X)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    W = sample(layer.nac_add)
    assert torch.equal(state, torch.get_rng_state())
    torch.testing.assert_close(y, expected_output(layer, W, W), rtol=1e-6, atol=1e-6)


def test_two_nacs_draw_their_own_weights():
    layer = build(nalu_two_nac=True)
    torch.manual_seed(1)
    y = layer(X)
    state = torch.get_rng_state()
    torch.manual_seed(1)
    W_add, W_mul = sample(layer.nac_add), sample(layer.nac_mul)
    assert torch.equal(state, torch.get_rng_state())
    torch.testing.assert_close(y, expected_output(layer, W_add, W_mul), rtol=1e-6, atol=1e-6)


def test_without_randomness_nothing_is_drawn():
    layer = build()
    state = torch.get_rng_state()
    with layer.no_random():
        layer(X)
    assert torch.equal(state, torch.get_rng_state())


def test_gradients_train_only_the_gate_and_losses_the_bandits():
    layer = build()
    trained = [n for n, p in layer.named_parameters() if p.requires_grad]
    assert trained == ["G_add"]
    for loss in (1.0, 3.0):
        layer(X)
        layer.optimize(torch.tensor(loss))
    assert layer.nac_add.running_mean_iter.item() == 2
    assert layer.nac_add.W_hat.abs().max() > 1e-5


def test_has_no_multiplying_layer():
    with pytest.raises(ValueError, match="GradientBanditNALULayer has no multiplying layer"):
        build(nalu_mul="mnac", nalu_two_nac=True)


def test_the_registered_cell_works():
    cell = GeneralizedCell(2, 3, "GradientBanditNALU")
    assert type(cell.cell.op) is GradientBanditNALULayer
    assert cell(torch.ones(4, 2), torch.ones(4, 3)).shape == (4, 3)
