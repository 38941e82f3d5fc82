"""What training logs: values observed of a model, written into the event file of every run."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule, extended_children
from stable_nalu.base.tags import LOSS_CRITERION, LOSS_REGULARIZER, LOSS_TOTAL
from stable_nalu.writer import scalar_events

Gradients = Sequence[torch.Tensor | None]

SECONDS_UNWRITTEN = 1.0
"""Opening hundreds of files at every log point would take longer than what is logged."""


class Recorder:
    """Writes to the event files of all runs; a run that is no longer `live` gets nothing."""

    def __init__(self, writers: Sequence, *, stacked: bool):
        self.writers = list(writers)
        self.live = [True] * len(self.writers)
        self._stacked = stacked
        self._flushed = -math.inf
        self._scalars: list[tuple[str, np.ndarray]] = []
        self._are_alone = True

    def write(self, tagged: "Iterable[TaggedValue]") -> None:
        """Collect values of all live runs, in order."""
        for item in tagged:
            value = item.value.detach().cpu()
            runs = value.numpy() if self._stacked else value.unsqueeze(0).numpy()
            if item.kind == "scalar":
                # A copy, as what it was observed of may change before the step ends.
                self._scalars.append((item.tag, runs.astype(np.float64)))
            else:
                self._hand_over()
                self._give(item.kind, item.tag, runs)

    def _give(self, kind: str, tag: str, parts: Iterable) -> None:
        for writer, live, part in zip(self.writers, self.live, parts, strict=True):
            if live:
                getattr(writer, kind)(tag, part)

    def _hand_over(self) -> None:
        """Give the writers the scalars that were collected, as values of other kinds follow."""
        for tag, values in self._scalars:
            self._give("scalar", tag, values.tolist())
        self._scalars.clear()
        self._are_alone = False

    def write_named(self, items: Iterable[tuple[str, Any]]) -> None:
        """Collect numbers of all runs, and texts: one of a single run, or one of each."""
        for tag, value in items:
            if isinstance(value, torch.Tensor):
                self.write([scalar(tag, value)])
                continue
            for run, text in enumerate([value] if isinstance(value, str) else value):
                if self.live[run]:
                    self.text(run, tag, text, rooted=False)

    def text(self, run: int, tag: str, text: str, *, rooted: bool = True) -> None:
        """Collect a text of one run."""
        self._hand_over()
        self.writers[run].text(tag, text, rooted=rooted)

    def commit(self, step: int) -> None:
        """End the step: what was collected becomes part of the event files' buffers."""
        if self._are_alone and self._scalars:
            tags, columns = zip(*self._scalars, strict=True)
            events = scalar_events(tags, np.stack(columns, axis=1), step)
            self._scalars.clear()
            for writer, live, event in zip(self.writers, self.live, events, strict=True):
                if live:
                    writer.add(event)
            return
        self._hand_over()
        self._are_alone = True
        for writer, live in zip(self.writers, self.live, strict=True):
            if live:
                writer.commit(step)

    def begin_end(self) -> None:
        """Let runs that are resumed to train longer drop what is logged from here on."""
        for writer in self.writers:
            writer.begin_end()

    def flush_now_and_then(self) -> None:
        """Put everything on disk unless that was done a moment ago."""
        if time.monotonic() - self._flushed >= SECONDS_UNWRITTEN:
            self.flush()

    def flush(self) -> None:
        """Put everything on disk."""
        self._flushed = time.monotonic()
        for writer in self.writers:
            writer.flush()


def scalar(tag: str, value: torch.Tensor) -> "TaggedValue":
    """Return a scalar of shape `runs` under its tag."""
    return TaggedValue("scalar", tag, value)


@dataclass(frozen=True)
class TaggedValue:
    """A value of kind scalar, summary, tensor or histogram, with leading run dimensions."""

    kind: str
    tag: str
    value: torch.Tensor


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
def traced(model: Any, verbose: bool) -> Iterator[Callable[[], list[TaggedValue]]]:
    """Let modules keep intermediate values of passes, and yield what returns their observations.

    Of a network that has steps, published logs have those of every step.
    """
    steps: list[TaggedValue] = []
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


@dataclass(frozen=True)
class StepResult:
    """Losses of one iteration, shape `runs`, and the gradients as the optimiser saw them."""

    criterion: torch.Tensor
    penalty: torch.Tensor | None
    total: torch.Tensor
    gradients: Gradients

    def of_first(self) -> tuple[float, float, float]:
        """Return criterion, penalty and total of the first run."""
        penalty = 0.0 if self.penalty is None else float(numbers(self.penalty)[0])
        return float(numbers(self.criterion)[0]), penalty, float(numbers(self.total)[0])

    def losses(self) -> list[TaggedValue]:
        """Return the losses under their tags; without a penalty, that is zero."""
        criterion = self.criterion.detach()
        penalty = torch.zeros_like(criterion) if self.penalty is None else self.penalty
        return [
            scalar(LOSS_CRITERION, criterion),
            scalar(LOSS_REGULARIZER, penalty),
            scalar(LOSS_TOTAL, self.total),
        ]


def numbers(value: torch.Tensor) -> np.ndarray:
    """Return one float64 number per run."""
    return value.detach().cpu().reshape(-1).to(torch.float64).numpy()


@torch.no_grad()
def observe_modules(model: ExtendedTorchModule, *, verbose: bool) -> list[TaggedValue]:
    """Return what modules observe of a traced forward pass."""
    tagged = []
    for prefix, module, passes in prefixed_modules(model):
        values = [
            TaggedValue(o.kind, f"{prefix}/{o.name}", o.value())
            for o in module.observations()
            if verbose or not o.verbose_only
        ]
        tagged += values * passes
    return tagged


@torch.no_grad()
def observe_regualizers(model: ExtendedTorchModule, zeros: torch.Tensor) -> list[TaggedValue]:
    """Return all unweighted penalties; `zeros`, of shape `runs`, stands for one that is off."""
    return [
        TaggedValue("scalar", f"{prefix}/regualizer/{key}", zeros if term is None else term())
        for prefix, module, _ in prefixed_modules(model)
        for key, term in module.regualizer_terms().items()
    ]


def observe_gradients(
    model: ExtendedTorchModule, gradients: dict[int, torch.Tensor | None], run_dims: int
) -> list[TaggedValue]:
    """Return summary and histogram of each gradient's first row, as published logs hold them."""
    tagged = []
    for prefix, module, _ in prefixed_modules(model):
        for name, parameter in _own_parameters(module):
            gradient = gradients.get(id(parameter))
            if gradient is None:
                continue
            row = gradient.select(run_dims, 0) if gradient.ndim > run_dims else gradient
            tag = f"{prefix}/{name}/grad"
            tagged += [TaggedValue("summary", tag, row), TaggedValue("histogram", tag, row)]
    return tagged


def _own_parameters(
    module: torch.nn.Module, path: str = ""
) -> Iterator[tuple[str, torch.nn.Parameter]]:
    """Yield parameters of a module and of the plain torch modules in it, by dotted name."""
    for name, parameter in module.named_parameters(recurse=False):
        yield path + name, parameter
    for name, child in module.named_children():
        if not isinstance(child, ExtendedTorchModule):
            yield from _own_parameters(child, f"{path}{name}.")
