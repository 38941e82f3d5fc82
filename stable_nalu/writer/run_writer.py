"""Logging of one run: values are collected for a step and written together."""

import functools
import math
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from stable_nalu.base.tags import CONFIG

from .event_file import EventFile, event_message
from .run_folder import RunFolder


class RunWriter:
    """Collects the values of one step; `commit(step)` makes one event of them.

    A row of an exporter is therefore whole or absent, whenever the process dies. What has not
    been committed is dropped. Scalars and histograms are stored under their tags without a leading
    slash. A configuration is written as a text and for TensorBoard's HParams plugin, ahead of the
    first values in the file.
    """

    def __init__(
        self,
        target: RunFolder | Path,
        *,
        config: Mapping[str, object] | None = None,
    ):
        if isinstance(target, RunFolder):
            self.events = target.events
        else:
            target.mkdir(parents=True, exist_ok=True)
            self.events = EventFile.create_in(target)
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
        """Log the distribution of the finite elements of an array; nothing when there is none.

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
        self.scalar(f"{tag}/mean", mean)
        self.scalar(f"{tag}/var", variance)
        self.scalar(f"{tag}/norm", norm)

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
        if self._config is not None and self.events.is_bare:
            self._introduce(self._config)
        self._config = None
        self.events.add(event)

    def _introduce(self, config: Mapping[str, object]) -> None:
        from tensorboardX.summary import hparams, text

        rows = (f"| {name} | {value} |" for name, value in config.items())
        values = {name: hparam(value) for name, value in config.items()}
        _, session, _ = hparams(values, {})
        event = event_message()(wall_time=time.time())
        event.summary.MergeFrom(text(CONFIG, "\n".join(("| flag | value |", "|---|---|", *rows))))
        event.summary.MergeFrom(session)
        self.events.add(event.SerializeToString())

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
        """Bring all committed steps to the file."""
        self.events.flush()

    def close(self) -> None:
        """Flush and end; a claimed folder stays claimed until it is released."""
        self.events.close()


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
    positive = []
    edge = 1e-12
    while edge < 1e20:
        positive.append(edge)
        edge *= 1.1
    return np.array([-edge for edge in reversed(positive)] + [0.0] + positive)
