"""Comparisons: pairs, labels, and how far a unit that is right generalises."""

import numpy as np
import pytest
import torch

from stable_nalu.network.dense import ComparisonNetwork
from stable_nalu.task.comparison import MAGNITUDES, RELATIONS, pairs_of_magnitude, training_pairs
from tests.training import configurations

HOLDS = {
    "gt": lambda a, b: a > b,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "le": lambda a, b: a <= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def built(words):
    torch.set_default_dtype(torch.float64)
    return configurations.built("comparison", words)


@pytest.mark.parametrize("relation", RELATIONS)
def test_labels_are_those_of_the_numbers(relation):
    task = built(f"--relation {relation} --scale 3")
    x, t = task.data[0]
    assert len(x) == (18 if relation in ("eq", "ne") else 81)
    assert x.min() == 3
    assert x.max() == 27
    for (a, b), label in zip(x.tolist(), t.flatten().tolist(), strict=True):
        assert label == HOLDS[relation](a, b)
    if relation in ("eq", "ne"):
        assert t.mean() == 0.5


@pytest.mark.parametrize("relation", ["gt", "eq"])
def test_pairs_of_a_magnitude(relation):
    for power in MAGNITUDES:
        pairs = pairs_of_magnitude(relation, 2, power, np.random.default_rng(0))
        assert {len(str(a)) for a, _ in pairs[: len(pairs) // 2]} == {power + 1}
        assert {b - a for a, b in pairs} == set(range(-10, 12, 2))
        assert {(b, a) for a, b in pairs} == set(pairs)
        equal = sum(a == b for a, b in pairs)
        assert (equal, len(pairs)) == ((20, 40) if relation == "eq" else (2, 22))


def test_floats_that_are_one_leave_as_many_pairs():
    pairs = [pairs_of_magnitude("ne", 0.1, p, np.random.default_rng(37)) for p in MAGNITUDES]
    assert set(map(len, pairs)) == {40}


def test_unequal_digits_differ_by_seed():
    drawn = [training_pairs("ne", np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert sum(a == b for a, b in drawn[0]) == 9


def test_an_exact_register_is_right_until_floats_are_one():
    task = built("--relation gt")
    model = ComparisonNetwork("NSR", copies=1)
    layer = model.layers[0].layer
    with torch.no_grad():
        layer.V.copy_(torch.tensor([50.0, -50.0])[None, :, None])
        layer.U.copy_(-layer.V)
        layer.w.fill_(60.0)
        layer.u.zero_()
        layer.b.fill_(-6.0)
    task.at = task.config.max_iterations
    found = task.measures(model)
    rows = [line.split("|")[1:3] for line in found["error/curve"].splitlines()[2:]]
    errors = {int(power): float(error) for power, error in rows}
    assert max(errors[power] for power in range(1, 15)) < 0.01
    assert errors[18] > 0.3


def test_other_units_have_two_layers_and_a_sigmoid():
    torch.manual_seed(0)
    x = torch.tensor([[-900.0, 1.0], [5.0, 900.0]])
    for unit in ("ReLU", "NALU"):
        y = ComparisonNetwork(unit, 4)(x)
        assert y.shape == (2, 1)
        assert ((y >= 0) & (y <= 1)).all()
