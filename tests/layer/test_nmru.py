"""NMRU without sign retrieval: published values, formula, reciprocals, noise, penalties."""

import math

import pytest
import torch

from stable_nalu.layer import ConcatReciprocalNMULayer
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

EPS = 2.0**-23


def with_weights(values, **options):
    layer = ConcatReciprocalNMULayer(len(values) // 2, 1, **options)
    layer.W.data = torch.tensor([values])
    return layer


def product(z, W):
    return math.prod(w * v + 1 - w for v, w in zip(z, W, strict=True))


def test_published_values():
    layer = build_published(ConcatReciprocalNMULayer, nac_oob="clip", regualizer_shape="linear")
    assert_published(
        layer,
        parameters={"W": [0.403711, 0.567039, 0.495047, 0.698222]},
        train=[0.0333036, 1.36116],
        penalties={"W": 0.408374},
    )


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("oob", ["clip", "regualized"])
def test_output_is_the_formula(oob, training):
    layer = randomised(ConcatReciprocalNMULayer(3, 2, nac_oob=oob), -0.3, 1.3).train(training)

    def formula(row, o):
        z = [*row, *(1 / (v + EPS * training) for v in row)]
        W = layer.W[o].tolist()
        return product(z, W if oob == "clip" else [min(max(w, 0), 1) for w in W])

    assert_equals_loop(layer, formula, normal(6, 3) * 2)


@pytest.mark.parametrize("training", [True, False])
def test_discrete_weights_multiply_by_the_first_half_and_divide_by_the_second(training):
    layer = with_weights([1.0, 0.0, 0.0, 1.0]).train(training)
    assert layer(torch.tensor([[6.0, -4.0]])).item() == pytest.approx(-1.5)


def test_reciprocal_of_zero_is_finite_in_training_only():
    layer = with_weights([1.0, 0.0, 0.0, 1.0])
    x = torch.tensor([[3.0, 0.0]])
    assert layer(x).item() == pytest.approx(3 / EPS)
    assert layer.eval()(x).item() == math.inf
    layer.W.data = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    assert math.isnan(layer(x).item())


def test_draws_one_uniform_fill():
    torch.manual_seed(2)
    layer = ConcatReciprocalNMULayer(3, 2)
    torch.manual_seed(2)
    assert torch.equal(layer.W.data, torch.empty(2, 6).uniform_(0.25, 0.75))


def test_noise_acts_in_training_on_both_halves_and_is_undone():
    layer = with_weights([0.4, 0.7, 0.2, 0.9], nmu_noise=True)
    x = torch.tensor([[1.5, -2.0], [0.5, 3.0]])
    torch.manual_seed(4)
    noisy = layer(x)
    torch.manual_seed(4)
    noise = torch.empty(2, 4).uniform_(1, 5).tolist()
    W = layer.W[0].tolist()
    for y, row, n in zip(noisy.flatten().tolist(), x.tolist(), noise, strict=True):
        z = [*row, *(1 / (v + EPS) for v in row)]
        scaled = [a * b for a, b in zip(z, n, strict=True)]
        assert y == pytest.approx(product(scaled, W) / product(n, W), rel=1e-5)
    state = torch.get_rng_state()
    layer.eval()(x)
    assert torch.equal(state, torch.get_rng_state())


def test_normalised_product_divides_by_the_deviation_of_inputs_and_reciprocals():
    layer = with_weights([0.4, 0.7, 0.2, 0.9], mnac_normalized=True).eval()
    z = torch.cat((X, 1 / X), dim=1)
    c, W = z.std().item(), layer.W[0].tolist()
    expected = [product([v / c for v in row], W) * c ** sum(W) for row in z.tolist()]
    assert layer(X).flatten().tolist() == pytest.approx(expected, rel=1e-5)


def test_penalties_on_the_raw_weight():
    layer = with_weights([-0.3, 0.25, 1.5, 1.0], regualizer_shape="linear", regualizer_z=1).eval()
    layer(torch.tensor([[0.5, 2.0]]))
    penalties = {key: value.item() for key, value in layer.regualizer().items()}
    z = [0.5, 2.0, 2.0, 0.5]
    expected = {
        "W": (0.3 + 0.25 + 0.5 + 0) / 4,
        "z": sum((1 - w) * (1 - v) ** 2 for w, v in zip(layer.W[0].tolist(), z, strict=True)) / 4,
        "W-OOB": (0.3 + 0.5) / 4,
    }
    assert penalties == pytest.approx(expected, rel=1e-5)
    layer.optimize(torch.tensor(0.0))
    assert layer.regualizer(keys={"z"})["z"].item() == 0


def test_clip_bounds_the_weight_after_a_step():
    layer = with_weights([-0.5, 1.5], nac_oob="clip", mnac_epsilon=0.125)
    layer.optimize(torch.tensor(0.0))
    assert layer.W.tolist() == [[0.125, 1.0]]


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
@pytest.mark.parametrize("normalized", [True, False])
def test_runs_equal_single_layers(normalized, runs):
    options = {"nac_oob": "clip", "regualizer_z": 1, "mnac_normalized": normalized}
    assert_runs_equal_singles(lambda: ConcatReciprocalNMULayer(3, 2, **options), runs)


def test_logged_values_ignore_the_robustness_switch():
    layer = ConcatReciprocalNMULayer(2, 1)
    layer.robustness_logging = True
    assert gates(layer) == {
        "histogram W": "verbose",
        "tensor W": "verbose",
        "scalar W/sparsity_error": "always",
    }


def test_noise_range_is_no_option():
    with pytest.raises(TypeError):
        ConcatReciprocalNMULayer(2, 1, noise_range=(1, 5))
