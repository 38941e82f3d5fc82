"""From the events of one run to a table: one row per logged step.

A value belongs to a row when its event has the step of the row. Training loops log validation
metrics first and what the forward pass of the same step shows afterwards, so the metrics open a
row and weights and sparsity errors join it.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from stable_nalu.tags import EPOCH, TEXT_SUFFIX

from .event_file import Event
from .matrix_text import matrix_elements
from .rows import Rows

Columns = dict[str, list]
Action = Callable[["_Walk", float | bytes], None]

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


class RunParser(Protocol):
    """Makes the columns of one run; it travels to worker processes, so it can be pickled."""

    def of_run(self, name: str) -> "RunParser":
        """The parser for a run of that name."""
        ...

    def parse(self, events: Iterable[Event]) -> Columns:
        """Columns of equal length in their order, without `name`; no columns when no rows."""
        ...


@dataclass(frozen=True)
class MetricParser:
    """Rows from the tags that `matcher` accepts, with epoch, sparsity error and first weights.

    step = event step - `step_start`. `recursive_weight` adds the first two elements of the first
    weight and gate matrix of a step. `sums_imaginary` adds sparsity errors of imaginary weights to
    the row's, instead of averaging the two. A run killed within a step has missing cells in its
    last row.
    """

    matcher: Callable[[str], bool]
    step_start: int = 0
    recursive_weight: bool = False
    sums_imaginary: bool = False

    def of_run(self, name: str) -> "MetricParser":
        """The division study summed: its names, and no others, have a distribution (`D-`)."""
        fields = name.split("_")
        of_division = any(field.startswith("D-") for field in fields)
        of_robustness = any(field.startswith("TB-") for field in fields)
        return replace(self, sums_imaginary=of_division and not of_robustness)

    def parse(self, events: Iterable[Event]) -> Columns:
        """Columns: first metric, step, wall.time, epoch, metrics, weights, sparsity, gates."""
        walk = _Walk(self.step_start)
        plans: dict[tuple[str, ...], list[tuple[int, Action]]] = {}
        for event in events:
            plan = plans.get(event.tags)
            if plan is None:
                plan = plans[event.tags] = self._plan(event.tags)
            if plan:
                walk.event = event
                values = event.values
                for index, action in plan:
                    action(walk, values[index])
        return self._ordered(walk.rows.columns(), walk.rows.count)

    def _plan(self, tags: tuple[str, ...]) -> list[tuple[int, Action]]:
        actions = [(index, self._action(tag)) for index, tag in enumerate(tags)]
        return [(index, action) for index, action in actions if action is not None]

    def _action(self, tag: str) -> Action | None:
        """What to do with values of `tag`: the first rule that applies."""
        if tag == EPOCH:
            return _remember_epoch
        if self.matcher(tag):
            return lambda walk, value: walk.metric(tag, value)
        for ending, names in _MATRIX_RULES:
            if tag.endswith(ending):
                return _first_elements(names) if self.recursive_weight else None
        for ending, share in _SPARSITY_RULES:
            if tag.endswith(ending):
                return _sparsity(share, summed=self.sums_imaginary and ending == _SUMMED)
        return None

    def _ordered(self, columns: Columns, count: int) -> Columns:
        """Values of inner layers, such as the mean gate, come last, whatever was logged first."""
        if count == 0:
            return {}
        missing = [math.nan] * count
        columns.setdefault(SPARSITY, missing)
        if self.recursive_weight:
            columns.setdefault(RECURSIVE, missing)
        late = [name for name in list(columns)[1:] if name.startswith("network/")]
        after = [name for name in _AFTER_METRICS if name in columns]
        first = [name for name in columns if name not in late and name not in after]
        return {name.replace("/", "."): columns[name] for name in (*first, *after, *late)}


class _Walk:
    """State while the events of a run go by."""

    event: Event

    def __init__(self, step_start: int):
        self.rows = Rows()
        self.epoch: float | bytes | None = None
        self.step_start = step_start
        self.logged_step: int | None = None

    def metric(self, column: str, value: float | bytes) -> None:
        """Join the row of this step, or open one."""
        rows, event = self.rows, self.event
        opens = event.step != self.logged_step or rows.filled(column)
        if opens:
            rows.start()
            self.logged_step = event.step
        rows.put(column, value.decode(errors="replace") if isinstance(value, bytes) else value)
        if opens:
            rows.put(STEP, event.step - self.step_start)
            rows.put(WALL_TIME, event.wall_time)
            if self.epoch is not None:
                rows.put(EPOCH, self.epoch)

    def in_logged_step(self) -> bool:
        """Whether the current event belongs to the last row."""
        return self.event.step == self.logged_step


def _remember_epoch(walk: _Walk, value: float | bytes) -> None:
    walk.epoch = value


def _first_elements(names: tuple[str, ...]) -> Action:
    def action(walk: _Walk, value: float | bytes) -> None:
        if not walk.in_logged_step() or walk.rows.filled(names[0]) or not isinstance(value, bytes):
            return
        elements = matrix_elements(value) or []
        for index, name in enumerate(names):
            walk.rows.put(name, elements[index] if index < len(elements) else math.nan)

    return action


def _sparsity(share: int, *, summed: bool) -> Action:
    def action(walk: _Walk, value: float | bytes) -> None:
        if not walk.in_logged_step() or isinstance(value, bytes):
            return
        if not walk.rows.filled(SPARSITY):
            if share == 0:
                walk.rows.put(SPARSITY, value)
            return
        entry = walk.rows.get(SPARSITY)
        if summed:
            value = entry + value
        elif share:
            value = (share * entry + value) / (share + 1)
        elif entry >= value or math.isnan(entry):
            return
        walk.rows.put(SPARSITY, value)

    return action


@dataclass(frozen=True)
class WeightsParser:
    """One row per step with every element of every matrix text: `param.<P>.<i>`.

    P is the second-to-last part of the tag. Only the first matrix of a name in a step counts:
    in networks of several layers the names repeat, and this table cannot tell them apart.
    """

    step_start: int = 0

    def of_run(self, name: str) -> "WeightsParser":
        """The same for every run."""
        return self

    def parse(self, events: Iterable[Event]) -> Columns:
        """Columns: all of the first parameter, step, the further parameters."""
        rows = Rows()
        step: int | None = None
        first = ""
        for event in events:
            for tag, value in zip(event.tags, event.values, strict=True):
                elements = _matrix(tag, value)
                if elements is None:
                    continue
                if event.step != step:
                    rows.start()
                    step = event.step
                    rows.put(STEP, step - self.step_start)
                parameter = tag.split("/")[-2]
                first = first or f"param.{parameter}."
                if not rows.filled(f"param.{parameter}.0"):
                    for index, element in enumerate(elements):
                        rows.put(f"param.{parameter}.{index}", element)
        columns = rows.columns()
        leading = [name for name in columns if name.startswith(first)] if first else []
        return {name: columns[name] for name in (*leading, STEP, *columns) if name in columns}


def _matrix(tag: str, value: float | bytes) -> list[float] | None:
    if not tag.endswith(TEXT_SUFFIX) or not isinstance(value, bytes):
        return None
    return matrix_elements(value)
