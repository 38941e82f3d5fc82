"""A run that counts epochs: what a script's own run has to say, and the loop over batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import IndexLoader
from stable_nalu.dataset.loader import Batch
from stable_nalu.machine import save_root
from stable_nalu.options import Config
from stable_nalu.tags import DIVERGED, EPOCH

from ..logging.console import ProgressConsole
from ..logging.recorder import Recorder, TaggedValue, scalar
from ..plan.interruption import Interruption
from ..plan.runs import LOGGED
from ..saved.checkpoint import (
    damage_as_usage_error,
    model_file,
    numpy_rng_state,
    restore_parameters,
    run_content,
    save_together,
    set_numpy_rng_state,
)
from ..step.optimizer import load_optimizer_state, optimizer_state
from ..step.step import TrainingStep

PROGRESS = {"batch": int, "step": int, "order": (torch.Tensor, type(None)), "own": dict, **LOGGED}
"""What is kept of the progress of a run that counts epochs."""


class EpochRun:
    """One run of an image script: what is trained, evaluated and logged.

    The loop takes batches from `batches`, lets `evaluate` log metrics at the first batch of an
    epoch that is a log point, and `train` make one update and log it. Whatever is logged between
    two updates becomes one event. A subclass sets `model`, `step` and `batches`.
    """

    model: ExtendedTorchModule
    step: TrainingStep
    batches: IndexLoader
    recorder: Recorder

    def is_log_point(self, epoch: int) -> bool:
        """Whether the first batch of an epoch is preceded by an evaluation."""
        raise NotImplementedError

    def evaluate(self) -> Iterator[None]:
        """Log all metrics; yields now and then, where it may be left for good."""
        raise NotImplementedError

    def train(self, epoch: int, update: int, batch: Batch, *, at_log_point: bool) -> None:
        """One update, the `update`-th one counted from 1."""
        raise NotImplementedError

    def summary(self) -> str:
        """What the console shows of the last evaluation and update."""
        raise NotImplementedError

    def results(self) -> dict[str, float]:
        """Final losses by name; one that is not finite makes the run a diverged one."""
        raise NotImplementedError

    def shown_parameters(self) -> Iterable[tuple[str, torch.Tensor]]:
        """Parameters that the console shows at the end."""
        return ()

    def end_epoch(self, epoch: int) -> None:
        """What follows the last batch of an epoch."""

    def get_state(self) -> dict:
        """Plain values of a run besides model, optimiser and generators."""
        return {}

    def set_state(self, state: dict) -> None:
        """Put them back."""

    def write(self, tagged: Iterable[TaggedValue]) -> None:
        """Log values of this update."""
        self.recorder.write(tagged)


@dataclass
class Place:
    """How far a run is: `batch` batches of `epoch`, in `order`, are trained, `step` in all.

    order: None as long as the epoch has not begun.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    order: torch.Tensor | None = None


class EpochLoop:
    """Trains a run, and saves it so that it can go on from between any two updates."""

    def __init__(self, run: EpochRun, config: Config, name: str, view: ProgressConsole):
        self.run = run
        self.config = config
        self.name = name
        self.view = view
        self.place = Place()
        self.diverged_at: int | None = None

    def train(self, interruption: Interruption) -> bool:
        """Train to the end of epoch `--max-epochs`; False when a signal stopped it before."""
        last, interval = self.config.max_epochs, self.config.checkpoint_interval
        while self.place.epoch <= last and self.diverged_at is None:
            if not self._epoch(interruption):
                return False
            finished = self.place.epoch
            if interval and finished % interval == 0 and finished <= last:
                self.save()
        if self.diverged_at is not None:
            self.place = Place(last + 1, step=self.place.step)
        return True

    def _epoch(self, interruption: Interruption) -> bool:
        place = self.place
        if interruption.signal_number is not None:
            return False
        if place.order is None:
            place.order = self.run.batches.begin()
        batches = self.run.batches.batches(place.order, place.batch)
        for number in range(place.batch, len(self.run.batches)):
            if interruption.signal_number is not None:
                return False
            due = number == 0 and self.run.is_log_point(place.epoch)
            before = _Snapshot(self.run) if due else None
            batch = next(batches)
            update = place.step + 1
            self.run.write([scalar(EPOCH, torch.tensor(place.epoch))])
            if before is not None:
                if self._has_diverged(update):
                    return True
                for _ in self.run.evaluate():
                    if interruption.signal_number is not None:
                        before.restore()
                        return False
            self.run.train(place.epoch, update, batch, at_log_point=due)
            self.run.recorder.commit(update)
            if due:
                self.run.recorder.flush()
                self.view.line(f"train {place.epoch}: {self.run.summary()}")
            place.batch, place.step = number + 1, update
            self.view.advance(1)
        self.run.end_epoch(place.epoch)
        self.place = Place(place.epoch + 1, step=place.step)
        return True

    def _has_diverged(self, update: int) -> bool:
        if not any(bool(p.isnan().any()) for p in self.run.model.parameters()):
            return False
        self.diverged_at = update
        message = f"diverged: a weight is not a number at update {update}"
        self.run.recorder.text(0, DIVERGED, message)
        self.run.recorder.commit(update)
        self.view.line(message)
        return True

    def save(self) -> None:
        """Checkpoint; nothing with `--no-save`."""
        if self.config.no_save:
            return
        (writer,) = self.run.recorder.writers
        # A checkpoint that outlives a power failure needs the log that it refers to.
        writer.events.sync()
        progress = {
            "batch": self.place.batch,
            "step": self.place.step,
            "order": self.place.order,
            "own": self.run.get_state(),
            "diverged_at": self.diverged_at,
            "event_file": writer.events.path.name,
            "event_position": writer.events.position,
        }
        content = run_content(
            self.place.epoch,
            self.config,
            {name: value.detach().cpu() for name, value in self.run.model.state_dict().items()},
            optimizer_state(self.run.step.optimizer, None),
            torch.get_rng_state(),
            progress,
        )
        save_together([(model_file(save_root(), self.name), content)])

    def restore(self, checkpoint: dict) -> None:
        """Go on where a checkpoint was taken."""
        path, progress = model_file(save_root(), self.name), checkpoint["progress"]
        with damage_as_usage_error(path):
            restore_parameters(self.run.model.state_dict(), checkpoint["model_state_dict"], path)
            load_optimizer_state(self.run.step.optimizer, checkpoint["optimizer_state_dict"], None)
            torch.set_rng_state(checkpoint["torch_rng_state"])
            set_numpy_rng_state(checkpoint["numpy_rng_state"])
            self.run.set_state(progress["own"])
            place = (checkpoint["epoch"], progress["batch"], progress["step"], progress["order"])
            self.place = Place(*place)
            self.diverged_at = progress["diverged_at"]


class _Snapshot:
    """What an evaluation that is left half-way must not have changed."""

    def __init__(self, run: EpochRun):
        self._run = run
        self._own = run.get_state()
        self._generator = torch.get_rng_state()
        self._numpy = numpy_rng_state()
        self._buffers = [(buffer, buffer.clone()) for buffer in run.model.buffers()]

    def restore(self) -> None:
        """Put it back."""
        self._run.set_state(self._own)
        torch.set_rng_state(self._generator)
        set_numpy_rng_state(self._numpy)
        with torch.no_grad():
            for buffer, before in self._buffers:
                buffer.copy_(before)
