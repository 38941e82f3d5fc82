"""Layers over a weight in [-1, 1] or [0, 1]: penalties by formula, and how steps clip them."""

import pytest
import torch

from stable_nalu.layer import entries
from tests.layer_checks import values_of
from tests.layer_values import X

EPS = 0.125
OF_RECIPROCALS = ("NMRU", "SignNMRU", "GatedSignNMRU")
UNIT = ("ReRegualizedLinearPosNAC", "ReRegualizedLinearMNAC", "SillyReRegualizedLinearMNAC")
# Key -> the penalty's kind of weight, and the range that steps keep it in for `mnac_epsilon` EPS.
RANGED = {
    **{"ReRegualizedLinearNAC": ("nac", (-1, 1)), "NRU": ("nac", (EPS - 1, 1))},
    **dict.fromkeys((*UNIT, *OF_RECIPROCALS), ("mnac", (EPS, 1))),
}
UNBOUNDED = {"RegualizedLinearNAC": "nac", "RegualizedLinearMNAC": "mnac"}
SUPPORTS = {key: support for key, (support, _) in RANGED.items()} | UNBOUNDED
W = torch.tensor([-1.5, -1.0, -0.7, -0.2, 0.0, 0.3, 0.5, 0.8, 1.0, 1.7])


def build(key, **options):
    """A layer of as many weights, to one output."""
    entry = entries()[key]
    options = {name: value for name, value in options.items() if name in entry.options}
    layer = entry.layer(len(W) // (2 if key in OF_RECIPROCALS else 1), 1, **options)
    layer.W.data = W[None].clone()
    return layer


@pytest.mark.parametrize("shape", ["linear", "squared", "none"])
@pytest.mark.parametrize("key", SUPPORTS)
def test_penalties_are_those_of_raw_weights(key, shape):
    layer = build(key, regualizer_shape=shape)
    size = W.abs() if SUPPORTS[key] == "nac" else W
    bias = torch.minimum(size.abs(), (1 - size).abs()) if shape == "linear" else size * (1 - size)
    over = (size - 1).clamp(min=0) + (-size).clamp(min=0)
    power = 1 if shape == "linear" else 2
    expected = {"W": (bias**power).mean().item(), "W-OOB": (over**power).mean().item()}
    if key in UNBOUNDED:
        del expected["W-OOB"]
    expected = {} if shape == "none" else expected
    assert values_of(layer.regualizer()) == pytest.approx(expected, rel=1e-5)
    if key in RANGED:
        clipped = build(key, regualizer_shape=shape, nac_oob="clip").regualizer()
        assert clipped.keys() == expected.keys() - {"W-OOB"}


@pytest.mark.parametrize(
    "key", [key for key in SUPPORTS if "regualizer_z" in entries()[key].options]
)
def test_the_penalty_z_counts_mean_inputs_whose_weight_is_not_one(key):
    """Of an NMRU, test_division.py says which inputs those are."""
    layer = build(key, regualizer_z=0.5, regualizer_shape="none")
    if key not in OF_RECIPROCALS:
        x = X.repeat(1, 5)
        layer(x)
        mean = x.mean(0)
        terms = (1 - W.abs()) * mean**2 if SUPPORTS[key] == "nac" else (1 - W) * (1 - mean) ** 2
        assert layer.regualizer()["z"].item() == pytest.approx(terms.mean().item(), rel=1e-5)
    layer.optimize(torch.tensor(0.0))
    assert layer.regualizer()["z"].item() == 0


@pytest.mark.parametrize("key", RANGED)
def test_a_step_clips_weights_if_asked_to(key):
    layer = build(key, nac_oob="clip", mnac_epsilon=EPS)
    layer.optimize(torch.tensor(0.0))
    assert torch.equal(layer.W[0], W.clamp(*RANGED[key][1]))
    layer = build(key, mnac_epsilon=EPS)
    layer.optimize(torch.tensor(0.0))
    assert torch.equal(layer.W[0], W)
