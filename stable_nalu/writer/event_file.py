"""TensorBoard event files, written and read, and the folders of runs that hold them.

A file is records of a length, its checksum, a payload and its checksum. The messages are
tensorboardX's.

Scalars (`simple_value`) and texts (string tensors) are read; every other kind of value and every
unknown field is passed over. A run logs the same tags at step after step, so most payloads of a
file differ in their numbers only: `struct` cuts these out, several times faster than protobuf,
which reads the first payload of each kind and whatever is left.
"""

import functools
import os
import socket
import struct
import time
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import google_crc32c

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import visible_entries

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


_LAYOUTS_PER_LENGTH = 8


class Event(NamedTuple):
    """The values of one event, in file order; a text value is bytes."""

    wall_time: float
    step: int
    tags: tuple[str, ...]
    values: tuple[float | bytes, ...]


class EventFileReader:
    """Iterates over the events of a file; `problem` then says why it stopped early, if it did.

    Reading ends at the first record that is partial, fails a checksum or is not an event; what
    came before it is good. Events without a scalar or text are passed over.
    """

    def __init__(self, path: Path):
        self.path = path
        self.problem: str | None = None

    def __iter__(self) -> Iterator[Event]:
        from google.protobuf.message import DecodeError

        data = self.path.read_bytes()
        self.problem = None if data else "empty file"
        layouts: dict[int, list[Layout]] = {}
        position = 0
        while position < len(data):
            start = position + _HEAD_BYTES
            length = _length(data[position:start]) if start <= len(data) else len(data)
            end = start + length
            if end + _CHECKSUM.size > len(data) or not length:
                self.problem = f"{'partial' if length else 'bad'} record at byte {position}"
                return
            payload = data[start:end]
            if _CHECKSUM.unpack_from(data, end)[0] != masked_checksum(payload):
                self.problem = f"checksum mismatch at byte {position}"
                return
            try:
                event = _event(payload, layouts.setdefault(length, []))
            except DecodeError as error:
                self.problem = f"bad event at byte {position}: {error}"
                return
            if event is not None:
                yield event
            position = end + _CHECKSUM.size


@functools.lru_cache(maxsize=1 << 14)
def _length(head: bytes) -> int:
    """Return the length in a record's head; 0, which no event has, when its checksum is wrong."""
    (length,) = _LENGTH.unpack_from(head)
    return length if head == record_head(length) else 0


Layout = Callable[[bytes], Event | None]
"""Returns the event of a payload that differs from another in its numbers only, else None."""


def _event(payload: bytes, layouts: list[Layout]) -> Event | None:
    """Return the event in one payload, None without a value; DecodeError if it is not an event.

    layouts: those of payloads of this length that were met before.
    """
    for layout in layouts:
        if (event := layout(payload)) is not None:
            return event
    message = event_message().FromString(payload)
    if len(layouts) < _LAYOUTS_PER_LENGTH and (found := _layout(message, payload)):
        layouts.append(found)
    tags, values = [], []
    for value in message.summary.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            values.append(value.simple_value)
        elif kind == "tensor" and value.tensor.string_val:
            values.append(value.tensor.string_val[0])
        else:
            continue
        tags.append(value.tag)
    return Event(message.wall_time, message.step, tuple(tags), tuple(values)) if tags else None


def _layout(message: Any, payload: bytes) -> Layout | None:
    """Return the layout of a payload of scalars in the usual order of fields, else None."""
    same = event_message()(wall_time=message.wall_time, step=message.step)
    head = same.ByteSize() - _WALL_TIME.size - 1
    found = [(value.tag, value.simple_value) for value in message.summary.value]
    parts = [same.summary.value.add(tag=tag, simple_value=number) for tag, number in found]
    if not (found and message.wall_time and message.step >= 0):
        return None
    if same.SerializeToString() != payload:
        return None
    # A number is the last of its part of the event; before a part are its kind and its length.
    sizes = [part.ByteSize() for part in parts]
    lengths = [size - 3 + (size.bit_length() + 6) // 7 for size in sizes]
    lengths[0] += len(payload) - sum(lengths) - 4 * len(lengths) - _WALL_TIME.size - 1 - head
    form = struct.Struct(f"<cd{head}s" + "".join(f"{length}sf" for length in lengths))
    tags = tuple(tag for tag, _ in found)
    unpack, first = form.unpack, payload[:1]
    fixed = unpack(payload)[3::2]

    def read(payload: bytes) -> Event | None:
        cells = unpack(payload)
        if cells[3::2] != fixed or cells[0] != first or (step := _step(cells[2])) is None:
            return None
        return Event(cells[1], step, tags, cells[4::2])

    return read


@functools.lru_cache(maxsize=1 << 14)
def _step(field: bytes) -> int | None:
    """Return the step in its field of an event, which has none at step 0; None for other bytes."""
    kind, *groups = field or b"\x10\0"
    if kind != 0x10 or [group >> 7 for group in groups] != [1] * (len(groups) - 1) + [0]:
        return None
    return sum((group & 0x7F) << 7 * place for place, group in enumerate(groups))


class RunFiles(NamedTuple):
    """A run and its event file, or the reason why it has none that could be read."""

    name: str
    path: Path | None
    problem: str | None


class TensorboardReader:
    """Iterates over `(run name, event file path, reader of its events or None)` by run name.

    Hidden entries are no runs, and hidden files in a run are not counted. There is no recursion:
    `dirpath` is the direct parent of the run folders. A run without exactly one file raises
    ValueError; `runs()` reports it instead. names: the runs that are wanted, all if None.
    """

    def __init__(
        self,
        dirpath: str | Path,
        auto_open: bool = True,
        names: Container[str] | None = None,
    ):
        self.dirpath = Path(dirpath)
        self.auto_open = auto_open
        found = [entry.name for entry in visible_entries(self.dirpath)]
        self.names = [name for name in found if names is None or name in names]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[str, str, EventFileReader | None]]:
        for run in self.runs():
            if run.path is None:
                raise ValueError(f"wrong number of logfile was found in {run.name}: {run.problem}")
            yield run.name, str(run.path), EventFileReader(run.path) if self.auto_open else None

    def runs(self) -> Iterator[RunFiles]:
        """Yield every run with its file or its problem."""
        for name in self.names:
            folder = self.dirpath / name
            shown = os.fsencode(name).decode(errors="backslashreplace")
            if shown != name:
                yield RunFiles(shown, None, "the name of the folder is not UTF-8")
                continue
            try:
                files = visible_entries(folder)
                problem = _problem(files)
            except OSError as error:
                reason = "not a folder" if isinstance(error, NotADirectoryError) else str(error)
                yield RunFiles(name, None, reason)
                continue
            yield RunFiles(name, None if problem else files[0], problem)


def _problem(files: list[Path]) -> str | None:
    """Return why the visible entries of a run folder are not one event file."""
    if not files:
        return "no event file"
    if any(file.is_dir() for file in files):
        return "holds folders instead of one event file"
    if len(files) > 1:
        names = ", ".join(file.name for file in files)
        return f"{len(files)} files instead of one event file ({names})"
    # A link to nothing cannot be opened, and a pipe would be waited for.
    return None if files[0].is_file() else f"{files[0].name} is not a file"
