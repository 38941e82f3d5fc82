"""NALU and G-NALU: published values and the formula of every multiplicative path."""

import math

import pytest
import torch

from stable_nalu.layer import NALUCell, NALULayer

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])
GOLDEN = {
    "nalu_gate": "golden-ratio",
    "nalu_mul": "golden-ratio",
    "nac_weight": "golden-ratio",
}
PHI = (1 + math.sqrt(5)) / 2


def sigmoid(v, base=math.e):
    return 1 / (1 + base**-v)


def weight(nac, o, i, base=math.e):
    """A NAC weight in Python floats."""
    w_hat, m_hat = nac.W_hat[o, i].item(), nac.M_hat[o, i].item()
    return (base ** (2 * w_hat) - 1) / (base ** (2 * w_hat) + 1) * sigmoid(m_hat, base)


@pytest.mark.parametrize(
    ("options", "parameters", "y"),
    [
        (
            {},
            {
                "nac_add.W_hat": [-0.187659, 7.50978],
                "nac_add.M_hat": [-0.840531, 2.50625],
                "G_add": [-0.427394, -0.277985],
            },
            [0.0418541, 2.83816],
        ),
        (
            {"nalu_two_nac": True},
            {
                "nac_add.W_hat": [-2.86238, -1.86175],
                "nac_add.M_hat": [-9.04849, -6.27274],
                "nac_mul.W_hat": [-3.90433, 0.350855],
                "nac_mul.M_hat": [3.74438, 5.68306],
                "G_add": [-0.958753, -0.615837],
            },
            [0.470076, 2.59191],
        ),
        (
            GOLDEN,
            {
                "nac_add.W_hat": [-0.187659, 7.50978],
                "nac_add.M_hat": [-0.840531, 2.50625],
                "G_add": [-0.427394, -0.277985],
            },
            [0.0773439, 2.34832],
        ),
    ],
    ids=["NALU", "two_nac", "G-NALU"],
)
def test_published_values(options, parameters, y):
    torch.manual_seed(0)
    layer = NALULayer(2, 1, **options)
    layer.reset_parameters()
    actual = {name: p.flatten().tolist() for name, p in layer.named_parameters()}
    assert actual.keys() == parameters.keys()
    for name, values in parameters.items():
        assert actual[name] == pytest.approx(values, rel=5e-6)
    for mode in (True, False):
        layer.train(mode)
        assert layer(X).flatten().tolist() == pytest.approx(y, rel=5e-6)
    assert layer.regualizer() == {}


def dot(W, values):
    return sum(w * v for w, v in zip(W, values, strict=True))


PATHS = {
    "normal": lambda x, W: math.exp(dot(W, [math.log(abs(v) + 1e-7) for v in x])),
    "safe": lambda x, W: math.exp(dot(W, [math.log(abs(v - 1) + 1) for v in x])),
    "max-safe": lambda x, W: math.exp(dot(W, [math.log(max(v - 1, 0) + 1) for v in x])),
    "trig": lambda x, W: math.sinh(dot(W, [math.log(v + math.sqrt(v * v + 1) + 1e-7) for v in x])),
    "golden-ratio": lambda x, W: math.prod((abs(v) + 1e-7) ** w for v, w in zip(x, W, strict=True)),
}


@pytest.mark.parametrize("two_nac", [False, True])
@pytest.mark.parametrize("mul", PATHS)
def test_output_is_the_formula(mul, two_nac):
    torch.manual_seed(1)
    layer = NALULayer(4, 3, nalu_mul=mul, nalu_two_nac=two_nac).double()
    nac_mul = layer.nac_mul if two_nac else layer.nac_add
    x = 2 * torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b, row in enumerate(x.tolist()):
        for o in range(3):
            g = sigmoid(sum(layer.G_add[o, i].item() * row[i] for i in range(4)))
            a = sum(weight(layer.nac_add, o, i) * row[i] for i in range(4))
            m = PATHS[mul](row, [weight(nac_mul, o, i) for i in range(4)])
            assert y[b, o].item() == pytest.approx(g * a + (1 - g) * m, rel=1e-10, abs=1e-12)


def test_golden_ratio_replaces_e_in_weights_gate_and_product():
    torch.manual_seed(1)
    layer = NALULayer(4, 3, **GOLDEN).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b, row in enumerate(x.tolist()):
        for o in range(3):
            g = sigmoid(sum(layer.G_add[o, i].item() * row[i] for i in range(4)), PHI)
            W = [weight(layer.nac_add, o, i, PHI) for i in range(4)]
            a = dot(W, row)
            expected = g * a + (1 - g) * PATHS["golden-ratio"](row, W)
            assert y[b, o].item() == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_mnac_path_multiplies_with_sigmoid_weights():
    torch.manual_seed(1)
    layer = NALULayer(4, 3, nalu_mul="mnac", nalu_two_nac=True).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b, row in enumerate(x.tolist()):
        for o in range(3):
            g = sigmoid(sum(layer.G_add[o, i].item() * row[i] for i in range(4)))
            a = sum(weight(layer.nac_add, o, i) * row[i] for i in range(4))
            m = 1.0
            for i in range(4):
                w = sigmoid(layer.nac_mul.W_hat[o, i].item())
                m *= w * row[i] + 1 - w
            assert y[b, o].item() == pytest.approx(g * a + (1 - g) * m, rel=1e-10)


def test_z_penalty_of_a_shared_nac_counts_the_input_in_log_space_too():
    layer = NALULayer(2, 1, regualizer_z=1)
    layer(X)
    W = layer.nac_add.weights()[0]
    mean = torch.cat((X, torch.log(X.abs() + 1e-7))).mean(0)
    expected = ((1 - W.abs()) * mean**2).mean()
    torch.testing.assert_close(layer.regualizer()["z"], expected)


def test_z_penalties_of_two_nacs_are_added():
    layer = NALULayer(2, 1, regualizer_z=1, nalu_two_nac=True)
    layer(X)
    inputs = ((layer.nac_add, X), (layer.nac_mul, torch.log(X.abs() + 1e-7)))
    expected = sum(((1 - nac.weights()[0].abs()) * x.mean(0) ** 2).mean() for nac, x in inputs)
    torch.testing.assert_close(layer.regualizer()["z"], expected)


def test_cell_builds_on_input_and_state():
    cell = NALUCell(2, 3, nalu_two_nac=True, nac_weight="golden-ratio")
    assert cell.op.nac_mul.W_hat.shape == (3, 5)
    assert cell.op.nac_mul.nac_weight == "golden-ratio"
    assert (cell.namespace, cell.op.namespace) == ("recurrent", "nalu")
