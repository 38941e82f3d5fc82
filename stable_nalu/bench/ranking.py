"""Rank the units of the board, or a challenger and its rivals.

Units are compared on the same ranges and seeds by an exact test of whole seeds, corrected by Holm's
method for all tests of one table. On the board, units that it cannot distinguish share a rank.
Rivals are stored results. A challenger is a layer that is trained as the models of a figure.
"""

import argparse
import hashlib
import inspect
import itertools
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stable_nalu.base.errors import OptionError, did_you_mean
from stable_nalu.base.files import cells_of
from stable_nalu.base.papers import FLAT
from stable_nalu.layer import entries
from stable_nalu.layer.own_layers import LayerFile, load_layer_file, read_layer_file
from stable_nalu.layer.registry import LayerEntry
from stable_nalu.options.flag import seeds_text
from stable_nalu.options.flags import TASK, load_own_layers
from stable_nalu.paper.experiment import (
    ITERATION_FLAG,
    JUDGED,
    Command,
    Experiment,
    Flags,
    Model,
    merged,
    words,
)
from stable_nalu.paper.index import find
from stable_nalu.result.judged import ALL_POINTS, point_columns
from stable_nalu.result.stored import path_of
from stable_nalu.statistics import intervals as by_seed
from stable_nalu.statistics.intervals import Estimate, PairedTest, holm, paired_test
from stable_nalu.statistics.means import MARGIN
from stable_nalu.statistics.setups import LEVEL, shared_threshold
from stable_nalu.statistics.summary import SOLVED, STEP, solved_of, summary_of
from stable_nalu.statistics.table import SPARSITY, groups
from stable_nalu.task.arithmetic import SCORE
from stable_nalu.task.table import SCRIPTS

OPERATIONS = ("add", "sub", "mul", "div")
KEYS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "add": {"benchmark_sltr_add": (), "benchmark_sltr_add_mcfc": ("MCFC",)},
    "sub": {"benchmark_sltr_sub": ()},
    "mul": {
        "benchmark_sltr_mul": (),
        "robust-benchmark_sltr_mul": ("sNMU",),
        "benchmark_sltr_mul_mcfc": ("MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU"),
    },
    "div": {"benchmark_sltr_div": (), "nips-sltr-in2": ("realnpu_modified", "nru", "sign-nmru")},
}
"""Operation -> experiments whose kept runs take part, and which of their models; none: all."""

Outcomes = Mapping[tuple[str, str], bool]
"""Range and seed -> whether the run solved its task."""


@dataclass(frozen=True)
class Entry:
    """A unit that takes part.

    key: the experiment and model that it comes from, or its folder. prior: what it knows of its
    operation, which others have to learn. rows: a row for each run, as they are kept.
    """

    key: tuple[str, str]
    label: str
    rows: tuple[Mapping[str, str], ...]
    prior: str = ""
    league: str = "as published"

    def outcomes(self, operation: str, rule: str) -> Outcomes:
        """Return which of its runs of an operation are solved by a rule of thresholds."""
        limits = thresholds(rule)
        return {
            (row["interpolation.range"], row["seed"]): float(row["extrapolation.last"] or "nan")
            < limits[operation, row["interpolation.range"]]
            for row in self.rows
            if row["operation"] == operation
        }


def kept_entries(operation: str) -> list[Entry]:
    found = []
    dmu = {"dmu": (f"given-{operation}", f"learned-{operation}")}
    for key, chosen in {**KEYS[operation], **dmu}.items():
        rows = cells_of(path_of(key)) if path_of(key).exists() else []
        for model in find(key).models:
            own = tuple(row for row in rows if row["model"] == model.key)
            if own and (not chosen or model.key in chosen):
                given = key == "dmu" and model.key.startswith("given")
                label = model.label.partition(" [")[0]
                if key == "dmu":
                    label = f"DMU, operands {'given' if given else 'learned'}"
                prior = "the pair of operations" if given else ""
                found.append(Entry((key, model.key), label, own, prior))
    return found


RULES = ("benchmark", "1e-5", "DMU")
"""Rules of thresholds: of this benchmark, one for all tasks, and of the DMU's repository."""


@cache
def thresholds(rule: str) -> dict[tuple[str, str], float]:
    """Return operation and range -> below which test error a run is solved."""
    keys = [f"benchmark_sltr_{operation}" for operation in OPERATIONS]
    found = {}
    for key in ["dmu_thresholds"] if rule == "DMU" else keys:
        for row in cells_of(path_of(key)):
            limit = FLAT if rule == "1e-5" else float(row["threshold"])
            found[row["operation"], row["interpolation.range"]] = limit
    return found


