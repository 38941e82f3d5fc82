"""Drawings of the NALU paper's tasks on digits."""

from .lengths import Lengths
from .running_counts import RunningCounts

__all__ = ["Lengths", "RunningCounts"]
