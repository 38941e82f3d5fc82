"""What training logs: errors on fixed rows, and values observed of models, of every run."""

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule, extended_children
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import results_root
from stable_nalu.options import Config
from stable_nalu.writer import event_file

from . import has_gpu

Gradients = Sequence[torch.Tensor | None]

SECONDS_UNWRITTEN = 1.0
"""Opening hundreds of files at every log point would take longer than what is logged."""


@dataclass(frozen=True)
class Observed:
    """What is logged of an update besides its losses.

    modules: what modules observe. penalties: every single penalty. gradients: of parameters; of:
    their ids, if not of all. verbose: whether modules log what is for --verbose alone.
    """

    modules: bool = False
    penalties: bool = False
    gradients: bool = False
    verbose: bool = False
    of: frozenset[int] | None = None


class LogRecord(NamedTuple):
    """A value with leading run dimensions, of kind scalar, summary, tensor or histogram.

    It is a text of a single run, or texts, one of each run, where measures are texts.
    """

    tag: str
    value: Any
    kind: str = "scalar"


@dataclass(frozen=True)
class StepLosses:
    """Losses of one iteration, shape `runs`, and the gradients as the optimiser saw them."""

    criterion: torch.Tensor
    penalty: torch.Tensor | None
    total: torch.Tensor
    gradients: Gradients = ()

    def records(self) -> list[LogRecord]:
        """Return the losses under their tags; without a penalty, that is zero."""
        criterion = self.criterion.detach()
        penalty = torch.zeros_like(criterion) if self.penalty is None else self.penalty
        tags = event_file.LOSS_CRITERION, event_file.LOSS_REGULARIZER, event_file.LOSS_TOTAL
        return list(map(LogRecord, tags, (criterion, penalty, self.total)))


class Recorder:
    """Writes to the event files of all runs; a run that is no longer `live` gets nothing.

    news: numbers of all runs by step and tag that callbacks have not seen; None: there are none.
    in_log: whether log10 of the test error is written, too.
    """

    news: dict[int, dict[str, np.ndarray]] | None = None
    in_log = False

    def __init__(self, writers: Sequence, *, stacked: bool):
        self.writers = list(writers)
        self.live = [True] * len(self.writers)
        self._stacked = stacked
        self._flushed = -math.inf
        self._collected: list[LogRecord] = []

    def write(self, items: Iterable[tuple[Any, ...]]) -> None:
        """Collect values of all live runs, in order: `LogRecord` or pairs of tag and value."""
        for tag, value, kind in (LogRecord(*item) for item in items):
            if isinstance(value, torch.Tensor):
                # A copy, as what it was observed of may change before the step ends.
                own = value.detach().cpu().numpy().copy()
                self._collected.append(LogRecord(tag, own if self._stacked else own[None], kind))
            else:
                texts = [value] if isinstance(value, str) else value
                self._collected.append(LogRecord(tag, texts, "text"))

    def commit(self, step: int) -> None:
        """End the step: what was collected becomes part of the event files' buffers."""
        if self.news is not None:
            scalars = {t.lstrip("/"): v for t, v, kind in self._collected if kind == "scalar"}
            self.news.setdefault(step, {}).update(scalars)
        tests = [v for tag, v, _ in self._collected if tag.lstrip("/") == event_file.METRIC_TEST]
        for error in tests if self.in_log else ():
            logarithm = np.log10(np.maximum(error, event_file.SMALLEST_ERROR))
            self._collected.append(LogRecord(f"/{event_file.LOG_ERROR}", logarithm))
        if self._collected and all(kind == "scalar" for *_, kind in self._collected):
            tags, columns, _ = zip(*self._collected, strict=True)
            events = event_file.scalar_events(tags, np.stack(columns, axis=1), step)
            for writer, live, event in zip(self.writers, self.live, events, strict=True):
                if live:
                    writer.add(event)
        else:
            for run in np.flatnonzero(self.live).tolist():
                self._give(run)
                self.writers[run].commit(step)
        self._collected.clear()

    def note(self, run: int, tag: str, text: str, step: int, *, rooted: bool = True) -> None:
        """Make an event of what was collected of one run, and of a text."""
        self._give(run)
        self.writers[run].text(tag, text, rooted=rooted)
        self.writers[run].commit(step)

    def _give(self, run: int) -> None:
        for tag, values, kind in self._collected:
            how = {"rooted": False} if kind == "text" else {}
            getattr(self.writers[run], kind)(tag, values[run], **how)

    def begin_end(self) -> None:
        """Let runs that are resumed to train longer drop what is logged from here on."""
        for writer in self.writers:
            writer.begin_end()

    def flush_now_and_then(self) -> None:
        """Put everything on disk unless that was done a moment ago."""
        if time.monotonic() - self._flushed >= SECONDS_UNWRITTEN:
            self.flush()

    def flush(self) -> None:
        self._flushed = time.monotonic()
        for writer in self.writers:
            writer.flush()


