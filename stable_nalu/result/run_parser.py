"""From the events of one run to a table: one row per logged step.

A value belongs to a row when its event has the step of the row. Training loops log validation
metrics first and what the forward pass of the same step shows afterwards, so the metrics open a
row and weights and sparsity errors join it.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any

from stable_nalu.options.run_names import has_field
from stable_nalu.writer.event_file import (
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
    Event,
)

RunColumns = dict[str, list]

DIVERGED_AT = "diverged.at"
"""Column of tables with configurations: the step at which a run diverged, in all its rows."""
STEP, WALL_TIME, SPARSITY, RECURSIVE = "step", "wall.time", "sparse.error.max", "recursive.weight"

_SPARSITY_RULES = {
    "W/sparsity_error": 0,
    "W_real/sparsity_error": 0,
    "W_im/sparsity_error": 1,
    "mcfc_junction/sparsity_error": 0,
    "mcfc_out_gate/sparsity_error": 1,
    "mulmcfc_bias/sparsity_error": 2,
    "mulmcfcsignrealnpu_g_hat/sparsity_error": 3,
}
"""Tag ending, and k: 0 takes the maximum over layers; otherwise entry = (k entry + value)/(k+1)."""

_SUMMED = "W_im/sparsity_error"
"""In runs of the division study, entry = entry + value, as its exporter had it."""

_MATRIX_RULES = {
    "W/text_summary": ("weights.w0", "weights.w1"),
    "W_real/text_summary": ("weights.w0", "weights.w1"),
    "gate/text_summary": ("gate.g0", "gate.g1"),
}
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

    of_pairs: whether rows are of runs on pairs of digits. These have the two weights of the last
        layer, which are empty where there is nothing to learn, but no times and sparsity errors.
    """

    matcher: Callable[[str], bool]
    step_start: int = 0
    recursive_weight: bool = False
    of_pairs: bool = False

    def parse(self, events: Iterable[Event], *, sums_imaginary: bool = False) -> RunColumns:
        """Return the columns: first metric, step, time, epoch, metrics, weights, sparsity, gates.

        They are of equal length, without the name of the run; there are none without rows.

        `sums_imaginary` adds sparsity errors of imaginary weights to the row's sparsity error,
        instead of averaging the two. Of a run that diverged there is `DIVERGED_AT`, too, and of
        one that did so before its first row nothing else.
        """
        rows: list[dict[str, Any]] = []
        row: dict[str, Any] = {}
        ends: RunColumns = {}
        epoch = logged = None
        rule_of = cache(self._rule)
        for event in events:
            for tag, value in zip(event.tags, event.values, strict=True):
                kind, what = rule_of(tag)
                if not kind:
                    continue
                if kind == EPOCH:
                    epoch = value  # of the rows that follow
                elif kind == DIVERGED:
                    ends = {DIVERGED_AT: [float(event.step - self.step_start)]}
                elif kind == METRIC and (event.step != logged or what in row):
                    logged = event.step
                    row = {what: _text(value), STEP: logged - self.step_start}
                    row[WALL_TIME] = event.wall_time
                    row |= {} if epoch is None else {EPOCH: epoch}
                    rows.append(row)
                elif event.step != logged:
                    continue
                elif kind in (METRIC, LABEL_WEIGHTS):
                    row[what] = _text(value)
                elif kind == SPARSITY:
                    _join_sparsity(row, what, value, sums_imaginary and tag.endswith(_SUMMED))
                elif kind == ERROR_CURVE:
                    row |= _curve(value)
                elif isinstance(value, bytes) and what[0] not in row:
                    cells = [*(matrix_elements(value) or ()), math.nan, math.nan]
                    row |= zip(what, cells, strict=False)
        found = self._ordered(_columns(rows), [math.nan] * len(rows)) if rows else {}
        return found | {name: cells * (len(rows) or 1) for name, cells in ends.items()}

    def _rule(self, tag: str) -> tuple[str, Any]:
        """Return the kind of values of `tag`, and their place, by the first rule that applies."""
        if self.of_pairs and (label := next(filter(tag.endswith, _PAIR_WEIGHTS), None)):
            return LABEL_WEIGHTS, _PAIR_WEIGHTS[label]
        if tag == EPOCH or (self.of_pairs and "sparsity_error" in tag):
            return (EPOCH if tag == EPOCH else ""), None
        if tag.endswith(_DIVERGED):
            return DIVERGED, None
        if self.matcher(tag):
            return METRIC, tag
        if tag == _CURVE:
            return ERROR_CURVE, None
        if matrix := next(filter(tag.endswith, _MATRIX_RULES), None):
            return (matrix if self.recursive_weight else ""), _MATRIX_RULES[matrix]
        if error := next(filter(tag.endswith, _SPARSITY_RULES), None):
            return SPARSITY, _SPARSITY_RULES[error]
        return "", None

    def _ordered(self, columns: RunColumns, missing: list[float]) -> RunColumns:
        """Put values of inner layers, such as the mean gate, last, whatever was logged first."""
        if self.of_pairs:
            late = {name: columns.pop(name, missing) for name in _PAIR_WEIGHTS.values()}
            del columns[WALL_TIME]
            return {name.replace("/", "."): cells for name, cells in (columns | late).items()}
        columns.setdefault(SPARSITY, missing)
        if self.recursive_weight:
            columns.setdefault(RECURSIVE, missing)
        late = [name for name in list(columns)[1:] if name.startswith("network/")]
        after = [name for name in _AFTER_METRICS if name in columns]
        first = [name for name in columns if name not in late and name not in after]
        return {name.replace("/", "."): columns[name] for name in (*first, *after, *late)}


