"""Comparisons: pairs, labels, and how far a unit that is right generalises."""

import numpy as np
import pytest
import torch

from stable_nalu.task.comparison import RELATIONS, ComparisonNetwork, training_pairs
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
