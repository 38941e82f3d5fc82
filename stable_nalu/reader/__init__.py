"""Event files in: runs of a folder as tables, and the CSV files made of them.

pandas is needed only where a data frame is asked for.
"""

from .event_file import TensorboardReader
from .export import (
    RunProblem,
    RunTable,
    TensorboardMetricReader,
    TensorboardMetricTwoDigitMNISTReader,
)

__all__ = [
    "RunProblem",
    "RunTable",
    "TensorboardMetricReader",
    "TensorboardMetricTwoDigitMNISTReader",
    "TensorboardReader",
]
