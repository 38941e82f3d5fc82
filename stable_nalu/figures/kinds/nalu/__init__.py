"""Kinds of drawings that experiments of the NALU paper alone have."""

from .arrivals import Arrivals, Episodes
from .readings import ReadingErrors, Traces

__all__ = ["Arrivals", "Episodes", "ReadingErrors", "Traces"]
