"""The two-layer network: published values, which units it is made of, how it multiplies."""

import math

import pytest
import torch

from stable_nalu.abstract import run_state, stack_models
from stable_nalu.network import SimpleFunctionStaticNetwork
from stable_nalu.network.simple_function_static import second_layer
from tests.layer_checks import PUBLISHED_DIGITS

X = torch.tensor([[1.5, -2.0, 0.25, 1.0], [0.5, 3.0, 1.0, 2.0]])
NAU = "ReRegualizedLinearNAC"
NAU_W = (-0.151107, -0.0982827, -0.477674, -0.331141, -0.206112, 0.0185218, 0.197668, 0.300011)
NAC_W = (1.97064, 4.50528, -1.11657, 4.05997, -0.874502, 0.574095, 4.91267, -5.03308)
NAC_M = (-3.41556, -1.37355, -2.11486, 4.68764, -3.5167, -2.49754, -3.79048, -5.08132)

# unit, way to multiply, parameters, outputs in evaluation
PUBLISHED = {
    "NMU": (
        NAU,
        "mnac",
        {"layer_1.layer.W": NAU_W, "layer_2.layer.W": (0.330515, 0.391134)},
        (0.311543, 0.153652),
    ),
    "NPU": (
        NAU,
        "npu",
        {
            "layer_1.layer.W": NAU_W,
            "layer_2.layer.W_real": (-0.958753, -0.615837),
            "layer_2.layer.W_im": (0, 0),
            "layer_2.layer.g": (0.5, 0.5),
        },
        (0.132105, 0.0565265),
    ),
    "NAC in log space": (
        "NAC",
        "normal",
        {
            "layer_1.layer.W_hat": NAC_W,
            "layer_1.layer.M_hat": NAC_M,
            "layer_2.layer.W_hat": (-5.52884, 8.1416),
            "layer_2.layer.M_hat": (4.22632, 4.59053),
        },
        (0.182778, 0.0485065),
    ),
    "ReLU6": (
        "ReLU6",
        "none",
        {
            "layer_1.layer.W": (
                *(-0.370134, -0.240742, -1.17006, -0.811127),
                *(-0.504868, 0.0453689, 0.484185, 0.734875),
            ),
            "layer_1.layer.bias": (0, 0),
            "layer_2.layer.W": (-0.958753, -0.615837),
            "layer_2.layer.bias": (0,),
        },
        (-0.00485337, -1.13167),
    ),
}


def build(unit, nac_mul="none", size=4, **options):
    """Seed 0, initialised twice, as the scripts do."""
    torch.manual_seed(0)
    network = SimpleFunctionStaticNetwork(unit, size, nac_mul=nac_mul, **options)
    network.reset_parameters()
    return network


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_values(case):
    unit, nac_mul, parameters, outputs = PUBLISHED[case]
    network = build(unit, nac_mul, nac_oob="clip", regualizer_shape="linear")
    actual = {name: p.flatten().tolist() for name, p in network.named_parameters()}
    assert actual.keys() == parameters.keys()
    for name, values in parameters.items():
        assert actual[name] == pytest.approx(values, rel=PUBLISHED_DIGITS)
    y = network.eval()(X)
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
    network = build(unit, nac_mul, first_layer=first)
    assert network.layer_1.unit_name == (first or unit)
    assert network.layer_2.unit_name == second


@pytest.mark.parametrize("unit", ["PosNAC", "LinearNAC", "SoftmaxNAC", "NALU", "ReLU", "MNAC"])
def test_units_without_a_multiplying_form(unit):
    with pytest.raises(ValueError, match="is not a layer"):
        build(unit, "mnac")


def test_an_unknown_way_to_multiply():
    with pytest.raises(ValueError, match="'trig' is not one of"):
        build("NAC", "trig")


def test_first_layer_replaces_the_unit_of_layer_one_only():
    network = build("PosNAC", "normal", first_layer="NAC")
    assert (network.layer_1.unit_name, network.layer_2.unit_name) == ("NAC", "PosNAC")


def test_options_reach_the_layers_that_read_them():
    options = {"nmu_noise": True, "nac_oob": "clip", "npu_clip": "wg"}
    network = build(NAU, "mnac", **options)
    assert network.layer_2.layer.nmu_noise
    assert network.layer_1.layer.nac_oob == network.layer_2.layer.nac_oob == "clip"
    with pytest.raises(TypeError, match="no layer reads the option"):
        build(NAU, nmu_nose=True)


