"""TensorBoard event files, written and read, and the folders of runs that hold them.

A file is records of a length, its checksum, a payload and its checksum. The messages are
tensorboardX's.

Scalars (`simple_value`) and texts (string tensors) are read; every other kind of value and every
unknown field is passed over. A run logs the same tags at step after step, so most payloads of a
file differ in their numbers only: `struct` cuts these out, several times faster than protobuf,
which reads the first payload of each kind and whatever is left.
"""

import contextlib
import fcntl
import functools
import json
import math
import os
import platform
import resource
import socket
import struct
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import google_crc32c
import numpy as np

from stable_nalu.base import files
from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import visible_entries

# Tags of values, as every exporter of the published results expects them; `regualizer` and
# `critation` are public spellings.
METRIC_VALID, METRIC_TEST = "metric/valid/interpolation", "metric/test/extrapolation"
METRIC_TEST_HALF_SUM = "metric/test/half-sum-squares"
LOSS_VALID = "loss/valid"
LOSS_VALID_INTERPOLATION = "loss/valid/interpolation"
LOSS_VALID_EXTRAPOLATION = "loss/valid/extrapolation"
LOSS_CRITERION = "loss/train/critation"
LOSS_REGULARIZER = "loss/train/regualizer"
LOSS_TOTAL = "loss/train/total"
L1_LOSS, L1_BETA = "L1/train/L1-loss", "L1/train/beta"
TASK_LOSSES = "loss/train/half-sum-squares", "loss/train/mse", "loss/train/epoch"
LOSS_HALF_SUM, LOSS_MSE, LOSS_EPOCH = TASK_LOSSES
"""Under which tasks log their training loss besides `LOSS_CRITERION`; they become columns."""
LOSS_ACCURACY = "loss/train/accuracy"
METRIC = "metric"
MSE_TRAIN, MSE_TEST = "metric/train/mse", "metric/test/mse"
AFTER_SUFFIX = "/after"
"""Of an error that is measured again after the update of its step."""
RMSE_TEST = "metric/test/rmse"
ACCURACY_VALID, ACCURACY_TEST = "metric/valid/acc", "metric/test/acc"
RANDOM_VALID, RANDOM_TEST = "metric/random/interpolation", "metric/random/extrapolation"
ABSOLUTE_SUFFIX, ROOT_SUFFIX = "/mae", "/rmse"
EPOCH = "epoch"
LABEL_WEIGHTS = "label2out/weights"
REINIT = "reinit"
DIVERGED = "diverged"

LOG_ERROR = "error/log10"
"""Of runs with short names: log10 of the test error, which TensorBoard shows before all else."""
SMALLEST_ERROR = 1e-20
"""The error in place of 0 where a logarithm is shown."""

CONFIG = "config"
RESULTS = RESULT_VALID, RESULT_TEST, RESULT_SOLVED = "hparam/valid", "hparam/test", "hparam/solved"
"""What TensorBoard's HParams plugin shows of a finished run: its errors, and 1 if it is solved."""


def logged_result(tag: str, *, short: bool) -> str:
    """Return the tag of a result in a log; with --short-names it follows the tags of errors."""
    return tag.replace("hparam/", "result/") if short else tag


TEXT_SUFFIX = "/text_summary"
GATE_MEAN_SUFFIX = "nalu/gate/mean"
ERROR_CURVE = "error/curve"
"""A text: a table of the absolute error over the input."""
CURVE_COLUMNS = "abs.error."
"""Begins the column of each point of such a table."""
PROBLEM = "problem"
"""A text: a table of what a run has to find out."""
CONFUSION = "metric/test/confusion"
"""A text: a table of how often each class was taken for which."""
TRACE = "trace"
"""What a network answers behind each word of a number."""

