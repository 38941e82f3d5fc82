"""Callbacks of `train(callbacks=…)`: early stopping, printing, pruning, and how they are called.

A callback has `on_log(run, step, metrics)`, which returns True to stop the run, or
`on_end(run, outcome)`, or both. Checkpoints hold the values of its dictionary `state`, by run.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
import torch

from .base.errors import STOPS, UsageError, did_you_mean, in_words
from .writer.event_file import METRIC_TEST, METRIC_VALID

__all__ = ["EarlyStop", "Optuna", "Print"]


def __dir__() -> list[str]:
    return __all__


SOLVED = "solved"
"""Key of the metrics that says, as 1 or 0, whether the test error of this step is low enough."""


@dataclass
class EarlyStop:
    """Stop a run that is solved, whose error is low enough, or whose error falls no more.

    Without arguments a run stops once it would be judged as solved if it ended there.

    tag: the metric that others look at, by default the validation error. below: stop when it is
    lower than this. patience: stop after so many log points without a new minimum.
    """

    tag: str = METRIC_VALID
    below: float | None = None
    patience: int | None = None
    state: dict[str, tuple[float, int]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        _require_count("EarlyStop: patience", self.patience)
        if not isinstance(self.below, Real | None):
            raise UsageError(
                f"EarlyStop: below: {self.below!r} is not a number; write such as 1e-5"
            )

    def on_log(self, run: str, step: int, metrics: Mapping[str, float]) -> bool:
        value = _metric(self.tag, metrics, run in self.state)
        if value is None:
            return False
        best, waited = self.state.get(run, (math.inf, 0))
        lower = value < best
        self.state[run] = best, waited = (value, 0) if lower else (best, waited + 1)
        if self.below is None and self.patience is None:
            if SOLVED not in metrics:
                raise UsageError("this task does not say when a run is solved; give below=")
            # A run is judged at its lowest validation error.
            return lower and metrics[SOLVED] == 1
        low = self.below is not None and value < self.below
        return low or (self.patience is not None and waited >= self.patience)


@dataclass
class Print:
    """Print a line for every so many log points of a run: some metrics, and the run."""

    tags: Collection[str] = (METRIC_VALID, METRIC_TEST)
    every: int = 1
    state: dict[str, int] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        _require_count("Print: every", self.every)

    def on_log(self, run: str, step: int, metrics: Mapping[str, float]) -> None:
        from tqdm import tqdm

        cells = [f"{tag} {metrics[tag]:.4g}" for tag in self.tags if tag in metrics]
        self.state[run] = self.state.get(run, -1) + bool(cells)
        if cells and self.state[run] % self.every == 0:
            tqdm.write("  ".join((f"{step:>7}", *cells, run)))


@dataclass
class Optuna:
    """Report an error of the run of a trial, and end both if the pruner of the study says so.

    `train` then raises `optuna.TrialPruned`, once everything is saved.
    """

    trial: Any
    tag: str = METRIC_VALID
    pruned: Exception | None = field(default=None, init=False)
    state: dict[str, bool] = field(default_factory=dict, init=False, repr=False)

    def on_log(self, run: str, step: int, metrics: Mapping[str, float]) -> bool:
        if self.state and run not in self.state:
            raise UsageError("a trial follows one run, and this call trains several")
        value, self.state[run] = _metric(self.tag, metrics, run in self.state), True
        if value is None:
            return False
        self.trial.report(value, step)
        if self.trial.should_prune():
            from optuna import TrialPruned

            self.pruned = TrialPruned(f"pruned at step {step}: {run}")
        return self.pruned is not None


def _require_count(name: str, given: Any) -> None:
    if given is not None and not (isinstance(given, int) and given > 0):
        raise UsageError(f"{name}: {given!r} is no number of log points; give 1 or more")


def _metric(tag: str, metrics: Mapping[str, float], has_begun: bool) -> float | None:
    """Return a metric; None if it is in other steps alone."""
    if tag not in metrics and not has_begun:
        remedy = did_you_mean(tag, metrics, f"one of {', '.join(metrics)}")
        raise UsageError(f"nothing is logged under {tag!r}; {remedy}")
    return metrics.get(tag)


class Hooks:
    """The callbacks and the logger of a call, which change no number of a run.

    form: the name of the logger, if it has one. failure: the first error, in one line.
    """

    def __init__(self, callbacks: Any = (), logger: Any = "tensorboard"):
        callbacks = () if callbacks is None else callbacks
        many = isinstance(callbacks, Iterable) and not hasattr(callbacks, "on_log")
        self.callbacks = list(callbacks) if many else [callbacks]
        self.form, self.logger = (logger, None) if isinstance(logger, str) else (None, logger)
        self.failure: UsageError | None = None
        for one in self.callbacks:
            if isinstance(one, type):
                raise UsageError(f"callbacks: {one.__name__} is a class; write {one.__name__}()")
            if not (hasattr(one, "on_log") or hasattr(one, "on_end") or callable(one)):
                problem = "has neither on_log nor on_end, and is no function"
                raise UsageError(f"callbacks: {one!r} {problem}")
        has_log = not isinstance(logger, type) and callable(getattr(logger, "log", None))
        if not (logger is None or has_log or self.form in ("tensorboard", "csv")):
            known = '"tensorboard", "csv", None, or an object with log(run, step, metrics)'
            raise UsageError(f"logger: {logger!r} is not one of {known}")

    def __bool__(self) -> bool:
        return bool(self.callbacks) or self.logger is not None

    def begin(self, run: str, saved: Sequence[Any]) -> None:
        """Put back the states of callbacks for a run, which a checkpoint holds."""
        same = [name for name, _ in saved] == [type(one).__name__ for one in self.callbacks]
        for place, one in enumerate(self.callbacks):
            state = _state(one)
            state.pop(run, None)
            state |= saved[place][1] if same else {}

    def states(self, run: str, is_plain: Callable[..., bool]) -> list[tuple[str, Any]]:
        """Return the name of each callback and its state of a run, empty if it cannot be saved."""
        states = []
        for one in self.callbacks:
            own = {key: value for key, value in _state(one).items() if key == run}
            states.append((type(one).__name__, own if is_plain(own, set()) else {}))
            if not is_plain(own, set()):
                text = "no checkpoint holds its state; make it of numbers, texts and lists"
                self._fail(UsageError(f"callbacks: {type(one).__name__}: {text}"))
        return states

    def logged(self, run: str, step: int, metrics: dict[str, float]) -> bool:
        """Show a logged step to all; return whether one of them stops the run."""
        self._call(self.logger, "log", run, step, dict(metrics))
        said = [self._call(one, "on_log", run, step, dict(metrics)) for one in self.callbacks]
        return any(isinstance(one, bool | np.bool_) and one for one in said)

    def ended(self, run: str, outcome: Any) -> None:
        for one in (self.logger, *self.callbacks):
            self._call(one, "on_end", run, outcome)

    def _call(self, one: Any, method: str, run: str, *arguments: Any) -> Any:
        is_method = hasattr(one, "on_log") or hasattr(one, "on_end") or method != "on_log"
        called = getattr(one, method, None) if is_method else one
        if called is None:
            return None
        try:
            return called(run, *arguments)
        except STOPS:
            raise
        except BaseException as error:
            said = str(error) if isinstance(error, UsageError) else in_words(error)
            kind = getattr(one, "__qualname__", type(one).__name__) + f".{method}" * is_method
            where = f" at step {arguments[0]}" if method in ("on_log", "log") else ""
            text = f"{'logger' if one is self.logger else 'callbacks'}: {kind} failed for {run}"
            after = "everything is saved, and the same call goes on"
            self._fail(UsageError(f"{text}{where}: {said}; {after}"), error)

    def _fail(self, failure: UsageError, cause: BaseException | None = None) -> None:
        failure.__cause__, self.failure = cause, self.failure or failure

    def settle(self) -> None:
        """Raise what failed, or what prunes a trial."""
        pruned = (one.pruned for one in self.callbacks if isinstance(one, Optuna))
        if error := self.failure or next(filter(None, pruned), None):
            raise error


@contextmanager
def generators_kept() -> Iterator[None]:
    """Put the global generators back afterwards, which runs that torch trains draw from."""
    state = np.random.get_state()
    gpus = [torch.cuda.current_device()] if torch.cuda.is_initialized() else []
    try:
        with torch.random.fork_rng(devices=gpus):
            yield
    finally:
        np.random.set_state(state)


def _state(callback: Any) -> dict[str, Any]:
    state = getattr(callback, "state", None)
    return state if isinstance(state, dict) else {}
