"""NALU, G-NALU and gated NAU/NMU: paths and gates by loops, options, start, penalties, logs."""

import math

import pytest
import torch

from stable_nalu import layer as zoo
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published
from tests.layer_values import (
    IN,
    OUT,
    PHI,
    clamped,
    dot,
    drawn_alike,
    nac_weights,
    product,
    sigmoid,
    uniform,
)

X = torch.tensor([[1.5, -2.0], [0.5, 3.0], [-1.0, 0.25]])
GOLDEN = {"nalu_gate": "golden-ratio", "nalu_mul": "golden-ratio", "nac_weight": "golden-ratio"}
PUBLISHED_USE = {"nalu_two_nac": True, "nalu_mul": "mnac"}
EPS = 1e-7
PATHS = {
    "normal": lambda x, W: math.exp(dot(W, [math.log(abs(v) + EPS) for v in x])),
    "safe": lambda x, W: math.exp(dot(W, [math.log(abs(v - 1) + 1) for v in x])),
    "max-safe": lambda x, W: math.exp(dot(W, [math.log(max(v - 1, 0) + 1) for v in x])),
    "trig": lambda x, W: math.sinh(dot(W, [math.log(v + math.sqrt(v * v + 1) + EPS) for v in x])),
    "golden-ratio": lambda x, W: math.prod((abs(v) + EPS) ** w for v, w in zip(x, W, strict=True)),
    "mnac": product,
}


def gate_of(layer, row, path, o):
    G, b = getattr(layer, f"G_{path}").tolist(), getattr(layer, f"bias_{path}")
    if layer.nalu_gate == "independent":
        return sigmoid(G[o])
    o = 0 if layer.nalu_gate_shape == "vector" else o
    row = [abs(v) for v in row] if layer.gate_of_abs else row
    z = dot(G[o], row) + (0 if b is None else b[o].item())
    if layer.nalu_gate == "linear":
        return z
    return sigmoid(z, PHI if layer.nalu_gate == "golden-ratio" else math.e)


class TestNALU(LayerChecks):
    layer = zoo.NALULayer
    options = (
        *({"nalu_mul": mul, "nalu_two_nac": two} for mul in list(PATHS)[:5] for two in (0, 1)),
        {"nalu_mul": "mnac", "nalu_two_nac": True},
        GOLDEN,
        {"nalu_two_gate": True, "nalu_bias": True},
        {"nalu_gate": "linear"},
        {"nalu_gate": "linear", "nalu_two_nac": True, "nalu_two_gate": True, "nalu_bias": True},
        {"nalu_gate": "linear", "nalu_gate_shape": "vector"},
        {"gate_of_abs": True, "nalu_two_gate": True, "nalu_bias": True},
        {"nalu_gate": "independent"},
        {"nalu_gate": "independent", "nalu_two_nac": True, "nalu_two_gate": True},
        {"nalu_gate_shape": "vector", "nalu_two_gate": True},
        {"nalu_gate_shape": "vector", "nalu_bias": True},
    )
    start_options = ({"nalu_two_nac": True, "nalu_two_gate": True, "nalu_bias": True},)
    refused = (
        ({"nalu_mul": "mnac"}, "--nalu-two-nac"),
        ({"nalu_mul": "log"}, "nalu_mul 'log'"),
        ({"nalu_gate": "max-safe"}, "nalu_gate 'max-safe'"),
        ({"nalu_gate_shape": "scalar"}, "nalu_gate_shape 'scalar' is not one of matrix, vector"),
        ({"nalu_init": "normal"}, "nalu_init 'normal' is not one of default, truncated, xavier"),
        ({"nalu_gate": "independent", "nalu_gate_shape": "vector"}, "nalu_gate_shape 'vector'"),
        ({"nalu_gate": "independent", "nalu_bias": True}, "nalu_bias"),
        ({"nau_noise": True}, "nau_noise"),
    )
    published = (
        Published([0.0418541, 2.83816]),
        Published([0.470076, 2.59191], options={"nalu_two_nac": True}),
        Published([0.0773439, 2.34832], options=GOLDEN),
    )

    def formula(self, layer, row, o):
        g = gate_of(layer, row, "add", o)
        nac_mul = layer.nac_mul if layer.nalu_two_nac else layer.nac_add
        if layer.nalu_mul == "mnac":
            W = [sigmoid(w) for w in nac_mul.W_hat[o].tolist()]
        else:
            W = nac_weights(nac_mul, o)
        m = PATHS[layer.nalu_mul](row, W)
        other = gate_of(layer, row, "mul", o) if layer.nalu_two_gate else 1 - g
        return g * dot(nac_weights(layer.nac_add, o), row) + other * m

    def start(self, **options):
        for name in ("nac_add", "nac_mul"):
            nac = zoo.NALULayer.NACOp(IN, OUT)
            yield from ((f"{name}.{key}", value.data) for key, value in nac.named_parameters())
        bound = math.sqrt(6 / 7)
        for name in ("G_add", "G_mul"):
            yield name, uniform(-bound, bound)
        yield "bias_add", torch.zeros(OUT)
        yield "bias_mul", torch.zeros(OUT)