FILE_PREFIX = "events.out.tfevents."
RECORD_NAME, LOCK_NAME = ".run.json", ".lock"
_FLUSH_BYTES = 1 << 16
_LENGTH, _CHECKSUM, _WALL_TIME = (struct.Struct(form) for form in ("<Q", "<I", "<d"))
_HEAD_BYTES = _LENGTH.size + _CHECKSUM.size
_FRAME_BYTES = _HEAD_BYTES + _CHECKSUM.size
_LAYOUTS_PER_LENGTH = 8


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


@functools.lru_cache(maxsize=1 << 14)
def _length(head: bytes) -> int:
    """Return the length in a record's head; 0, which no event has, if it is not a whole one."""
    length = int.from_bytes(head[: _LENGTH.size], "little")
    return length if head == record_head(length) else 0


def record(payload: bytes) -> bytes:
    """Frame a payload by its length and the checksums of both."""
    return record_head(len(payload)) + payload + _CHECKSUM.pack(masked_checksum(payload))


class EventFile:
    """Buffered writing of serialised events; no file descriptor is held between flushes.

    A new file is created at once, with its version record. With `position`, an existing file is
    cut to that many bytes and continued: whatever a killed run wrote later is dropped. `started` is
    the wall time of the version record, which is now when it is not given.

    position: the number of bytes in the file: what has been flushed. is_bare: whether there is
    nothing but the version record. is_new: whether the file was created here.
    """

    def __init__(self, path: Path, *, position: int | None = None, started: float | None = None):
        self.path = path
        self.is_new = position is None
        self._buffer = bytearray()
        self._closed = False
        if position is None:
            with path.open("xb"):
                self.position = 0
            started = time.time() if started is None else started
            version = event_message()(wall_time=started, file_version="brain.Event:2")
            self.add(version.SerializeToString())
            self.flush()
            self.is_bare = True
        else:
            head = require_events(path, position)
            if path.stat().st_size > position:
                os.truncate(path, position)
            self.position = position
            self.is_bare = position == _length(head) + _FRAME_BYTES

    @classmethod
    def create_in(cls, folder: Path, started: float | None = None) -> "EventFile":
        """Create a file in `folder` under the usual name, `…tfevents.<time>.<host>`."""
        started = time.time() if started is None else started
        name = f"{FILE_PREFIX}{int(started):010d}.{socket.gethostname()}"
        return cls(folder / name, started=started)

    def add(self, event: bytes) -> None:
        """Append one serialised event; it reaches the file at the next flush."""
        if self._closed:
            raise ValueError(f"event file {self.path} is closed")
        self.is_bare = False
        self._buffer += record(event)
        if len(self._buffer) >= _FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._buffer:
            return
        # Writing at a known position instead of appending repairs a flush that failed half-way,
        # such as on a full disk: the next flush overwrites what the failed one left.
        try:
            with self.path.open("r+b") as file:
                file.seek(self.position)
                file.write(self._buffer)
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror}") from error
        self.position += len(self._buffer)
        self._buffer.clear()

    def sync(self) -> None:
        """Flush, and have the operating system bring everything to the disk."""
        self.flush()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())

    def close(self) -> None:
        """Flush; adding afterwards is an error."""
        self.flush()
        self._closed = True