def _text(value: float | bytes) -> float | str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _curve(value: float | bytes) -> dict[str, float]:
    """Return the points of a curve: a table of inputs, as they were written, and errors."""
    with suppress(AttributeError, ValueError):  # Of what is no such table, nothing is read.
        rows = _text(value).splitlines()[2:]
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
        return {f"{CURVE_COLUMNS}{at}": float(error) for at, error in cells}
    return {}


def _join_sparsity(row: dict[str, Any], share: int, value: float | bytes, summed: bool) -> None:
    """Join a sparsity error to that of a row, as `_SPARSITY_RULES` says."""
    if isinstance(value, bytes):
        return
    entry = row.get(SPARSITY)
    if entry is None:
        if share == 0:
            row[SPARSITY] = value
    elif summed:
        row[SPARSITY] = entry + value
    elif share:
        row[SPARSITY] = (share * entry + value) / (share + 1)
    elif not (entry >= value or math.isnan(entry)):
        row[SPARSITY] = value


def is_pair_metric(tag: str) -> bool:
    return tag.startswith(_PAIR_STATES) and tag.endswith(_PAIR_MEASURES)


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
        step, first = None, ""
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
    return tag.endswith("/mse") and tag.startswith(
        (f"{METRIC}/train", f"{METRIC}/valid", f"{METRIC_TEST}/")
    )


def is_scored(tag: str) -> bool:
    return tag in _SCORED


def is_scored_or_gate(tag: str) -> bool:
    return is_scored(tag) or tag.endswith(GATE_MEAN_SUFFIX)


def _is_metric(tag: str) -> bool:
    """Return whether a tag is a number that a script measures, under the name of any script."""
    measured = tag.startswith((f"{METRIC}/", LOSS_VALID)) or tag in TASK_LOSSES
    return measured and not tag.endswith(TEXT_SUFFIX)


# Where training counts updates from 1, rows do from 0.
SEQUENCES = MetricParser(is_sequence_metric, step_start=1, recursive_weight=True)
PAIRS = MetricParser(is_pair_metric, step_start=1, of_pairs=True)
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
