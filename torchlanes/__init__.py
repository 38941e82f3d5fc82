"""The engine: training iterations as C++, one run in each lane of a vector."""

VERSION = 1
"""Raised by whatever moves a last bit."""
