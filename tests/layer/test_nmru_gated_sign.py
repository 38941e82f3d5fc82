"""Gated NMRU: published values, the gate's place and range, penalties, logged values."""

import math

import pytest
import torch

from stable_nalu.layer import ConcatReciprocalNMUGatedSignRetrievalLayer as GatedSignNMRU
from tests.layer_checks import (
    assert_equals_loop,
    assert_published,
    assert_runs_equal_singles,
    build_published,
    gates,
    observed,
    randomised,
)
from tests.runs import normal

EPS = 2.0**-23


def with_parameters(W, g, **options):
    layer = GatedSignNMRU(len(g) // 2, 1, **options)
    layer.W.data, layer.g.data = torch.tensor([W]), torch.tensor(g)
    return layer


def test_published_values():
    options = {"nac_oob": "clip", "regualizer_shape": "linear", "regualizer_gate": 1}
    assert_published(
        build_published(GatedSignNMRU, **options),
        parameters={"W": [0.403711, 0.567039, 0.495047, 0.698222], "g": [0.5] * 4},
        train=[-0.192926, 0.374197],
        penalties={"W": 0.408374, "g-NPU": 0.5},
    )


@pytest.mark.parametrize("training", [True, False])
def test_output_is_the_formula_with_an_unclamped_gate(training):
    layer = randomised(GatedSignNMRU(3, 2, nac_oob="clip"), -0.5, 1.5).train(training)

    def formula(row, o):
        z = [*row, *(1 / (v + EPS * training) for v in row)]
        magnitude, phase = 1.0, 0.0
        for v, g, W in zip(z, layer.g.tolist(), layer.W[o].tolist(), strict=True):
            magnitude *= W * abs(g * v) + 1 - W
            phase += W * math.pi * (g * v < 0)
        return magnitude * math.cos(phase)

    assert_equals_loop(layer, formula, normal(6, 3) * 2)


def test_closed_gate_gives_zero_not_one():
    layer = with_parameters([1.0, 0.0], [0.0, 1.0])
    assert layer(torch.tensor([[3.0]])).item() == 0


def test_noise_is_drawn_from_one_to_five():
    layer = with_parameters([0.4, 0.9], [0.5, 0.25], nmu_noise=True)
    torch.manual_seed(4)
    y = layer(torch.tensor([[3.0]])).item()
    torch.manual_seed(4)
    n, m = torch.empty(1, 2).uniform_(1, 5)[0].tolist()
    upper = (0.4 * 1.5 * n + 0.6) * (0.9 * 0.25 / 3 * m + 0.1)
    assert y == pytest.approx(upper / ((0.4 * n + 0.6) * (0.9 * m + 0.1)), rel=1e-5)


@pytest.mark.parametrize(
    ("oob", "W", "g"),
    [("clip", [0.0, 1.0], [0.0, 1.0]), ("regualized", [-0.5, 1.5], [-0.25, 1.25])],
)
def test_clip_bounds_weight_and_gate_after_a_step(oob, W, g):
    layer = with_parameters([-0.5, 1.5], [-0.25, 1.25], nac_oob=oob)
    layer.optimize(torch.tensor(0.0))
    assert layer.W.tolist() == [W]
    assert layer.g.tolist() == g


def test_gate_penalty_is_on_the_raw_gate_and_off_by_default():
    layer = with_parameters([0.5, 0.5], [-0.25, 0.9], regualizer_gate=1)
    assert layer.regualizer()["g-NPU"].item() == pytest.approx((0.25 + 0.1) / 2)
    assert GatedSignNMRU(1, 1).regualizer_terms()["g-NPU"] is None


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_runs_equal_single_layers(runs):
    options = {"nac_oob": "clip", "regualizer_gate": 1, "regualizer_z": 1}
    assert_runs_equal_singles(lambda: GatedSignNMRU(3, 2, **options), runs)


def test_logged_values():
    layer = with_parameters([0.5, 0.5, 0.5, 0.5], [1.25, 0.0, 0.9, 1.0])
    layer.robustness_logging = True
    names = {"W", "gate"}
    assert gates(layer) == (
        {f"histogram {name}": "verbose" for name in names}
        | {f"tensor {name}": "verbose" for name in names}
        | {f"scalar {name}/sparsity_error": "always" for name in names}
    )
    assert observed(layer)["scalar", "gate/sparsity_error"][0].item() == pytest.approx(0.25)
