"""Training that counts epochs: the loop over batches that all image scripts share."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import IndexLoader
from stable_nalu.dataset.loader import Batch
from stable_nalu.tags import EPOCH

from ..checkpoint import LOGGED
from ..recorder import TaggedValue, scalar
from ..stack import Setup, StackTraining, Unit
from ..step import TrainingStep

EPOCHS = Unit("epoch", "--max-epochs", "batch")
PROGRESS = {"batch": int, "step": int, "order": (torch.Tensor, type(None)), "own": dict, **LOGGED}
"""What is kept of the progress of a run that counts epochs."""


@dataclass
class Place:
    """How far a run is: `batch` batches of an epoch, in `order`, are trained, `step` in all.

    order: None as long as the epoch has not begun.
    """

    batch: int = 0
    step: int = 0
    order: torch.Tensor | None = None


class EpochTraining(StackTraining):
    """One run of an image script: what is trained, evaluated and logged.

    Batches come from `batches`. At the first batch of an epoch that is a log point, `evaluate` logs
    metrics; `train_batch` makes an update and logs it. Whatever is logged between two updates
    becomes one event. `error_tags`: the validation and test error in the log, by their tags for the
    HParams plugin.
    """

    clock_name = "update"
    error_tags: Mapping[str, str]

    def __init__(
        self, setup: Setup, model: ExtendedTorchModule, step: TrainingStep, batches: IndexLoader
    ):
        super().__init__(setup, model, step)
        torch.backends.cudnn.deterministic = True
        self.batches = batches
        self.length = len(batches) * (self.config.max_epochs + 1)
        self.place = Place()

    def is_log_point(self, epoch: int) -> bool:
        """Return whether the first batch of an epoch is preceded by an evaluation."""
        raise NotImplementedError

    def evaluate(self) -> Iterator[None]:
        """Log all metrics; yield now and then, where it may be left for good."""
        raise NotImplementedError

    def train_batch(self, epoch: int, update: int, batch: Batch, *, at_log_point: bool) -> None:
        """Make and log one update, the `update`-th one counted from 1."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return what the console shows of the last evaluation and update."""
        raise NotImplementedError

    def results(self) -> dict[str, float]:
        """Return final losses by name; one that is not finite makes the run a diverged one."""
        raise NotImplementedError

    def shown_parameters(self) -> Iterable[tuple[str, torch.Tensor]]:
        """Return the parameters that the console shows at the end."""
        return ()

    def end_epoch(self, epoch: int) -> None:
        """Do what follows the last batch of an epoch."""

    def get_state(self) -> dict:
        """Return plain values of a run besides model, optimiser and generators."""
        return {}

    def set_state(self, state: dict) -> None:
        """Put them back."""

    def write(self, tagged: Iterable[TaggedValue]) -> None:
        """Log values of this update."""
        self.recorder.write(tagged)

    @property
    def done(self) -> int:
        return self.place.step

    def introduce(self) -> None:
        self.view.line(f"{self.model}\n\n{self.setup.names[0]}\n")

    def train(self) -> Generator[int | None, None, None]:
        while self.at <= self.config.max_epochs and not self.all_diverged:
            yield self.at if self.place.order is None else None
            yield from self._train_epoch()
        if self.all_diverged:
            self.at, self.place = self.config.max_epochs + 1, Place(step=self.place.step)

    def _train_epoch(self) -> Iterator[None]:
        place = self.place
        if place.order is None:
            place.order = self.batches.begin()
        batches = self.batches.batches(place.order, place.batch)
        first = place.batch
        for number in range(first, len(self.batches)):
            if number > first:
                yield None
            due = number == 0 and self.is_log_point(self.at)
            put_back = self.snapshot() if due else None
            batch = next(batches)
            self.clock = place.step + 1
            self.write([scalar(EPOCH, torch.tensor(self.at))])
            if put_back is not None:
                self.freeze_diverged()
                if self.all_diverged:
                    return
                yield from self._evaluate_unless_left(put_back)
            self.train_batch(self.at, self.clock, batch, at_log_point=due)
            self.recorder.commit(self.clock)
            if due:
                self.recorder.flush()
                self.view.line(f"train {self.at}: {self.summary()}")
            place.batch, place.step = number + 1, self.clock
            self.view.advance(1)
        self.end_epoch(self.at)
        self.at, self.place = self.at + 1, Place(step=place.step)

    def _evaluate_unless_left(self, put_back: Callable[[], None]) -> Iterator[None]:
        try:
            yield from self.evaluate()
        except GeneratorExit:
            put_back()
            raise

    def finish(self) -> bool:
        put_back = self.snapshot()
        if not (self.is_log_point(self.config.max_epochs) or self.all_diverged):
            self.recorder.begin_end()
            for _ in self.evaluate():
                pass
            self.recorder.commit(self.clock)
        self._results = self.results()
        put_back()
        infinite = not all(math.isfinite(value) for value in self._results.values())
        return bool(self.diverged_at) or infinite

    def final_errors(self) -> Mapping[str, np.ndarray]:
        # From the log, as a resumed run has not evaluated what was logged before.
        from stable_nalu.writer.event_reader import EventFileReader

        self.recorder.flush()
        last: dict[str, Any] = {}
        for event in EventFileReader(self.recorder.writers[0].events.path):
            last.update(zip(event.tags, event.values, strict=True))
        found = {tag: logged for tag, logged in self.error_tags.items() if logged in last}
        return {tag: np.array([last[logged]]) for tag, logged in found.items()}

    def report(self) -> None:
        self.view.line("finished:")
        for name, value in self._results.items():
            self.view.line(f"  - {name}: {value}")
        for name, parameter in self.shown_parameters():
            self.view.line(f"{name}\n{parameter.data}")

    def progress(self, run: int) -> dict[str, Any]:
        return {**vars(self.place), "own": self.get_state()}

    def set_progress(self, run: int, progress: Mapping[str, Any]) -> None:
        self.set_state(progress["own"])
        self.place = Place(progress["batch"], progress["step"], progress["order"])
