"""Some kept runs of every experiment, trained again from nothing."""

import math
from collections import Counter
from dataclasses import dataclass, replace

from stable_nalu.batch.shard import Shard
from stable_nalu.batch.work import train_shards
from stable_nalu.catalogue.experiment import Experiment, Model, merged
from stable_nalu.catalogue.index import EXPERIMENTS
from stable_nalu.reproduction import stored
from stable_nalu.reproduction.stored import TEST_ERROR
from stable_nalu.reproduction.tables import Workspace, export, judge, runs_of

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

    max_iterations: None where the runs have the published length.
    partial: whether they end before the kept ones do, behind the step that solves the last seed.
    """

    experiment: Experiment
    model: Model
    seeds: tuple[int, ...]
    steps: int
    max_iterations: int | None
    partial: bool = False

    @property
    def training(self):
        """The same for samples that need the same runs."""
        return self.model.prefix, self.model.variants[0].name, self.seeds, self.max_iterations


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
        one = replace(model, variants=(variant,))
        sample = Sample(experiment, one, seeds, steps, shortened)
        found.append(sample if steps <= LONG else _cut(sample, own))
    return found


def _cut(sample, own):
    """The same sample, no longer than its seeds need to be solved for the first time."""
    operation = merged(sample.model.flags, sample.model.variants[0].flags)["--operation"][0]
    same = own[own["seed"].isin(sample.seeds) & (own["operation"] == operation)]
    solved = same["extrapolation.step.solved"]
    if solved.empty or solved.isna().any() or solved.max() + LOG >= sample.steps:
        return sample
    steps = int(solved.max()) + LOG
    return replace(sample, steps=steps, max_iterations=steps, partial=True)


def samples(keys, data, budget, turn=0):
    """Key -> its cheapest sample, or None where the budget of steps is spent.

    Models that several experiments share are preferred: they train once. Every turn begins with
    another key, so that in as many turns as there are keys each of them is reached.
    """
    every = {key: candidates(key, data) for key in keys}
    shared = Counter(sample.training for found in every.values() for sample in found)
    best = {
        key: min(found, key=lambda s: (s.steps, -shared[s.training], str(s.training)))
        for key, found in every.items()
    }
    chosen, trained = {}, set()
    start = turn * STRIDE % len(best)
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
    """Train a sample below a folder, unless that was done; its runs as they would be kept."""
    space = Workspace(folder, sample.max_iterations)
    space.use()
    model = sample.model
    shard = Shard("again", model, model.variants[:1], sample.seeds)
    assert train_shards([shard], sample.max_iterations) == 0
    export([model], space)
    runs = judge(sample.experiment, [model], space, sample.seeds, print)
    expected = runs_of(model, sample.seeds, sample.max_iterations)
    data = folder / "again" / sample.experiment.key
    stored.keep(sample.experiment, runs, expected, [], data)
    return stored.read(sample.experiment.key, data)


def whole(sample, data):
    """The same sample with all seeds that are kept, which train in stacks like those."""
    kept = stored.read(sample.experiment.key, data)
    seeds = sorted(set(kept.loc[kept["model"] == sample.model.key, "seed"].tolist()))
    return replace(sample, seeds=tuple(seeds))


def other_outcomes(sample, again, data):
    """Runs whose verdict, step or errors are not the kept ones, and the number compared."""
    kept = stored.read(sample.experiment.key, data)
    identity = stored.identifying(sample.experiment.key)
    both = again.merge(kept, on=identity, suffixes=("", ".kept"))
    return both[[_differs(row, sample.partial) for row in both.to_dict("records")]], len(both)


def _differs(row, partial):
    """Whether a run is not the kept one, but for the last bits of its arithmetic.

    Of runs that end early only the step that they are solved at is compared.
    """
    step, kept_step = (row[f"extrapolation.step.solved{end}"] for end in ("", ".kept"))
    steps_differ = math.isnan(step) != math.isnan(kept_step) or abs(step - kept_step) > LOG
    if partial:
        return steps_differ
    errors = [(row[name], row[f"{name}.kept"]) for name in (TEST_ERROR, "sparse.error.max")]
    (error, kept), sparsity = errors
    if row["solved"] != row["solved.kept"] or steps_differ:
        return True
    if row["solved"]:
        # Far below the threshold, the last bits make the error.
        test_differs = not 0.1 <= (error + NOISE) / (kept + NOISE) <= 10
    else:
        test_differs = not _close(error, kept, 0.01)
    return test_differs or not _close(*sparsity, 0.05)


def _close(one, other, share):
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=share, abs_tol=1e-6)
