"""Exported runs of arithmetic scripts, and the scripts below `export/`, in process."""

import runpy
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

EXPORTED = (
    "name",
    "metric.valid.interpolation",
    "step",
    "wall.time",
    "metric.test.extrapolation",
    "sparse.error.max",
)
"""The columns of exported arithmetic runs."""


def main_of(script):
    """The `main` of a script of the checkout, such as `export/plot.py`."""
    before = list(sys.path)
    try:
        return runpy.run_path(str(ROOT / script))["main"]
    finally:
        sys.path[:] = before