def require_events(path: Path, position: int, started: float | None = None) -> bytes:
    """Refuse to continue a file of which the first `position` bytes are not whole records.

    `started` is the wall time of the first of them, where it is known: two logs that begin at one
    time do not exist. Returns the head of the first record.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        data = file.read(min(max(position, 0), size))
    end = 0
    while 0 <= end < position:
        length = _length(data[end : end + _HEAD_BYTES])
        end = end + _FRAME_BYTES + length if length else -1
    if size < position:
        reason = f"it has {size} bytes, fewer than the {position} at the checkpoint"
    elif end != position or not position:
        reason = f"no record ends at byte {position}, where the checkpoint was taken"
    elif started is not None and _WALL_TIME.unpack_from(data, _HEAD_BYTES + 1)[0] != started:
        reason = "it is the log of another run"
    else:
        return data[:_HEAD_BYTES]
    raise UsageError(f"cannot continue {path}: {reason}; start anew with --remove-existing-data")


class RunWriter:
    """Collects the values of one step; `commit(step)` makes one event of them.

    A row of an exporter is therefore whole or absent, whenever the process dies. What has not
    been committed is dropped. Scalars and histograms are stored under their tags without a leading
    slash. A configuration is written as a text and for TensorBoard's HParams plugin, ahead of the
    first values in the file.
    """

    def __init__(self, target: EventFile | Path, *, config: Mapping[str, object] | None = None):
        if isinstance(target, Path):
            target.mkdir(parents=True, exist_ok=True)
            target = EventFile.create_in(target)
        self.events = target
        self._config = config
        self._event = event_message()()
        self._end_at: int | None = None

    def scalar(self, tag: str, value: float) -> None:
        """Log a number, stored as float32; one beyond its range becomes infinite."""
        self._event.summary.value.add(tag=tag.lstrip("/"), simple_value=float(value))

    def text(self, tag: str, content: str, *, rooted: bool = True) -> None:
        """Log a text under `/<tag>/text_summary`, without the leading slash if not `rooted`."""
        from tensorboardX.summary import text

        stem = tag.lstrip("/")
        self._event.summary.MergeFrom(text(f"/{stem}" if rooted else stem, content))

    def tensor(self, tag: str, value: np.ndarray) -> None:
        """Log all elements of an array, as text."""
        content = np.array2string(np.asarray(value), max_line_width=60, threshold=sys.maxsize)
        self.text(tag, f"<pre>{content}</pre>")

    def histogram(self, tag: str, value: np.ndarray) -> None:
        """Log the distribution of the finite elements of an array, if it has any.

        Values beyond the outermost bins count in these; tensorboardX alone would drop them.
        """
        from tensorboardX.summary import make_histogram

        values = np.asarray(value, dtype=np.float64).reshape(-1)
        values = values[np.isfinite(values)]
        if values.size == 0:
            return
        edges = bin_edges()
        content = make_histogram(values.clip(edges[0], edges[-1]), edges)
        content.min, content.max = values.min(), values.max()
        with np.errstate(over="ignore"):
            content.sum, content.sum_squares = values.sum(), values @ values
        self._event.summary.value.add(tag=tag.lstrip("/"), histo=content)

    def summary(self, tag: str, value: np.ndarray) -> None:
        """Log `<tag>/mean`, `<tag>/var` (unbiased; NaN for one element) and `<tag>/norm` (L2)."""
        value = np.asarray(value, dtype=np.float64).reshape(-1)
        with np.errstate(invalid="ignore", over="ignore"):
            mean = value.mean() if value.size else math.nan
            variance = value.var(ddof=1) if value.size > 1 else math.nan
            norm = math.sqrt(value @ value)
        for name, number in (("mean", mean), ("var", variance), ("norm", norm)):
            self.scalar(f"{tag}/{name}", number)

    def commit(self, step: int) -> None:
        """Write what was collected as one event of `step`; write nothing if nothing was."""
        event = self._event
        if event.summary.value:
            event.wall_time, event.step = time.time(), step
            self.add(event.SerializeToString())
            # A new message, as a cleared one keeps the memory of all that it has held.
            self._event = event_message()()

    def add(self, event: bytes) -> None:
        """Write an event that is serialised already."""
        config, self._config = self._config, None
        if config is not None and self.events.is_bare:
            from tensorboardX.summary import hparams, text

            rows = (f"| {name} | {value} |" for name, value in config.items())
            shown = text(CONFIG, "\n".join(("| flag | value |", "|---|---|", *rows)))
            _, session, _ = hparams({name: hparam(value) for name, value in config.items()}, {})
            self.events.add(event_of(0, shown, session))
        self.events.add(event)

    def begin_end(self) -> None:
        """Let all that is written from here on lie behind `position`.

        A run that is resumed to train longer drops it.
        """
        if self._end_at is None:
            self.events.flush()
            self._end_at = self.events.position

    def conclude(self, step: int, results: Mapping[str, float]) -> None:
        """Write the results of a finished run by their tags, and that it has ended."""
        from tensorboardX.summary import hparams

        self.begin_end()
        for tag, value in results.items():
            self.scalar(tag, value)
        self._event.summary.MergeFrom(hparams({}, {})[-1])
        self.commit(step)

    @property
    def position(self) -> int:
        """Return how many bytes of the file a resumed run keeps: what is flushed but its end."""
        return self.events.position if self._end_at is None else self._end_at

    def flush(self) -> None:
        self.events.flush()

    def close(self) -> None:
        self.events.close()


def event_of(step: int, *summaries: Any) -> bytes:
    event = event_message()(wall_time=time.time(), step=step)
    for summary in summaries:
        event.summary.MergeFrom(summary)
    return event.SerializeToString()


def scalar_events(tags: Sequence[str], values: np.ndarray, step: int) -> list[bytes]:
    """Return the events of runs that log scalars `(runs, tags)`; they differ in numbers alone."""
    event = event_message()(wall_time=time.time(), step=step)
    added = [event.summary.value.add(tag=tag.lstrip("/"), simple_value=0.0) for tag in tags]
    template = event.SerializeToString()
    # A number is the last of its part of the event; before a part are its kind and its length.
    lengths = np.array([n + 1 + (n.bit_length() + 6) // 7 for n in (v.ByteSize() for v in added)])
    ends = len(template) - lengths.sum() + lengths.cumsum()
    rows = np.tile(np.frombuffer(template, np.uint8), (len(values), 1))
    with np.errstate(over="ignore"):  # Numbers beyond the range are infinite.
        stored = np.ascontiguousarray(values, "<f4")
    rows[:, (ends[:, None] + np.arange(-4, 0)).ravel()] = stored.view(np.uint8)
    return [row.tobytes() for row in rows]


def hparam(value: object) -> object:
    """Return a value of a kind that the HParams plugin knows; ranges and other lists as text."""
    return value if value is None or isinstance(value, (bool, int, float, str)) else f"{value}"


@functools.cache
def bin_edges() -> np.ndarray:
    """Return the bins of `tensorboardX.SummaryWriter.add_histogram`, which only a writer has.

    They are 0 and ±1e-12 · 1.1^k below 1e20, by repeated multiplication: 1549 edges.
    """
    positive = np.cumprod([1e-12] + [1.1] * 773)
    return np.concatenate([-positive[::-1], [0.0], positive])


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
        layouts: dict[int, list[Layout]] = {}

        def decode(payload: bytes) -> Event | None:
            return _event(payload, layouts.setdefault(len(payload), []))

        return (event for event in self._decoded(decode) if event is not None)

    def messages(self) -> Iterator[Any]:
        """Iterate over all events as protobuf's messages: `step`, `wall_time`, `summary.value`."""
        return self._decoded(event_message().FromString)

    def _decoded(self, decode: Callable[[bytes], Any]) -> Iterator[Any]:
        from google.protobuf.message import DecodeError

        data = self.path.read_bytes()
        self.problem = None if data else "empty file"
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
                event = decode(payload)
            except DecodeError as error:
                self.problem = f"bad event at byte {position}: {error}"
                return
            yield event
            position = end + _CHECKSUM.size


