"""The single-layer network: one unit, the multiplicative NAC, MLPs."""

import math

import pytest
import torch

from stable_nalu.layer import GeneralizedLayer, NACLayer
from stable_nalu.layer.basic import ACTIVATIONS
from stable_nalu.network import SingleLayerNetwork
from tests.layer_checks import PUBLISHED_DIGITS

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])


def build(unit, *sizes, **options):
    """Seed 0, initialised twice, as the scripts do."""
    torch.manual_seed(0)
    network = SingleLayerNetwork(unit, *sizes, **options)
    network.reset_parameters()
    return network


@pytest.mark.parametrize(
    ("unit", "options", "parameters", "outputs"),
    [
        (
            "MNAC",
            {},
            {"W_hat": (-3.64795, 2.53983), "M_hat": (-0.187659, 7.50978)},
            (1.64985, 4.04773),
        ),
        (
            "NAC",
            {},
            {"W_hat": (-3.64795, 2.53983), "M_hat": (-0.187659, 7.50978)},
            (-2.6531, 2.73497),
        ),
        ("ReRegualizedLinearMNAC", {}, {"W": (0.294239, 0.316015)}, (0.0595977, 1.39193)),
    ],
)
def test_published_values(unit, options, parameters, outputs):
    network = build(unit, **options)
    actual = {name: p.flatten().tolist() for name, p in network.named_parameters()}
    assert list(actual) == [f"layer_1.layer.{name}" for name in parameters]
    for name, values in parameters.items():
        assert actual[f"layer_1.layer.{name}"] == pytest.approx(values, rel=PUBLISHED_DIGITS)
    assert network(X).flatten().tolist() == pytest.approx(outputs, rel=PUBLISHED_DIGITS)


def test_published_values_of_the_mlp():
    network = build("ReLU", bias=False)
    actual = {name: p.flatten().tolist() for name, p in network.named_parameters()}
    assert actual == {
        "layer_1.layer.W": pytest.approx(
            (-0.0343174, 1.37332, -0.153709, 0.458322), rel=PUBLISHED_DIGITS
        ),
        "layer_2.layer.W": pytest.approx((-0.427394, -0.277985), rel=PUBLISHED_DIGITS),
    }
    assert network(X).flatten().tolist() == pytest.approx((0, -2.11437), rel=PUBLISHED_DIGITS)


def test_mnac_is_a_nac_in_log_space():
    network = build("MNAC").double()
    nac = network.layer_1.layer
    assert isinstance(nac, NACLayer)
    (weights,) = (torch.tanh(nac.W_hat) * torch.sigmoid(nac.M_hat)).tolist()
    for row, y in zip(X.double(), network(X.double()), strict=True):
        logs = [math.log(abs(v) + 1e-7) for v in row.tolist()]
        expected = math.exp(sum(w * v for w, v in zip(weights, logs, strict=True)))
        assert y.item() == pytest.approx(expected, rel=1e-9)


def test_eps_guards_the_logarithm():
    zero = torch.zeros(1, 2)
    outputs = [build("MNAC", eps=eps)(zero).item() for eps in (1e-7, 1e-2)]
    assert outputs[0] != outputs[1]
    assert all(math.isfinite(y) for y in outputs)


@pytest.mark.parametrize("unit", sorted(set(GeneralizedLayer.unit_names()) - ACTIVATIONS.keys()))
def test_a_unit_maps_input_to_output(unit):
    network = build(unit, 3, 2, hidden_size=7)
    assert network(torch.rand(5, 3) + 1).shape == (5, 2)
    assert {name.split(".")[0] for name, _ in network.named_modules() if name} == {"layer_1"}


@pytest.mark.parametrize("unit", ACTIVATIONS)
@pytest.mark.parametrize("depth", [0, 2])
def test_shapes_of_an_mlp(unit, depth):
    network = build(unit, 3, 2, hidden_size=5, mlp_depth=depth)
    shapes = {name: tuple(p.shape) for name, p in network.named_parameters()}
    expected = {"layer_1": (5, 3), "layer_01": (5, 5), "layer_12": (5, 5), "layer_2": (2, 5)}
    names = ["layer_1", *["layer_01", "layer_12"][:depth], "layer_2"]
    assert {n: shapes[f"{n}.layer.W"] for n in names} == {n: expected[n] for n in names}
    assert {n: shapes[f"{n}.layer.bias"] for n in names} == {n: expected[n][:1] for n in names}
    units = [getattr(network, name).unit_name for name in names]
    assert units == [unit] * (depth + 1) + ["linear"]
    assert network(torch.rand(4, 3)).shape == (4, 2)


def test_an_mlp_against_loops():
    network = build("ReLU", 2, 1, hidden_size=3, mlp_depth=1).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.uniform_(-1, 1)
    state = {name: p.tolist() for name, p in network.named_parameters()}

    def layer(name, values):
        rows = zip(state[f"{name}.layer.W"], state[f"{name}.layer.bias"], strict=True)
        return [sum(w * v for w, v in zip(W, values, strict=True)) + b for W, b in rows]

    for row, y in zip(X.double(), network(X.double()), strict=True):
        hidden = [max(v, 0) for v in layer("layer_1", row.tolist())]
        hidden = [max(v, 0) for v in layer("layer_01", hidden)]
        assert y.tolist() == pytest.approx(layer("layer_2", hidden), rel=1e-9, abs=1e-12)


def test_layers_of_an_mlp_are_drawn_from_input_to_output():
    network = build("Tanh", 2, 1, hidden_size=3, mlp_depth=2)
    torch.manual_seed(5)
    network.reset_parameters()
    expected = [p.clone() for p in network.parameters()]
    torch.manual_seed(5)
    for name in ("layer_1", "layer_01", "layer_12", "layer_2"):
        getattr(network, name).reset_parameters()
    assert all(torch.equal(p, e) for p, e in zip(network.parameters(), expected, strict=True))


def test_depth_needs_an_activation():
    with pytest.raises(ValueError, match="mlp_depth needs a plain activation, not 'NAC'"):
        build("NAC", mlp_depth=1)


def test_max_safe_penalises_outputs_below_one():
    network = build("NAC", nac_mul="max-safe").double()
    y = network(X.double())
    expected = sum(max(1 - value, 0) for value in y.flatten().tolist()) / y.numel()
    assert network.regualizer({"z"})["z"].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("nac_mul", ["none", "normal", "safe", "mnac", "npu", "real-npu"])
def test_other_ways_to_multiply_change_nothing(nac_mul):
    network, plain = build("NAC", nac_mul=nac_mul), build("NAC")
    assert torch.equal(network(X), plain(X))
    assert network.regualizer_terms() == {}
    with pytest.raises(ValueError, match="'trig' is not one of"):
        build("NAC", nac_mul="trig")


def test_it_says_what_it_is():
    assert "unit_name=NAC, input_size=2" in repr(build("NAC"))
