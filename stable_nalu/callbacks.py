"""Callbacks of `train(callbacks=…)`: early stopping, printing, pruning, and how they are called.

A callback has `on_log(run, step, metrics)`, which returns True to stop the run, or
`on_end(run, outcome)`, or both. One whose run may be resumed can have `state_dict(run)`, which
returns plain values, and `load_state_dict(run, state)`, which gets None of a run that begins.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from .base.errors import STOPS, UsageError, did_you_mean, in_words
from .writer.event_file import METRIC_TEST, METRIC_VALID

SOLVED = "solved"
"""Key of the metrics that says, as 1 or 0, whether the test error of this step is low enough."""
LOGGERS = "tensorboard", "csv", None


class EarlyStop:
    """Stop a run that is solved, whose error is low enough, or whose error falls no more.

    Without arguments a run stops once it would be judged as solved if it ended there.

    Args:
        tag: the metric that `below` and `patience` look at, by default the validation error.
        below: stop when the metric is lower than this.
        patience: stop after so many log points without a new minimum.
        min_change: by how much a new minimum must be lower.
    """

    def __init__(
        self,
        tag: str = METRIC_VALID,
        *,
        below: float | None = None,
        patience: int | None = None,
        min_change: float = 0.0,
    ):
        if patience is not None and patience < 1:
            raise UsageError(f"patience: {patience!r} is not a number of log points, 1 or more")
        self.tag, self.below, self.patience, self.min_change = tag, below, patience, min_change
        self._seen: dict[str, tuple[float, int]] = {}

    def on_log(self, run: str, step: int, metrics: Mapping[str, float]) -> bool:
        if self.tag not in metrics:
            if run in self._seen:
                return False
            raise UsageError(_no_metric(self.tag, metrics))
        best, waited = self._seen.get(run, (math.inf, 0))
        value = metrics[self.tag]
        lower = value < best - self.min_change
        self._seen[run] = (value, 0) if lower else (best, waited + 1)
        if self.below is None and self.patience is None:
            if SOLVED not in metrics:
                raise UsageError("this task does not say when a run is solved; give below=")
            # A run is judged at its lowest validation error.
            return lower and metrics[SOLVED] == 1
        low = self.below is not None and value < self.below
        return low or (self.patience is not None and self._seen[run][1] >= self.patience)

    def state_dict(self, run: str) -> tuple[float, int] | None:
        return self._seen.get(run)

    def load_state_dict(self, run: str, state: tuple[float, int] | None) -> None:
        self._seen.pop(run, None)
        if state is not None:
            self._seen[run] = state


class Print:
    """Print a line for each logged step: some metrics, by default errors, and the run.

    every: print each so many log points of a run.
    """

    def __init__(self, tags: Collection[str] = (METRIC_VALID, METRIC_TEST), *, every: int = 1):
        self.tags, self.every = tags, every
        self._lines: dict[str, int] = {}

    def on_log(self, run: str, step: int, metrics: Mapping[str, float]) -> None:
        from tqdm import tqdm

        cells = [f"{tag} {metrics[tag]:.4g}" for tag in self.tags if tag in metrics]
        lines = self._lines[run] = self._lines.get(run, -1) + bool(cells)
        if cells and lines % self.every == 0:
            tqdm.write("  ".join((f"{step:>7}", *cells, run)))

    def on_end(self, run: str, outcome: Any) -> None:
        self._lines.pop(run, None)


class Optuna:
    """Report an error of the run of a trial, and end both if the pruner of the study says so.

    `train` then raises `optuna.TrialPruned`, once everything is saved.
    """

    def __init__(self, trial: Any, tag: str = METRIC_VALID):
        self.trial, self.tag = trial, tag
        self.pruned: Exception | None = None
        self._run: str | None = None

    def on_log(self, run: str, step: int, metrics: Mapping[str, float]) -> bool:
        if self._run not in (None, run):
            raise UsageError("a trial follows one run, and this call trains several")
        if self.tag not in metrics:
            if self._run is None:
                raise UsageError(_no_metric(self.tag, metrics))
            return False
        self._run = run
        self.trial.report(metrics[self.tag], step)
        if not self.trial.should_prune():
            return False
        import optuna

        self.pruned = optuna.TrialPruned(f"pruned at step {step}: {run}")
        return True


def _no_metric(tag: str, metrics: Mapping[str, float]) -> str:
    remedy = did_you_mean(tag, metrics, f"one of {', '.join(metrics)}")
    return f"nothing is logged under {tag!r}; {remedy}"


class Hooks:
    """The callbacks and the logger of a call, which change no number of a run.

    failure: the first error of any of them, in one line.
    """

    def __init__(self, callbacks: Iterable[Any], logger: Any):
        self.callbacks, self.logger = list(callbacks), logger
        self.failure: UsageError | None = None

    @classmethod
    def of(cls, callbacks: Any, logger: Any) -> "Hooks | None":
        """Return the hooks of arguments of `train`, None if there are none."""
        many = isinstance(callbacks, Iterable) and not hasattr(callbacks, "on_log")
        several = list(callbacks) if many else [callbacks]
        for one in several:
            if isinstance(one, type):
                raise UsageError(f"callbacks: {one.__name__} is a class; write {one.__name__}()")
            if not (hasattr(one, "on_log") or hasattr(one, "on_end") or callable(one)):
                problem = f"{one!r} has neither on_log nor on_end, and is no function"
                raise UsageError(f"callbacks: {problem}")
        if isinstance(logger, str | None):
            if logger not in LOGGERS:
                known = '"tensorboard", "csv", None, or an object with log(run, step, metrics)'
                raise UsageError(f"logger: {logger!r} is not one of {known}")
            logger = None
        elif isinstance(logger, type) or not callable(getattr(logger, "log", None)):
            raise UsageError(f"logger: {logger!r} has no log(run, step, metrics)")
        return cls(several, logger) if several or logger is not None else None

    def begin(self, run: str, states: Sequence[Any]) -> None:
        """Let callbacks know that a run begins, or goes on from what they were in a checkpoint."""
        known = [type(one).__name__ for one in self.callbacks]
        same = [name for name, _ in states] == known
        for place, one in enumerate(self.callbacks):
            self._call(one, "load_state_dict", run, states[place][1] if same else None)

    def states(self, run: str, is_plain: Callable[..., bool]) -> list[tuple[str, Any]]:
        """Return the name of each callback and its state of a run, which a checkpoint can hold."""
        found = [(type(one).__name__, self._call(one, "state_dict", run)) for one in self.callbacks]
        for name, state in found:
            if not is_plain(state, set()):
                problem = f"{name}.state_dict returns what no checkpoint holds"
                remedy = "return numbers, texts, lists, dictionaries or tensors"
                self.failure = self.failure or UsageError(f"callbacks: {problem}; {remedy}")
        return [(name, state if is_plain(state, set()) else None) for name, state in found]

    def logged(self, run: str, step: int, metrics: dict[str, float]) -> bool:
        """Show a logged step to all; return whether one of them stops the run."""
        self._call(self.logger, "log", run, step, dict(metrics))
        said = [self._call(one, "on_log", run, step, dict(metrics)) for one in self.callbacks]
        return any(isinstance(one, bool | np.bool_) and one for one in said)

    def ended(self, run: str, outcome: Any) -> None:
        for one in (self.logger, *self.callbacks):
            self._call(one, "on_end", run, outcome)

    def _call(self, one: Any, method: str, run: str, *arguments: Any) -> Any:
        plain = method == "on_log" and not hasattr(one, "on_log") and not hasattr(one, "on_end")
        called = one if plain else getattr(one, method, None)
        if called is None:
            return None
        state = np.random.get_state()
        try:
            with torch.random.fork_rng(devices=[]):
                return called(run, *arguments)
        except STOPS:
            raise
        except BaseException as error:
            name = "logger" if one is self.logger else "callbacks"
            kind = getattr(one, "__qualname__", type(one).__name__)
            where = f"{kind}{'' if plain else f'.{method}'} failed for {run}"
            where += f" at step {arguments[0]}" if method in ("on_log", "log") else ""
            said = str(error) if isinstance(error, UsageError) else in_words(error)
            text = f"{name}: {where}: {said}; everything is saved, and the same call goes on"
            self.failure = self.failure or _because(text, error)
        finally:
            np.random.set_state(state)

    def settle(self) -> None:
        """Raise what failed, or what prunes a trial."""
        if self.failure is not None:
            raise self.failure
        for one in self.callbacks:
            if isinstance(one, Optuna) and one.pruned is not None:
                raise one.pruned


def _because(text: str, cause: BaseException) -> UsageError:
    failure = UsageError(text)
    failure.__cause__ = cause
    return failure
