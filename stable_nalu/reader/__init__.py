"""Event files in: runs of a folder as tables, and the CSV files made of them.

Needs no TensorBoard package, and pandas only where a data frame is asked for.
"""

from .metric_reader import RunProblem, RunTable, TensorboardMetricReader
from .tensorboard_reader import TensorboardReader

__all__ = ["RunProblem", "RunTable", "TensorboardMetricReader", "TensorboardReader"]
