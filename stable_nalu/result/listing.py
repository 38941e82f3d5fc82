"""The list of all experiments, and what each would cost here."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from stable_nalu.files import table_rows
from stable_nalu.paper.experiment import MEASURED, Experiment, Model, merged
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.papers import STUDIES
from stable_nalu.script import duration

from .stored import DATA, path_of, sessions_of

RATES = {
    "simple_function_static": 40_000.0,
    "two_digit_mnist": 2.0,
    "ST_mnist_labels": 2.0,
    "sequential_mnist": 20.0,
    "sequential_svhn": 3.0,
}
RATE_OF_SINGLE_MODULES = 100_000.0
"""Iterations per second and core, all runs of a stack counted, where no kept cost tells: rough.
Image networks train alone, and much faster on a GPU."""

UNSHOWN = "Runs that no figure shows"


def seconds_here(experiment: Experiment, cores: int) -> float | None:
    """Return the estimated time on so many cores, at the kept costs of like experiments.

    The cost of the experiment itself counts first, then the rate that it states, then the cost of
    the same task, input size and distribution, then of ever less. A measured experiment takes no
    time that is known where only other scripts were trained so far.
    """
    measured = _measured()
    total = 0.0
    for model in experiment.models:
        rough = RATES.get(model.script, RATE_OF_SINGLE_MODULES)
        if experiment.criterion == MEASURED:
            rough = RATES.get(model.script)
        if experiment.rate is not None:
            rate = measured.get((experiment.key,), experiment.rate)
        else:
            kinds = [(experiment.key,), *_kinds(model)]
            rate = next((measured[kind] for kind in kinds if kind in measured), rough)
        if rate is None:
            return None
        total += model.iterations / rate / cores
    return total


def time_here(experiment: Experiment, cores: int) -> str:
    """Return that time in words."""
    seconds = seconds_here(experiment, cores)
    return "time unknown" if seconds is None else duration(seconds)


@functools.cache
def _measured() -> Mapping[tuple[str, ...], float]:
    """Return iterations per CPU second by experiment and by kind of task, from the kept costs."""
    spent: dict[tuple[str, ...], list[float]] = {}
    for experiment in EXPERIMENTS.values():
        sessions = sessions_of(experiment.key)
        iterations = sum(session.run_iterations for session in sessions)
        if not iterations:
            continue
        seconds = sum(session.cpu_seconds for session in sessions)
        kinds = [kind for model in experiment.models for kind in _kinds(model)]
        for kind in dict.fromkeys([(experiment.key,), *kinds]):
            total = spent.setdefault(kind, [0.0, 0.0])
            total[0] += iterations
            total[1] += seconds
    return {kind: iterations / seconds for kind, (iterations, seconds) in spent.items()}


def _kinds(model: Model) -> list[tuple[str, ...]]:
    """Return what a model's cost depends on, from all of it to the script alone."""
    every = [merged(model.flags, variant.flags) for variant in model.variants]
    size = " ".join(sorted({*every[0].get("--input-size", ()), *every[0].keys() & {"--simple"}}))
    task = " ".join(every[0].get("--operation", ()))
    drawn = {word for one in every for word in one.get("--sample-distribution", ("uniform",))}
    kind = (model.script, size, "uniform" if drawn == {"uniform"} else "others")
    return [(*kind, task), kind, kind[:2], kind[:1]]


def listing(cores: int, data: Path = DATA) -> str:
    """Return every experiment under the papers that show it, then those that no paper shows.

    data: the folder of kept results.
    """
    lines: list[str] = []
    for paper in STUDIES:
        shown = {
            e.key: [s.number for s in e.shown if s.paper == paper] for e in EXPERIMENTS.values()
        }
        if any(shown.values()):
            lines.append(f"{paper.title} ({paper.reference})")
            for experiment in EXPERIMENTS.values():
                if numbers := shown[experiment.key]:
                    lines += _lines(experiment, ", ".join(numbers), cores, data)
            lines.append("")
    lines.append(UNSHOWN)
    for experiment in EXPERIMENTS.values():
        if not experiment.shown:
            lines += _lines(experiment, "", cores, data)
    return "\n".join(lines) + "\n"


def _lines(experiment: Experiment, numbers: str, cores: int, data: Path) -> list[str]:
    place = f"{numbers}: " if numbers else ""
    head = f"  {experiment.key}\n      {place}{experiment.title}"
    if not experiment.models:
        return [f"{head}\n      {experiment.note}"]
    keys = ", ".join(model.key for model in experiment.models)
    size = f"{experiment.runs} runs x {lengths(experiment)} iterations"
    told = f"{head}\n      {size}, {time_here(experiment, cores)}; models {keys}"
    path = path_of(experiment.key, data)
    if not path.exists():
        return [told]
    kept = sum(1 for _ in table_rows(path)) - 1
    return [f"{told}\n      kept results of {kept} runs: {path}"]


def lengths(experiment: Experiment) -> str:
    """Return `50,000`, or the shortest and the longest of the runs as `50,000 to 100,000`."""
    each = sorted({m.length(variant) for m in experiment.models for variant in m.variants})
    return " to ".join(f"{length:,}" for length in dict.fromkeys((each[0], each[-1])))
