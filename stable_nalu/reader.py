"""The published readers of runs, as classes; a new program calls `stable_nalu.read_runs`."""

from collections.abc import Callable
from pathlib import Path

from stable_nalu.base import publish
from stable_nalu.result import export
from stable_nalu.result.export import RunProblem, RunTable

from .writer.event_file import TensorboardReader

__all__ = [
    "RunProblem",
    "RunTable",
    "TensorboardMetricReader",
    "TensorboardMetricTwoDigitMNISTReader",
    "TensorboardReader",
]


class TensorboardMetricReader(export.RunReader):
    """Reads metrics, sparsity errors and first weights, or all weights; see `MetricParser`."""

    def __init__(
        self,
        dirname: str | Path,
        metric_matcher: Callable[[str], bool] = bool,
        step_start: int = 0,
        recursive_weight: bool = False,
        processes: int | None = None,
        progress_bar: bool = True,
        weights_only: bool = False,
    ):
        parser = export.MetricParser(metric_matcher, step_start, recursive_weight)
        parser = export.WeightsParser(step_start) if weights_only else parser
        super().__init__(dirname, parser, processes=processes, progress_bar=progress_bar)


class TensorboardMetricTwoDigitMNISTReader(export.RunReader):
    """Reads runs on pairs of digits; `step_start` is the step of the first update."""

    def __init__(
        self,
        dirname: str | Path,
        metric_matcher: Callable[[str], bool] = export.is_pair_metric,
        step_start: int = 0,
        processes: int | None = None,
        progress_bar: bool = True,
    ):
        parser = export.MetricParser(metric_matcher, step_start, of_pairs=True)
        super().__init__(dirname, parser, processes=processes, progress_bar=progress_bar)


def _everything(tag: str) -> bool:
    return True


publish(
    __name__,
    "tensorboard_reader",
    tensorboard_metric_reader={"_everything_default_matcher": _everything},
)
