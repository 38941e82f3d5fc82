"""Means and steps beside published ones, in the table that the page is made of."""

from dataclasses import replace

import pytest

from stable_nalu.paper.published import published, published_seeds
from stable_nalu.result import compare
from tests.result.test_compare import found, made_up, point_of
from tools.long_table import mean_verdict, steps_verdict


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
        return steps_verdict(one, runs)

    told = "9 of 10 at the same step; 1 sooner, 0 later, p = 1"
    assert verdict(ours) == (compare.CHOSEN, told)
    kind, words = verdict([step + 1000 for step in ours])
    assert (kind, "9 later" in words) == (compare.DIFFERS, True)
    short = replace(one, length=(1000, 200_000))
    assert steps_verdict(short, made_up(*names[1:], range(10), 10)) == (None, None)
    assert mean_verdict(one, one.published.sparsity, "sparse.error") is None


def beside(known, summary, runs):
    """A point with a made-up summary."""
    of = {"model": known.model, "label": known.model, "published": known}
    return compare.RatePoint(**of, solved=1, runs=runs, summary=summary)


@pytest.mark.parametrize(
    ("ends", "verdict"),
    [
        ((14000, 13900, 14100), compare.WITHIN_PERCENT),
        ((14000, 12000, 16000), compare.CANNOT_TELL),
        ((17900, 17000, 18500), compare.DIFFERS),
        ((14000, float("nan"), float("nan")), None),
    ],
)
def test_means(ends, verdict):
    known = point_of("simple_mul", "nmu", "mul")
    summary = {
        f"converged.at.{k}": v for k, v in zip(("mean", "lower", "upper"), ends, strict=True)
    }
    assert steps_verdict(beside(known, summary, 100), None) == (verdict, verdict)


@pytest.mark.parametrize(
    ("upper", "verdict"), [(4e-5, "below the limit"), (6e-5, compare.CANNOT_TELL)]
)
def test_limits(upper, verdict):
    rows = published("function_task_static_mul_hidden_size")
    known = next(row for row in rows if row.model == "nmu" and row.point == "2")
    summary = {"sparse.error.mean": 3e-5, "sparse.error.lower": 2e-5, "sparse.error.upper": upper}
    one = beside(known, summary, known.runs)
    assert mean_verdict(one, known.sparsity, "sparse.error") == verdict
    # Some of the published seeds are no sample of all.
    assert mean_verdict(replace(one, runs=2), known.sparsity, "sparse.error") is None