@dataclass(frozen=True)
class Placed:
    """Where a unit stands in one table.

    best, worst: the ranks that the tests leave open: behind those that are better, and before those
    that are worse. rate: the share of solved runs with its interval, by whole seeds.
    """

    solved: int
    runs: int
    best: int
    worst: int
    rate: Estimate

    @property
    def rank(self) -> str:
        return f"{self.best}" if self.best == self.worst else f"{self.best}–{self.worst}"


def paired_outcomes(one: Outcomes, other: Outcomes) -> tuple[list[str], list[tuple[bool, bool]]]:
    """Return the seeds of runs that two units share, and whether each of both has solved them."""
    both = [run for run in one if run in other]
    return [seed for _, seed in both], [(one[run], other[run]) for run in both]


def placed(table: Mapping[Any, Outcomes]) -> dict[Any, Placed]:
    """Return where units stand that have outcomes of the same runs, the best rate first."""
    solved = {name: sum(runs.values()) for name, runs in table.items()}
    pairs = list(itertools.combinations(table, 2))
    tests = [by_seed.p_value(*paired_outcomes(table[a], table[b])) for a, b in pairs]
    better, worse = dict.fromkeys(table, 0), dict.fromkeys(table, 0)
    for (a, b), p in zip(pairs, holm(tests), strict=True):
        if p < LEVEL:
            first, second = sorted((a, b), key=lambda name: -solved[name])
            worse[first] += 1
            better[second] += 1
    found = {
        name: Placed(
            *(solved[name], len(runs), 1 + better[name], len(table) - worse[name]),
            by_seed.rate([seed for _, seed in runs], list(runs.values())),
        )
        for name, runs in table.items()
    }
    return dict(sorted(found.items(), key=lambda item: (item[1].best, -item[1].solved)))


KEY = "challenger"
"""What the challenger's runs are called in the column `model`."""

RANKED_BY = {
    "success rate": ("success.rate.mean", -1),
    "solved at": ("converged.at.mean", 1),
    "sparsity error": ("sparse.error.mean", 1),
}
"""Measure -> its column in a summary, and the sign with which the least is the best."""


def rank_column(measure: str) -> str:
    return f"rank.{measure.replace(' ', '.')}"


@dataclass(frozen=True)
class Duel:
    """A challenger against one rival, run by run on the same points and seeds.

    test: the challenger first. p: of the test, adjusted by Holm's method for the number of rivals.
    """

    label: str
    test: PairedTest
    p: float

    @property
    def fair(self) -> bool:
        return self.test.lengths[0] == self.test.lengths[1]

    @property
    def verdict(self) -> str:
        if not self.fair:
            own, rival = self.test.lengths
            return f"not comparable: {rival:,} iterations, the challenger {own:,}"
        return replace(self.test, p=self.p).verdict


@dataclass(frozen=True)
class Contest:
    """A challenger in a figure.

    label: of the challenger.
    runs: judged runs of the challenger and of its rivals, one per row; `model` holds their keys,
        `iterations` their length.
    commands: train the challenger.
    rivals: iterations of the rivals, if they are judged earlier, at the challenger's length.
    """

    experiment: Experiment
    label: str
    runs: pd.DataFrame
    commands: Sequence[Command] = ()
    rivals: int | None = None

    @property
    def seeds(self) -> str:
        return seeds_text({int(seed) for seed in self.runs["seed"]})

    @cached_property
    def labels(self) -> dict[str, str]:
        there = set(self.runs["model"])
        rivals = {m.key: m.label for m in self.experiment.models if m.key in there}
        return {KEY: self.label, **rivals}

    @property
    def missing(self) -> list[str]:
        """Return the labels of the models of which no results are kept."""
        return [m.label for m in self.experiment.models if m.key not in self.labels]

    @cached_property
    def points(self) -> list[str]:
        """Return the columns that identify a point and have several values."""
        columns = [c for c in point_columns(self.experiment.key) if c in self.runs]
        return [c for c in columns if len(self.runs[c].drop_duplicates()) > 1]

    @cached_property
    def standings(self) -> list[dict[str, Any]]:
        """Return a row per layer, of all points together, and then of each point.

        Ranks begin at 1, and are None without a value. A threshold is NaN where there are several.
        """
        found = self._ranked(self.runs, ALL_POINTS)
        for key, runs in groups(self.runs, self.points) if self.points else ():
            found += self._ranked(runs, ", ".join(map(str, key)))
        return found

    def _ranked(self, runs: pd.DataFrame, point: str) -> list[dict[str, Any]]:
        of = {key: own for key, own in self._by_layer(runs).items() if len(own)}
        sums = {key: summary_of(own) for key, own in of.items()}
        # A sparsity error of 0 is 0 here: the papers' fit cuts it to a margin.
        for one in sums.values():
            cut = [n for n in one if n.startswith("sparse.error") and one[n] <= MARGIN]
            one |= dict.fromkeys(cut, 0.0)
        rows = []
        for key, own in of.items():
            row = {"layer": self.labels[key], "point": point, "runs": len(own)}
            rows.append(row | {"threshold": shared_threshold(own), "solved": solved_of(own)})
            for measure, (column, sign) in RANKED_BY.items():
                values = {other: sign * one[column] for other, one in sums.items()}
                if self.rivals and measure == "sparsity error":
                    values = {}
                rows[-1][rank_column(measure)] = _ranks(values).get(key)
            rows[-1] |= sums[key]
        return rows

    def _by_layer(self, runs: pd.DataFrame) -> dict[str, Any]:
        return {key: runs.loc[runs["model"] == key] for key in self.labels}

    @cached_property
    def duels(self) -> list[Duel]:
        rivals, by = self._by_layer(self.runs), [*self.points, "seed"]
        own = rivals.pop(KEY)
        tests = {key: paired_test((KEY, key), own, runs, by) for key, runs in rivals.items()}
        adjusted = holm([test.p for test in tests.values()])
        pairs = zip(tests.items(), adjusted, strict=True)
        return [Duel(self.labels[key], test, p) for (key, test), p in pairs]


