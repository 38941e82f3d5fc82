"""Decode the event files of all runs in a folder: `python -m benchmarks.parse_events PATH`."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from tensorboardX.proto.event_pb2 import Event


def parse(root: Path) -> int:
    """Decode every event and look at every value; how many there were."""
    count = 0
    for path in sorted(root.glob("*/events.*")):
        data, position = path.read_bytes(), 0
        while position < len(data):
            (length,) = struct.unpack_from("<Q", data, position)
            event = Event.FromString(data[position + 12 : position + 12 + length])
            count += sum(bool(value.tag) for value in event.summary.value)
            position += length + 16
    return count


if __name__ == "__main__":
    sys.stdout.write(f"{parse(Path(sys.argv[1]))}\n")
