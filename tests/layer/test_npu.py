"""NPU: published values, formula, initial values, penalties, clipping, logged values."""

import math

import pytest
import torch

from stable_nalu.layer import NPULayer
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

EPS = 2.0**-23
PENALTIES = {"regualizer_npu_w": 1, "regualizer_gate": 1}


def with_parameters(W_real, W_im, g, **options):
    layer = NPULayer(2, 1, **options)
    layer.W_real.data = torch.tensor(W_real).unsqueeze(-1)
    layer.W_im.data = torch.tensor(W_im).unsqueeze(-1)
    layer.g.data = torch.tensor(g)
    return layer


def test_published_values():
    assert_published(
        build_published(NPULayer, **PENALTIES),
        parameters={"W_im": [0, 0], "W_real": [-1.16396, -1.04077], "g": [0.5, 0.5]},
        train=[-0.0323702, 0.67939],
        penalties={"g-NPU": 0.5, "W-NPU": 0.102368},
    )


@pytest.mark.parametrize("training", [True, False])
def test_output_is_the_formula(training):
    layer = randomised(NPULayer(3, 2), -1.5, 1.5).train(training)

    def formula(row, o):
        log_magnitude = phase = 0.0
        for i, v in enumerate(row):
            gate = min(max(layer.g[i].item(), 0), 1)
            r = gate * (abs(v) + EPS) + 1 - gate
            k = gate * math.pi * (v < 0)
            Wr, Wi = layer.W_real[i, o].item(), layer.W_im[i, o].item()
            log_magnitude += Wr * math.log(r) - Wi * k
            phase += Wr * k + Wi * math.log(r)
        return math.exp(log_magnitude) * math.cos(phase)

    assert_equals_loop(layer, formula, normal(6, 3) * 2)


def test_multiplies_divides_and_passes_over_closed_gates():
    layer = with_parameters([1.0, -1.0], [0.0, 0.0], [1.0, 1.0])
    x = torch.tensor([[6.0, -3.0], [-8.0, -2.0]])
    assert layer(x).flatten().tolist() == pytest.approx([-2, 4], rel=1e-5)
    layer.g.data = torch.tensor([1.0, 0.0])
    assert layer(x).flatten().tolist() == pytest.approx([6, -8], rel=1e-5)


def test_zero_is_a_small_positive_number():
    layer = with_parameters([1.0, 0.0], [0.0, 0.0], [1.0, 1.0])
    assert layer(torch.zeros(1, 2)).item() == pytest.approx(EPS, rel=1e-6)


@pytest.mark.parametrize(
    ("init", "bound"), [("xavier-uniform", 1.0), ("xavier-uniform-constrained", 0.5)]
)
def test_draws_one_uniform_fill_of_the_real_weight(init, bound):
    torch.manual_seed(2)
    layer = NPULayer(4, 2, npu_Wr_init=init)
    torch.manual_seed(2)
    assert torch.equal(layer.W_real.data, torch.empty(4, 2).uniform_(-bound, bound))
    assert torch.equal(layer.W_im.data, torch.zeros(4, 2))
    assert torch.equal(layer.g.data, torch.full((4,), 0.5))


def test_penalties_are_off_by_default():
    layer = NPULayer(2, 1)
    assert layer.regualizer() == {}
    assert layer.regualizer_terms() == {"g-NPU": None, "W-NPU": None}


@pytest.mark.parametrize(("clip", "imaginary"), [("none", 0.0), ("wg", 0.0), ("wig", 1.75)])
def test_penalties_on_raw_parameters(clip, imaginary):
    layer = with_parameters([-1.3, 0.25], [0.5, -1.25], [1.2, 0.4], npu_clip=clip, **PENALTIES)
    penalties = {key: value.item() for key, value in layer.regualizer().items()}
    expected = {"g-NPU": (0.2 + 0.4) / 2, "W-NPU": (0.3 + 0.75) / 2 + imaginary}
    assert penalties == pytest.approx(expected, rel=1e-6)


def test_gate_penalty_has_no_gradient_at_its_initial_value():
    layer = NPULayer(2, 1, regualizer_gate=1)
    (gradient,) = torch.autograd.grad(layer.regualizer()["g-NPU"], [layer.g])
    assert gradient.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("clip", "clipped"),
    [
        ("none", ""),
        ("w", "W_real"),
        ("g", "g"),
        ("wg", "W_real g"),
        ("wig", "W_real W_im g"),
    ],
)
def test_clip_bounds_the_named_parameters_after_a_step(clip, clipped):
    layer = with_parameters([-1.5, 1.5], [-1.5, 1.5], [-0.5, 1.5], npu_clip=clip)
    layer.optimize(torch.tensor(0.0))
    bounds = {"W_real": [-1.0, 1.0], "W_im": [-1.0, 1.0], "g": [0.0, 1.0]}
    free = {"W_real": [-1.5, 1.5], "W_im": [-1.5, 1.5], "g": [-0.5, 1.5]}
    for name, parameter in layer.named_parameters():
        expected = bounds[name] if name in clipped.split() else free[name]
        assert parameter.flatten().tolist() == expected


@pytest.mark.parametrize("runs", [(3,), (2, 3)])
def test_runs_equal_single_layers(runs):
    assert_runs_equal_singles(lambda: NPULayer(3, 2, npu_clip="wig", **PENALTIES), runs)


def test_logged_values():
    layer = with_parameters([0.9, -0.75], [0.25, 0.0], [1.5, 0.9])
    kinds = ("histogram", "tensor", "scalar")
    assert gates(layer) == {
        f"{kind} {name}{'/sparsity_error' * (kind == 'scalar')}": "always"
        if kind == "scalar"
        else "verbose"
        for name in ("W_real", "gate", "W_im")
        for kind in kinds
    }
    values = observed(layer)
    assert values["scalar", "W_real/sparsity_error"][0].item() == pytest.approx(0.25)
    assert values["scalar", "W_im/sparsity_error"][0].item() == pytest.approx(0.25)
    # Of the clamped gate: 1.5 counts as 1.
    assert values["scalar", "gate/sparsity_error"][0].item() == pytest.approx(0.1)
    layer.robustness_logging = True
    assert gates(layer)["scalar W_real/sparsity_error"] == "always"


@pytest.mark.parametrize("options", [{"npu_clip": "all"}, {"npu_Wr_init": "normal"}])
def test_unknown_option_value_is_an_error(options):
    with pytest.raises(ValueError, match="is not one of"):
        NPULayer(2, 1, **options)


def test_gradients_reach_every_parameter():
    layer = randomised(NPULayer(2, 1), 0.2, 0.8)
    gradients = torch.autograd.grad(layer(X.double()).sum(), list(layer.parameters()))
    assert all((gradient != 0).all() for gradient in gradients)