def _ranks(values: dict[str, float]) -> dict[str, int]:
    """Return key -> rank by ascending value; equal values share a rank, NaN has none.

    Values are equal that are so in six digits: kept results have seven.
    """
    known = {key: float(f"{v:.6g}") for key, v in values.items() if not math.isnan(v)}
    return {key: 1 + sum(o < value for o in known.values()) for key, value in known.items()}


def same_runs(own: pd.DataFrame, kept: pd.DataFrame, key: str) -> pd.DataFrame:
    """Return the kept runs that are at a point and a seed of the challenger's."""
    by = [column for column in point_columns(key) if column in own] + ["seed"]
    return kept.merge(own[by].drop_duplicates(), on=by)


_SAME = (ITERATION_FLAG, "--layer-type", "--layer-file", "--layer-option")


def cut(own: pd.DataFrame, kept: pd.DataFrame, interval: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the challenger's runs and kept ones, all judged at the challenger's length.

    Nothing changes unless kept runs are longer, and logged until then. Otherwise a run is solved if
    its test error was low enough by then, at a step of the kept runs' log interval. What else kept
    runs would have measured there is unknown.
    """
    length = max(own["iterations"].tolist())
    last = length - length % interval
    if max(kept["iterations"].tolist(), default=0) <= length or not last:
        return own, kept

    def judged(runs: pd.DataFrame) -> pd.DataFrame:
        steps = pd.Series(np.ceil(runs[STEP].astype(float) / interval) * interval)
        steps = steps.where(steps <= last)
        lengths = runs["iterations"].clip(upper=length)
        return runs.assign(**{STEP: steps, SOLVED: steps.notna(), "iterations": lengths})

    return judged(own), judged(kept).assign(**{SPARSITY: math.nan})


_HERE = {"--seed": "--seeds", "--name-prefix": "--out", **{name: name for name in _SAME}}
"""Flag of training scripts -> what sets it here."""

_TASK = {flag.name for flag in (*TASK, *SCORE)} | {"--output-size", "--log-interval"}
"""Flags of the task, and of what its success is read from: rivals were trained with these."""


@dataclass(frozen=True)
class Challenger:
    """A layer that takes part in published figures.

    file: where the user defines it; None for a layer of the package.
    options: `name=value` of its constructor.
    training: flags that override the figures' flags; a script that lacks one trains without it.
    """

    layer_type: str
    file: Path | None
    options: tuple[str, ...]
    training: Flags

    @property
    def given(self) -> Flags:
        """Return the flags that define the layer."""
        file = () if self.file is None else (str(self.file),)
        flags = {"--layer-file": file, "--layer-option": self.options}
        used = {name: values for name, values in flags.items() if values}
        return {"--layer-type": (self.layer_type,), **used}

    @cached_property
    def _entry(self) -> LayerEntry | None:
        """Return what is known of the layer, whose file is loaded first."""
        load_own_layers(words(self.given))
        return entries().get(self.layer_type)

    @cached_property
    def source(self) -> LayerFile | None:
        """Return the file that defines the layer, as it was when the layer was loaded."""
        if self.file is not None:
            return load_layer_file(str(self.file))
        built = self._entry and self._entry.layer
        return read_layer_file(inspect.getfile(built)) if built else None

    @property
    def folder(self) -> str:
        """Return the name of its folders: of its own for every file, option and training flag."""
        name = re.sub(r"[^\w.-]", "_", self.layer_type)
        if self.file is None and not self.options and not self.training:
            return name
        digest = self.source.sha256 if self.source else ""
        what = shlex.join([digest, *self.options, *words(self.training)])
        return f"{name}-{hashlib.sha256(what.encode()).hexdigest()[:8]}"

    @property
    def drawn(self) -> str | None:
        return self._entry.shown if self._entry and self._entry.latex else None

    @property
    def paper(self) -> str:
        """Return the citation that the layer was registered with."""
        return self._entry.cites.citation if self._entry else ""

    def model(self, experiment: Experiment) -> Model:
        """Return it as a model of a figure: on all points and seeds, with the flags all share."""
        models = experiment.models
        scripts = {model.script for model in models}
        if len(scripts) != 1 or not experiment.criterion.startswith(JUDGED):
            problem = f"no success criterion applies to runs of {experiment.key}"
            raise OptionError("KEY", problem, "write a figure of the arithmetic scripts")
        self._refuse_other_tasks(experiment)
        first, spec = models[0], SCRIPTS[scripts.pop()]
        of_layers = {flag.name for flag in spec.flags if flag.layer_option} | {"--nac-mul"}
        shared = {
            name: values
            for name, values in first.flags.items()
            if name not in of_layers and all(m.flags.get(name) == values for m in models)
        }
        points = [point for model in models for point in model.points]
        known = {flag.name for flag in spec.flags}
        over = {name: values for name, values in self.training.items() if name in known}
        prefix = f"challenge/{self.folder}/{experiment.key}"
        name = self._entry.label if self._entry else self.layer_type
        return replace(
            first,
            key=KEY,
            # Unlike those of its rivals.
            label=f"{name} (here)" if name in {model.label for model in models} else name,
            prefix=prefix,
            csv=prefix,
            flags=merged(shared, self.given, over),
            seeds=max((model.seeds for model in models), key=len),
            points=tuple(p for i, p in enumerate(points) if p not in points[:i]),
            variants=tuple({v.name: v for model in models for v in model.variants}.values()),
        )

    def _refuse_other_tasks(self, experiment: Experiment) -> None:
        """Refuse a figure whose models learn several tasks, or that sets a training flag itself."""
        models = experiment.models
        for name in {name for model in models for name in model.flags} & _TASK:
            if any(model.flags.get(name) != models[0].flags.get(name) for model in models):
                problem = f"the models of {experiment.key} differ in {name}"
                remedy = f"name those of one task: reproduce.py {experiment.key} --model NAME"
                raise OptionError("KEY", problem, remedy)
        varied = {name for model in models for point in model.points for name in point}
        for name in [name for name in self.training if name in varied]:
            problem = f"{experiment.key} compares layers at several values of {name}"
            raise OptionError("--training", problem, "leave it out")


def challenger_of(arguments: argparse.Namespace, experiments: Sequence[Experiment]) -> Challenger:
    scripts = list(dict.fromkeys(model.script for e in experiments for model in e.models))
    training: dict[str, tuple[str, ...]] = {}
    known = {flag.name: flag for script in scripts for flag in SCRIPTS[script].flags}
    for word in getattr(arguments, "training", None) or ():
        name, gives, value = word.partition("=")
        name = f"--{name.lstrip('-')}"
        problem, remedy = "", "leave it out"
        if name not in known:
            problem = f"is not a flag of {', '.join(scripts)}"
            remedy = did_you_mean(name, known, "see --help of the training script")
        elif name in _HERE:
            problem, remedy = "has a flag here", f"use {_HERE[name]}"
        elif name in _TASK:
            problem = "would change the task, which the rivals were not trained for"
        elif not known[name].result:
            problem = "changes no result"
        elif name in training:
            problem, remedy = "is given twice", "give every flag one value"
        if problem:
            raise OptionError("--training", f"{name} {problem}", remedy)
        training[name] = (value,) if gives else ()
    options = tuple(arguments.layer_option or ())
    names = [option.partition("=")[0] for option in options]
    if several := [name for name in names if names.count(name) > 1]:
        problem = f"{several[0]} has several values, which make several layers"
        raise OptionError("--layer-option", problem, "start one command per value")
    return Challenger(arguments.layer_type, arguments.layer_file, options, training)