def prefixed_modules(
    module: ExtendedTorchModule, parent: str = "", passes: int = 1
) -> Iterator[tuple[str, ExtendedTorchModule, int]]:
    """Yield a module and its children: (tag prefix, module, uses per forward pass)."""
    prefix = f"{parent}/{module.namespace}" if parent else module.namespace
    passes *= module.passes_per_forward
    yield prefix, module, passes
    for child in extended_children(module):
        yield from prefixed_modules(child, parent if child.namespace_is_sibling else prefix, passes)


@contextmanager
def traced(model: Any, verbose: bool) -> Iterator[Callable[[], list[LogRecord]]]:
    """Let modules keep intermediate values of passes, and yield what returns their observations.

    For a network that has steps, published logs have the observations of every step.
    """
    steps: list[LogRecord] = []
    has_steps = hasattr(model, "step_ended")
    for module in model.extended_modules():
        module.trace = {}
    if has_steps:
        model.step_ended = lambda: steps.extend(observe_modules(model, verbose=verbose))
    try:
        yield lambda: steps if has_steps else observe_modules(model, verbose=verbose)
    finally:
        if has_steps:
            model.step_ended = None
        for module in model.extended_modules():
            module.trace = None


def numbers(value: torch.Tensor) -> np.ndarray:
    """Return one float64 number per run."""
    return value.detach().cpu().reshape(-1).to(torch.float64).numpy()


@torch.no_grad()
def observe_modules(model: ExtendedTorchModule, *, verbose: bool) -> list[LogRecord]:
    """Return what modules observe of a traced forward pass."""
    tagged = []
    for prefix, module, passes in prefixed_modules(model):
        shown = [o for o in module.observations() if verbose or not o.verbose_only]
        tagged += [LogRecord(f"{prefix}/{o.name}", o.value(), o.kind) for o in shown] * passes
    return tagged


@torch.no_grad()
def observe_regualizers(model: ExtendedTorchModule, zeros: torch.Tensor) -> list[LogRecord]:
    """Return all unweighted penalties; one that is off is `zeros`, which has the shape `runs`."""
    return [
        LogRecord(f"{prefix}/regualizer/{key}", zeros if term is None else term())
        for prefix, module, _ in prefixed_modules(model)
        for key, term in module.regualizer_terms().items()
    ]


def own_parameters(
    module: torch.nn.Module, path: str = ""
) -> Iterator[tuple[str, torch.nn.Parameter]]:
    """Yield parameters of a module and of the plain torch modules in it, by dotted name."""
    for name, parameter in module.named_parameters(recurse=False):
        yield path + name, parameter
    for name, child in module.named_children():
        if not isinstance(child, ExtendedTorchModule):
            yield from own_parameters(child, f"{path}{name}.")


def reported(config: Config, flags: Sequence[str]) -> dict[str, Any]:
    """Return the values of some flags; `cuda` is whether a GPU is used."""
    values = {name: getattr(config, name) for name in flags}
    return values | {"cuda": has_gpu(config)} if values else {}


class ResultFile:
    """`<results root>/<name>.ndjson`, one JSON object per run and line, as published.

    It is created at once, so that nothing trains in vain.
    """

    def __init__(self, name: str):
        self.path = results_root() / f"{name}.ndjson"
        self._write("")

    def append(self, record: Mapping[str, object], *, once: bool = False) -> None:
        """Add a line; a number that JSON does not know (NaN, infinity) becomes null.

        once: leave the file as it is when it has that line already.
        """
        unknown = (k for k, v in record.items() if isinstance(v, float) and not math.isfinite(v))
        line = json.dumps({**record, **dict.fromkeys(unknown)}, allow_nan=False) + "\n"
        if not (once and line in self.path.read_text(encoding="utf-8").splitlines(keepends=True)):
            self._write(line)

    def _write(self, text: str) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            problem = f"cannot write {self.path}: {error.strerror}"
            raise UsageError(f"{problem}; set RESULTS_DIR elsewhere") from None


EVALUATION_ROWS = 10_000
UNTRAINED_SEED = 1

RunSamples = Sequence[tuple[torch.Tensor, torch.Tensor]]
"""Inputs and targets of every run; runs may share tensors."""


