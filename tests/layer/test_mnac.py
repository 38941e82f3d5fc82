"""MNAC: formula, initial range, logged values."""

import math

import pytest
import torch

from stable_nalu.layer import MNACLayer


def test_output_is_the_formula():
    torch.manual_seed(1)
    layer = MNACLayer(4, 3).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b in range(5):
        for o in range(3):
            expected = 1.0
            for i in range(4):
                w = 1 / (1 + math.exp(-layer.W_hat[o, i].item()))
                expected *= x[b, i].item() * w + 1 - w
            assert y[b, o].item() == pytest.approx(expected, rel=1e-12)


def test_draws_one_uniform_fill_within_half_of_root_three():
    torch.manual_seed(2)
    layer = MNACLayer(4, 3)
    torch.manual_seed(2)
    bound = math.sqrt(3) / 2
    assert torch.equal(layer.W_hat.data, torch.empty(3, 4).uniform_(-bound, bound))


def test_has_no_penalty_and_no_bounds():
    layer = MNACLayer(2, 1)
    layer(torch.ones(3, 2))
    assert layer.regualizer_terms() == {}
    assert layer.parameter_bounds() == {}


def test_logs_the_effective_weight():
    layer = MNACLayer(2, 1)
    histogram = layer.observations()[0]
    assert (layer.namespace, histogram.name) == ("nac", "W")
    assert torch.equal(histogram.value(), torch.sigmoid(layer.W_hat))
