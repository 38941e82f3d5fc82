"""NRU: published values, both division modes, the gap between modes, penalties, trash cell."""

import math

import pytest
import torch

from stable_nalu.layer import NAULayer, ReciprocalNMULayer
from tests.layer_checks import (
    X,
    assert_equals_loop,
    assert_published,
    assert_runs_equal_singles,
    build_published,
    gates,
    randomised,
)
from tests.runs import normal

MODES = ("div", "div-sepSign")


def with_weights(values, **options):
    layer = ReciprocalNMULayer(len(values), 1, **options)
    layer.W.data = torch.tensor([values])
    return layer


@pytest.mark.parametrize(
    ("mode", "train", "evaluation"),
    [
        ("div", [-0.65579, 0.887799], [0.324962, 0.996858]),
        ("div-sepSign", [0.65579, 0.887799], [0.859156, 0.996858]),
    ],
)
def test_published_values(mode, train, evaluation):
    options = {"nac_oob": "clip", "regualizer_shape": "linear", "nru_div_mode": mode}
    assert_published(
        build_published(ReciprocalNMULayer, **options),
        parameters={"W": [-0.411523, -0.36797]},
        train=train,
        evaluation=evaluation,
        penalties={"W": 0.389746},
    )


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_output_is_the_formula(mode, training):
    layer = ReciprocalNMULayer(4, 2, nac_oob="clip", nru_div_mode=mode).double().train(training)
    layer.W.data = normal(2, 4)
    layer.W.data[0, 0] = 3e-4

    def formula(row, o):
        mixed = sign = 1.0
        for v, W in zip(row, layer.W[o].tolist(), strict=True):
            A = math.tanh(1000 * W) ** 2 if training else abs(W)
            power = abs(v) ** W
            mixed *= A * (power if mode == "div-sepSign" else math.copysign(power, v)) + 1 - A
            sign *= math.copysign(1, v) ** round(W) if mode == "div-sepSign" else 1
        return mixed * sign

    assert_equals_loop(layer, formula, normal(6, 4, seed=1) * 2)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_discrete_weights_divide_multiply_and_ignore(mode, training):
    layer = with_weights([-1.0, 1.0, 0.0], nru_div_mode=mode).train(training)
    assert layer(torch.tensor([[4.0, -6.0, 7.0]])).item() == pytest.approx(-1.5)


@pytest.mark.parametrize(("mode", "expected"), [("div", math.nan), ("div-sepSign", math.inf)])
def test_dividing_by_zero(mode, expected):
    layer = with_weights([-1.0, 1.0], nru_div_mode=mode)
    y = layer(torch.tensor([[0.0, 2.0]])).item()
    assert math.isnan(y) if math.isnan(expected) else y == expected


@pytest.mark.parametrize("mode", MODES)
def test_weight_zero_ignores_a_zero_input_and_gets_no_gradient(mode):
    layer = with_weights([0.0, 0.0], nru_div_mode=mode)
    y = layer(torch.tensor([[0.0, -3.0]]))
    assert y.item() == 1
    (gradient,) = torch.autograd.grad(y.sum(), [layer.W])
    assert gradient.tolist() == [[0, 0]]


@pytest.mark.parametrize("beta_nau", [False, True])
def test_initial_weight_is_that_of_the_nau(beta_nau):
    layers = []
    for cls in (NAULayer, ReciprocalNMULayer):
        torch.manual_seed(3)
        layers.append(cls(5, 2, beta_nau=beta_nau))
    assert torch.equal(layers[0].W, layers[1].W)


def test_penalties_on_the_raw_weight():
    layer = with_weights([-1.3, 0.25], regualizer_z=1)
    layer(X)
    penalties = {key: value.item() for key, value in layer.regualizer().items()}
    expected = {
        "W": ((1.3 * 0.3) ** 2 + (0.25 * 0.75) ** 2) / 2,
        "z": (-0.3 * 1.0**2 + 0.75 * 0.5**2) / 2,
        "W-OOB": 0.3**2 / 2,
    }
    assert penalties == pytest.approx(expected, rel=1e-5)
    layer.optimize(torch.tensor(0.0))
    assert layer.regualizer(keys={"z"})["z"].item() == 0


def test_clip_bounds_the_weight_after_a_step():
    layer = with_weights([-1.3, 1.5], nac_oob="clip", mnac_epsilon=0.125)
    layer.optimize(torch.tensor(0.0))
    assert layer.W.tolist() == [[-0.875, 1.0]]


def test_regualized_range_clamps_in_the_forward_pass():
    layer = with_weights([-1.3, 1.5], mnac_epsilon=0.125)
    assert layer(torch.tensor([[2.0, 3.0]])).item() == pytest.approx(2**-0.875 * 3)


def test_trash_cell_is_added_in_training_only():
    layer = with_weights([1.0, 1.0], trash_cell=True)
    assert layer.trash_cell.tolist() == [0]
    layer.trash_cell.data = torch.tensor([2.5])
    x = torch.tensor([[2.0, 3.0]])
    assert layer(x).item() == pytest.approx(8.5)
    assert layer.eval()(x).item() == pytest.approx(6)
    layer.reset_parameters()
    assert layer.trash_cell.tolist() == [0]
    assert dict(ReciprocalNMULayer(2, 1).named_parameters()).keys() == {"W"}


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
@pytest.mark.parametrize("mode", MODES)
def test_runs_equal_single_layers(mode, runs):
    options = {"nac_oob": "clip", "regualizer_z": 1, "nru_div_mode": mode, "trash_cell": True}
    assert_runs_equal_singles(lambda: ReciprocalNMULayer(3, 2, **options), runs)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_equal_finite_differences(mode, training):
    layer = randomised(ReciprocalNMULayer(3, 2, nru_div_mode=mode), 0.6, 0.9).train(training)
    layer.W.data[:, 0] *= -1
    x = normal(4, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, _: layer(x), (x, layer.W))


def test_rounding_of_the_sign_leaves_gradients_of_small_weights_alone():
    layer = with_weights([0.3, -0.2], nru_div_mode="div-sepSign")
    x = torch.tensor([[-2.0, -3.0]], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        gradients = torch.autograd.grad(layer(x).sum(), [x, layer.W])
    assert all(torch.isfinite(gradient).all() for gradient in gradients)


def test_logged_values_ignore_the_robustness_switch():
    layer = ReciprocalNMULayer(2, 1)
    layer.robustness_logging = True
    assert gates(layer) == {
        "histogram W": "verbose",
        "tensor W": "verbose",
        "scalar W/sparsity_error": "always",
    }


def test_unknown_mode_is_an_error():
    with pytest.raises(ValueError, match="nru_div_mode"):
        ReciprocalNMULayer(2, 1, nru_div_mode="prod")
