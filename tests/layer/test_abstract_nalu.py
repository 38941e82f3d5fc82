"""What every NALU shares: gates, their penalty, options, children, logged values."""

import math

import numpy as np
import pytest
import torch

from stable_nalu.abstract import PerRunRandomSource
from stable_nalu.layer import NALULayer, PosNALULayer
from stable_nalu.layer.registry import option_parameters
from tests.contract.test_layers import stack

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
        ({"nalu_gate": "linear", "nalu_bias": True}, {"G_add", "bias_add"}),
        ({"nalu_gate": "independent", "nalu_two_gate": True}, {"G_add", "G_mul"}),
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
        ({"nalu_gate_shape": "scalar"}, "nalu_gate_shape 'scalar' is not one of matrix, vector"),
        ({"nalu_init": "normal"}, "nalu_init 'normal' is not one of default, truncated, xavier"),
        ({"nalu_gate": "independent", "nalu_gate_shape": "vector"}, "nalu_gate_shape 'vector'"),
        ({"nalu_gate": "independent", "nalu_bias": True}, "nalu_bias"),
    ],
)
def test_impossible_options_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        NALULayer(2, 1, **options)


def test_a_nalu_without_multiplying_layer_refuses_mnac():
    with pytest.raises(ValueError, match="PosNALULayer has no multiplying layer"):
        PosNALULayer(2, 1, nalu_mul="mnac", nalu_two_nac=True)


def test_options_of_the_children_are_options_of_the_layer():
    assert {"regualizer_z", "nac_weight", "nalu_mul", "eps"} <= option_parameters(NALULayer).keys()
    with pytest.raises(TypeError, match="nau_noise"):
        NALULayer(2, 1, nau_noise=True)


def sigmoid(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def by_loop(layer: NALULayer, row: list[float], o: int) -> float:
    """The formula in Python floats, for a layer of one run."""

    def path(nac, values):
        pairs = zip(nac.W_hat[o].tolist(), nac.M_hat[o].tolist(), values, strict=True)
        return sum(math.tanh(w) * sigmoid(m) * v for w, m, v in pairs)

    def gate(path):
        G, b = getattr(layer, f"G_{path}").tolist(), getattr(layer, f"bias_{path}")
        if layer.nalu_gate == "independent":
            return sigmoid(G[o])
        o_gate = 0 if layer.nalu_gate_shape == "vector" else o
        z = sum(G_i * x_i for G_i, x_i in zip(G[o_gate], row, strict=True))
        z += 0 if b is None else b[o_gate].item()
        return z if layer.nalu_gate == "linear" else sigmoid(z)

    g = gate("add")
    a = path(layer.nac_add, row)
    nac_mul = layer.nac_mul if layer.nalu_two_nac else layer.nac_add
    m = math.exp(path(nac_mul, [math.log(abs(v) + 1e-7) for v in row]))
    return g * a + (gate("mul") if layer.nalu_two_gate else 1 - g) * m


OPTIONS = (
    {"nalu_gate": "linear"},
    {"nalu_gate": "linear", "nalu_two_nac": True, "nalu_two_gate": True, "nalu_bias": True},
    {"nalu_gate": "linear", "nalu_gate_shape": "vector"},
    {"nalu_gate": "independent"},
    {"nalu_gate": "independent", "nalu_two_nac": True, "nalu_two_gate": True},
    {"nalu_gate_shape": "vector", "nalu_two_gate": True},
    {"nalu_gate_shape": "vector", "nalu_bias": True, "nalu_init": "xavier-normal"},
    {"nalu_init": "truncated", "nalu_two_nac": True},
)


@pytest.mark.parametrize("runs", [(), (3,), (2, 3)])
@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_output_is_the_formula_for_any_number_of_runs(options, runs):
    stacked = stack("NALU", runs, **options).double()
    x = 2 * torch.randn(*runs, 4, 3, dtype=torch.float64)
    y = stacked(x)
    assert y.shape == (*runs, 4, 2)
    for k, place in enumerate(np.ndindex(*runs)):
        single = stack("NALU", (), seed=k, **options).double()
        for b, o in np.ndindex(4, 2):
            expected = by_loop(single, x[(*place, b)].tolist(), o)
            assert y[(*place, b, o)].item() == pytest.approx(expected, rel=1e-10, abs=1e-12)


def matrices(layer: NALULayer) -> dict[str, torch.Tensor]:
    return {name: p.detach() for name, p in layer.named_parameters() if p.ndim > 1}


def drawn(inputs: int, outputs: int, **options) -> NALULayer:
    torch.manual_seed(1)
    return NALULayer(inputs, outputs, **{"nalu_two_nac": True, "nalu_bias": True} | options)


def test_truncated_normal_start():
    """Cut at two deviations, a normal keeps 0.87963 of its deviation."""
    layer = drawn(200, 100, nalu_init="truncated", nalu_two_gate=True)
    assert len(matrices(layer)) == 6
    for weight in matrices(layer).values():
        assert 0.0395 < weight.abs().max() <= 0.04
        assert weight.std().item() == pytest.approx(0.02 * 0.87963, rel=0.02)
        assert weight.mean().item() == pytest.approx(0, abs=5e-4)
    assert layer.bias_add.abs().max() == layer.bias_mul.abs().max() == 0
    W = layer.nac_add.weights()
    assert W.std().item() == pytest.approx(0.0088, rel=0.02)


def test_xavier_normal_start():
    layer = drawn(100, 10, nalu_init="xavier-normal")
    assert len(matrices(layer)) == 5
    for weight in matrices(layer).values():
        assert weight.std().item() == pytest.approx(math.sqrt(2 / 110), rel=0.06)
        assert weight.abs().max() > 2.6 * math.sqrt(2 / 110)
    assert layer.nac_add.weights().std().item() == pytest.approx(0.066, abs=0.004)


def test_start_of_the_gates():
    gate = drawn(200, 100, nalu_gate="independent", nalu_bias=False).G_add
    assert gate.shape == (100,)
    assert 0.009 < gate.abs().max() <= 0.01
    gate = drawn(200, 100, nalu_gate_shape="vector").G_add
    assert gate.shape == (1, 200)
    assert 0.95 * math.sqrt(6 / 201) < gate.abs().max() <= math.sqrt(6 / 201)
