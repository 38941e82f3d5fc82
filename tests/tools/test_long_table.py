"""The long table: means, steps and differences that several runs of one seed can show."""

from copy import copy

import pandas as pd
import pytest
from scipy.stats import fisher_exact

from stable_nalu.paper.published import published_seeds
from stable_nalu.result import judged as compare
from stable_nalu.statistics.summary import STEP
from tests.result.test_compare import found, made_up
from tools.headline import Count
from tools.long_table import ERROR, mean_verdict, verdict_of


def test_steps_of_chosen_seeds_are_compared_with_those_of_the_same_seeds():
    """The mean of seeds 0 to 9 of an NAU on sums is 18,000 there, that of 100 is 189,570."""
    names = ("function_task_static_all", "nau", "add")
    theirs = next(
        one.solved_at
        for one in published_seeds(names[0])
        if (one.model, one.operation) == names[1:]
    )
    ours = [theirs[seed] for seed in range(9)] + [theirs[9] - 1000]
    one = found(*names, range(10), 10)

    def verdict(steps):
        runs = made_up(*names[1:], range(10), 10, **{"extrapolation.step.solved": steps})
        return verdict_of(one, runs, STEP)

    actual = "9 of 10 at the same step; 1 sooner, 0 later, p = 1"
    assert verdict(ours) == (compare.CHOSEN, actual)
    kind, words = verdict([step + 1000 for step in ours])
    assert (kind, "9 later" in words) == (compare.DIFFERS, True)
    short = copy(one)
    short.length = (1000, 200_000)
    assert verdict_of(short, made_up(*names[1:], range(10), 10), STEP) == (None, None)
    assert mean_verdict(one, one.published.sparsity, "sparse.error") is None


def test_means_of_known_seeds_are_compared_by_seed():
    """Every sparsity error a fifth higher, which intervals of both means would not tell."""
    names = ("function_task_static_all", "nmu", "mul")
    known = next(o for o in published_seeds(names[0]) if (o.model, o.operation) == names[1:])
    solved = [seed in known.solved_at for seed in range(100)]
    theirs = [known.sparsity.get(seed, float("nan")) for seed in range(100)]
    columns = {"extrapolation.step.solved": [known.solved_at.get(s) for s in range(100)]}
    higher = columns | {ERROR: [1.2 * value for value in theirs]}
    one = found(*names, range(100), solved, **higher)
    runs = made_up(*names[1:], range(100), solved, **higher)
    assert verdict_of(one, runs, ERROR) == (compare.DIFFERS, "by seed +20 [+20,+20] %")
    # The steps are the published ones, and so are their mean and interval as printed.
    assert verdict_of(one, runs, STEP) == (compare.EQUAL, compare.EQUAL)


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
