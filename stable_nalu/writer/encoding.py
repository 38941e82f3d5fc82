"""The few protocol-buffer messages of an event file, encoded by hand.

Event      { 1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary summary }
Summary    { 1: repeated Value }
Value      { 1: string tag, 2: float simple_value, 5: HistogramProto, 8: TensorProto,
             9: SummaryMetadata }

Fields are written in ascending order of their numbers and zero values left out, as protobuf
libraries do, so that the bytes equal theirs.
"""

import functools
import math
import struct

from .histogram import Histogram

_FLOAT = struct.Struct("<f")
_WALL_TIME = struct.Struct("<Bd")
_WALL_TIME_KEY = 1 << 3 | 1
_DT_STRING = 7
_TEXT_PLUGIN = b"text"


def varint(value: int) -> bytes:
    """Base-128 encoding, low group first; negative numbers as 64-bit two's complement."""
    value &= 0xFFFFFFFFFFFFFFFF
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def _bytes_field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def _double_field(number: int, value: float) -> bytes:
    return struct.pack("<Bd", number << 3 | 1, value) if value else b""


def file_version(wall_time: float) -> bytes:
    """The event that opens a file."""
    return _WALL_TIME.pack(_WALL_TIME_KEY, wall_time) + _bytes_field(3, b"brain.Event:2")


def summary_event(wall_time: float, step: int, values: list[bytes]) -> bytes:
    """One event with the summary values of one step; `values` are results of the encoders below."""
    head = _WALL_TIME.pack(_WALL_TIME_KEY, wall_time)
    if step:
        head += b"\x10" + varint(step)
    return head + _bytes_field(5, b"".join(values))


@functools.lru_cache(maxsize=4096)
def _scalar_head(tag: str) -> bytes:
    fields = _bytes_field(1, tag.encode()) + b"\x15"
    return varint(1 << 3 | 2) + varint(len(fields) + _FLOAT.size) + fields


def scalar(tag: str, value: float) -> bytes:
    """A summary value with a float32; numbers beyond its range become infinite."""
    try:
        number = _FLOAT.pack(value)
    except OverflowError:
        number = _FLOAT.pack(math.copysign(math.inf, value))
    return _scalar_head(tag) + number


def text(tag: str, content: str) -> bytes:
    """A summary value with a string tensor of shape (1,), marked for the text plugin."""
    shape = _bytes_field(2, _bytes_field(2, b"\x08\x01"))
    tensor = b"\x08" + varint(_DT_STRING) + shape + _bytes_field(8, content.encode())
    metadata = _bytes_field(1, _bytes_field(1, _TEXT_PLUGIN))
    return _bytes_field(
        1, _bytes_field(1, tag.encode()) + _bytes_field(8, tensor) + _bytes_field(9, metadata)
    )


def histogram(tag: str, content: Histogram) -> bytes:
    """A summary value with a histogram."""
    statistics = (
        content.minimum,
        content.maximum,
        content.n,
        content.total,
        content.sum_of_squares,
    )
    fields = b"".join(_double_field(i, value) for i, value in enumerate(statistics, start=1))
    fields += _bytes_field(6, content.limits.astype("<f8").tobytes())
    fields += _bytes_field(7, content.counts.astype("<f8").tobytes())
    return _bytes_field(1, _bytes_field(1, tag.encode()) + _bytes_field(5, fields))
