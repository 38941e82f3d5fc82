"""Numbers beside those that were given elsewhere, and what kept runs of NALUs say of claims."""

import pandas as pd
import pytest

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import published
from stable_nalu.result import judged as compare
from stable_nalu.statistics.intervals import difference, wilson


def point_of(key, model, operation):
    wanted = (model, operation)
    return next(p for p in published(key) if (p.model, p.operation) == wanted)


def made_up(model, operation, seeds, solved, **columns):
    """Runs of which that many are solved, from the front."""
    runs = pd.DataFrame({"model": model, "operation": operation, "seed": list(seeds)})
    runs["solved"] = solved if isinstance(solved, list) else [i < solved for i in range(len(runs))]
    runs[["extrapolation.step.solved", "sparse.error.max"]] = float("nan")
    return runs.assign(**columns)


def found(key, model, operation, seeds, solved, **columns):
    """The comparison of made-up runs."""
    runs = made_up(model, operation, seeds, solved, **columns)
    return compare.RatePoint(EXPERIMENTS[key], runs, "", point_of(key, model, operation))


@pytest.mark.parametrize(
    ("solved", "verdict"),
    [(192, "equal"), (191, "inconclusive"), (210, "differs"), (169, "differs")],
)
def test_rates_beside_192_of_225(solved, verdict):
    one = found("nips-sltr-in10", "realnpu_modified", "div", range(225), solved)
    assert one.verdict == verdict
    assert one.gap == difference(wilson(solved, 225), wilson(192, 225))


def test_runs_of_one_seed_count_together():
    """Nine copies of the same 25 outcomes are no more than 25."""
    names = ("nips-sltr-in10", "realnpu_modified", "div")
    outcomes = [seed < 21 for seed in range(25)] * 9
    copies = found(*names, list(range(25)) * 9, outcomes)
    alone = found(*names, range(225), outcomes)
    assert copies.gap.upper - copies.gap.lower > 2.5 * (alone.gap.upper - alone.gap.lower)


@pytest.mark.parametrize(
    ("operation", "seeds", "solved", "said"),
    [
        ("mul", [0, 1, 2, 3, 70, 85], 4, "6 of 6 seeds (0-3, 70, 85) end as published"),
        ("mul", [0, 1, 2, 3, 70, 85], 5, "5 of 6 seeds (0-3, 70, 85) end as published"),
        ("squared", range(3), 3, "3 of 3 seeds (0-2) end as published"),
    ],
)
def test_chosen_seeds_are_counted_one_by_one(operation, seeds, solved, said):
    one = found("function_task_static_all", "nmu", operation, seeds, solved)
    assert (one.verdict, one.kind, one.gap) == (said, compare.CHOSEN, None)


def test_seeds_without_a_known_outcome_are_a_rate():
    assert found("function_task_static_all", "nmu", "sub", [0], 0).kind in compare.RATE_VERDICTS
    # All published runs were solved, but these are others.
    others = found("function_task_static_all", "nmu", "squared", [500, 501], 2)
    assert others.chosen is None
    assert others.kind in compare.RATE_VERDICTS


def test_all_seeds_with_known_outcomes_are_paired():
    failed = {70, 85}
    outcomes = [seed not in failed for seed in range(100)]
    whole = found("function_task_static_all", "nmu", "mul", range(100), outcomes)
    assert (whole.verdict, whole.chosen) == ("equal", None)
    unpaired = difference(wilson(98, 100), wilson(98, 100))
    assert whole.gap.upper < unpaired.upper


def test_shortened_runs_have_no_verdict():
    """One short run among whole ones is enough."""
    lengths = [1000] * 50 + [200_000] * 50
    one = found("simple_mul", "nmu", "mul", range(100), 94, iterations=lengths)
    assert one.verdict == "not comparable: 1,000 of 200,000 iterations"
    actual = "0 of 0 comparable points equal the published ones; 1 not comparable (shortened runs)"
    assert compare.verdict([one]) == actual


def test_ok_is_for_points_that_all_equal_the_published_ones():
    names, every = ("nips-sltr-in10", "realnpu_modified", "div"), range(225)
    equal, other = (found(*names, every, solved) for solved in (192, 191))
    actual = "of 1 comparable point equal the published ones"
    assert compare.verdict([equal]) == f"OK: 1 {actual}"
    assert compare.verdict([other]) == f"0 {actual}; 1 inconclusive"


def test_a_short_run_that_failed_tells_nothing():
    names = ("function_task_static_all", "nmu", "mul")
    assert found(*names, [0, 1], 2, iterations=2_000_000).verdict.endswith(
        "(0-1) end as published, after 2,000,000 of 5,000,000 iterations"
    )
    assert found(*names, [0, 70], 1, iterations=2_000_000).kind == compare.SHORT
    assert found(*names, [0, 70], 0, iterations=20).kind == compare.SHORT
    assert found(*names, [70, 85], 0, iterations=20).kind == compare.SHORT
