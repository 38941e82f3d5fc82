"""What a comparison with published numbers may say, and what it must not."""

import pandas as pd
import pytest

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import published, published_seeds
from stable_nalu.result import compare
from stable_nalu.result.judged import shortened
from stable_nalu.statistics.intervals import difference, wilson


def point_of(key, model, operation):
    wanted = (model, operation)
    return next(p for p in published(key) if (p.model, p.operation) == wanted)


def found(key, model, operation, seeds, solved, **columns):
    """The comparison of made-up runs: that many solved, from the front."""
    runs = pd.DataFrame({"model": model, "operation": operation, "seed": list(seeds)})
    runs["solved"] = solved if isinstance(solved, list) else [i < solved for i in range(len(runs))]
    runs[["extrapolation.step.solved", "sparse.error.max"]] = float("nan")
    runs = runs.assign(**columns)
    return compare.rate_point(EXPERIMENTS[key], runs, "", point_of(key, model, operation))


@pytest.mark.parametrize(
    ("solved", "verdict"),
    [
        (192, "equal"),
        (191, "inconclusive"),
        (210, "differs"),
        (169, "differs"),
    ],
)
def test_rates_beside_192_of_225(solved, verdict):
    one = found("nips-sltr-in10", "realnpu_modified", "div", list(range(25)) * 9, solved)
    assert one.verdict == verdict
    assert one.gap == difference(wilson(solved, 225), wilson(192, 225))


def test_many_runs_can_be_within_five_points():
    gap = difference(wilson(8530, 10000), wilson(8533, 10000))
    assert compare.equivalence(gap, compare.WITHIN_POINTS) == "within 5 points"


@pytest.mark.parametrize(
    ("operation", "seeds", "solved", "said"),
    [
        ("mul", [0, 1, 2, 3, 70, 85], 4, "6 of 6 chosen seeds (0-3, 70, 85) end as published"),
        ("mul", [0, 1, 2, 3, 70, 85], 5, "5 of 6 chosen seeds (0-3, 70, 85) end as published"),
        ("squared", range(3), 3, "3 of 3 chosen seeds (0-2) end as published"),
    ],
)
def test_chosen_seeds_are_counted_one_by_one(operation, seeds, solved, said):
    one = found("function_task_static_all", "nmu", operation, seeds, solved)
    assert (one.verdict, one.kind, one.gap) == (said, compare.CHOSEN, None)


def test_steps_of_chosen_seeds_are_compared_with_those_of_the_same_seeds():
    """The mean of seeds 0 to 9 of an NAU on sums is 18,000 there, that of 100 is 189,570."""
    names = ("function_task_static_all", "nau", "add")
    theirs = next(
        one.solved_at
        for one in published_seeds(names[0])
        if (one.model, one.operation) == names[1:]
    )
    ours = [theirs[seed] for seed in range(9)] + [theirs[9] - 1000]
    one = found(*names, range(10), 10, **{"extrapolation.step.solved": ours})
    assert one.steps_verdict == "9 of 10 at the same step; 1 sooner, 0 later, p = 1"
    assert (one.steps, one.chosen.steps.means) == (compare.CHOSEN, (17_900, 18_000))
    later = [step + 1000 for step in ours]
    moved = found(*names, range(10), 10, **{"extrapolation.step.solved": later})
    assert (moved.steps, moved.chosen.steps.more) == (compare.DIFFERS, 9)
    assert moved.sparsity is None


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
    seeds = list(range(25)) * 9
    one = found("nips-sltr-in10", "realnpu_modified", "div", seeds, 192, iterations=2000)
    assert one.verdict == "not comparable: 2,000 of 100,000 iterations"
    told = "0 of 0 comparable points equal the published ones; 1 not comparable (shortened runs)"
    assert compare.verdict([one]) == told


def test_ok_is_for_points_that_all_equal_the_published_ones():
    def point(seeds, solved):
        return found("nips-sltr-in10", "realnpu_modified", "div", seeds, solved)

    every = list(range(25)) * 9
    known = next(p for p in published("nips-sltr-in10") if p.model == "realnpu_modified").solved
    told = "of 1 comparable point equal the published ones"
    assert compare.verdict([point(every, known)]) == f"OK: 1 {told}"
    assert compare.verdict([point(every, known - 1)]) == f"0 {told}; 1 inconclusive"


def test_a_short_run_that_failed_tells_nothing():
    names = ("function_task_static_all", "nmu", "mul")
    assert found(*names, [0, 1], 2, iterations=2_000_000).verdict.endswith(
        "(0-1) end as published, after 2,000,000 of 5,000,000 iterations"
    )
    assert found(*names, [0, 70], 1, iterations=2_000_000).kind == compare.SHORT
    assert found(*names, [0, 70], 0, iterations=20).kind == compare.SHORT
    assert found(*names, [70, 85], 0, iterations=20).kind == compare.SHORT


def test_one_short_run_among_whole_ones_is_enough():
    lengths = [1000] * 50 + [200_000] * 50
    one = found("simple_mul", "nmu", "mul", range(100), 94, iterations=lengths)
    assert one.verdict == "not comparable: 1,000 of 200,000 iterations"
    assert (one.steps, one.sparsity) == (None, None)


def test_runs_of_the_length_of_their_variant_are_whole():
    experiment = EXPERIMENTS["function_task_static_mul_input_size"]
    model = experiment.models[0]
    lengths = sorted({model.length(variant) for variant in model.variants})
    assert len(lengths) > 1
    for length in lengths:
        runs = pd.DataFrame({"model": [model.key] * 3, "iterations": length})
        assert shortened(experiment, runs) is None
    runs["iterations"] = 7
    assert shortened(experiment, runs) == (7, lengths[0])


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
    assert beside(known, summary, 100).steps == verdict


@pytest.mark.parametrize(
    ("upper", "verdict"), [(4e-5, "below the limit"), (6e-5, compare.CANNOT_TELL)]
)
def test_limits(upper, verdict):
    rows = published("function_task_static_mul_hidden_size")
    known = next(row for row in rows if row.model == "nmu" and row.point == "2")
    summary = {"sparse.error.mean": 3e-5, "sparse.error.lower": 2e-5, "sparse.error.upper": upper}
    assert beside(known, summary, known.runs).sparsity == verdict
    # Some of the published seeds are no sample of all.
    assert beside(known, summary, 2).sparsity is None
