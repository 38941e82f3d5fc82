"""HardSoftmaxNAC: sampled weights, straight-through gradient, sampling in evaluation."""

import pytest
import torch

from stable_nalu.layer import HardSoftmaxNACLayer, SoftmaxNACLayer

X = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.5, 3.0, -1.0, 2.0]])
SIGNS = (1.0, -1.0, 0.0)


def build(seed=0):
    torch.manual_seed(seed)
    return HardSoftmaxNACLayer(4, 3)


def test_samples_what_multinomial_draws_from_the_softmax():
    layer = build()
    torch.manual_seed(5)
    y = layer(X)
    state = torch.get_rng_state()
    torch.manual_seed(5)
    p = layer.probabilities().detach()
    category = torch.multinomial(p.reshape(-1, 3), 1).reshape(3, 4)
    assert torch.equal(layer.sample, category)
    assert torch.equal(state, torch.get_rng_state())
    W = torch.tensor([[SIGNS[c] for c in row] for row in category.tolist()])
    assert torch.equal(y, X @ W.mT)


def test_the_gradient_is_that_of_the_soft_weight():
    layer, soft = build(), SoftmaxNACLayer(4, 3)
    soft.load_state_dict({k: v for k, v in layer.state_dict().items() if k != "sample"})
    G = torch.randn(2, 3, generator=torch.Generator().manual_seed(2))
    (actual,) = torch.autograd.grad((layer(X) * G).sum(), [layer.W_hat])
    (expected,) = torch.autograd.grad((soft(X) * G).sum(), [soft.W_hat])
    assert torch.equal(actual, expected)
    assert expected.abs().min() > 0


def test_reuse_draws_nothing_and_keeps_the_sample():
    layer = build()
    y = layer(X)
    state = torch.get_rng_state()
    assert torch.equal(layer(X, reuse=True), y)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize("training", [True, False])
def test_samples_in_evaluation_and_without_randomness_too(training):
    layer = build().train(training)
    state = torch.get_rng_state()
    with layer.no_random():
        layer(X)
    assert not torch.equal(state, torch.get_rng_state())
    assert not layer.evaluates_rows_independently


def test_works_in_float64():
    layer = build().double()
    y = layer(X.double())
    assert y.dtype == torch.float64
    assert layer.sample.dtype == torch.int64


def test_logs_the_soft_weight():
    layer = build()
    layer(X)
    assert torch.equal(layer.observations()[0].value(), layer.weights())
    assert layer.weights().abs().max() < 1


def test_runs_without_a_dimension_in_the_source_share_their_numbers():
    layer = build()
    stacked = build()
    stacked.W_hat = torch.nn.Parameter(layer.W_hat.detach().expand(2, 3, 3, 4, 2).clone())
    stacked.W_hat_k = layer.W_hat_k.expand(2, 3, 3, 4, 1)
    torch.manual_seed(7)
    y = layer(X)
    torch.manual_seed(7)
    assert torch.equal(stacked(X.expand(2, 3, 2, 4)), y.expand(2, 3, 2, 3))