class EvaluationSet:
    """Fixed rows of every run, for validation or test.

    Runs with the same inputs share them in memory.
    """

    def __init__(self, streams: Sequence, *, device: torch.device):
        xs: dict[object, torch.Tensor] = {}
        ts: dict[object, torch.Tensor] = {}
        keys = [stream.keys() for stream in streams]
        for stream, (x_key, t_key) in zip(streams, keys, strict=True):
            if x_key not in xs or t_key not in ts:
                x, t = stream[0:EVALUATION_ROWS]
                xs.setdefault(x_key, x)
                ts.setdefault(t_key, t)
        self._x, self._t = (torch.stack([*sets.values()]).to(device) for sets in (xs, ts))
        self._x_of_run, self._t_of_run = (
            np.array([[*sets].index(key) for key in own])
            for sets, own in zip((xs, ts), zip(*keys, strict=True), strict=True)
        )

    def squares(self, model: ExtendedTorchModule) -> torch.Tensor:
        """Return the squared error of every row of a single run: `(rows, 1)`."""
        return (model(self._x[0]) - self._t[0]) ** 2

    def errors(self, engine: Any, *, roots: bool) -> torch.Tensor:
        """Return the mean squared error of each run and, if `roots`, the mean absolute one."""
        x, t = self._x.numpy(), self._t.numpy()
        if (times := 4 // math.gcd(x.shape[1], 4)) > 1:
            # The engine takes rows in fours; repeated rows have the same mean.
            x, t = (np.concatenate([own] * times, 1) for own in (x, t))
        return engine.errors(x, t, self._x_of_run, self._t_of_run, roots=roots)

    def inputs(self, rows: int) -> torch.Tensor:
        """Return the first inputs of every run, again where there are fewer: `(runs, rows, in)`."""
        places = torch.arange(rows) % self._x.shape[1]
        return self._x[:, places][self._x_of_run]

    def rows_of_runs(self) -> RunSamples:
        """Return inputs `(rows, in)` and targets `(rows, 1)` of every run."""
        places = zip(self._x_of_run.tolist(), self._t_of_run.tolist(), strict=True)
        return [(self._x[x], self._t[t]) for x, t in places]


def evaluate(
    model: ExtendedTorchModule,
    sets: Sequence[EvaluationSet],
    *,
    eval_mode: bool,
    measure: Callable[[torch.Tensor], torch.Tensor] = lambda squares: squares.mean((-2, -1)),
) -> list[torch.Tensor]:
    """Return the errors of a single run on all sets, without gradients and sampling.

    The model is in training mode afterwards.

    measure: makes errors of the squares of all rows.
    """
    model.train(not eval_mode)
    with torch.no_grad(), model.no_random():
        errors = [measure(s.squares(model)) for s in sets]
    model.train()
    return errors


class RandomModels:
    """Mean errors of untrained networks, logged with the absolute errors of the model.

    build: makes an untrained network, initialised by torch. sets: validation and test.
    """

    def __init__(
        self, build: Callable[[], torch.nn.Module], count: int, sets: Sequence[RunSamples]
    ):
        device = sets[0][0][0].device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(UNTRAINED_SEED)
            models = [build().to(device) for _ in range(count)]
        errors = ([_errors(model, rows) for model in models] for rows in sets)
        self._means = [torch.stack(of_set).mean(0) for of_set in errors]

    @staticmethod
    def measure(squares: torch.Tensor) -> torch.Tensor:
        """Return mean squared and mean absolute error, `(2, *runs)`, of the squares of all rows."""
        return torch.stack([squares.mean((-2, -1)), squares.sqrt().mean((-2, -1))])

    def logged(
        self, errors: Sequence[torch.Tensor], run: int | None = None
    ) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield, by tags, the `measure` of the model on both sets, squared ones first.

        Of the untrained networks that is also the mean of the roots of their squared errors.

        run: whose errors these are; None: all runs'.
        """
        for k, suffix in enumerate(("", event_file.ABSOLUTE_SUFFIX)):
            yield event_file.METRIC_VALID + suffix, errors[0][k]
            yield event_file.METRIC_TEST + suffix, errors[1][k]
        suffixes = "", event_file.ROOT_SUFFIX, event_file.ABSOLUTE_SUFFIX
        random = event_file.RANDOM_VALID, event_file.RANDOM_TEST
        for tag, means in zip(random, self._means, strict=True):
            for suffix, error in zip(suffixes, means, strict=True):
                own = error if run is None else error[run]
                yield tag + suffix, own.reshape(errors[0].shape[1:])


@torch.no_grad()
def _errors(model: torch.nn.Module, rows: RunSamples) -> torch.Tensor:
    """Return mean squared error, its root and mean absolute error of one network: `(3, runs)`."""
    outputs = {x.data_ptr(): x for x, _ in rows}
    outputs = {place: model(x) for place, x in outputs.items()}
    squares = [RandomModels.measure((outputs[x.data_ptr()] - t) ** 2) for x, t in rows]
    return torch.stack([torch.stack([s, s.sqrt(), a]) for s, a in squares], dim=-1)
