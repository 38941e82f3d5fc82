"""What every NALU shares: gates, their penalty, options, children, logged values."""

import math

import pytest
import torch

from stable_nalu.ensemble import PerRunRandomSource
from stable_nalu.layer import NALULayer, PosNALULayer
from stable_nalu.layer.registry import option_names

X = torch.tensor([[1.5, -2.0], [0.5, 3.0], [-1.0, 0.25]])


def gumbel(u):
    return -torch.log(1e-8 - torch.log(u + 1e-8))


def preactivation(layer, path="add"):
    return X @ getattr(layer, f"G_{path}").T


def traced(layer):
    layer.trace = {}
    layer(X)
    return layer.trace


def test_draws_nacs_then_gates_and_zeros_biases():
    options = {"nalu_two_nac": True, "nalu_two_gate": True, "nalu_bias": True}
    torch.manual_seed(2)
    layer = NALULayer(4, 3, **options)
    torch.manual_seed(2)
    layer.nac_add.reset_parameters()
    layer.nac_mul.reset_parameters()
    bound = math.sqrt(6 / 7)
    expected = [torch.empty(3, 4).uniform_(-bound, bound) for _ in range(2)]
    assert torch.equal(layer.G_add.data, expected[0])
    assert torch.equal(layer.G_mul.data, expected[1])
    assert layer.bias_add.tolist() == layer.bias_mul.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, {"G_add"}),
        ({"nalu_bias": True}, {"G_add", "bias_add"}),
        ({"nalu_two_gate": True}, {"G_add", "G_mul"}),
        (
            {"nalu_two_gate": True, "nalu_bias": True},
            {"G_add", "G_mul", "bias_add", "bias_mul"},
        ),
    ],
)
def test_own_parameters_follow_the_options(options, names):
    own = dict(NALULayer(2, 1, **options).named_parameters(recurse=False))
    assert own.keys() == names


def test_two_gates_with_biases_weigh_the_paths():
    layer = NALULayer(2, 2, nalu_two_gate=True, nalu_bias=True)
    layer.bias_add.data = torch.tensor([0.5, -1.0])
    layer.bias_mul.data = torch.tensor([-0.25, 2.0])
    values = traced(layer)
    g_add = torch.sigmoid(preactivation(layer) + layer.bias_add)
    g_mul = torch.sigmoid(preactivation(layer, "mul") + layer.bias_mul)
    torch.testing.assert_close(values["gate/add"], g_add)
    torch.testing.assert_close(values["gate/mul"], g_mul)
    expected = g_add * layer.nac_add(X) + g_mul * layer.multiply(X)
    torch.testing.assert_close(layer(X), expected)


@pytest.mark.parametrize(("gate", "shape"), [("gumbel", (2,)), ("obs-gumbel", (3, 2))])
def test_gumbel_gates_add_noise_in_order_of_the_gates(gate, shape):
    layer = NALULayer(2, 2, nalu_gate=gate, nalu_two_gate=True)
    torch.manual_seed(4)
    values = traced(layer)
    torch.manual_seed(4)
    for path in ("add", "mul"):
        z = preactivation(layer, path) + gumbel(torch.rand(shape))
        torch.testing.assert_close(values[f"gate/{path}"], torch.sigmoid(z))


@pytest.mark.parametrize("gate", ["gumbel", "obs-gumbel"])
def test_gumbel_gates_without_randomness_are_plain(gate):
    layer = NALULayer(2, 2, nalu_gate=gate)
    with layer.no_random():
        values = traced(layer)
    torch.testing.assert_close(values["gate"], torch.sigmoid(preactivation(layer)))


def test_temperature_schedules_do_not_reach_the_gate():
    layer = NALULayer(2, 2, nalu_gate="gumbel")
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    layer.set_parameter("tau", 0.5)
    assert all(torch.equal(value, before[n]) for n, value in layer.state_dict().items())


def test_gumbel_noise_of_stacked_runs_comes_from_their_generators():
    layer = NALULayer(2, 2, nalu_gate="gumbel")
    layer.random = PerRunRandomSource([torch.Generator().manual_seed(r) for r in range(2)])
    noise = [gumbel(torch.rand(2, generator=torch.Generator().manual_seed(r))) for r in range(2)]
    gate = layer.gate(X.expand(2, 3, 2), layer.G_add)
    expected = torch.stack([torch.sigmoid(preactivation(layer) + n) for n in noise])
    torch.testing.assert_close(gate, expected)


@pytest.mark.parametrize("two_gate", [False, True])
def test_gate_penalty_sums_over_batch_and_outputs_of_the_last_forward(two_gate):
    layer = NALULayer(2, 2, nalu_gate="regualized", nalu_two_gate=two_gate)
    assert layer.regualizer()["g"].item() == 0
    layer(X + 1)
    layer(X)
    expected = 0.0
    for path in ("add", "mul") if two_gate else ("add",):
        for g in torch.sigmoid(preactivation(layer, path)).flatten().tolist():
            expected += (g * (1 - g)) ** 2
    penalty = layer.regualizer()["g"]
    assert penalty.item() == pytest.approx(expected, rel=1e-5)
    penalty.backward()
    assert layer.G_add.grad.abs().sum() > 0


def test_other_gates_have_no_penalty():
    layer = NALULayer(2, 2)
    layer(X)
    assert layer.regualizer_terms() == {}


def test_shared_and_separate_nacs():
    shared = NALULayer(2, 2)
    assert shared.nac_add.namespace == "nac"
    assert shared.nac_add.passes_per_forward == 2
    assert not hasattr(shared, "nac_mul")
    separate = NALULayer(2, 2, nalu_two_nac=True)
    assert [separate.nac_add.namespace, separate.nac_mul.namespace] == ["nac_add", "nac_mul"]
    assert separate.nac_add.passes_per_forward == separate.nac_mul.passes_per_forward == 1


def test_logged_values():
    layer = NALULayer(2, 2)
    values = traced(layer)
    logged = {(o.kind, o.name, o.verbose_only): o.value() for o in layer.observations()}
    assert logged.keys() == {
        ("histogram", "gate", True),
        ("histogram", "add", True),
        ("histogram", "mul", True),
        ("scalar", "gate/mean", False),
    }
    assert torch.equal(logged["histogram", "add", True], layer.nac_add(X))
    assert torch.equal(logged["histogram", "mul", True], layer.multiply(X))
    torch.testing.assert_close(logged["scalar", "gate/mean", False], values["gate"].mean())
    assert not any(value.requires_grad for value in values.values())


def test_logged_values_of_two_gates_have_no_mean():
    layer = NALULayer(2, 2, nalu_two_gate=True)
    traced(layer)
    assert [o.name for o in layer.observations()] == ["gate/add", "gate/mul", "add", "mul"]
    layer.trace = None
    assert layer.observations() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"nalu_mul": "mnac"}, "--nalu-two-nac"),
        ({"nalu_mul": "log"}, "nalu_mul 'log'"),
        ({"nalu_gate": "max-safe"}, "nalu_gate 'max-safe'"),
    ],
)
def test_impossible_options_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        NALULayer(2, 1, **options)


def test_a_nalu_without_multiplying_layer_refuses_mnac():
    with pytest.raises(ValueError, match="PosNALULayer has no multiplying layer"):
        PosNALULayer(2, 1, nalu_mul="mnac", nalu_two_nac=True)


def test_options_of_the_children_are_options_of_the_layer():
    assert {"regualizer_z", "nac_weight", "nalu_mul", "eps"} <= option_names(NALULayer)
    with pytest.raises(TypeError, match="nau_noise"):
        NALULayer(2, 1, nau_noise=True)
