"""MCFC: published values, conservation, random numbers of the constructor, penalty, tags."""

import math

import pytest
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import MCFullyConnected
from tests.layer_checks import (
    X,
    assert_equals_loop,
    assert_published,
    assert_runs_equal_singles,
    build_published,
    gates,
    observed,
    randomised,
)
from tests.runs import normal


def test_published_values():
    assert_published(
        build_published(MCFullyConnected),
        parameters={
            "out_gate.fc.weight": [-1],
            "out_gate.fc.bias": [0],
            "junction.r": [0.971045, -0.238896],
        },
        train=[-0.134471, 0.941295],
        penalties={"W": -1.5},
    )


def test_output_is_the_formula():
    layer = randomised(MCFullyConnected(3, 2), -1.5, 1.5)
    fc, r = layer.out_gate.fc, layer.junction.r.tolist()

    def formula(row, o):
        gate = 1 / (1 + math.exp(-fc.weight[o, 0].item() - fc.bias[o].item()))
        shares = [math.exp(logits[o]) / sum(map(math.exp, logits)) for logits in r]
        return gate * sum(share * v for share, v in zip(shares, row, strict=True))

    assert_equals_loop(layer, formula, normal(6, 3) * 2)


def test_open_gates_conserve_the_sum_of_the_inputs():
    layer = randomised(MCFullyConnected(3, 2), -1.5, 1.5)
    layer.out_gate.fc.bias.data.fill_(50.0)
    x = normal(6, 3)
    torch.testing.assert_close(layer(x).sum(-1), x.sum(-1))


def test_one_output_leaves_the_junction_without_gradient_but_for_the_penalty():
    layer = build_published(MCFullyConnected)
    r = layer.junction.r
    assert layer.junction().tolist() == [[1], [1]]
    (gradient,) = torch.autograd.grad(layer(X).sum(), [r])
    assert gradient.tolist() == [[0], [0]]
    (gradient,) = torch.autograd.grad(layer.regualizer()["W"], [r])
    torch.testing.assert_close(gradient, -r)


def draw_gate_and_junction(inputs, outputs):
    weight = torch.nn.init.orthogonal_(torch.empty(outputs, 1))
    if inputs == outputs:
        return weight, torch.eye(inputs)
    return weight, torch.nn.init.orthogonal_(torch.empty(inputs, outputs))


@pytest.mark.parametrize("shape", [(3, 2), (2, 2), (2, 1)])
def test_the_constructor_draws_before_the_initialisation(shape):
    torch.manual_seed(2)
    layer = MCFullyConnected(*shape)
    torch.manual_seed(2)
    torch.empty(shape[1], 1).uniform_(-1, 1)
    torch.empty(shape[1]).uniform_(-1, 1)
    draw_gate_and_junction(*shape)
    weight, r = draw_gate_and_junction(*shape)
    assert torch.equal(layer.out_gate.fc.weight.data, weight)
    assert torch.equal(layer.out_gate.fc.bias.data, torch.zeros(shape[1]))
    assert torch.equal(layer.junction.r.data, r)


def test_inside_a_network_the_constructor_does_not_initialise_a_second_time():
    class Network(ExtendedTorchModule):
        def __init__(self):
            super().__init__("network")
            self.layer = MCFullyConnected(3, 2)
            self.state = torch.get_rng_state()

        def reset_parameters(self):
            """Leave the parameters alone."""

    torch.manual_seed(2)
    network = Network()
    torch.manual_seed(2)
    torch.nn.Linear(1, 2)
    weight, r = draw_gate_and_junction(3, 2)
    assert torch.equal(network.layer.junction.r.data, r)
    assert torch.equal(network.state, torch.get_rng_state())


def test_penalty_is_negative_and_a_mean_per_parameter():
    layer = MCFullyConnected(2, 2)
    layer.junction.r.data = torch.tensor([[1.0, -2.0], [3.0, 0.0]])
    layer.out_gate.fc.weight.data = torch.tensor([[2.0], [4.0]])
    layer.out_gate.fc.bias.data = torch.tensor([1.0, 0.0])
    assert layer.regualizer()["W"].item() == pytest.approx(-14 / 4 - 20 / 2 - 1 / 2)


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_runs_equal_single_layers(runs):
    assert_runs_equal_singles(lambda: MCFullyConnected(3, 2), runs)


@pytest.mark.parametrize("robustness", [False, True])
def test_logged_values(robustness):
    layer = randomised(MCFullyConnected(2, 3), -1, 1)
    layer.robustness_logging = robustness
    text, scalar = ("always", "verbose") if robustness else ("verbose", "always")
    assert gates(layer, X.double()) == {
        "tensor mcfc_junction": text,
        "scalar mcfc_junction/sparsity_error": scalar,
        "tensor mcfc_out_gate": text,
        "scalar mcfc_out_gate/sparsity_error": scalar,
    }
    junction, _ = observed(layer, X.double())["tensor", "mcfc_junction"]
    assert junction.shape == (1, 2, 3)
    torch.testing.assert_close(junction.sum(-1), torch.ones(1, 2, dtype=torch.float64))
