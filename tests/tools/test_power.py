"""Counts of more seeds: what they say of a published count, and of the order of units."""

import pandas as pd
import pytest
from scipy.stats import fisher_exact

from tools.power import Count

KEY = "nips-sltr-in10"
MODELS = ("realnpu_baseline", "realnpu_modified", "sign-nmru")


def count(model, *points, runs=112):
    at = " ".join(map(str, points))
    return Count(KEY, model, "div", "0-111", runs * len(points), sum(points), at, "", "")


def stored_runs(*solved):
    """Nine runs of each seed, of which so many are solved."""
    rows = [(seed, place < k) for seed, k in enumerate(solved) for place in range(9)]
    return pd.DataFrame(rows, columns=["seed", "solved"]).assign(model=MODELS[0])


def test_one_point_is_fishers_test_against_the_other_seeds():
    """NAC• of Table 1: 13 of the first 100, 231 of 900 others."""
    one = Count("simple_mul", "nac-mul", "mul", "0-999", 1000, 244, "244", "", "")
    runs = pd.DataFrame({"model": "nac-mul", "seed": range(100), "solved": [1] * 13 + [0] * 87})
    assert one.p(runs) == pytest.approx(fisher_exact([[13, 87], [231, 669]]).pvalue)
    assert one.p(runs) == pytest.approx(0.0045, abs=5e-5)


def test_several_points_have_the_variance_of_whole_seeds():
    """Seeds that solve all or nothing tell less than seeds that solve alike."""
    one = count(MODELS[0], *[83] * 9)
    varied, alike = stored_runs(*[9] * 17, *[0] * 8), stored_runs(*[6] * 12, *[7] * 13)
    assert one.p(varied) > 0.5 > 0.01 > one.p(alike)
    assert one.rate(varied).upper - one.rate(alike).upper > 0.05
