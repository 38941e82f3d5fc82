"""Networks of one and two layers: published values, units, ways to multiply, penalties."""

import math

import pytest
import torch

from stable_nalu.abstract import constrain
from stable_nalu.network import SimpleFunctionStaticNetwork, SingleLayerNetwork
from stable_nalu.network.arithmetic import second_layer
from tests.layer_checks import PUBLISHED_DIGITS
from tests.layer_values import dot, nac_weights, product

X = torch.tensor([[1.5, -2.0, 0.25, 1.0], [0.5, 3.0, 1.0, 2.0]])
NAU = "ReRegualizedLinearNAC"


def seeded(network):
    """Seed 0, initialised twice, as the scripts do."""
    torch.manual_seed(0)
    network = network()
    network.reset_parameters()
    return network


def one(unit, *sizes, **options):
    return seeded(lambda: SingleLayerNetwork(unit, *sizes, **options))


def two(unit, nac_mul="none", size=4, **options):
    return seeded(lambda: SimpleFunctionStaticNetwork(unit, size, nac_mul=nac_mul, **options))


LINEAR = {"nac_oob": "clip", "regualizer_shape": "linear"}
# network, outputs in evaluation
PUBLISHED = {
    "NAC in log space": (lambda: one("MNAC"), (1.64985, 4.04773)),
    "NAC": (lambda: one("NAC"), (-2.6531, 2.73497)),
    "NMU": (lambda: one("ReRegualizedLinearMNAC"), (0.0595977, 1.39193)),
    "MLP": (lambda: one("ReLU", bias=False), (0, -2.11437)),
    "NAU and NMU": (lambda: two(NAU, "mnac", **LINEAR), (0.311543, 0.153652)),
    "NAU and NPU": (lambda: two(NAU, "npu", **LINEAR), (0.132105, 0.0565265)),
    "NAC twice": (lambda: two("NAC", "normal", **LINEAR), (0.182778, 0.0485065)),
    "ReLU6": (lambda: two("ReLU6", "none", **LINEAR), (-0.00485337, -1.13167)),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_values(case):
    build, outputs = PUBLISHED[case]
    network = build()
    y = network.eval()(X[:, : network.input_size])
    # An output near zero is the sum of terms near one, which processors round differently.
    assert y.flatten().tolist() == pytest.approx(outputs, rel=PUBLISHED_DIGITS, abs=1e-7)


@pytest.mark.parametrize(
    ("unit", "nac_mul", "second"),
    [
        ("NAC", "mnac", "MNAC"),
        (NAU, "mnac", "ReRegualizedLinearMNAC"),
        ("GumbelNAC", "mnac", "GumbelMNAC"),
        ("RegualizedLinearNAC", "mnac", "RegualizedLinearMNAC"),
        ("SillyReRegualizedLinearNAC", "mnac", "SillyReRegualizedLinearMNAC"),
        (NAU, "npu", "NPU"),
        (NAU, "real-npu", "RealNPU"),
        ("ReLU", "none", "linear"),
        ("linear", "none", "linear"),
        ("ReLU", "normal", "linear"),
        ("NALU", "none", "NALU"),
        ("PosNAC", "safe", "PosNAC"),
    ],
)
def test_unit_of_the_second_layer(unit, nac_mul, second):
    assert second_layer(unit, nac_mul) == second
    first = NAU if unit.startswith("Silly") else None
    network = two(unit, nac_mul, first_layer=first)
    assert network.layer_1.unit_name == (first or unit)
    assert network.layer_2.unit_name == second


LOGARITHMS = {
    "normal": lambda z: math.log(abs(z) + 1e-7),
    "safe": lambda z: math.log(abs(z - 1) + 1),
    "max-safe": lambda z: math.log(max(z - 1, 0) + 1),
}


@pytest.mark.parametrize("nac_mul", [*LOGARITHMS, "mnac"])
def test_sum_then_product_against_loops(nac_mul):
    network = two(NAU if nac_mul == "mnac" else "NAC", nac_mul).double()
    first, (second,) = [
        layer.W.clamp(-1, 1).tolist()
        if nac_mul == "mnac"
        else [nac_weights(layer, o) for o in range(len(layer.W_hat))]
        for layer in (network.layer_1.layer, network.layer_2.layer)
    ]
    for row, y in zip(X.double(), network(X.double()), strict=True):
        z = [dot(weights, row.tolist()) for weights in first]
        if nac_mul == "mnac":
            expected = product(z, second)
        else:
            expected = math.exp(dot(second, map(LOGARITHMS[nac_mul], z)))
        assert y.item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("build", [one, two])
def test_max_safe_penalises_first_outputs_below_one(build):
    sizes = (4,) if build is one else ()
    network = build("NAC", *sizes, nac_mul="max-safe", regualizer_z=1).double()
    x = X.double()
    network(x)
    z = network.layer_1(x)
    alone = sum(max(1 - value, 0) for value in z.flatten().tolist()) / z.numel()
    assert alone > 0
    layers = [layer for name, layer in network.named_children() if name.startswith("layer")]
    own = sum(layer.regualizer()["z"] for layer in layers).item()
    assert network.regualizer()["z"].item() == pytest.approx(own + alone, rel=1e-6)


def test_an_mlp_against_loops():
    network = one("ReLU", 4, 1, hidden_size=3, mlp_depth=1).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.uniform_(-1, 1)
    state = {name: p.tolist() for name, p in network.named_parameters()}

    def layer(name, values):
        rows = zip(state[f"{name}.layer.W"], state[f"{name}.layer.bias"], strict=True)
        return [dot(W, values) + b for W, b in rows]

    for row, y in zip(X.double(), network(X.double()), strict=True):
        hidden = [max(v, 0) for v in layer("layer_1", row.tolist())]
        hidden = [max(v, 0) for v in layer("layer_01", hidden)]
        assert y.tolist() == pytest.approx(layer("layer_2", hidden), rel=1e-9, abs=1e-12)


def test_the_published_container_hides_penalties_bounds_and_hooks_of_the_layer():
    options = {"nac_oob": "clip", "regualizer_shape": "linear"}
    plain, hidden = (
        one("ReRegualizedLinearMNAC", published_container=is_hidden, **options)
        for is_hidden in (False, True)
    )
    assert torch.equal(plain.layer_1.layer.W, hidden.layer_1.layer.W)
    held = (
        {k for m in n.extended_modules() for k in m.regualizer_terms()} for n in (plain, hidden)
    )
    assert next(held) >= {"W"}
    assert next(held) == set()
    for network in (plain, hidden):
        with torch.no_grad():
            network.layer_1.layer.W.fill_(2.0)
        constrain(network.extended_modules(), torch.zeros(()))
    assert float(plain.layer_1.layer.W.detach().max()) == 1.0
    assert float(hidden.layer_1.layer.W.detach().max()) == 2.0
