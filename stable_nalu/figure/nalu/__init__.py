"""Drawings of the NALU paper's tasks on digits, words and programs."""

from .heads import Heads
from .lengths import CountingLengths
from .programs import DigitBars, ProgramTraces
from .readings import ReadingErrors, Traces
from .running_counts import RunningCounts

__all__ = [
    "DigitBars",
    "Heads",
    "CountingLengths",
    "ProgramTraces",
    "ReadingErrors",
    "RunningCounts",
    "Traces",
]
