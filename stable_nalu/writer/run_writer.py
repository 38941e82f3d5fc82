"""Logging of one run: values are collected for a step and written together."""

import math
import sys
import time
from pathlib import Path

import numpy as np

from stable_nalu.tags import scalar_tag, text_tag

from . import encoding
from .event_file import EventFile
from .histogram import histogram
from .run_folder import RunFolder


class RunWriter:
    """Collects the values of one step; `commit(step)` makes one event of them.

    A row of an exporter is therefore whole or absent, whenever the process dies. What has not
    been committed is dropped. `verbose` tells callers whether values that only `--verbose` runs
    show are wanted; the writer writes what it is given.
    """

    def __init__(self, target: RunFolder | Path, *, verbose: bool = False):
        if isinstance(target, RunFolder):
            self.events = target.events
        else:
            target.mkdir(parents=True, exist_ok=True)
            self.events = EventFile.create_in(target)
        self.verbose = verbose
        self._values: list[bytes] = []

    def scalar(self, tag: str, value: float) -> None:
        """A number, stored as float32."""
        self._values.append(encoding.scalar(scalar_tag(tag), float(value)))

    def text(self, tag: str, content: str, *, rooted: bool = True) -> None:
        """A text under `/<tag>/text_summary`; without the leading slash if not `rooted`."""
        self._values.append(encoding.text(text_tag(tag, rooted=rooted), content))

    def tensor(self, tag: str, value: np.ndarray) -> None:
        """All elements of an array, as text."""
        content = np.array2string(np.asarray(value), max_line_width=60, threshold=sys.maxsize)
        self.text(tag, f"<pre>{content}</pre>")

    def histogram(self, tag: str, value: np.ndarray) -> None:
        """The distribution of the finite elements of an array; nothing when there is none."""
        content = histogram(value)
        if content is not None:
            self._values.append(encoding.histogram(scalar_tag(tag), content))

    def summary(self, tag: str, value: np.ndarray) -> None:
        """`<tag>/mean`, `<tag>/var` (unbiased; NaN for one element), `<tag>/norm` (L2)."""
        value = np.asarray(value, dtype=np.float64).reshape(-1)
        with np.errstate(invalid="ignore", over="ignore"):
            mean = value.mean() if value.size else math.nan
            variance = value.var(ddof=1) if value.size > 1 else math.nan
            norm = math.sqrt(value @ value)
        self.scalar(f"{tag}/mean", mean)
        self.scalar(f"{tag}/var", variance)
        self.scalar(f"{tag}/norm", norm)

    def commit(self, step: int) -> None:
        """Write what was collected as one event of `step`; nothing collected, nothing written."""
        if self._values:
            self.events.add(encoding.summary_event(time.time(), step, self._values))
            self._values = []

    def flush(self) -> None:
        """Bring all committed steps to the file."""
        self.events.flush()

    def close(self) -> None:
        """Flush and end; a claimed folder stays claimed until it is released."""
        self.events.close()
