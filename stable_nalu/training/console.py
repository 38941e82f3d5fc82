"""What is shown of training: on the console what is trained, one bar, and the result.

TensorBoard shows what the runs of a folder have in common.
"""

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from stable_nalu.base import script
from stable_nalu.base.papers import FLAT
from stable_nalu.base.script import Progress, fact, plural
from stable_nalu.layer import entries
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options.flag import seeds_text
from stable_nalu.options.flags import label, range_label, units_label, units_of, varying
from stable_nalu.statistics.setups import Limit, below
from stable_nalu.writer import EventFile, RunRecord, event_file

from .checkpoint import run_control
from .task import Task

LINES_OF_A_PLAN = 10
RANGES_BY_NAME = 3
SECONDS_BETWEEN_MOVES = 0.3
MINUTE = 60 * 10**9
"""In nanoseconds."""
_SHOWN_ELSEWHERE = {
    *("layer_type", "nalm_name", "operation", "interpolation_range", "extrapolation_range"),
    *("name_prefix", "verbose"),
}
"""Flags that other lines show."""

is_quiet = ContextVar("is_quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Print no line of this thread's while the context lasts; others may print theirs."""
    token = is_quiet.set(True)
    try:
        yield
    finally:
        is_quiet.reset(token)


def print_line(text: str) -> None:
    """Print a line on standard output, at once also where that is a file."""
    if not is_quiet.get():
        script.say(text)


class Console:
    """The console of a plan: one bar over all runs; lines in files, and with --verbose.

    left: units to train, over all runs. last: the last unit of a run. begun: what is to be done
    once something is logged.
    """

    def __init__(self, *, runs: int, left: int, last: int, unit: str, verbose: bool, begun=None):
        self.runs = runs
        self.shows_lines = verbose or not script.is_terminal()
        self._last = last
        self._lines_every = max(1, last // LINES_OF_A_PLAN)
        self._points: dict[int, tuple[np.ndarray, Sequence[Limit]]] = {}
        self._begun: Callable[[], None] | None = begun
        self._bar = script.bar(total=left, unit=unit)
        file = os.environ.get(script.PROGRESS)
        self._file = Path(file) if file else None
        # A process may train one plan after another.
        before = (self._file and Progress.read(self._file)) or Progress()
        self._progress = before._replace(left=before.left + left)
        self._solved = before.solved

    def obey(self, method: str, *arguments: object) -> None:
        getattr(self, method)(*arguments)

    def line(self, text: str = "") -> None:
        """Print a line on standard output and leave the bar intact."""
        with self._bar.external_write_mode():
            print_line(text)

    def detail(self, text: str) -> None:
        """Print a line that a terminal has no room for."""
        if self.shows_lines:
            self.line(text)

    def begin(self) -> None:
        """Count time from here on, unless work has begun."""
        if not self._bar.n:
            self._bar.unpause()

    def advance(self, units: float) -> None:
        self._bar.update(units)
        self._note(done=self._progress.done + units, left=self._progress.left - units)

    def _note(self, **news: float) -> None:
        self._progress = self._progress._replace(**news)
        if self._file is not None:
            self._progress.write(self._file)

    def log_point(
        self, stack: int, at: int, values: np.ndarray, limits: Sequence[Limit], single: bool
    ) -> None:
        """Take note of a stack's log point; print a line now and then, unless it has its own.

        values: one number per run, of which a plan shows the median. limits: where values are
        errors on test data, when each run counts as solved.
        """
        if self._begun is not None and not self._points:
            self._begun()
        self._points[stack] = values, limits
        known = np.concatenate([values for values, _ in self._points.values()])
        state = f"median {'extra' if limits else 'train'} {np.median(known):.2g}"
        seen = state.removeprefix("median ") if self.runs == 1 else state
        if limits:
            points = self._points.values()
            every = [pair for own, limits in points for pair in zip(limits, own, strict=False)]
            solved = sum(limit.met(error) for limit, error in every)
            self._note(solved=self._solved + solved)
            seen = f"solved {solved}/{self.runs}"
            state = f"{seen} {below(limit.threshold for limit, _ in every)}, {state}"
        self._bar.set_postfix_str(seen, refresh=False)
        if not single and (at % self._lines_every == 0 or at == self._last):
            self.detail(f"train {at}: {state}, stack {stack}")

    def close(self) -> None:
        self._bar.close()


class StackView:
    """The console of one stack of a plan, which passes all on to `send(method, *arguments)`.

    single: whether its one run is shown by itself, with exact values. alone: whether it is the only
    run of the plan.
    """

    def __init__(
        self, send: Callable[..., None], stack: int, runs: int, *, single: bool, alone: bool
    ):
        self._send, self._stack, self._runs = send, stack, runs
        self.single, self.alone = single, alone
        self._pending, self._sent = 0.0, time.monotonic()
        self.begin, self.line, self.detail = (partial(send, m) for m in ("begin", "line", "detail"))

    def advance(self, units: float) -> None:
        self._pending += units * self._runs
        if time.monotonic() - self._sent > SECONDS_BETWEEN_MOVES:
            self.close()

    def log_point(
        self, at: int, values: np.ndarray, limits: Sequence[Limit], text: str = ""
    ) -> None:
        """Show a log point of this stack, with exact values if it is a single run."""
        self.close()
        if self.single and text:
            self.detail(text)
        self._send("log_point", self._stack, at, values, limits, self.single)

    def close(self) -> None:
        """Show what has not been shown yet."""
        self._send("advance", self._pending)
        self._pending, self._sent = 0.0, time.monotonic()


def introduction(spec: ScriptSpec, configs: Sequence[Config], amount: str) -> list[str]:
    """Return what is trained: the layers, the task, and what differs from the defaults."""

    def values(dest: str) -> list[Any]:
        return list(dict.fromkeys(str(getattr(c, dest)) for c in configs if dest in c.as_dict()))

    dests = "operation", "operations", "task", "program"
    task = " ".join(value for dest in dests for value in values(dest))
    if sizes := values("input_size"):
        task += f" of {', '.join(sizes)} inputs"
    for how, dest in (("trained on", "interpolation_range"), ("tested on", "extrapolation_range")):
        if ranges := values(dest):
            several = len(ranges) > RANGES_BY_NAME
            names = plural(len(ranges), "range") if several else " ".join(map(range_label, ranges))
            task += f", {how} {names}"
    differing = []
    for flag in spec.flags:
        given = [getattr(config, flag.dest) for config in configs]
        several = list(dict.fromkeys(map(_text, given)))
        if flag.dest in _SHOWN_ELSEWHERE or not flag.result or several == [_text(flag.default)]:
            continue
        text = seeds_text(set(given)) if flag.dest == "seed" else ", ".join(several)
        differing.append(flag.dest if given[0] is True else f"{flag.dest} {text}")
    layers = ", ".join(dict.fromkeys(map(units_label, configs)))
    return [
        fact("layer", layers or "-"),
        fact("task", f"{spec.name}: {task}" if task else spec.name),
        fact("runs", ": ".join(filter(None, (amount, "; ".join(differing))))),
    ]


def _text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def all_flags(configs: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """Yield all flags; of one that differs between runs, how many values it has."""
    yield "running"
    for name in configs[0]:
        values = [config[name] for config in configs]
        distinct = {repr(value) for value in values}
        yield f"  - {name}: {values[0] if len(distinct) == 1 else f'{len(distinct)} values'}"


class End(NamedTuple):
    """How a run ended: its test error, NaN if it diverged or has none, and whether it is solved.

    solved: None where the task does not say it. stopped: whether a callback ended it. step: its
    last one.
    """

    test_error: float
    solved: bool | None = None
    diverged: bool = False
    stopped: bool = False
    step: int = 0


def outcome(
    spec: ScriptSpec, runs: Sequence[tuple[Config, End]], limits: Sequence[float]
) -> list[str]:
    """Return how runs ended: how many are solved, of all and of each group that varies."""
    ends = [end for _, end in runs]
    count, solved = len(ends), sum(bool(end.solved) for end in ends)
    diverged = sum(end.diverged for end in ends)
    also = f"; {plural(diverged, 'run')} diverged" if diverged else ""
    known = [end.test_error for end in ends if not math.isnan(end.test_error)]
    if ends[0].solved is None:
        if count == 1:
            return []
        error = f"; test error {median(known):.3g} in the median" if known else ""
        return [fact("trained", f"{plural(count, 'run')}{error}{also}")]
    limit = below(limits)
    if count == 1:
        colour, word = (script.GREEN, "solved") if solved else (script.RED, "not solved")
        word = script.paint(word, colour)
        error = f"test error {ends[0].test_error:.3g} ({limit} is solved)"
        return [fact("result", f"{word}: {error}{also}")]
    from stable_nalu.statistics.intervals import counted

    text = f"{counted(solved, count)} runs are solved (test error {limit}){also}"
    lines = [fact("solved", script.paint(text, script.GREEN if solved == count else ""))]
    # Groups are runs that differ in no more than the seed.
    dests = [dest for dest in varying(spec.flags, [config for config, _ in runs]) if dest != "seed"]
    groups: dict[str, list[bool]] = {}
    for config, end in runs:
        groups.setdefault(label(config, dests), []).append(bool(end.solved))
    if len(groups) > 1:
        rates = [f"{name} {counted(sum(own), len(own))}" for name, own in groups.items()]
        lines.append(" " * 8 + script.joined(rates))
    return lines


def write_board(
    spec: ScriptSpec, folder: Path, runs: Mapping[Path, RunRecord], judged: type[Task] | None
) -> None:
    """Write what TensorBoard shows of all runs in a folder: what varies, thresholds, three charts.

    It is a hidden event file in the same folder, which no exporter reads. Other runs may be there
    already.

    runs: the records of the runs that are trained now, by their folders. judged: the task, if it
    says when a run is solved.
    """
    records = {path: RunRecord.read(path) for path in folder.iterdir()}
    records |= {path: record for path, record in runs.items() if path.parent == folder}
    configs = [
        spec.recorded(json.loads(json.dumps(record.config)))
        for record in records.values()
        if record is not None and record.script == spec.name
    ]
    older = list(folder.glob(f".{event_file.FILE_PREFIX}*"))
    file = EventFile(folder / f".{time.time_ns()}")
    file.add(event_file.event_of(0, *_summaries(spec, configs, errors=judged is not None)))
    if judged is not None:
        lines = event_file.event_message()().summary
        limits = [judged.goal(config).limit or _usual(config) for config in configs]
        for threshold in sorted({limit.threshold for limit in limits if limit}):
            value = math.log10(threshold) if configs[-1].short_names is not None else threshold
            lines.value.add(tag=f"threshold/{threshold:.2g}", simple_value=value)
        for step in (0, max(map(judged.kind.unit.last, configs))):
            file.add(event_file.event_of(step, lines))
    file.close()
    file.path.replace(folder / f".{event_file.FILE_PREFIX}{file.path.name[1:]}")
    # What a killed process began has the time in its name; another one may write at this moment.
    begun = [path for path in folder.glob(".*") if path.name[1:].isdecimal()]
    older += [path for path in begun if int(path.name[1:]) < time.time_ns() - MINUTE]
    for path in older:
        path.unlink(missing_ok=True)


def _usual(config: Config) -> Limit | None:
    """Return the line of a task without a threshold, unless it was asked to have none."""
    return None if "threshold" in config.as_dict() else Limit(FLAT)


def _summaries(spec: ScriptSpec, configs: Sequence[Config], *, errors: bool) -> list[Any]:
    from tensorboardX.summary import custom_scalars, hparams

    last, control = configs[-1], run_control(spec)
    flags = [flag for flag in spec.flags if flag.dest not in control]
    dests = varying(flags, configs) or [flag.dest for flag in flags]
    results = reversed(event_file.RESULTS if errors else event_file.RESULTS[:2])
    short = last.short_names is not None
    columns, *_ = hparams(
        {dest: event_file.hparam(getattr(last, dest)) for dest in dests},
        dict.fromkeys(event_file.logged_result(tag, short=short) for tag in results),
    )
    title = "log10 of test error" if short and errors else "test error"
    shown = event_file.LOG_ERROR if short else event_file.METRIC_TEST
    error = [f"{shown}$", "threshold/"] if errors else ["metric/test/"]
    charts = {title: error, "sparsity error": [".*sparsity_error$"]}
    units = [entries().get(unit) for config in configs for unit in units_of(config)]
    gated = any(hasattr(entry.layer, "gate") for entry in units if entry is not None)
    if gated or any("npu" in getattr(config, "nac_mul", "") for config in configs):
        charts["gate"] = [".*gate/(mean|sparsity_error)$"]
    layout = {spec.name: {title: ("Multiline", tags) for title, tags in charts.items()}}
    return [columns, custom_scalars(layout)]
