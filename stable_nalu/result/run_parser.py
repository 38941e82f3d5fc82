"""From the events of one run to a table: one row per logged step.

A value belongs to a row when its event has the step of the row. Training loops log validation
metrics first and what the forward pass of the same step shows afterwards, so the metrics open a
row and weights and sparsity errors join it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from stable_nalu.base.tags import (
    ABSOLUTE_SUFFIX,
    CURVE_COLUMNS,
    DIVERGED,
    EPOCH,
    ERROR_CURVE,
    GATE_MEAN_SUFFIX,
    LABEL_WEIGHTS,
    LOSS_VALID,
    METRIC,
    METRIC_TEST,
    METRIC_VALID,
    RANDOM_TEST,
    RANDOM_VALID,
    ROOT_SUFFIX,
    TASK_LOSSES,
    TEXT_SUFFIX,
)
from stable_nalu.options.run_names import has_field
from stable_nalu.writer.event_file import Event

RunColumns = dict[str, list]
Action = Callable[[float | bytes], object]

DIVERGED_AT = "diverged.at"
"""Column of tables with configurations: the step at which a run diverged, in all its rows."""
STEP, WALL_TIME, SPARSITY, RECURSIVE = "step", "wall.time", "sparse.error.max", "recursive.weight"

_SPARSITY_RULES = (
    ("W/sparsity_error", 0),
    ("W_real/sparsity_error", 0),
    ("W_im/sparsity_error", 1),
    ("mcfc_junction/sparsity_error", 0),
    ("mcfc_out_gate/sparsity_error", 1),
    ("mulmcfc_bias/sparsity_error", 2),
    ("mulmcfcsignrealnpu_g_hat/sparsity_error", 3),
)
"""Tag ending, and k: 0 takes the maximum over layers; otherwise entry = (k entry + value)/(k+1)."""

_SUMMED = "W_im/sparsity_error"
"""In runs of the division study, entry = entry + value, as its exporter had it."""

_MATRIX_RULES = (
    ("W/text_summary", ("weights.w0", "weights.w1")),
    ("W_real/text_summary", ("weights.w0", "weights.w1")),
    ("gate/text_summary", ("gate.g0", "gate.g1")),
)
_AFTER_METRICS = ("weights.w0", "weights.w1", SPARSITY, "gate.g0", "gate.g1", RECURSIVE)

_PAIR_STATES = ("metric/train", "metric/valid", "metric/test")
_PAIR_MEASURES = ("/mse", "/acc", "/loss")
_PAIR_WEIGHTS = {f"{LABEL_WEIGHTS}/w{k}": f"label2out.w{k}" for k in (0, 1)}

_SCORED = {tag + end for tag in (METRIC_VALID, METRIC_TEST) for end in ("", ABSOLUTE_SUFFIX)} | {
    tag + end for tag in (RANDOM_VALID, RANDOM_TEST) for end in ("", ROOT_SUFFIX, ABSOLUTE_SUFFIX)
}

_DIVERGED = f"/{DIVERGED}{TEXT_SUFFIX}"
_CURVE = f"{ERROR_CURVE}{TEXT_SUFFIX}"
_OPEN, _CLOSE = b"<pre>", b"</pre>"
_NO_BRACKETS = bytes.maketrans(b"[],", b"   ")


@dataclass(frozen=True)
class MetricParser:
    """Rows from the tags that `matcher` accepts, with epoch, sparsity error and first weights.

    step = event step - `step_start`. `recursive_weight` adds the first two elements of the first
    weight and gate matrix of a step. A run killed within a step has missing cells in its last row.
    """

    matcher: Callable[[str], bool]
    step_start: int = 0
    recursive_weight: bool = False

    def parse(self, events: Iterable[Event], *, sums_imaginary: bool = False) -> RunColumns:
        """Return the columns: first metric, step, time, epoch, metrics, weights, sparsity, gates.

        They are of equal length, without the name of the run; there are none without rows.

        `sums_imaginary` adds sparsity errors of imaginary weights to the row's sparsity error,
        instead of averaging the two. Of a run that diverged there is `DIVERGED_AT`, too, and of
        one that did so before its first row nothing else.
        """
        walk = _Walk(self.step_start, sums_imaginary)
        plans: dict[tuple[str, ...], list[tuple[int, Action]]] = {}
        for event in events:
            plan = plans.get(event.tags)
            if plan is None:
                actions = ((index, self._action(walk, tag)) for index, tag in enumerate(event.tags))
                plan = plans[event.tags] = [(i, action) for i, action in actions if action]
            if plan:
                walk.event, walk.in_row = event, event.step == walk.logged_step
                values = event.values
                for index, action in plan:
                    action(values[index])
        rows = len(walk.rows)
        found = self._ordered(_columns(walk.rows), [math.nan] * rows) if rows else {}
        if walk.diverged_at is not None:
            found[DIVERGED_AT] = [walk.diverged_at] * (rows or 1)
        return found

    def _action(self, walk: "_Walk", tag: str) -> Action | None:
        """Return what to do with values of `tag`, by the first rule that applies."""
        if tag == EPOCH:
            return partial(setattr, walk, "epoch")  # of the rows that follow
        if tag.endswith(_DIVERGED):
            return walk.diverge
        if self.matcher(tag):
            return partial(walk.metric, tag)
        if tag == _CURVE:
            return walk.curve
        for ending, names in _MATRIX_RULES:
            if tag.endswith(ending):
                return partial(walk.matrix, names) if self.recursive_weight else None
        for ending, share in _SPARSITY_RULES:
            if tag.endswith(ending):
                return partial(walk.sparsity, share, ending == _SUMMED)
        return None

    def _ordered(self, columns: RunColumns, missing: list[float]) -> RunColumns:
        """Put values of inner layers, such as the mean gate, last, whatever was logged first."""
        columns.setdefault(SPARSITY, missing)
        if self.recursive_weight:
            columns.setdefault(RECURSIVE, missing)
        late = [name for name in list(columns)[1:] if name.startswith("network/")]
        after = [name for name in _AFTER_METRICS if name in columns]
        first = [name for name in columns if name not in late and name not in after]
        return {name.replace("/", "."): columns[name] for name in (*first, *after, *late)}


def is_pair_metric(tag: str) -> bool:
    """Return whether a tag of a run on pairs of digits is an error or accuracy of its sets."""
    return tag.startswith(_PAIR_STATES) and tag.endswith(_PAIR_MEASURES)


@dataclass(frozen=True)
class PairParser(MetricParser):
    """Rows of runs on pairs of digits: metrics and the two weights of the last layer.

    Times and sparsity errors are left out.
    """

    matcher: Callable[[str], bool] = is_pair_metric

    def _action(self, walk: "_Walk", tag: str) -> Action | None:
        for ending, column in _PAIR_WEIGHTS.items():
            if tag.endswith(ending):
                return partial(walk.join, column)
        return super()._action(walk, tag) if "sparsity_error" not in tag else None

    def _ordered(self, columns: RunColumns, missing: list[float]) -> RunColumns:
        """Put the weights last; they stay empty where the last layer has nothing to learn."""
        late = {name: columns.get(name, missing) for name in _PAIR_WEIGHTS.values()}
        first = {
            name.replace("/", "."): cells
            for name, cells in columns.items()
            if name not in late and name != WALL_TIME
        }
        return first | late


@dataclass(frozen=True)
class WeightsParser:
    """One row per step with every element of every matrix text: `param.<P>.<i>`.

    P is the second-to-last part of the tag. Only the first matrix of a name in a step counts:
    in networks of several layers the names repeat, and this table has only the first.
    """

    step_start: int = 0

    def parse(self, events: Iterable[Event], *, sums_imaginary: bool = False) -> RunColumns:  # noqa: ARG002
        """Return the columns: all of the first parameter, step, the further parameters."""
        rows: list[dict[str, Any]] = []
        step: int | None = None
        first = ""
        for event in events:
            for tag, value in zip(event.tags, event.values, strict=True):
                elements = matrix_elements(value) if tag.endswith(TEXT_SUFFIX) else None
                if elements is None:
                    continue
                if event.step != step:
                    step = event.step
                    rows.append({STEP: step - self.step_start})
                parameter = f"param.{tag.split('/')[-2]}."
                first = first or parameter
                if f"{parameter}0" not in rows[-1]:
                    rows[-1] |= {f"{parameter}{i}": element for i, element in enumerate(elements)}
        columns = _columns(rows)
        leading = [name for name in columns if name.startswith(first)] if first else []
        return {name: columns[name] for name in (*leading, STEP, *columns) if name in columns}


RunParser = MetricParser | WeightsParser
"""Makes the columns of one run; it travels to worker processes, so it can be pickled."""


def is_sequence_metric(tag: str) -> bool:
    """Return whether a tag is a mean squared error of training, validation or a test length."""
    return tag.endswith("/mse") and tag.startswith(
        (f"{METRIC}/train", f"{METRIC}/valid", f"{METRIC_TEST}/")
    )


def is_scored(tag: str) -> bool:
    """Return whether a tag is an error of validation or test, or what a score compares it with."""
    return tag in _SCORED


def is_scored_or_gate(tag: str) -> bool:
    """Return whether a tag is one of those, or the mean gate of a NALU layer."""
    return is_scored(tag) or tag.endswith(GATE_MEAN_SUFFIX)


def _is_metric(tag: str) -> bool:
    """Return whether a tag is a number that a script measures, under the name of any script."""
    measured = tag.startswith((f"{METRIC}/", LOSS_VALID)) or tag in TASK_LOSSES
    return measured and not tag.endswith(TEXT_SUFFIX)


# Where training counts updates from 1, rows do from 0.
SEQUENCES = MetricParser(is_sequence_metric, step_start=1, recursive_weight=True)
PAIRS = PairParser(step_start=1)
SEQUENCE_SCRIPTS = ("sequential_mnist", "sequential_svhn")
PAIR_SCRIPTS = ("two_digit_mnist", "ST_mnist_labels")
"""The scripts of digits, and the parsers of their runs."""


def parser_of(name: str, script: str) -> RunParser:
    """Return what makes the rows of a run, by the script that made it, else by its name."""
    if script in SEQUENCE_SCRIPTS or (not script and has_field(name, "d-", "m-")):
        return SEQUENCES
    if script in PAIR_SCRIPTS or (not script and has_field(name, "learnL")):
        return PAIRS
    return MetricParser(_is_metric)


def _columns(rows: Sequence[Mapping[str, Any]]) -> RunColumns:
    """Return columns in the order of their first cell; a cell never filled is missing (NaN)."""
    names = dict.fromkeys(chain.from_iterable(rows))
    return {name: [row.get(name, math.nan) for row in rows] for name in names}


class _Walk:
    """The rows so far, and what is remembered, while the events of a run go by.

    `in_row` says whether the current event belongs to the last row.
    """

    event: Event
    in_row: bool

    def __init__(self, step_start: int, sums_imaginary: bool):
        self.rows: list[dict[str, Any]] = []
        self.row: dict[str, Any] = {}
        self.epoch: float | bytes | None = None
        self.step_start = step_start
        self.sums_imaginary = sums_imaginary
        self.logged_step: int | None = None
        self.diverged_at: float | None = None

    def diverge(self, _: float | bytes) -> None:
        """Keep the step at which the run diverged."""
        self.diverged_at = float(self.event.step - self.step_start)

    def metric(self, column: str, value: float | bytes) -> None:
        """Join the row of this step, or open one."""
        cell = value.decode(errors="replace") if isinstance(value, bytes) else value
        if self.in_row and column not in self.row:
            self.row[column] = cell
            return
        step = self.event.step
        self.row = {column: cell, STEP: step - self.step_start, WALL_TIME: self.event.wall_time}
        if self.epoch is not None:
            self.row[EPOCH] = self.epoch
        self.rows.append(self.row)
        self.logged_step, self.in_row = step, True

    def join(self, column: str, value: float | bytes) -> None:
        """Put a value into the last row, if the current event belongs to it."""
        if self.in_row:
            self.row[column] = value

    def curve(self, value: float | bytes) -> None:
        """Put a curve into the last row: a table of inputs, as they were written, and errors."""
        if isinstance(value, bytes):
            rows = value.decode(errors="replace").splitlines()[2:]
            cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
            with suppress(ValueError):  # Of what is no such table, nothing is read.
                for column, error in [(f"{CURVE_COLUMNS}{at}", float(e)) for at, e in cells]:
                    self.join(column, error)

    def matrix(self, names: tuple[str, ...], value: float | bytes) -> None:
        """Put the first elements of the first matrix of a step into the last row."""
        if isinstance(value, bytes) and names[0] not in self.row:
            elements = [*(matrix_elements(value) or ()), *(math.nan for _ in names)]
            for name, element in zip(names, elements, strict=False):
                self.join(name, element)

    def sparsity(self, share: int, summed: bool, value: float | bytes) -> None:
        """Join a sparsity error to that of the last row, as `_SPARSITY_RULES` says."""
        if isinstance(value, bytes) or not self.in_row:
            return
        entry = self.row.get(SPARSITY)
        if entry is None:
            if share == 0:
                self.row[SPARSITY] = value
        elif summed and self.sums_imaginary:
            self.row[SPARSITY] = entry + value
        elif share:
            self.row[SPARSITY] = (share * entry + value) / (share + 1)
        elif not (entry >= value or math.isnan(entry)):
            self.row[SPARSITY] = value


def matrix_elements(text: float | bytes) -> list[float] | None:
    """Return the elements of a logged matrix in row-major order; None for anything else.

    A matrix is logged as `<pre>`, NumPy's text of it and `</pre>`; `nan`, `inf` and trailing dots
    are numbers, too.
    """
    if not (isinstance(text, bytes) and text.startswith(_OPEN) and text.endswith(_CLOSE)):
        return None
    words = text[len(_OPEN) : -len(_CLOSE)].translate(_NO_BRACKETS).split()
    try:
        return [float(word) for word in words]
    except ValueError:
        return None
