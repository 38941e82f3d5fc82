"""A TensorBoard event file: records of a length, its checksum, a payload and its checksum."""

import os
import socket
import struct
import time
from pathlib import Path

from stable_nalu.crc32c import crc32c, mask
from stable_nalu.errors import UsageError

from .encoding import file_version

FILE_PREFIX = "events.out.tfevents."
_FLUSH_BYTES = 1 << 16
_LENGTH = struct.Struct("<Q")
_CHECKSUM = struct.Struct("<I")


def record(payload: bytes) -> bytes:
    """Frame one payload: `uint64 length | masked crc of it | payload | masked crc of it`."""
    length = _LENGTH.pack(len(payload))
    return b"".join(
        (
            length,
            _CHECKSUM.pack(mask(crc32c(length))),
            payload,
            _CHECKSUM.pack(mask(crc32c(payload))),
        )
    )


class EventFile:
    """Buffered writing of events; holds no file descriptor between flushes.

    A new file is created at once, with its version record. With `position`, an existing file is
    cut to that many bytes and continued: whatever a killed run wrote later is dropped.
    """

    def __init__(self, path: Path, *, position: int | None = None):
        self.path = path
        self._buffer: list[bytes] = []
        self._buffered = 0
        self._closed = False
        if position is None:
            with path.open("xb"):
                self._position = 0
            self.add(file_version(time.time()))
            self.flush()
            self._unused_size: int | None = self._position
        else:
            _cut(path, position)
            self._position = position
            self._unused_size = None

    @classmethod
    def create_in(cls, folder: Path) -> "EventFile":
        """A new file in `folder` under the usual name, `…tfevents.<time>.<host>`."""
        return cls(folder / f"{FILE_PREFIX}{int(time.time()):010d}.{socket.gethostname()}")

    @property
    def position(self) -> int:
        """Bytes in the file: what has been flushed."""
        return self._position

    @property
    def is_unused(self) -> bool:
        """Whether this is a new file to which nothing has been added yet."""
        return self._position == self._unused_size and not self._buffer

    def add(self, event: bytes) -> None:
        """Append one encoded event; it reaches the file at the next flush."""
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
        # such as on a full disk: the next one writes over its rest.
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
        """Flush, and have the operating system bring all to the disk."""
        self.flush()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())

    def close(self) -> None:
        """Flush; adding afterwards is an error."""
        self.flush()
        self._closed = True


def _cut(path: Path, position: int) -> None:
    size = path.stat().st_size
    if size < position:
        raise UsageError(
            f"cannot continue {path}: it has {size} bytes, fewer than the {position} at the "
            "checkpoint; start anew with --remove-existing-data"
        )
    if size > position:
        os.truncate(path, position)