Layout = Callable[[bytes], Event | None]
"""Returns the event of a payload that differs from another in its numbers only, else None."""


def _event(payload: bytes, layouts: list[Layout]) -> Event | None:
    """Return the event in one payload, None without a value; DecodeError if it is not an event.

    layouts: found in earlier payloads of this length.
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
    """Iterates over `(run name, event file path, protobuf's messages or None)` by run name.

    Hidden entries are no runs, and hidden files in a run are not counted. There is no recursion:
    `dirpath` is the direct parent of the run folders. A run without exactly one file raises
    ValueError; `runs()` reports it instead. names: the runs that are wanted, all if None.
    """

    def __init__(
        self, dirpath: str | Path, auto_open: bool = True, names: Container[str] | None = None
    ):
        self.dirpath, self.auto_open = Path(dirpath), auto_open
        found = [entry.name for entry in visible_entries(self.dirpath)]
        self.names = [name for name in found if names is None or name in names]

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[tuple[str, str, Iterator[Any] | None]]:
        for run in self.runs():
            if run.path is None:
                raise ValueError(f"wrong number of logfile was found in {run.name}: {run.problem}")
            events = EventFileReader(run.path).messages() if self.auto_open else None
            yield run.name, str(run.path), events

    def runs(self) -> Iterator[RunFiles]:
        for name in self.names:
            folder = self.dirpath / name
            shown = os.fsencode(name).decode(errors="backslashreplace")
            if shown != name:
                yield RunFiles(shown, None, "the name of the folder is not UTF-8")
                continue
            files = list[Path]()
            try:
                files = visible_entries(folder)
                problem = _problem(files)
            except OSError as error:
                problem = "not a folder" if isinstance(error, NotADirectoryError) else str(error)
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


NOT_RECORDED = "(not recorded)"


@dataclass(frozen=True)
class RunRecord:
    """The script, configuration and versions of a run, and the command that repeats it.

    `config` maps the name of each flag to its effective value, however it was given; values are
    what JSON knows (a tuple equals a list). `resumed_with` are the commands of later resumes.
    `layer_files` are path, digest and text of what defines layers that are not of this package.
    `engine` trains an arithmetic run: `lanes` and its version, or `torch` and the reason.
    `log_started` is the wall time of the first event of the log, which tells it from others.
    `cpu_seconds` is the CPU time of training: its share, of a run that was trained with others.
    """

    script: str
    config: Mapping[str, object]
    command: str
    versions: Mapping[str, str | None]
    git_revision: str | None
    resumed_with: tuple[str, ...] = ()
    layer_files: Sequence[Mapping[str, str]] = ()
    log_started: float | None = None
    engine: str | None = None
    cpu_seconds: float | None = None

    @classmethod
    def create(cls, script: str, config: Mapping[str, object], command: str) -> "RunRecord":
        """Make the record of a run that starts now, with the installed versions."""
        return cls(script, dict(config), command, _versions(), _git_revision())

    @classmethod
    def read(cls, folder: Path) -> "RunRecord | None":
        """Return the record in `folder`; None if it is missing or unreadable."""
        try:
            written = files.json_of(folder / RECORD_NAME)
            content = {"log_started": None, "layer_files": (), "engine": None, "cpu_seconds": None}
            content |= written
            known = {field.name: content[field.name] for field in fields(cls)}
            record = cls(**{**known, "resumed_with": tuple(known["resumed_with"])})
            record._identity()  # which fails for parts of another make
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return record

    def write(self, folder: Path) -> None:
        with files.atomic_text_file(folder / RECORD_NAME) as file:
            json.dump(vars(self), file, indent=1)
            file.write("\n")

    @classmethod
    def add_cost(cls, folder: Path, cpu_seconds: float) -> None:
        """Add CPU time to the record of a run, if it has one that can be written."""
        with contextlib.suppress(OSError):
            if record := cls.read(folder):
                whole = round((record.cpu_seconds or 0) + cpu_seconds, 3)
                replace(record, cpu_seconds=whole).write(folder)

    def resumed(self, earlier: "RunRecord | None") -> "RunRecord":
        """Return this record for a run resumed from `earlier`, whose command comes first."""
        if earlier is None:
            return self
        later = (*earlier.resumed_with, self.command)
        first = {"command": earlier.command, "log_started": earlier.log_started}
        first |= {"cpu_seconds": earlier.cpu_seconds}
        return replace(self, **first, resumed_with=later)

    def differences(self, other: "RunRecord", ignored: Collection[str] = ()) -> list[str]:
        """Return `flag: own value / other value` for whatever tells two configurations apart.

        `ignored` are names in `config` that control a run without being part of what it computes.
        """
        mine, theirs = self._identity(), other._identity()
        names = [name for name in {**mine, **theirs} if name not in ignored]
        pairs = [(name, _shown(mine, name), _shown(theirs, name)) for name in names]
        return [f"{name}: {one} / {two}" for name, one, two in pairs if not _same(one, two)]

    def _identity(self) -> dict[str, object]:
        """Return what tells this run from others: script, configuration, digests of layers."""
        digests = [file["sha256"][:12] for file in self.layer_files]
        own = {"layer file (SHA-256)": digests} if digests else {}
        return {"script": self.script, **self.config, **own}


def _same(one: str, other: str) -> bool:
    # By value, as 10 and 10.0 are one setting; by text too, as NaN does not equal itself.
    recorded = NOT_RECORDED not in (one, other)
    return one == other or (recorded and json.loads(one) == json.loads(other))


def _shown(config: Mapping[str, object], name: str) -> str:
    return json.dumps(config[name], sort_keys=True) if name in config else NOT_RECORDED


@functools.cache
def _versions() -> dict[str, str]:
    packages = {name: metadata.version(name) for name in ("torch", "numpy", "scipy")}
    return {"python": platform.python_version(), **packages, "stable_nalu": files.VERSION}


@functools.cache
def _git_revision() -> str | None:
    """Return the commit of the checkout that holds the package; local changes add `-dirty`."""
    if not (files.CHECKOUT / ".git").exists():
        return None
    describe = ["describe", "--always", "--abbrev=40", "--dirty", "--match="]
    command = ["git", "--no-optional-locks", "-C", str(files.CHECKOUT), *describe]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        how: Any = {"stderr": subprocess.DEVNULL, "text": True, "timeout": 10}
        return subprocess.check_output(command, **how).strip()
    return None


WAYS_OUT = (
    "--remove-existing-data to start anew",
    "--load-checkpoint to continue it",
    "another --name-prefix or --id",
)


@dataclass(frozen=True)
class ResumePoint:
    """The event file of a checkpoint, and how many bytes it had when the checkpoint was taken.

    `flag` is the one that asked for the checkpoint, which errors name.
    """

    event_file: str
    position: int
    flag: str = "--load-checkpoint"


@contextlib.contextmanager
def claimed(
    path: Path, record: RunRecord, *, resume: ResumePoint | None = None, **rules: Any
) -> Iterator[EventFile]:
    """Take a run folder for this process while the block runs, and yield its event file.

    Existing data is continued (`resume`, which has precedence over removal), removed, or a reason
    to refuse, by the `rules` of `check_claim`. When an exception ends the block before anything
    was logged, the claim is taken back.
    """
    with contextlib.ExitStack() as held:
        with _writable(path):
            path.mkdir(parents=True, exist_ok=True)
            held.callback(os.close, _lock(path))
            check_claim(path, record, resume=resume, is_ours=True, **rules)
            files.remove_temporaries([path / RECORD_NAME])
            if resume is not None:
                events = EventFile(path / resume.event_file, position=resume.position)
                record.resumed(RunRecord.read(path)).write(path)
            else:
                for entry in files.visible_entries(path):
                    entry.unlink()
                started = time.time()
                replace(record, log_started=started).write(path)
                events = EventFile.create_in(path, started)
        held.callback(events.close)
        try:
            yield events
        except BaseException:
            if events.is_new and events.is_bare:
                # So that a corrected command is not refused.
                for entry in (events.path, path / RECORD_NAME, path / LOCK_NAME):
                    entry.unlink(missing_ok=True)
                # What else is there, such as a file of the user, keeps the folder.
                with contextlib.suppress(OSError):
                    path.rmdir()
            raise


def check_claim(
    path: Path,
    record: RunRecord,
    resume: ResumePoint | None = None,
    *,
    run_control: Collection[str] = (),
    remove_existing_data: bool = False,
    ways_out: Sequence[str] = WAYS_OUT,
    is_ours: bool = False,
) -> None:
    """Raise what `claimed` would raise because of what is there, and change nothing.

    run_control: names in which the configuration of data that is continued or removed may
    differ. remove_existing_data: whether it may be removed. ways_out: what a refusal suggests;
    the last of them is another folder. is_ours: whether this process has locked it.
    """
    with _writable(path):
        if not path.is_dir():
            return
        if not is_ours:
            refuse_in_use(path)
        existing = files.visible_entries(path)
        if resume is None and not existing:
            return
        earlier, names = RunRecord.read(path), [entry.name for entry in existing]
        verb = "continue" if resume else "remove" if remove_existing_data else "write into"
        if earlier is not None:
            both = (earlier.config, record.config)
            one, other = (f"{c.get('name_prefix')} {c.get('id')}" for c in both)
            problem = ""
            if one != other and one.casefold() == other.casefold():
                problem = f"{path} is the folder of a run whose name differs in small and "
                problem += "capital letters alone, which this file system takes for the same"
            elif differences := earlier.differences(record, run_control):
                problem = f"will not {verb} {path}: it holds a run of another configuration "
                problem += f"(recorded / asked for: {'; '.join(differences)})"
            if problem:
                raise UsageError(f"{problem}; use {ways_out[-1]}")
        if resume is not None:
            if names != [resume.event_file]:
                raise UsageError(
                    f"cannot continue {path}: the checkpoint belongs to {resume.event_file}, "
                    f"the folder holds {', '.join(names) or 'no event file'}; "
                    f"start anew with --remove-existing-data instead of {resume.flag}"
                )
            started = earlier.log_started if earlier else None
            require_events(path / resume.event_file, resume.position, started)
            return
    if not remove_existing_data:
        ways = f"{', '.join(ways_out[:-1])}, or {ways_out[-1]}"
        raise UsageError(f"{path} already holds data of a run: use {ways}")
    foreign = [e.name for e in existing if not (e.name.startswith(FILE_PREFIX) and e.is_file())]
    if foreign:
        problem = f"besides event files it holds {', '.join(foreign)}"
        raise UsageError(f"will not remove {path}: {problem}")


@contextlib.contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        root = os.environ.get("TENSORBOARD_DIR")
        hint = f"TENSORBOARD_DIR is {root}" if root else "set TENSORBOARD_DIR to a writable folder"
        reason = error.strerror or error
        raise UsageError(f"cannot write the run folder {path}: {reason}; {hint}") from error


def refuse_in_use(path: Path) -> None:
    """Refuse a folder that another process writes into; it need not be there."""
    if files.is_locked(path / LOCK_NAME):
        raise _in_use(path)


def _lock(path: Path) -> int:
    """Take the lock of a folder, and return the descriptor that holds it."""
    descriptor = os.open(path / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    # An ensemble holds one lock per run. The soft limit of open files is often 1024, far below
    # the hard one; raise it while there is still room for all else that opens files.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptor > soft // 2 > 0:
        raised = 4 * soft if hard == resource.RLIM_INFINITY else min(4 * soft, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.truncate(descriptor, 0)
        os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except OSError as error:
        from torchlanes.kept import NO_LOCKS_HERE

        if error.errno in NO_LOCKS_HERE:
            warnings.warn(f"no file locks on {path}: do not start a run twice", stacklevel=2)
            return descriptor
        os.close(descriptor)
        if isinstance(error, BlockingIOError):
            raise _in_use(path) from error
        raise
    return descriptor


def _in_use(path: Path) -> UsageError:
    """Return the refusal of a locked folder, which names the process that wrote into the lock."""
    holder = ""
    with contextlib.suppress(OSError):
        holder = (path / LOCK_NAME).read_text(encoding="utf-8", errors="replace").strip()
    return UsageError(f"{path} is in use by {holder or 'another process'}")
