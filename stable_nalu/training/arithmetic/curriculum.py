"""Training in stages: each run moves to a wider range when its loss is small enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch


class CurriculumFeed:
    """Batches from the stream of each run's current stage; streams keep their own positions."""

    def __init__(
        self,
        stages: Sequence[Sequence],
        batch_size: int,
        input_size: int,
        *,
        stacked: bool,
        device: torch.device,
        threshold: float,
    ):
        self.stages = stages
        self.batch_size = batch_size
        self.current = [0] * len(stages)
        self.thresholds = [threshold] * len(stages)
        self._stacked = stacked
        self._device = device
        dtype = torch.get_default_dtype()
        self._x = torch.empty(len(stages), batch_size, input_size, dtype=dtype)
        self._t = torch.empty(len(stages), batch_size, 1, dtype=dtype)

    def next(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the next batch of every run."""
        for run, stage in enumerate(self.current):
            x, t = self._x[run : run + 1].numpy(), self._t[run : run + 1].numpy()
            self.stages[run][stage].draw_into(x, t)
        x, t = (self._x, self._t) if self._stacked else (self._x[0], self._t[0])
        return x.to(self._device), t.to(self._device)

    def advance(self, losses: Sequence[float] | np.ndarray) -> list[int]:
        """Move runs whose total loss is below their threshold to the next stage; return them."""
        moved = []
        for run, loss in enumerate(losses):
            if loss < self.thresholds[run] and self.current[run] < len(self.stages[run]) - 1:
                self.current[run] += 1
                self.thresholds[run] *= 0.1
                moved.append(run)
        return moved

    def skip(self, batches: int) -> None:
        """Do nothing: the streams' states are part of `get_state`."""

    def get_state(self, run: int) -> dict:
        """Return stage, threshold and stream positions of one run, as plain values and tensors."""
        return {
            "stage": self.current[run],
            "threshold": self.thresholds[run],
            "streams": [stream.get_state() for stream in self.stages[run]],
        }

    def set_state(self, run: int, state: dict) -> None:
        """Put the state of one run back."""
        self.current[run] = state["stage"]
        self.thresholds[run] = state["threshold"]
        for stream, saved in zip(self.stages[run], state["streams"], strict=True):
            stream.set_state(saved)
