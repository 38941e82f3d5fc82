"""Reading TensorBoard event files: framing, checksums, and the values that exporters need.

Scalars (`simple_value`) and texts (string tensors) are decoded; every other kind of value and
every unknown field is passed over.
"""

import functools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stable_nalu.crc32c import crc32c, crc32c_of_spans, mask

from .wire import WireError, fields, read_varint

_RECORD_HEAD = struct.Struct("<QI")
_FLOAT = struct.Struct("<f")
_DOUBLE = struct.Struct("<d")
_HEAD = 12
_FOOT = 4
_CHECKED_AT_ONCE = 1 << 20
_LAYOUTS_PER_HEAD = 8
_SMALLEST_SUMMARY = 5

# Keys on the wire: field number * 8 + wire type.
_WALL_TIME, _STEP, _SUMMARY = 0x09, 0x10, 0x2A
_VALUE = 0x0A
_TAG, _SIMPLE_VALUE, _TENSOR = 0x0A, 0x15, 0x42
_STRING_VALUE = 0x42


class Event(NamedTuple):
    """The values of one event, in file order; a text value is bytes."""

    wall_time: float
    step: int
    tags: tuple[str, ...]
    values: tuple[float | bytes, ...]


class EventFileReader:
    """Iterates over the events of a file; `problem` then says why it stopped early, if it did.

    Reading ends at the first record that is partial, fails a checksum or is not an event; what
    came before it is good.
    """

    def __init__(self, path: Path):
        self.path = path
        self.problem: str | None = None

    def __iter__(self) -> Iterator[Event]:
        data = self.path.read_bytes()
        self.problem = None if data else "empty file"
        decode = _Decoder().decode
        position = 0
        while position < len(data) and self.problem is None:
            starts, ends, self.problem = _frames(data, position)
            for start, end in zip(starts, ends, strict=True):
                try:
                    event = decode(data, start, end)
                except WireError as error:
                    self.problem = f"bad event at byte {start - _HEAD}: {error}"
                    return
                if event is not None:
                    yield event
            if ends:
                position = ends[-1] + _FOOT


def _frames(data: bytes, position: int) -> tuple[list[int], list[int], str | None]:
    """Payload spans of the records from `position` on, about a megabyte of them, checked."""
    starts, ends = [], []
    problem = None
    stop = min(len(data), position + _CHECKED_AT_ONCE)
    while position < stop:
        start = position + _HEAD
        length = _payload_length(data[position:start]) if start <= len(data) else len(data)
        end = start + length
        if end + _FOOT > len(data) or not length:
            problem = f"{'partial' if length else 'bad'} record at byte {position}"
            break
        starts.append(start)
        ends.append(end)
        position = end + _FOOT
    good = _intact(data, np.array(starts, dtype=np.intp), np.array(ends, dtype=np.intp))
    if good < len(starts):
        problem = f"checksum mismatch at byte {starts[good] - _HEAD}"
    return starts[:good], ends[:good], problem


@functools.lru_cache(maxsize=1 << 14)
def _payload_length(head: bytes) -> int:
    """The length in a record's head; 0, which no event has, when its checksum does not fit."""
    length, checksum = _RECORD_HEAD.unpack(head)
    return length if mask(crc32c(head[:8])) == checksum else 0


def _intact(data: bytes, starts: np.ndarray, ends: np.ndarray) -> int:
    """How many of the records come before the first one with a wrong checksum."""
    array = np.frombuffer(data, dtype=np.uint8)
    stored = array[ends[:, None] + np.arange(_FOOT)].view("<u4").reshape(-1)
    bad = np.flatnonzero(mask(crc32c_of_spans(array, starts, ends)) != stored)
    return int(bad[0]) if len(bad) else len(starts)


class _Layout(NamedTuple):
    """Where the floats are in a summary that holds nothing else but constant bytes."""

    parts: struct.Struct
    constants: tuple[bytes, ...]
    tags: tuple[str, ...]


