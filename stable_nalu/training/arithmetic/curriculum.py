"""Training in stages: each run moves to a wider range when its loss is small enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..random_state import put_back, saved_state
from .data import Feed


class CurriculumFeed(Feed):
    """Batches from the stream of each run's current stage; streams keep their own positions."""

    def __init__(
        self, stages: Sequence[Sequence], batch_size: int, input_size: int, *, threshold: float
    ):
        super().__init__([first for first, *_ in stages], batch_size, input_size)
        self.stages = stages
        self.current = [0] * len(stages)
        self.thresholds = [threshold] * len(stages)

    def advance(self, losses: Sequence[float] | np.ndarray) -> list[int]:
        """Move runs whose total loss is below their threshold to the next stage; return them."""
        moved = []
        for run, loss in enumerate(losses):
            if loss < self.thresholds[run] and self.current[run] < len(self.stages[run]) - 1:
                self.current[run] += 1
                self.streams[run] = self.stages[run][self.current[run]]
                self.thresholds[run] *= 0.1
                moved.append(run)
        return moved

    def get_state(self, run: int) -> dict:
        """Return stage, threshold and stream positions of one run, as plain values and tensors."""
        return {
            "stage": self.current[run],
            "threshold": self.thresholds[run],
            "streams": [saved_state(stream.random) for stream in self.stages[run]],
        }

    def set_state(self, run: int, state: dict) -> None:
        """Put the state of one run back."""
        self.current[run] = state["stage"]
        self.streams[run] = self.stages[run][self.current[run]]
        self.thresholds[run] = state["threshold"]
        for stream, saved in zip(self.stages[run], state["streams"], strict=True):
            put_back(stream.random, saved)
