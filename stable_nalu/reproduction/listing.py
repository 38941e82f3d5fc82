"""The list of all experiments: where each is shown, how much it takes."""

from __future__ import annotations

from pathlib import Path

from stable_nalu.catalogue.expected import is_runnable
from stable_nalu.catalogue.experiment import Experiment
from stable_nalu.catalogue.index import EXPERIMENTS
from stable_nalu.papers import STUDIES
from stable_nalu.script import duration

from .stored import DATA, path_of

RATES = {
    "simple_function_static": 14_000.0,
    "two_digit_mnist": 2.0,
    "ST_mnist_labels": 2.0,
    "sequential_mnist": 20.0,
    "sequential_svhn": 3.0,
}
RATE_OF_SINGLE_MODULES = 100_000.0
"""Iterations a second and core, all runs of a stack counted: rough, for usual shards. Image
networks train alone, and much faster on a GPU."""


def seconds_here(experiment: Experiment, cores: int) -> float | None:
    """Estimated time on this machine; None where a training script is missing."""
    if not all(is_runnable(model) for model in experiment.models):
        return None
    return sum(
        model.iterations / RATES.get(model.script, RATE_OF_SINGLE_MODULES) / cores
        for model in experiment.models
    )


def listing(cores: int, data: Path = DATA) -> str:
    """Every experiment under the papers that show it, then those that no paper shows.

    data: folder of kept results.
    """
    lines: list[str] = []
    for paper in STUDIES:
        lines.append(f"{paper.title} ({paper.reference})")
        for experiment in EXPERIMENTS.values():
            numbers = [shown.number for shown in experiment.shown if shown.paper == paper]
            if numbers:
                lines += _lines(experiment, ", ".join(numbers), cores, data)
        lines.append("")
    lines.append("Runs that no figure shows")
    for experiment in EXPERIMENTS.values():
        if not experiment.shown:
            lines += _lines(experiment, "", cores, data)
    return "\n".join(lines) + "\n"


def _lines(experiment: Experiment, numbers: str, cores: int, data: Path) -> list[str]:
    place = f"{numbers}: " if numbers else ""
    head = f"  {experiment.key}\n      {place}{experiment.title}"
    if not experiment.models:
        return [f"{head}\n      {experiment.note}"]
    each = sorted({m.length(variant) for m in experiment.models for variant in m.variants})
    lengths = f"{each[0]:,}" if len(each) == 1 else f"{each[0]:,} to {each[-1]:,}"
    keys = ", ".join(model.key for model in experiment.models)
    seconds = seconds_here(experiment, cores)
    time = "not runnable" if seconds is None else duration(seconds)
    told = f"{head}\n      {experiment.runs} runs x {lengths} iterations, {time}; models {keys}"
    path = path_of(experiment.key, data)
    if not path.exists():
        return [told]
    with path.open(encoding="utf-8") as file:
        kept = sum(1 for _ in file) - 1
    return [f"{told}\n      kept results of {kept} runs: {path}"]
