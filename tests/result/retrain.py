"""Which kept runs of every experiment are trained again, and what counts as the same outcome."""

from collections import Counter
from dataclasses import dataclass, replace
from itertools import count
from math import gcd, isclose, isnan, nan

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import stored
from stable_nalu.result.judged import TEST_ERROR
from stable_nalu.result.tables import Folders
from stable_nalu.result.verify import RetrainedPart, kept_rows, retrained

SEEDS = 2
STRIDE = 5
NOISE = 1e-9
LONG = 250_000
"""Steps from which only the beginning of kept runs is trained again."""

LOG = 1000
"""The log interval of the kept runs: errors are known so often."""


@dataclass(frozen=True)
class Sample:
    """One variant of a model, with some of the seeds that are kept.

    training: the same for samples that need the same runs.
    partial: whether they end before the kept ones do, behind the step that solves the last seed.
    """

    part: RetrainedPart
    training: tuple
    steps: int
    partial: bool = False


def candidates(key, data):
    """A sample of every model with kept runs."""
    experiment, kept = EXPERIMENTS[key], stored.read(key, data)
    found = []
    for model in experiment.models:
        own = kept[kept["model"] == model.key]
        if own.empty:
            continue
        variant = min(model.variants, key=model.length)
        steps = int(own["iterations"].min())
        shortened = None if steps == model.length(variant) else steps
        seeds = tuple(sorted(set(own["seed"].tolist()))[:SEEDS])
        part = RetrainedPart(key, model.key, (variant.name,), None, seeds, shortened)
        sample = Sample(part, (model.prefix, variant.name, seeds, shortened), steps)
        found.append(sample if steps <= LONG else _cut(sample, data))
    return found


def _cut(sample, data):
    """The same sample at the point whose seeds are solved first, and no longer than that takes."""
    solved = {}
    for row in rows_of(sample, data):
        step = _number(row.cells["extrapolation.step.solved"])
        solved.setdefault(row.run.point, []).append(step)
    latest = {point: max(steps) for point, steps in solved.items() if not any(map(isnan, steps))}
    if not latest or min(latest.values()) + LOG >= sample.steps:
        return sample
    first = min(latest, key=latest.get)
    point = first if sample.part.shard.model.points else None
    steps = int(latest[first]) + LOG
    part = replace(sample.part, point=point, max_iterations=steps)
    return Sample(part, (*sample.training[:-1], point, steps), steps, partial=True)


def cheapest(keys, data):
    """Key -> its cheapest sample; models that several experiments share are preferred."""
    every = {key: candidates(key, data) for key in keys}
    shared = Counter(sample.training for found in every.values() for sample in found)
    return {
        key: min(found, key=lambda s: (s.steps, -shared[s.training], str(s.training)))
        for key, found in every.items()
    }


def samples(best, budget, turn=0):
    """Key -> its sample, or None where the budget of steps is spent; shared runs train once.

    Every turn begins with another key, so that in as many turns as there are keys each of them is
    reached.
    """
    chosen, trained = {}, set()
    stride = next(n for n in count(STRIDE) if gcd(n, len(best)) == 1)
    start = turn * stride % len(best)
    order = sorted(best)
    for key in order[start:] + order[:start]:
        sample = best[key]
        new = 0 if sample.training in trained else sample.steps
        if new > budget:
            chosen[key] = None
            continue
        budget -= new
        trained.add(sample.training)
        chosen[key] = sample
    return chosen


def retrain(sample, folder):
    """The rows that would be kept of a sample trained below a folder, unless that was done."""
    return _retrain([sample.part], folder)


def _retrain(parts, folder):
    space = Folders(folder, parts[0].max_iterations)
    space.use()
    assert [part.train() for part in parts] == [0] * len(parts)
    return retrained(parts, space, print)


def rows_of(sample, data):
    """The kept rows of a sample."""
    part = sample.part
    return [
        row
        for row in kept_rows(EXPERIMENTS[part.key], data)
        if row.run.model.key == part.model
        and row.run.variant.name in part.variants
        and row.run.seed in part.seeds
        and part.point in (None, row.run.point)
    ]


def other_outcomes(sample, again, data):
    """The kept rows that are not what came out, and the number compared."""
    rows = rows_of(sample, data)
    differing = [row for row in rows if _differs(row.cells, again[row.identity], sample.partial)]
    return differing, len(rows)


def _differs(kept, again, partial):
    """Whether a run is not the kept one, but for the last bits of its arithmetic.

    Of runs that end early only the step that they are solved at is compared.
    """
    step, kept_step = (_number(cells["extrapolation.step.solved"]) for cells in (again, kept))
    steps_differ = isnan(step) != isnan(kept_step) or abs(step - kept_step) > LOG
    if partial:
        return steps_differ
    errors = [(_number(again[c]), _number(kept[c])) for c in (TEST_ERROR, "sparse.error.max")]
    (error, kept_error), sparsity = errors
    if again["solved"] != kept["solved"] or steps_differ:
        return True
    if again["solved"] == "1":
        # Far below the threshold, the last bits make the error.
        test_differs = not 0.1 <= (error + NOISE) / (kept_error + NOISE) <= 10
    else:
        test_differs = not _close(error, kept_error, 0.01)
    return test_differs or not _close(*sparsity, 0.05)


def _number(cell):
    return float(cell) if cell else nan


def _close(one, other, share):
    if isnan(one) or isnan(other):
        return isnan(one) and isnan(other)
    return isclose(one, other, rel_tol=share, abs_tol=1e-6)