def nac(layer):
    return (torch.tanh(layer.W_hat) * torch.sigmoid(layer.M_hat)).tolist()


LOGARITHMS = {
    "normal": lambda z: math.log(abs(z) + 1e-7),
    "safe": lambda z: math.log(abs(z - 1) + 1),
    "max-safe": lambda z: math.log(max(z - 1, 0) + 1),
}


@pytest.mark.parametrize("nac_mul", LOGARITHMS)
def test_products_of_powers_against_loops(nac_mul):
    network = build("NAC", nac_mul).double()
    first, second = nac(network.layer_1.layer), nac(network.layer_2.layer)
    for row, y in zip(X.double(), network(X.double()), strict=True):
        z = [sum(w * v for w, v in zip(weights, row.tolist(), strict=True)) for weights in first]
        logs = [LOGARITHMS[nac_mul](value) for value in z]
        expected = math.exp(sum(w * v for w, v in zip(second[0], logs, strict=True)))
        assert y.item() == pytest.approx(expected, rel=1e-9)


def test_sum_then_product_against_loops():
    network = build(NAU, "mnac").double()
    first = network.layer_1.layer.W.clamp(-1, 1).tolist()
    (second,) = network.layer_2.layer.W.tolist()
    for row, y in zip(X.double(), network(X.double()), strict=True):
        z = [sum(w * v for w, v in zip(weights, row.tolist(), strict=True)) for weights in first]
        expected = math.prod(w * v + 1 - w for w, v in zip(second, z, strict=True))
        assert y.item() == pytest.approx(expected, rel=1e-9)


def test_max_safe_penalises_first_outputs_below_one():
    network = build("NAC", "max-safe").double()
    x = X.double()
    network(x)
    z = network.layer_1(x)
    expected = sum(max(1 - value, 0) for value in z.flatten().tolist()) / z.numel()
    assert network.regualizer({"z"})["z"].item() == pytest.approx(expected, rel=1e-12)
    assert expected > 0


def test_max_safe_adds_to_the_penalties_of_the_layers():
    network = build("NAC", "max-safe", regualizer_z=1)
    network(X)
    layers = sum(layer.regualizer()["z"] for layer in (network.layer_1, network.layer_2))
    alone = torch.relu(1 - network.layer_1(X)).mean()
    assert network.regualizer()["z"].item() == pytest.approx((layers + alone).item(), rel=1e-6)


@pytest.mark.parametrize("nac_mul", ["none", "normal", "safe", "mnac", "npu", "real-npu"])
def test_no_other_way_to_multiply_has_a_penalty(nac_mul):
    network = build(NAU, nac_mul)
    network(X)
    assert network.regualizer_terms() == {}


def test_runs_are_those_of_single_networks():
    singles = []
    for seed in range(3):
        torch.manual_seed(seed)
        singles.append(SimpleFunctionStaticNetwork("NAC", 4, nac_mul="max-safe"))
    states = [run_state(single.state_dict(), None) for single in singles]
    stacked = stack_models(singles)
    x = torch.stack([X, 2 * X, -X])
    y, penalty = stacked(x), stacked.regualizer()["z"]
    assert y.shape == (3, 2, 1)
    for run, state in enumerate(states):
        single = build("NAC", "max-safe")
        single.load_state_dict(state)
        torch.testing.assert_close(y[run], single(x[run]), rtol=1e-6, atol=1e-7)
        own = single.regualizer()["z"]
        assert penalty[run].item() == pytest.approx(own.item(), rel=1e-6)


def test_reset_draws_the_first_layer_first():
    network = build(NAU, "mnac")
    torch.manual_seed(5)
    network.reset_parameters()
    expected = [p.clone() for p in network.parameters()]
    torch.manual_seed(5)
    network.layer_1.reset_parameters()
    network.layer_2.reset_parameters()
    assert all(torch.equal(p, e) for p, e in zip(network.parameters(), expected, strict=True))


def test_it_says_what_it_is():
    assert "unit_name=NAC, input_size=4" in repr(build("NAC"))
