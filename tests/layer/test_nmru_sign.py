"""NMRU with sign retrieval: published values, formula, raw and clamped weights, noise."""

import math

import pytest
import torch

from stable_nalu.layer import ConcatReciprocalNMUSignRetrievalLayer as SignNMRU
from tests.layer_checks import (
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
    layer = SignNMRU(len(values) // 2, 1, **options)
    layer.W.data = torch.tensor([values])
    return layer


def test_published_values():
    assert_published(
        build_published(SignNMRU, nac_oob="clip", regualizer_shape="linear"),
        parameters={"W": [0.403711, 0.567039, 0.495047, 0.698222]},
        train=[-0.688252, 1.36116],
        penalties={"W": 0.408374},
    )


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("oob", ["clip", "regualized"])
def test_output_is_the_formula_whose_sign_takes_the_raw_weight(oob, training):
    layer = randomised(SignNMRU(3, 2, nac_oob=oob), -0.3, 1.3).train(training)

    def formula(row, o):
        z = [*row, *(1 / (v + EPS * training) for v in row)]
        magnitude, phase = 1.0, 0.0
        for v, raw in zip(z, layer.W[o].tolist(), strict=True):
            W = raw if oob == "clip" else min(max(raw, 0), 1)
            magnitude *= W * abs(v) + 1 - W
            phase += raw * math.pi * (v < 0)
        return magnitude * math.cos(phase)

    assert_equals_loop(layer, formula, normal(6, 3) * 2)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("x", "y"), [((6, -4), -1.5), ((-6, -4), 1.5), ((-6, 4), -1.5)])
def test_discrete_weights_divide_signed_inputs(x, y, training):
    layer = with_weights([1.0, 0.0, 0.0, 1.0]).train(training)
    assert layer(torch.tensor([x], dtype=torch.float32)).item() == pytest.approx(y)


def test_noise_acts_on_magnitudes_in_training_and_is_undone():
    layer = with_weights([0.4, 0.7, 0.2, 0.9], nmu_noise=True, noise_range=[2, 3])
    x = torch.tensor([[1.5, -2.0]])
    torch.manual_seed(4)
    y = layer(x).item()
    torch.manual_seed(4)
    noise = torch.empty(1, 4).uniform_(2, 3)[0].tolist()
    upper = lower = 1.0
    for v, n, w in zip([1.5, 2.0, 1 / 1.5, 0.5], noise, layer.W[0].tolist(), strict=True):
        upper *= w * v * n + 1 - w
        lower *= w * n + 1 - w
    assert y == pytest.approx(upper / lower * math.cos(math.pi * (0.7 + 0.9)), rel=1e-5)
    state = torch.get_rng_state()
    layer.eval()(x)
    assert torch.equal(state, torch.get_rng_state())


def test_noise_range_of_the_batch_kind_is_refused_when_noise_is_on():
    with pytest.raises(ValueError, match="SignNMRU draws noise"):
        SignNMRU(2, 1, nmu_noise=True, noise_range=[1, 0])
    SignNMRU(2, 1, noise_range=[1, 0])


def test_z_penalty_sees_magnitudes():
    layer = with_weights([0.5, 0.25], regualizer_z=1).eval()
    layer(torch.tensor([[-2.0], [-4.0]]))
    expected = (0.5 * (1 - 3) ** 2 + 0.75 * (1 - 0.375) ** 2) / 2
    assert layer.regualizer(keys={"z"})["z"].item() == pytest.approx(expected)


def test_clip_bounds_the_weight_after_a_step():
    layer = with_weights([-0.5, 1.5], nac_oob="clip")
    layer.optimize(torch.tensor(0.0))
    assert layer.W.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
@pytest.mark.parametrize("oob", ["clip", "regualized"])
def test_runs_equal_single_layers(oob, runs):
    assert_runs_equal_singles(lambda: SignNMRU(3, 2, nac_oob=oob, regualizer_z=1), runs)


@pytest.mark.parametrize("robustness", [False, True])
def test_logged_values_swap_their_gates_in_robustness_experiments(robustness):
    layer = SignNMRU(2, 1)
    layer.robustness_logging = robustness
    text, scalar = ("always", "verbose") if robustness else ("verbose", "always")
    assert gates(layer) == {
        "histogram W": "verbose",
        "tensor W": text,
        "scalar W/sparsity_error": scalar,
    }


def test_normalisation_is_no_option():
    with pytest.raises(TypeError):
        SignNMRU(2, 1, mnac_normalized=True)
