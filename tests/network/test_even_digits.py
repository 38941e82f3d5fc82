"""Convolutions, and the network that counts even digits: against torch's layers, and its heads."""

import pytest
import torch
from torch import nn

from stable_nalu.network.dense import Convolution, pooled
from stable_nalu.network.even_digits import HEADS, EvenDigitNetwork

UNITS = (*HEADS, "NAC", "NALU")


def by_torch(model):
    """The layers of the public repository, with the weights of ours."""
    parts = [model.first, model.second, model.third, model.dense]
    layers = [
        nn.Conv2d(1, 8, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=2, dilation=2), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 1, 1), nn.ReLU(),
        nn.Flatten(), nn.Linear(model.dense.in_features, 32), nn.ReLU(),
    ]  # fmt: skip
    for ours, theirs in zip(parts, (layers[0], layers[3], layers[5], layers[10]), strict=True):
        theirs.weight, theirs.bias = ours.W, ours.bias
    layers[7].weight = nn.Parameter(model.fourth.W.view(1, 32, 1, 1))
    layers[7].bias = model.fourth.bias
    return nn.Sequential(*layers)


@pytest.mark.parametrize("size", [100, 61, 30])
def test_features_are_those_of_torchs_layers(size):
    torch.set_default_dtype(torch.float64)
    model = EvenDigitNetwork("linear", size)
    x = torch.randn(3, size, size)
    wanted, ours = by_torch(model)(x.unsqueeze(1)), model.features(x)
    assert ours.shape == (3, 32)
    torch.testing.assert_close(ours, wanted)
    weights = [model.first.W, model.second.W, model.dense.W]
    for one, other in zip(
        torch.autograd.grad(wanted.sum(), weights), torch.autograd.grad(ours.sum(), weights),
        strict=True,
    ):  # fmt: skip
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("bias", [True, False])
def test_heads(unit, bias):
    model = EvenDigitNetwork(unit, 40, bias=bias)
    torch.nn.init.normal_(model.head.bias) if bias else None
    x = torch.randn(5, 40, 40)
    h = model.features(x)
    if unit in HEADS or unit == "NAC":
        W = {
            "linear": lambda: model.head.W_hat,
            "sigmoid": lambda: 1 / (1 + torch.exp(-model.head.W_hat)),
            "tanh": lambda: torch.tanh(model.head.W_hat),
            "NAC": lambda: model.head.layer.layer.weights(),
        }[unit]()
        wanted = torch.einsum("bi,oi->bo", h, W)
    else:
        wanted = model.head.layer(h)
    wanted = wanted + model.head.bias if bias else wanted
    torch.testing.assert_close(model(x), wanted)
    assert (model.head.bias is not None) == bias


def test_networks_of_a_seed_differ_in_their_heads_alone():
    states = {}
    for unit in UNITS:
        for bias in (True, False):
            torch.manual_seed(7)
            model = EvenDigitNetwork(unit, bias=bias)
            model.reset_parameters()
            states[unit, bias] = model.state_dict()
    first = states["linear", True]
    for state in states.values():
        rest = {name for name in state if not name.startswith("head.")}
        assert rest == {name for name in first if not name.startswith("head.")}
        assert all(torch.equal(state[name], first[name]) for name in rest)
    assert torch.equal(first["head.W_hat"], states["tanh", False]["head.W_hat"])
    assert torch.equal(first["head.bias"], torch.zeros(6))
    torch.manual_seed(8)
    other = EvenDigitNetwork("linear").state_dict()
    assert not any(torch.equal(other[name], first[name]) for name in first if "W" in name)


def test_no_network_starts_with_a_channel_that_is_dead():
    """From torch's own start, as of seed 1, the last convolution is zero everywhere."""
    x = torch.rand(4, 100, 100) * 2 - 1
    for seed in range(8):
        torch.manual_seed(seed)
        model = EvenDigitNetwork("linear")
        with torch.no_grad():
            assert (model.features(x).std(0) > 0).any(), seed
    assert (model.fourth.W >= 0).all()
    assert torch.equal(model.fourth.bias, torch.zeros(1))


def test_a_convolution_is_that_of_torch():
    model, x = Convolution(2, 3, 5, 2), torch.randn(7, 2, 20, 20)
    theirs = torch.nn.functional.conv2d(x, model.W, model.bias, stride=2)
    assert torch.equal(model(x), theirs)


def test_pooling_is_that_of_torch():
    """With its gradient, where neighbours are equal too: the first of them has it."""
    x = torch.randint(0, 3, (10, 3, 6, 6)).float().requires_grad_()
    theirs = torch.nn.functional.max_pool2d(x, 2)
    weights = torch.randn(theirs.shape)
    assert torch.equal(pooled(x), theirs)
    ours = torch.autograd.grad((pooled(x) * weights).sum(), x)[0]
    assert torch.equal(ours, torch.autograd.grad((theirs * weights).sum(), x)[0])