class _Decoder:
    """Decodes payloads, remembering layouts: a run writes the same tags step after step."""

    def __init__(self) -> None:
        self._layouts: dict[tuple[int, bytes], list[_Layout]] = {}
        self._not_one_scalar: set[int] = set()

    def decode(self, data: bytes, start: int, end: int) -> Event | None:
        """The event in the payload `data[start:end]`; None when it holds no scalar or text."""
        length = end - start
        if length <= _HEAD or data[start] != _WALL_TIME:
            return self._in_any_order(data[start:end])
        (wall_time,) = _DOUBLE.unpack_from(data, start + 1)
        if length not in self._not_one_scalar:
            known = _scalar_event(data[start + 9 : end - 4])
            if known is not None:
                return Event(wall_time, known[0], known[1], _FLOAT.unpack_from(data, end - 4))
            self._not_one_scalar.add(length)
        # The usual order of fields: wall time, then step unless it is zero, then the summary.
        payload = data[start:end]
        step, position = read_varint(payload, 10) if payload[9] == _STEP else (0, 9)
        if position < length and payload[position] == _SUMMARY:
            size, first = read_varint(payload, position + 1)
            if first + size == length:
                return self._event(wall_time, step, payload[first:])
        return self._in_any_order(payload)

    def _in_any_order(self, payload: bytes) -> Event | None:
        wall_time, step, summary = 0.0, 0, b""
        for key, value, _ in fields(payload):
            if key == _WALL_TIME and isinstance(value, bytes):
                (wall_time,) = _DOUBLE.unpack(value)
            elif key == _STEP and isinstance(value, int):
                step = value
            elif key == _SUMMARY and isinstance(value, bytes):
                summary += value
        return self._event(wall_time, step, summary)

    def _event(self, wall_time: float, step: int, summary: bytes) -> Event | None:
        if len(summary) < _SMALLEST_SUMMARY:
            return None
        step = _signed(step)
        # The first tag usually starts at byte 4, its length before it; any other bytes serve too.
        layouts = self._layouts.setdefault((len(summary), summary[: 4 + summary[3]]), [])
        for layout in layouts:
            split = layout.parts.unpack(summary)
            if split[::2] == layout.constants:
                return Event(wall_time, step, layout.tags, split[1::2])
        tags, values, floats = _summary_values(summary)
        if len(floats) == len(tags) > 0 and len(layouts) < _LAYOUTS_PER_HEAD:
            layouts.append(_layout(summary, tags, floats))
        return Event(wall_time, step, tags, values) if tags else None


@functools.lru_cache(maxsize=1 << 16)
def _scalar_event(middle: bytes) -> tuple[int, tuple[str]] | None:
    """Step and tag of an event that is a wall time, `middle` and one float; None for others.

    Runs log the same tags at the same steps, so most of these bytes have been seen before.
    """
    payload = middle + bytes(_FLOAT.size)
    try:
        step, position = read_varint(payload, 1) if payload[0] == _STEP else (0, 0)
        (summary_key, summary, _), *more = fields(payload[position:])
        if more or summary_key != _SUMMARY or not isinstance(summary, bytes):
            return None
        tags, _, floats = _summary_values(summary)
    except (WireError, ValueError):
        return None
    if len(tags) == 1 and floats == [len(summary) - _FLOAT.size]:
        return _signed(step), tags
    return None


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _summary_values(summary: bytes) -> tuple[tuple[str, ...], tuple, list[int]]:
    """Tags and values of a summary, and where the float of each scalar starts."""
    tags, values, floats = [], [], []
    for key, content, end in fields(summary):
        if key != _VALUE or not isinstance(content, bytes):
            continue
        tag, value = "", None
        for inner, item, inner_end in fields(content):
            if not isinstance(item, bytes):
                continue
            if inner == _TAG:
                tag = item.decode(errors="replace")
            elif inner == _SIMPLE_VALUE:
                (value,) = _FLOAT.unpack(item)
                floats.append(end - len(content) + inner_end - _FLOAT.size)
            elif inner == _TENSOR:
                value = next((text for k, text, _ in fields(item) if k == _STRING_VALUE), None)
        if value is not None:
            tags.append(tag)
            values.append(value)
    return tuple(tags), tuple(values), floats


def _layout(summary: bytes, tags: tuple[str, ...], floats: list[int]) -> _Layout:
    code, position = "<", 0
    for start in floats:
        code += f"{start - position}sf"
        position = start + _FLOAT.size
    parts = struct.Struct(f"{code}{len(summary) - position}s")
    return _Layout(parts, parts.unpack(summary)[::2], tags)
