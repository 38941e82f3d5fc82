"""Exported runs of arithmetic scripts, and all scripts of the checkout, in process."""

import runpy
import sys
from functools import cache
from pathlib import Path

from stable_nalu.writer import RunWriter

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


@cache
def main_of(script):
    """The `main` of a script of the checkout, such as `export/plot.py`."""
    before = list(sys.path)
    try:
        return runpy.run_path(str(ROOT / script))["main"]
    finally:
        sys.path[:] = before


def logged(folder, *steps):
    """The event file of a run that logs these steps: pairs of a step and its values by tag."""
    writer = RunWriter(folder)
    for step, values in steps:
        for tag, value in values.items():
            writer.text(tag, value) if isinstance(value, str) else writer.scalar(tag, value)
        writer.commit(step)
    writer.close()
    return writer.events.path
