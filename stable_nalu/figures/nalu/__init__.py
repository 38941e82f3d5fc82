"""Drawings of the NALU paper's tasks on digits and words."""

from .heads import Heads
from .lengths import Lengths
from .readings import ReadingErrors, Traces
from .running_counts import RunningCounts

__all__ = ["Heads", "Lengths", "ReadingErrors", "RunningCounts", "Traces"]
