"""From finished runs to a figure: the export against a bare parser, and drawing by the clock."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from stable_nalu.figures.entries import find
from stable_nalu.writer import RunWriter
from tests.figures.specimen import Extent, write_specimen

from . import events
from .clock import in_turn, spent
from .ensemble import NMU, SINGLE_LAYER_RANGES
from .single import REPEATS, process, quietly
from .table import Row, compared, seconds

STEPS = 51
KEY = "nips-in10-nmru-ablation"
"""A figure of five models and nine ranges."""

_PARSER = "benchmarks.events"
MOST = 10.0
"""Seconds of CPU time that it may take."""


def export() -> Iterator[Row]:
    """Export 225 runs of 51 logged steps, command against command; read and write alone."""
    with tempfile.TemporaryDirectory() as folder:
        own, single = Path(folder, "own"), Path(folder, "single")
        names = _train(own)
        for name in names:
            _write_event_per_value(single / name)
        for root, title in (
            (own, "export of 225 runs / parsing their files"),
            (single, "the same, files with an event for each value"),
        ):
            csv = str(Path(folder, "out.csv"))
            command = ("export/simple_function_static.py", "--tensorboard-dir", str(root))
            costs = in_turn(
                lambda command=command, csv=csv: spent(lambda: process(*command, "--csv-out", csv)),
                lambda root=root: spent(lambda: process("-m", _PARSER, str(root))),
                REPEATS,
            )
            yield compared(title, costs, "2", seconds)
    yield from events.rows()


def figure() -> Iterator[Row]:
    """Read, summarise and draw 5 models x 225 runs with 51 logged steps, as a PDF."""
    with tempfile.TemporaryDirectory() as folder:
        write_specimen(find(KEY), Path(folder), Extent(seeds=25, rows=STEPS))
        command = ("export/plot.py", KEY, "--csv-dir", folder, "--out-dir", folder)
        process(*command)
        cost = spent(lambda: process(*command))
        title = "figure of 5 models x 225 runs / its limit"
        yield Row(title, cost.cpu / MOST, "1", seconds(cost), f"{MOST:g} s")


def _train(root: Path) -> list[str]:
    """Train runs of 51 iterations, all of them logged, and return their names."""
    os.environ["TENSORBOARD_DIR"] = str(root.parent)
    words = f"{NMU} {SINGLE_LAYER_RANGES} --seed 0-24 --no-cuda --no-save --name-prefix {root.name}"
    words += f" --max-iterations {STEPS - 1} --log-interval 1"
    quietly("single_layer", words)
    return sorted(path.name for path in root.iterdir())


def _write_event_per_value(folder: Path) -> None:
    """Log 51 steps of twelve values in the way of tensorboardX's own writer."""
    writer = RunWriter(folder)
    for step in range(STEPS):
        for place, tag in enumerate(events.TAGS[:12]):
            writer.scalar(tag, 1 / (1 + step + place))
            writer.commit(1000 * step)
    writer.close()