class TestGatedNAUNMU(LayerChecks):
    """Without a multiplying layer, the product is the NAU in log space."""

    layer = zoo.GatedNAUNMULayer
    options = (PUBLISHED_USE, {})
    start_options = (PUBLISHED_USE,)
    clipped = (
        Clipped(
            PUBLISHED_USE | {"nac_oob": "clip"},
            {"nac_add.W": [[-1.25, 0.5]], "nac_mul.W": [[-0.25, 0.875]]},
            {"nac_add.W": [[-1.0, 0.5]], "nac_mul.W": [[0.0, 0.875]]},
        ),
    )
    penalised = (
        Penalised(
            {**PUBLISHED_USE, "nac_oob": "clip", "regualizer_shape": "linear"},
            {"nac_add.W": [[-1.25, 0.5]], "nac_mul.W": [[-0.25, 0.875]]},
            {"W": (0.25 + 0.5) / 2 + (0.25 + 0.125) / 2},
        ),
    )

    def formula(self, layer, row, o):
        g = sigmoid(dot(layer.G_add[o].tolist(), row))
        W = clamped(layer.nac_add.W[o].tolist(), -1, 1)
        if layer.nalu_mul == "mnac":
            m = product(row, clamped(layer.nac_mul.W[o].tolist(), 0, 1))
        else:
            m = PATHS["normal"](row, W)
        return g * dot(W, row) + (1 - g) * m

    def start(self, **options):
        yield "nac_add.W", uniform(-0.5, 0.5)
        yield "nac_mul.W", uniform(0.25, 0.75)
        yield "G_add", uniform(-math.sqrt(6 / 7), math.sqrt(6 / 7))


def gumbel(u):
    return -torch.log(1e-8 - torch.log(u + 1e-8))


def preactivation(layer, path="add"):
    return X @ getattr(layer, f"G_{path}").T


def traced(layer):
    layer.trace = {}
    layer(X)
    return layer.trace


@pytest.mark.parametrize(("gate", "shape"), [("gumbel", (2,)), ("obs-gumbel", (3, 2))])
def test_gumbel_gates_add_noise_in_order_of_the_gates(gate, shape):
    layer = zoo.NALULayer(2, 2, nalu_gate=gate, nalu_two_gate=True)
    values, noise = drawn_alike(
        lambda: traced(layer), lambda: [gumbel(torch.rand(shape)) for _ in range(2)]
    )
    for path, added in zip(("add", "mul"), noise, strict=True):
        z = preactivation(layer, path) + added
        torch.testing.assert_close(values[f"gate/{path}"], torch.sigmoid(z))
    layer = zoo.NALULayer(2, 2, nalu_gate=gate)
    with layer.no_random():
        torch.testing.assert_close(traced(layer)["gate"], torch.sigmoid(preactivation(layer)))


@pytest.mark.parametrize("two_gate", [False, True])
def test_gate_penalty_sums_over_batch_and_outputs_of_the_last_forward(two_gate):
    layer = zoo.NALULayer(2, 2, nalu_gate="regualized", nalu_two_gate=two_gate)
    assert layer.regualizer()["g"].item() == 0
    layer(X + 1)
    layer(X)
    gates = [
        g
        for path in ("add", "mul")[: 1 + two_gate]
        for g in torch.sigmoid(preactivation(layer, path)).flatten().tolist()
    ]
    penalty = layer.regualizer()["g"]
    assert penalty.item() == pytest.approx(sum((g * (1 - g)) ** 2 for g in gates), rel=1e-5)
    penalty.backward()
    assert layer.G_add.grad.abs().sum() > 0


@pytest.mark.parametrize("two_nac", [False, True])
def test_the_penalty_z_counts_inputs_of_both_paths(two_nac):
    """A shared NAC sees plain inputs and logarithms; penalties of two NACs are added."""
    layer = zoo.NALULayer(2, 1, regualizer_z=1, nalu_two_nac=two_nac)
    layer(X)
    logs = torch.log(X.abs() + EPS)
    if two_nac:
        seen = ((layer.nac_add, X), (layer.nac_mul, logs))
    else:
        seen = ((layer.nac_add, torch.cat((X, logs))),)
    expected = sum(((1 - nac.weights()[0].abs()) * x.mean(0) ** 2).mean() for nac, x in seen)
    torch.testing.assert_close(layer.regualizer()["z"], expected)


def matrices(inputs: int, outputs: int, **options) -> list[torch.Tensor]:
    layer = zoo.NALULayer(inputs, outputs, nalu_two_nac=True, nalu_bias=True, **options)
    assert layer.bias_add.abs().max() == 0
    return [p.detach() for p in layer.parameters() if p.ndim > 1]


def test_start_values_of_the_other_initialisations():
    """Cut at two deviations, a normal keeps 0.87963 of its deviation."""
    found = matrices(200, 100, nalu_init="truncated", nalu_two_gate=True)
    assert len(found) == 6
    for weight in found:
        assert 0.0395 < weight.abs().max() <= 0.04
        assert weight.std().item() == pytest.approx(0.02 * 0.87963, rel=0.02)
        assert weight.mean().item() == pytest.approx(0, abs=5e-4)
    found = matrices(100, 10, nalu_init="xavier-normal")
    assert len(found) == 5
    for weight in found:
        assert weight.std().item() == pytest.approx(math.sqrt(2 / 110), rel=0.06)
        assert weight.abs().max() > 2.6 * math.sqrt(2 / 110)
