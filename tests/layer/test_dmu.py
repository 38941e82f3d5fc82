"""DMU: formula, what is given and what is learned, and what its published rates can do."""

import math

import pytest
import torch

from stable_nalu.layer import DMULayer
from tests.layer_checks import LayerChecks
from tests.layer_values import OUT, observed, sigmoid

L = math.log(1e6) - 1


def clip(value):
    return min(max(value, -L), L)


class TestDMU(LayerChecks):
    layer = DMULayer
    options = (
        {},
        {"temperature": 1.0, "operands": "sub"},
        {"single_gate": True, "temperature": 0.5, "operands": "add"},
        {"gate_smoothing": 1e-5},
    )
    refused = (
        ({"operands": "mul"}, "operands 'mul' is not one of learned, add, sub"),
        ({"temperature": 0}, "temperature has to be above 0"),
        ({"gate_smoothing": 0.5}, "gate_smoothing from 0 to 0.5"),
    )

    def formula(self, layer, row, o):
        W, G, c = layer.W[o].tolist(), layer.G[o], layer.gate_smoothing
        raised = G.item() if layer.single_gate else (G[0] - G[1]).item()
        g = c + (1 - 2 * c) * sigmoid(raised / layer.temperature)
        R = sum(w * v for w, v in zip(W, row, strict=True))
        Q = clip(sum(w * math.log(max(abs(v), 1e-11)) for w, v in zip(W, row, strict=True)))
        turns = sum(abs(w) for w, v in zip(W, row, strict=True) if v < 0)
        sign = g * math.tanh(R / 1e-4) + (1 - g) * math.cos(math.pi * turns)
        return sign * math.exp(clip(g * math.log(math.sqrt(R * R + 1e-8)) + (1 - g) * Q))

    def start(self):
        yield "W", torch.full((OUT, 4), 0.5)
        yield "G", torch.zeros(OUT, 2)


def decided(operands, raised, **options):
    layer = DMULayer(2, 1, operands=operands, **options).double()
    layer.G.data = torch.tensor([[raised, -raised]]).double()
    return layer


@pytest.mark.parametrize(
    ("operands", "raised", "expected"),
    [("add", 5, -1 - 5e-9), ("add", -5, -6.0), ("sub", 5, 5 + 1e-9), ("sub", -5, -2 / 3)],
)
def test_given_operands_leave_one_bit(operands, raised, expected):
    layer = decided(operands, raised)
    assert [name for name, _ in layer.named_parameters()] == ["G"]
    y = layer(torch.tensor([[2.0, -3.0]]).double())
    assert y.item() == pytest.approx(expected, rel=1e-9)


def test_a_difference_next_to_zero_is_scaled_down():
    x = torch.tensor([[1.00001, 1.0]]).double()
    assert decided("sub", 5)(x).item() == pytest.approx(1.005e-4 * math.tanh(0.1), rel=1e-2)


def test_larger_numbers_are_out_of_reach():
    x = torch.tensor([[1e4, 1e4]]).double()
    assert decided("add", -5)(x).item() == pytest.approx(1e6 / math.e)


def test_the_gate_of_two_numbers_is_that_of_their_difference():
    layer = decided("add", 0.03)
    assert layer.gate().item() == pytest.approx(sigmoid(0.6))
    assert observed(layer, torch.ones(1, 2).double())[
        "scalar", "W/sparsity_error"
    ].item() == pytest.approx(1 - sigmoid(0.6))


def test_no_start_is_random():
    state = torch.get_rng_state()
    DMULayer(3, 2)
    assert torch.equal(state, torch.get_rng_state())
