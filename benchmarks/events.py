"""Event files against bare protobuf; `python -m benchmarks.events PATH` parses all runs there."""

from __future__ import annotations

import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import google_crc32c
from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue]

from stable_nalu.reader import TensorboardMetricReader
from stable_nalu.reader.run_parser import ArithmeticMatcher
from stable_nalu.writer import RunWriter

from .clock import in_turn, spent
from .table import Row, compared, seconds

TAGS = (
    "metric/valid/interpolation",
    "metric/test/extrapolation",
    "network/layer_1/mnac/W/sparsity_error",
    *(f"loss/train/part_{place}" for place in range(57)),
)
VALUES = 120_000
WRITTEN = 60_000
REPEATS = 7


def rows() -> Iterator[Row]:
    """Yield reading as the exporter does, and writing, each in this process."""
    for width in (1, 8, 60):
        with tempfile.TemporaryDirectory() as folder:
            _write_run(Path(folder, "run"), width)
            costs = in_turn(
                lambda folder=folder: spent(lambda: _read(folder)),
                lambda folder=folder: spent(lambda: parse(Path(folder))),
                REPEATS,
            )
        title = f"reading events of {width} values / FromString and checksum"
        yield compared(title, costs, "2", seconds)
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(1 << 20))
        costs = in_turn(
            lambda: spent(lambda: _write(Path(folder, str(next(numbers))))),
            lambda: spent(lambda: _encode(Path(folder, str(next(numbers))))),
            REPEATS,
        )
    yield compared(f"writing {WRITTEN:,} events / encoding and framing", costs, "2", seconds)


def parse(root: Path) -> int:
    """Check and decode every event of all runs; return how many values there were."""
    count = 0
    for path in sorted(root.glob("*/events.*")):
        data, position = path.read_bytes(), 0
        while position < len(data):
            (length,) = struct.unpack_from("<Q", data, position)
            payload = data[position + 12 : position + 12 + length]
            (stored,) = struct.unpack_from("<I", data, position + 12 + length)
            if _masked(payload) != stored:
                raise ValueError(f"checksum mismatch in {path}")
            count += len(Event.FromString(payload).summary.value)
            position += length + 16
    return count


def _masked(data: bytes) -> int:
    checksum = google_crc32c.value(data)
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _read(folder: str) -> None:
    reader = TensorboardMetricReader(folder, ArithmeticMatcher(), progress_bar=False)
    assert [len(table.columns) for table in reader.tables()] == [5]


def _write_run(folder: Path, width: int) -> None:
    """Log a run; with one value per event, a step has an event for each of twelve tags."""
    writer = RunWriter(folder)
    for event in range(min(VALUES // width, WRITTEN)):
        step, place = divmod(event, 12) if width == 1 else (event, 0)
        for tag in TAGS[place : place + width]:
            writer.scalar(tag, 1 / (1 + event))
        writer.commit(1000 * step)
    writer.close()


def _write(folder: Path) -> None:
    writer = RunWriter(folder)
    for step in range(WRITTEN):
        writer.scalar(TAGS[0], step)
        writer.commit(step)
    writer.close()


def _encode(path: Path) -> None:
    path.write_bytes(b"".join(_records(range(WRITTEN))))


def _records(steps: Iterable[int]) -> Iterator[bytes]:
    for step in steps:
        event = Event(wall_time=1.5, step=step)
        event.summary.value.add(tag=TAGS[0], simple_value=step)
        payload = event.SerializeToString()
        head = struct.pack("<Q", len(payload))
        yield head + struct.pack("<I", _masked(head))
        yield payload + struct.pack("<I", _masked(payload))


if __name__ == "__main__":
    sys.stdout.write(f"{parse(Path(sys.argv[1]))}\n")
