"""Runs on pairs of digits as tables: one row an evaluation, with the last layer's two weights."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stable_nalu.tags import LABEL_WEIGHTS

from .metric_reader import TensorboardMetricReader
from .run_parser import WALL_TIME, Action, Columns, MetricParser

_STATES = ("metric/train", "metric/valid", "metric/test")
_MEASURES = ("/mse", "/acc", "/loss")
_WEIGHTS = {f"{LABEL_WEIGHTS}/w{k}": f"label2out.w{k}" for k in (0, 1)}


def is_pair_metric(tag: str) -> bool:
    """Whether a tag becomes a column: errors and accuracies of the three sets."""
    return tag.startswith(_STATES) and tag.endswith(_MEASURES)


@dataclass(frozen=True)
class PairParser(MetricParser):
    """Metrics and last weights, without times and sparsity errors."""

    matcher: Callable[[str], bool] = is_pair_metric

    def of_run(self, name: str) -> PairParser:
        """The same for every run."""
        return self

    def _action(self, tag: str) -> Action | None:
        for ending, column in _WEIGHTS.items():
            if tag.endswith(ending):
                return lambda walk, value: (
                    walk.rows.put(column, value) if walk.in_logged_step() else None
                )
        return super()._action(tag) if "sparsity_error" not in tag else None

    def _ordered(self, columns: Columns, count: int) -> Columns:
        """The weights come last, and stay empty where the last layer has nothing to learn."""
        if count == 0:
            return {}
        missing = [math.nan] * count
        late = {name: columns.get(name, missing) for name in _WEIGHTS.values()}
        first = {
            name.replace("/", "."): cells
            for name, cells in columns.items()
            if name not in late and name != WALL_TIME
        }
        return first | late


class TensorboardMetricTwoDigitMNISTReader(TensorboardMetricReader):
    """Tables of the runs below a folder; `step_start` is the step of the first update."""

    def __init__(
        self,
        dirname: str | Path,
        metric_matcher: Callable[[str], bool] = is_pair_metric,
        step_start: int = 0,
        processes: int | None = None,
        progress_bar: bool = True,
    ):
        super().__init__(
            dirname, step_start=step_start, processes=processes, progress_bar=progress_bar
        )
        self._parser = PairParser(metric_matcher, step_start)
