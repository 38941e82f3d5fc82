"""Networks of one and two layers: published values, units, ways to multiply, penalties."""

import math

import pytest
import torch

from stable_nalu.abstract import run_state, stack_models
from stable_nalu.layer import NACLayer
from stable_nalu.network import SimpleFunctionStaticNetwork, SingleLayerNetwork
from stable_nalu.network.arithmetic import second_layer
from tests.layer_checks import PUBLISHED_DIGITS

X = torch.tensor([[1.5, -2.0, 0.25, 1.0], [0.5, 3.0, 1.0, 2.0]])
NAU = "ReRegualizedLinearNAC"
NAU_W = (-0.151107, -0.0982827, -0.477674, -0.331141, -0.206112, 0.0185218, 0.197668, 0.300011)
NAC_W = (1.97064, 4.50528, -1.11657, 4.05997, -0.874502, 0.574095, 4.91267, -5.03308)
NAC_M = (-3.41556, -1.37355, -2.11486, 4.68764, -3.5167, -2.49754, -3.79048, -5.08132)
RELU_W = (-0.370134, -0.240742, -1.17006, -0.811127, -0.504868, 0.0453689, 0.484185, 0.734875)
NAC_ALONE = {
    "layer_1.layer.W_hat": (-3.64795, 2.53983),
    "layer_1.layer.M_hat": (-0.187659, 7.50978),
}


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
# network, its parameters, outputs in evaluation
PUBLISHED = {
    "NAC in log space": (lambda: one("MNAC"), NAC_ALONE, (1.64985, 4.04773)),
    "NAC": (lambda: one("NAC"), NAC_ALONE, (-2.6531, 2.73497)),
    "NMU": (
        lambda: one("ReRegualizedLinearMNAC"),
        {"layer_1.layer.W": (0.294239, 0.316015)},
        (0.0595977, 1.39193),
    ),
    "MLP": (
        lambda: one("ReLU", bias=False),
        {
            "layer_1.layer.W": (-0.0343174, 1.37332, -0.153709, 0.458322),
            "layer_2.layer.W": (-0.427394, -0.277985),
        },
        (0, -2.11437),
    ),
    "NAU and NMU": (
        lambda: two(NAU, "mnac", **LINEAR),
        {"layer_1.layer.W": NAU_W, "layer_2.layer.W": (0.330515, 0.391134)},
        (0.311543, 0.153652),
    ),
    "NAU and NPU": (
        lambda: two(NAU, "npu", **LINEAR),
        {
            "layer_1.layer.W": NAU_W,
            "layer_2.layer.W_real": (-0.958753, -0.615837),
            "layer_2.layer.W_im": (0, 0),
            "layer_2.layer.g": (0.5, 0.5),
        },
        (0.132105, 0.0565265),
    ),
    "NAC and NAC in log space": (
        lambda: two("NAC", "normal", **LINEAR),
        {
            "layer_1.layer.W_hat": NAC_W,
            "layer_1.layer.M_hat": NAC_M,
            "layer_2.layer.W_hat": (-5.52884, 8.1416),
            "layer_2.layer.M_hat": (4.22632, 4.59053),
        },
        (0.182778, 0.0485065),
    ),
    "ReLU6": (
        lambda: two("ReLU6", "none", **LINEAR),
        {
            "layer_1.layer.W": RELU_W,
            "layer_1.layer.bias": (0, 0),
            "layer_2.layer.W": (-0.958753, -0.615837),
            "layer_2.layer.bias": (0,),
        },
        (-0.00485337, -1.13167),
    ),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_published_values(case):
    build, parameters, outputs = PUBLISHED[case]
    network = build()
    actual = {name: p.flatten().tolist() for name, p in network.named_parameters()}
    assert actual.keys() == parameters.keys()
    for name, values in parameters.items():
        assert actual[name] == pytest.approx(values, rel=PUBLISHED_DIGITS)
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


@pytest.mark.parametrize("unit", ["PosNAC", "LinearNAC", "SoftmaxNAC", "NALU", "ReLU", "MNAC"])
def test_units_without_a_multiplying_form(unit):
    with pytest.raises(ValueError, match="is not a layer"):
        two(unit, "mnac")


def test_options_reach_the_layers_that_read_them():
    network = two(NAU, "mnac", nmu_noise=True, nac_oob="clip", npu_clip="wg")
    assert network.layer_2.layer.nmu_noise
    assert network.layer_1.layer.nac_oob == network.layer_2.layer.nac_oob == "clip"
    with pytest.raises(TypeError, match="no layer reads the option"):
        two(NAU, nmu_nose=True)


LOGARITHMS = {
    "normal": lambda z: math.log(abs(z) + 1e-7),
    "safe": lambda z: math.log(abs(z - 1) + 1),
    "max-safe": lambda z: math.log(max(z - 1, 0) + 1),
}


def nac(layer):
    return (torch.tanh(layer.W_hat) * torch.sigmoid(layer.M_hat)).tolist()


def dot(weights, values):
    return sum(w * v for w, v in zip(weights, values, strict=True))


@pytest.mark.parametrize("nac_mul", [*LOGARITHMS, "mnac"])
def test_sum_then_product_against_loops(nac_mul):
    network = two(NAU if nac_mul == "mnac" else "NAC", nac_mul).double()
    layers = (network.layer_1.layer, network.layer_2.layer)
    first, (second,) = [
        layer.W.clamp(-1, 1).tolist() if nac_mul == "mnac" else nac(layer) for layer in layers
    ]
    for row, y in zip(X.double(), network(X.double()), strict=True):
        z = [dot(weights, row.tolist()) for weights in first]
        if nac_mul == "mnac":
            expected = math.prod(w * v + 1 - w for w, v in zip(second, z, strict=True))
        else:
            expected = math.exp(dot(second, [LOGARITHMS[nac_mul](value) for value in z]))
        assert y.item() == pytest.approx(expected, rel=1e-9)


def test_mnac_alone_is_a_nac_in_log_space():
    network = one("MNAC", 4).double()
    assert isinstance(network.layer_1.layer, NACLayer)
    (weights,) = nac(network.layer_1.layer)
    for row, y in zip(X.double(), network(X.double()), strict=True):
        expected = math.exp(dot(weights, map(LOGARITHMS["normal"], row.tolist())))
        assert y.item() == pytest.approx(expected, rel=1e-9)
    outputs = [one("MNAC", eps=eps)(torch.zeros(1, 2)).item() for eps in (1e-7, 1e-2)]
    assert outputs[0] != outputs[1]
    assert all(math.isfinite(y) for y in outputs)


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


@pytest.mark.parametrize("nac_mul", ["none", "normal", "safe", "mnac", "npu", "real-npu"])
def test_no_other_way_to_multiply_has_a_penalty_or_changes_one_layer(nac_mul):
    network, alone, plain = two(NAU, nac_mul), one("NAC", 4, nac_mul=nac_mul), one("NAC", 4)
    network(X)
    assert torch.equal(alone(X), plain(X))
    assert network.regualizer_terms() == alone.regualizer_terms() == {}


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
        single = two("NAC", "max-safe")
        single.load_state_dict(state)
        torch.testing.assert_close(y[run], single(x[run]), rtol=1e-6, atol=1e-7)
        own = single.regualizer()["z"]
        assert penalty[run].item() == pytest.approx(own.item(), rel=1e-6)


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


def test_layers_are_drawn_from_input_to_output():
    network = one("Tanh", 2, mlp_depth=2)
    torch.manual_seed(5)
    network.reset_parameters()
    expected = [p.clone() for p in network.parameters()]
    torch.manual_seed(5)
    for name in ("layer_1", "layer_01", "layer_12", "layer_2"):
        getattr(network, name).reset_parameters()
    assert all(torch.equal(p, e) for p, e in zip(network.parameters(), expected, strict=True))
