"""The protocol-buffer wire format, as far as reading needs it."""

from collections.abc import Iterator

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
_FIXED_SIZE = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT_SHIFT = 63


class WireError(ValueError):
    """Bytes that are not a protocol-buffer message."""


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Value of the varint at `position`, and the position after it."""
    value = shift = 0
    while True:
        if position >= len(data) or shift > _MAX_VARINT_SHIFT:
            raise WireError("unfinished number")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, int | bytes, int]]:
    """`(key, value, end)` of every field in order.

    key = field number * 8 + wire type; the value of a varint is an int, any other is its bytes;
    `end` is the position after the field.
    """
    position = 0
    while position < len(data):
        key, position = read_varint(data, position)
        kind = key & 7
        if kind == VARINT:
            value, position = read_varint(data, position)
            yield key, value, position
            continue
        if kind == DELIMITED:
            size, position = read_varint(data, position)
        elif kind in _FIXED_SIZE:
            size = _FIXED_SIZE[kind]
        else:
            raise WireError(f"wire type {kind}")
        end = position + size
        if end > len(data):
            raise WireError("unfinished field")
        yield key, data[position:end], end
        position = end
