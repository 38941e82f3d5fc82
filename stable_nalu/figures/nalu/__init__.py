"""Drawings of the NALU paper's tasks on digits."""

from .heads import Heads
from .lengths import Lengths
from .running_counts import RunningCounts

__all__ = ["Heads", "Lengths", "RunningCounts"]
