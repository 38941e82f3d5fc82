"""iNALU's restart rule: initialise a run again when its validation error stopped improving."""

from __future__ import annotations

import numpy as np


class RestartRule:
    """Decides, per run, whether to initialise again.

    The last validation error is recorded every iteration. Every `interval` iterations, once more
    than `max_stored` values are there, they are halved in time: restart when the older mean does
    not exceed the newer mean plus its standard deviation while the newer mean is above `threshold`.
    A restart empties the record.
    """

    def __init__(self, runs: int, interval: int, max_stored: int, threshold: float):
        self.interval = interval
        self.max_stored = max_stored
        self.threshold = threshold
        self.counts = [0] * runs
        self._segments: list[list[tuple[float, int]]] = [[] for _ in range(runs)]

    def record(self, errors: np.ndarray, times: int = 1) -> None:
        """Append the last validation error of every run, `times` times."""
        for segments, error in zip(self._segments, errors.tolist(), strict=True):
            if segments and segments[-1][0] == error:
                segments[-1] = (error, segments[-1][1] + times)
            else:
                segments.append((error, times))

    def due(self, iteration: int) -> list[int]:
        """Return the runs to initialise again at `iteration`, and empty their records."""
        if iteration == 0 or iteration % self.interval != 0:
            return []
        restarted = [run for run, segments in enumerate(self._segments) if self._stuck(segments)]
        for run in restarted:
            self._segments[run] = []
            self.counts[run] += 1
        return restarted

    def _stuck(self, segments: list[tuple[float, int]]) -> bool:
        stored = sum(times for _, times in segments)
        if stored <= self.max_stored:
            return False
        if not self._newer_half_exceeds(segments, stored):
            return False
        values = np.repeat(
            np.array([value for value, _ in segments], dtype=np.float32),
            [times for _, times in segments],
        )
        older, newer = values[: stored // 2], values[stored // 2 :]
        with np.errstate(invalid="ignore", over="ignore"):  # infinite errors never restart
            bound = newer.mean() + newer.std()
            return bool(older.mean() <= bound and newer.mean() > self.threshold)

    def _newer_half_exceeds(self, segments: list[tuple[float, int]], stored: int) -> bool:
        """Return whether some value of the newer half is above the threshold, which is needed."""
        remaining = stored - stored // 2
        for value, times in reversed(segments):
            if value > self.threshold:
                return True
            remaining -= times
            if remaining <= 0:
                return False
        return False

    def get_state(self, run: int) -> dict:
        """Return the state of one run as plain values."""
        return {"count": self.counts[run], "segments": list(self._segments[run])}

    def set_state(self, run: int, state: dict) -> None:
        """Put the state of one run back."""
        self.counts[run] = state["count"]
        self._segments[run] = [(value, times) for value, times in state["segments"]]
