"""Stacks that train on the same inputs take turns, and draw them once for all.

Each stack keeps its own model, schedules, optimiser, logs and checkpoints: nothing tells how it was
trained, and every number is the one that it has alone.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch

from stable_nalu.errors import STOPS, UsageError, in_words
from stable_nalu.layer.own_layers import failure_of_own_layer
from stable_nalu.machine import keep_freed_memory
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.script import Interruption

from ..loop import Training
from ..task import Task
from .runs import Stack
from .workers import Share, StackResult

DTYPES = {32: torch.float32, 64: torch.float64}
_DOES_NOT_FIT = ("can't allocate memory", "not enough memory", "out of memory", "overflow")
"""How torch words that memory is short: on the CPU by system, on a GPU, for absurd sizes."""

TrainingSteps = Generator[Training, int | None, StackResult]
"""A training that yields itself before every unit, and saves and stops when it is sent a signal."""


def groups_of(
    task: type[Task], spec: ScriptSpec, stacks: Iterable[tuple[int, Stack]]
) -> list[Share]:
    """Gather stacks that the engine trains on the same samples, run by run; others are alone."""
    groups: dict[object, Share] = {}
    for number, stack in stacks:
        drawn = [spec.samples_of(run.config) for run in stack]
        shared = stack[0].in_lanes and None not in drawn
        first = stack[0].config
        alike = task.unit.last(first), first.no_cuda, precision(first)
        key = (tuple(drawn), alike) if shared else number
        groups.setdefault(key, []).append((number, stack))
    return list(groups.values())


def train_group(
    steps: Sequence[TrainingSteps], config: Config, interruption: Interruption
) -> list[StackResult]:
    """Train a group; `config` is that of any of its runs."""
    keep_freed_memory()
    with errors_in_one_line(), default_dtype(precision(config)), ExitStack() as ending:
        for one in steps:
            ending.callback(one.close)
        return _train_in_turns(steps, interruption)


def _train_in_turns(
    steps: Sequence[TrainingSteps], interruption: Interruption
) -> list[StackResult]:
    """Train to the end, or until a signal stops all at the same unit; return every result.

    Those that are furthest behind go first. Once all stand at the same unit, they share samples.
    """
    trainings: dict[int, Training] = {}
    results: dict[int, StackResult] = {}

    def advance(number: int, told: int | None) -> None:
        try:
            trainings[number] = steps[number].send(told)
        except StopIteration as ended:
            results[number] = ended.value
            trainings.pop(number, None)

    for number in range(len(steps)):
        advance(number, None)
    together = len(trainings) < 2
    while trainings:
        told = interruption.signal_number
        turn = list(trainings)
        if not together and told is None:
            least = min(training.at for training in trainings.values())
            turn = [number for number in turn if trainings[number].at == least]
            if len(turn) == len(trainings):
                first, *others = trainings.values()
                first.share_samples(others)
                together = True
        for number in turn:
            advance(number, told)
    return [results[number] for number in range(len(steps))]


def precision(config: Config) -> int:
    """Return how many bits parameters and data have."""
    return getattr(config, "pytorch_precision", 32)


@contextmanager
def default_dtype(precision: int) -> Iterator[None]:
    """Use a float type for parameters and data while the context lasts."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(DTYPES[precision])
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Say in one line that something does not fit into memory, or where a user's layer fails."""
    try:
        yield
    except UsageError:
        raise
    except STOPS:
        raise
    except BaseException as error:
        said = _shortage(error) or failure_of_own_layer(error)
        if said is None:
            raise
        raise UsageError(said) from error


def _shortage(error: BaseException) -> str | None:
    if isinstance(error, RuntimeError) and not any(t in in_words(error) for t in _DOES_NOT_FIT):
        return None
    if not isinstance(error, MemoryError | OverflowError | RuntimeError):
        return None
    return (
        "this does not fit into memory: lower --batch-size, --input-size, --hidden-size or, "
        "with many runs, --ensemble-size"
    )
