"""A TensorBoard event file: records of a length, its checksum, a payload and its checksum."""

import functools
import os
import socket
import struct
import time
from pathlib import Path
from typing import Any

import google_crc32c

from stable_nalu.errors import UsageError

FILE_PREFIX = "events.out.tfevents."
_FLUSH_BYTES = 1 << 16
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")
_WALL_TIME = struct.Struct("<d")
_HEAD_BYTES = _LENGTH.size + _CHECKSUM.size
_FRAME_BYTES = _HEAD_BYTES + _CHECKSUM.size


@functools.cache
def event_message() -> Any:
    """Return tensorboardX's class of an event; it is slow to import, and `--help` needs none."""
    from tensorboardX.proto import event_pb2

    return vars(event_pb2)["Event"]


def masked_checksum(data: bytes) -> int:
    """Return the CRC-32C of `data` as event files store it: rotated by 15 bits, plus a constant."""
    checksum = google_crc32c.value(data)
    return ((checksum >> 15 | checksum << 17) + 0xA282EAD8) & 0xFFFFFFFF


@functools.lru_cache(maxsize=1 << 14)
def record_head(length: int) -> bytes:
    """Return what precedes a payload of `length` bytes: the length and its checksum."""
    packed = _LENGTH.pack(length)
    return packed + _CHECKSUM.pack(masked_checksum(packed))


def record(payload: bytes) -> bytes:
    """Frame a payload by its length and the checksums of both."""
    return record_head(len(payload)) + payload + _CHECKSUM.pack(masked_checksum(payload))


class EventFile:
    """Buffered writing of serialised events; no file descriptor is held between flushes.

    A new file is created at once, with its version record. With `position`, an existing file is
    cut to that many bytes and continued: whatever a killed run wrote later is dropped. `started` is
    the wall time of the version record, which is now when it is not given.
    """

    def __init__(self, path: Path, *, position: int | None = None, started: float | None = None):
        self.path = path
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._closed = False
        if position is None:
            with path.open("xb"):
                self._position = 0
            version = event_message()(
                wall_time=time.time() if started is None else started, file_version="brain.Event:2"
            )
            self.add(version.SerializeToString())
            self.flush()
            self._unused_size: int | None = self._position
        else:
            _cut(path, position)
            self._position = position
            self._unused_size = None

    @classmethod
    def create_in(cls, folder: Path, started: float | None = None) -> "EventFile":
        """Create a file in `folder` under the usual name, `…tfevents.<time>.<host>`."""
        started = time.time() if started is None else started
        name = f"{FILE_PREFIX}{int(started):010d}.{socket.gethostname()}"
        return cls(folder / name, started=started)

    @property
    def position(self) -> int:
        """Return the number of bytes in the file: what has been flushed."""
        return self._position

    @property
    def is_unused(self) -> bool:
        """Return whether this is a new file to which nothing has been added yet."""
        return self._position == self._unused_size and not self._buffer

    @property
    def is_bare(self) -> bool:
        """Return whether there is nothing in the file but its version record."""
        with self.path.open("rb") as file:
            (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
        return self._position == length + _FRAME_BYTES and not self._buffer

    def add(self, event: bytes) -> None:
        """Append one serialised event; it reaches the file at the next flush."""
        if self._closed:
            raise ValueError(f"event file {self.path} is closed")
        framed = record(event)
        self._buffer.append(framed)
        self._buffered += len(framed)
        if self._buffered >= _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what is buffered."""
        if not self._buffer:
            return
        content = b"".join(self._buffer)
        # Writing at a known position instead of appending repairs a flush that failed half-way,
        # such as on a full disk: the next flush overwrites what the failed one left.
        try:
            with self.path.open("r+b") as file:
                file.seek(self._position)
                file.write(content)
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}") from error
        self._position += len(content)
        self._buffer.clear()
        self._buffered = 0

    def sync(self) -> None:
        """Flush, and have the operating system bring everything to the disk."""
        self.flush()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())

    def close(self) -> None:
        """Flush; adding afterwards is an error."""
        self.flush()
        self._closed = True


def require_events(path: Path, position: int, started: float | None = None) -> None:
    """Refuse to continue a file of which the first `position` bytes are not whole records.

    `started` is the wall time of the first of them, where it is known: two logs that begin at one
    time do not exist.
    """
    size = path.stat().st_size
    if size < position:
        raise UsageError(
            f"cannot continue {path}: it has {size} bytes, fewer than the {position} at the "
            "checkpoint; start anew with --remove-existing-data"
        )
    with path.open("rb") as file:
        data = file.read(max(position, 0))
    end = 0
    while 0 <= end < position:
        head = data[end : end + _HEAD_BYTES]
        (length,) = _LENGTH.unpack(head[: _LENGTH.size].ljust(_LENGTH.size, b"\0"))
        end = end + _FRAME_BYTES + length if head == record_head(length) else -1
    if end != position or not position:
        reason = f"no record ends at byte {position}, where the checkpoint was taken"
    elif started is not None and _WALL_TIME.unpack_from(data, _HEAD_BYTES + 1)[0] != started:
        reason = "it is the log of another run"
    else:
        return
    raise UsageError(f"cannot continue {path}: {reason}; start anew with --remove-existing-data")


def _cut(path: Path, position: int) -> None:
    """Cut a file to `position` bytes, at the end of a record."""
    require_events(path, position)
    if path.stat().st_size > position:
        os.truncate(path, position)
