"""Which exporter makes the table of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from stable_nalu.catalogue.experiment import Model
from stable_nalu.machine import granted_cores
from stable_nalu.reader import TensorboardMetricReader, TensorboardMetricTwoDigitMNISTReader
from stable_nalu.reader.export import ArithmeticMatcher, sequence_reader

_PAIRS = ("two_digit_mnist", "ST_mnist_labels")
_SEQUENCES = ("sequential_mnist", "sequential_svhn")


@dataclass(frozen=True)
class Exporter:
    """A script below `export/`, and what reads a folder of runs as it does."""

    script: str
    read: Callable[[str], TensorboardMetricReader]


def exporter_of(model: Model) -> Exporter:
    """The exporter of a model's runs."""
    if model.script in _PAIRS:
        build = partial(TensorboardMetricTwoDigitMNISTReader, step_start=1)
        return Exporter("two_digit_mnist/two_digit_mnist_reader.py", _here(build))
    if model.script in _SEQUENCES:
        return Exporter("sequential_mnist.py", _here(sequence_reader))
    matcher = ArithmeticMatcher(gates=model.prefix == "function_task_static_nalu")
    build = partial(TensorboardMetricReader, metric_matcher=matcher)
    return Exporter("simple_function_static.py", _here(build))


def _here(build: Callable[..., TensorboardMetricReader]):
    return partial(build, processes=granted_cores(), progress_bar=False)
