"""PosNAC: formula, initial values, logged values."""

import math

import pytest
import torch

from stable_nalu.layer import PosNACLayer


def test_published_values():
    torch.manual_seed(0)
    layer = PosNACLayer(2, 1)
    layer.reset_parameters()
    expected = torch.tensor([[-1.77897, 0.464122]])
    torch.testing.assert_close(layer.W_hat.data, expected, rtol=5e-6, atol=0)
    y = layer(torch.tensor([[1.5, -2.0], [0.5, 3.0]]))
    expected = torch.tensor([[-1.01134], [1.91419]])
    torch.testing.assert_close(y.detach(), expected, rtol=5e-6, atol=0)


def test_output_is_the_formula():
    torch.manual_seed(1)
    layer = PosNACLayer(4, 3).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b in range(5):
        for o in range(3):
            expected = sum(
                x[b, i].item() / (1 + math.exp(-layer.W_hat[o, i].item())) for i in range(4)
            )
            assert y[b, o].item() == pytest.approx(expected, rel=1e-12)


def test_draws_one_normal_fill():
    torch.manual_seed(2)
    layer = PosNACLayer(4, 3)
    torch.manual_seed(2)
    assert torch.equal(layer.W_hat.data, torch.empty(3, 4).normal_(0, math.sqrt(2 / 7)))


def test_logs_the_effective_weight():
    layer = PosNACLayer(2, 1)
    assert layer.namespace == "nac"
    assert torch.equal(layer.observations()[0].value(), torch.sigmoid(layer.W_hat))
