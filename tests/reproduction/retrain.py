"""Some kept runs of every experiment, trained again from nothing."""

from collections import Counter
from dataclasses import dataclass, replace

from stable_nalu.batch.shard import Shard
from stable_nalu.batch.work import train_shard
from stable_nalu.catalogue.experiment import Experiment, Model
from stable_nalu.catalogue.index import EXPERIMENTS
from stable_nalu.reproduction import stored
from stable_nalu.reproduction.tables import Workspace, export, judge, runs_of

SEEDS = 2


@dataclass(frozen=True)
class Sample:
    """One variant of a model, with some of the seeds that are kept.

    max_iterations: None where the kept runs have the published length.
    """

    experiment: Experiment
    model: Model
    seeds: tuple[int, ...]
    steps: int
    max_iterations: int | None

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
        found.append(Sample(experiment, one, seeds, steps, shortened))
    return found


def samples(keys, data, budget):
    """Key -> its cheapest sample, or None where the budget of steps is spent.

    Models that several experiments share are preferred: they train once.
    """
    every = {key: candidates(key, data) for key in keys}
    shared = Counter(sample.training for found in every.values() for sample in found)
    best = {
        key: min(found, key=lambda s: (s.steps, -shared[s.training], str(s.training)))
        for key, found in every.items()
    }
    chosen, trained = {}, set()
    for key in sorted(best, key=lambda key: best[key].steps / shared[best[key].training]):
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
    shard = Shard("again", model, model.variants[0], sample.seeds)
    assert train_shard(shard, sample.max_iterations) == 0
    export([model], space)
    runs = judge(sample.experiment, [model], space, sample.seeds, print)
    expected = runs_of(model, sample.seeds, sample.max_iterations)
    data = folder / "again" / sample.experiment.key
    stored.keep(sample.experiment, runs, expected, [], data)
    return stored.read(sample.experiment.key, data)


def other_verdicts(sample, again, data):
    """Runs whose verdict is not the kept one, and the number of runs compared."""
    kept = stored.read(sample.experiment.key, data)
    identity = stored.identifying(sample.experiment.key)
    both = again.merge(kept, on=identity, suffixes=("", ".kept"))
    return both[both["solved"] != both["solved.kept"]], len(both)
