"""iNALU: published values, formula, limits, initial values, penalty, logged values."""

import math

import pytest
import torch

from stable_nalu.layer import INALULayer
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

MATRICES = ("W_a_hat", "M_a_hat", "W_m_hat", "M_m_hat")


def sigmoid(v):
    return 1 / (1 + math.exp(-v))


def saturated(inputs, gate):
    """A layer whose weights are all 1, with gate `gate`."""
    layer = INALULayer(inputs, 1)
    for name in MATRICES:
        getattr(layer, name).data.fill_(50.0)
    layer.g.data.fill_(gate)
    return layer


def test_published_values():
    assert_published(
        build_published(INALULayer),
        parameters={
            "W_a_hat": [0.799331, 0.760673],
            "M_a_hat": [0.536407, 0.328665],
            "W_m_hat": [1.10012, 0.665763],
            "M_m_hat": [0.52454, 0.386737],
            "g": [0.0746229],
        },
        train=[0.169032, 1.18607],
        penalties={"inalu": 97.3743},
    )


@pytest.mark.parametrize("training", [True, False])
def test_output_is_the_formula(training):
    layer = randomised(INALULayer(3, 2), -1.5, 1.5).train(training)

    def weight(kind, i, o):
        W, M = (getattr(layer, f"{n}_{kind}_hat")[i, o].item() for n in "WM")
        return math.tanh(W) * sigmoid(M)

    def formula(row, o):
        gate = sigmoid(layer.g[o].item())
        add = sum(weight("a", i, o) * v for i, v in enumerate(row))
        log = sum(weight("m", i, o) * math.log(max(abs(v), 1e-7)) for i, v in enumerate(row))
        sign = 1.0
        for i, v in enumerate(row):
            mixed = abs(weight("m", i, o))
            sign *= mixed * ((v > 0) - (v < 0)) + 1 - mixed
        return gate * add + (1 - gate) * math.exp(min(log, 20)) * sign

    x = normal(6, 3) * 2
    x[0] = torch.tensor([0.0, 1e-9, -2.0])
    assert_equals_loop(layer, formula, x)


def test_gate_chooses_between_sum_and_product():
    x = torch.tensor([[3.0, -4.0]])
    assert saturated(2, 50.0)(x).item() == pytest.approx(-1)
    assert saturated(2, -50.0)(x).item() == pytest.approx(-12)


def test_product_is_limited_and_its_logarithm_too():
    layer = saturated(2, -200.0)
    assert layer(torch.tensor([[1e6, 1e6]])).item() == pytest.approx(math.exp(20))
    assert layer(torch.tensor([[1e-9, 2.0]])).item() == pytest.approx(2e-7)


def test_draws_four_matrices_and_the_gate():
    torch.manual_seed(2)
    layer = INALULayer(3, 2)
    torch.manual_seed(2)
    for name, mean in zip(MATRICES, (0.88, 0.5, 0.88, 0.5), strict=True):
        assert torch.equal(getattr(layer, name).data, torch.empty(3, 2).normal_(mean, 0.2))
    assert torch.equal(layer.g.data, torch.empty(2).normal_(0, 0.2))


def test_penalty_sums_five_means_and_has_its_gradient():
    layer = INALULayer(2, 2)
    for position, name in enumerate(MATRICES):
        getattr(layer, name).data = torch.tensor([[1.0, -2.0], [25.0, -30.0]]) + position
    layer.g.data = torch.tensor([4.0, -21.0])
    expected = (19 + 18) / 4 + (18 + 19) / 4 + (17 + 20) / 4 + (16 + 19) / 4 + 16 / 2
    penalty = layer.regualizer()["inalu"]
    assert penalty.item() == pytest.approx(expected)
    gradients = torch.autograd.grad(penalty, [layer.W_a_hat, layer.g])
    assert gradients[0].tolist() == [[-0.25, 0.25], [0, 0]]
    assert gradients[1].tolist() == [-0.5, 0]


def test_nothing_is_clipped():
    layer = saturated(2, 3.0)
    layer.optimize(torch.tensor(0.0))
    assert layer.W_a_hat.tolist() == [[50.0], [50.0]]


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_runs_equal_single_layers(runs):
    assert_runs_equal_singles(lambda: INALULayer(3, 2), runs)


def test_logged_values():
    layer = build_published(INALULayer)
    always = {f"scalar {name}/sparsity_error" for name in ("W_a", "W_m", "W", "gate")}
    verbose = {f"{kind} {name}" for kind in ("histogram", "tensor") for name in ("W_a", "W_m")}
    verbose |= {"tensor gate", "histogram gate", "scalar gate/mean"}
    verbose |= {"histogram add", "histogram mul", "histogram sign"}
    assert gates(layer) == dict.fromkeys(always, "always") | dict.fromkeys(verbose, "verbose")

    values = {key: value for key, (value, _) in observed(layer).items()}
    assert torch.equal(values["tensor", "gate"], layer.g)
    assert torch.equal(values["histogram", "gate"], torch.sigmoid(layer.g))
    gate = sigmoid(0.0746229)
    assert values["scalar", "gate/mean"].item() == pytest.approx(gate)
    assert values["scalar", "gate/sparsity_error"].item() == pytest.approx(1 - gate)
    errors = [values["scalar", f"{name}/sparsity_error"].item() for name in ("W_a", "W_m")]
    assert values["scalar", "W/sparsity_error"].item() == pytest.approx(sum(errors) / 2)
    torch.testing.assert_close(values["histogram", "add"], X @ layer.add_weights())
    assert values["histogram", "sign"][1].item() == pytest.approx(1)
    y = gate * values["histogram", "add"]
    y = y + (1 - gate) * values["histogram", "mul"] * values["histogram", "sign"]
    torch.testing.assert_close(layer(X), y)


def test_intermediate_values_are_kept_on_request_only():
    layer = INALULayer(2, 1)
    layer(X)
    assert layer.trace is None
    assert {o.name for o in layer.observations()}.isdisjoint({"add", "mul", "sign"})
