"""NAU: formula, initial values, noise, penalties, clipping."""

import math

import pytest
import torch

from stable_nalu.layer import NAULayer, ReRegualizedLinearNACLayer

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]])


def with_weights(values, **options):
    layer = NAULayer(len(values), 1, **options)
    layer.W.data = torch.tensor([values])
    return layer


def test_published_values():
    torch.manual_seed(0)
    layer = ReRegualizedLinearNACLayer(2, 1, nac_oob="clip", regualizer_shape="linear")
    layer.reset_parameters()
    W = torch.tensor([[-0.411523, -0.36797]])
    torch.testing.assert_close(layer.W.data, W, rtol=5e-6, atol=0)
    y = torch.tensor([[0.118655], [-1.30967]])
    torch.testing.assert_close(layer(X).detach(), y, rtol=5e-6, atol=0)
    assert layer.regualizer().keys() == {"W"}
    assert layer.regualizer()["W"].item() == pytest.approx(0.389746, rel=5e-6)


@pytest.mark.parametrize("oob", ["regualized", "clip"])
def test_output_is_the_formula_with_clamped_weights_in_both_modes(oob):
    layer = with_weights([-1.7, 0.25, 1.2], nac_oob=oob)
    x = torch.tensor([[2.0, -3.0, 5.0], [-1.0, 0.5, 4.0]])
    expected = [sum(w * v for w, v in zip([-1, 0.25, 1], row, strict=True)) for row in x.tolist()]
    assert layer(x).flatten().tolist() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("fans", "bound"), [((2, 1), 0.5), ((100, 2), math.sqrt(6 / 102))])
def test_draws_one_uniform_fill(fans, bound):
    torch.manual_seed(2)
    layer = NAULayer(*fans)
    torch.manual_seed(2)
    assert torch.equal(layer.W.data, torch.empty(fans[::-1]).uniform_(-bound, bound))


def test_beta_initialisation_is_a_scaled_beta_sample():
    torch.manual_seed(2)
    layer = NAULayer(4, 3, beta_nau=True)
    torch.manual_seed(2)
    seven = torch.tensor([7.0])
    expected = 2 * torch.distributions.Beta(seven, seven).sample((3, 4)).squeeze(-1) - 1
    assert torch.equal(layer.W.data, expected)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ("linear", {"W": (0.3 + 0.25 + 0.5) / 3, "W-OOB": (0.3 + 0.5) / 3}),
        (
            "squared",
            {
                "W": ((1.3 * 0.3) ** 2 + (0.25 * 0.75) ** 2 + (1.5 * 0.5) ** 2) / 3,
                "W-OOB": (0.3**2 + 0.5**2) / 3,
            },
        ),
        ("none", {}),
    ],
)
def test_penalties_on_the_raw_weight(shape, expected):
    layer = with_weights([-1.3, 0.25, 1.5], regualizer_shape=shape)
    penalties = {key: value.item() for key, value in layer.regualizer().items()}
    assert penalties == pytest.approx(expected, rel=1e-5)


def test_z_penalty_uses_the_raw_weight():
    layer = with_weights([-1.3, 0.25], regualizer_z=1)
    layer(X)
    expected = (-0.3 * 1.0**2 + 0.75 * 0.5**2) / 2
    assert layer.regualizer(keys={"z"})["z"].item() == pytest.approx(expected, rel=1e-5)


def test_clip_bounds_the_weight_after_a_step_and_drops_its_penalty():
    layer = with_weights([-1.3, 1.5], nac_oob="clip")
    assert layer.regualizer().keys() == {"W"}
    layer.optimize(torch.tensor(0.0))
    assert layer.W.tolist() == [[-1.0, 1.0]]


def test_unknown_range_mode_is_an_error():
    with pytest.raises(ValueError, match="nac_oob"):
        NAULayer(2, 1, nac_oob="clamp")


def test_noise_is_uniform_within_the_inverse_variance_and_leaves_the_value():
    layer = with_weights([0.5, -0.75], nau_noise=True, regualizer_z=1)
    amplitude = 1 / X.flatten().var().item()
    torch.manual_seed(4)
    y = layer(X)
    torch.manual_seed(4)
    noise = torch.empty(2, 2).uniform_(-amplitude, amplitude)
    W = layer.W
    assert torch.equal(y, (X + noise) @ W.T - noise @ W.T)
    torch.testing.assert_close(y, X @ W.T)
    mean = (X + noise).mean(0)
    expected = ((1 - W[0].abs()) * mean**2).mean()
    torch.testing.assert_close(layer.regualizer(keys={"z"})["z"], expected)


def test_only_eval_switches_the_noise_off():
    layer = with_weights([0.5, -0.75], nau_noise=True)
    state = torch.get_rng_state()
    layer.eval()
    layer(X)
    assert torch.equal(state, torch.get_rng_state())
    layer.train()
    with layer.no_random():
        layer(X)
    assert not torch.equal(state, torch.get_rng_state())


def test_logs_the_clamped_weight_and_follows_robustness_logging():
    layer = with_weights([-1.3, 0.25])
    assert layer.observations()[0].value().tolist() == [[-1.0, 0.25]]
    assert [o.verbose_only for o in layer.observations()] == [True, True, False]
    layer.robustness_logging = True
    assert [o.verbose_only for o in layer.observations()] == [True, False, True]
