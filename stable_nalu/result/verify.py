"""Whether kept rows are what training gives: some are trained again, and every digit compared.

A run alone mostly has the digits of its stack, so rows train alone first. Where a stack sums in
another order than a single run does, the smallest one mostly shows it: the run and that of one more
seed. Where the last bits depend on a run's place, too, the whole stack is trained.
"""

from __future__ import annotations

import random
import shlex
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from stable_nalu.cluster.local import run_modules
from stable_nalu.cluster.work import pending, refuse_running
from stable_nalu.errors import OptionError, UsageError
from stable_nalu.files import locked
from stable_nalu.options import SCRIPTS
from stable_nalu.paper.experiment import Experiment, seeds_text
from stable_nalu.script import command_of, duration, say
from stable_nalu.writer.event_file import FILE_PREFIX

from .listing import seconds_here
from .pipeline import write_rows
from .records import origin
from .retrain import Cells, Part, Row, differences, kept_rows, retrained
from .stored import path_of
from .tables import Workspace, chosen_models
from .verified import ALONE, Verified, add_verified, digest_of

ROWS = 5
_SEED = "verify-seed"
"""The file that says how rows were drawn, beside what is trained of them."""
_SECONDS_ALONE = 2e-4
"""CPU time of an iteration of one module alone or in a pair, evaluations counted in: rough."""
BEFORE_THE_ENGINE = (
    "rows that were kept before there was an engine have the last digits of plain torch: with "
    "STABLE_NALU_ENGINE=torch those come out again that were trained alone"
)
_SHOWN = 3
"""How many columns that differ are named in a line."""


@dataclass(frozen=True)
class Choice:
    """Which kept rows to verify.

    models, seeds: only rows of these; none mean all.
    lines: of the file, the header being line 1; none mean a random choice.
    rows: how many then; None: 5, or all where there are fewer.
    seed: of the random choice; None: by the clock, or that of a verification that was stopped.
    """

    models: Sequence[str] = ()
    seeds: Sequence[int] | None = None
    lines: Sequence[int] = ()
    rows: int | None = None
    seed: int | None = None

    def seeded(self, folder: Path) -> Choice:
        """Return the choice with the seed of its random draw; a stopped one in a folder goes on."""
        if self.seed is not None or self.lines:
            return self
        stopped = folder / _SEED
        known = stopped.exists()
        return replace(self, seed=int(stopped.read_text()) if known else time.time_ns() % 10**6)

    def remember(self, folder: Path) -> None:
        """Write the seed of the random draw into a folder, for when this is stopped."""
        if self.seed is not None:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / _SEED).write_text(str(self.seed))

    def tell(self, chosen: Mapping[int, Row], path: Path) -> None:
        """Say which rows of a file were chosen, and how."""
        drawn = "" if self.lines else f", chosen by --verify-seed {self.seed}"
        say(f"{len(chosen)} kept rows of {path}{drawn}")
        for line, row in chosen.items():
            say(f"  line {line}: {row.name}")

    def of(self, experiment: Experiment, data: Path) -> dict[int, Row]:
        """Return the chosen rows by their lines in the file."""
        path = path_of(experiment.key, data)
        if not path.exists():
            problem = f"{experiment.key} has no kept results in {data}"
            raise OptionError("--verify", problem, "--list says which experiments have some")
        models = {model.key for model in chosen_models(experiment, self.models)}
        found = {
            line: row
            for line, row in enumerate(kept_rows(experiment, data), start=2)
            if row.run.model.key in models and (self.seeds is None or row.run.seed in self.seeds)
        }
        if not found:
            raise UsageError(f"{path} holds no row of these models and seeds")
        lines = sorted(set(self.lines) or self._drawn(list(found), path))
        for line in lines:
            if line not in found:
                remedy = f"lines 2 to {max(found)} hold rows; --model and --seeds leave some out"
                raise OptionError("--line", f"line {line} of {path} holds no such row", remedy)
        return {line: found[line] for line in lines}

    def _drawn(self, lines: Sequence[int], path: Path) -> list[int]:
        if self.rows is not None and self.rows > len(lines):
            problem = f"{self.rows} is too large; {path} holds {len(lines)} such rows"
            raise OptionError("--rows", problem, f"write {len(lines)} for all of them")
        wanted = min(ROWS, len(lines)) if self.rows is None else self.rows
        return random.Random(self.seed).sample(lines, wanted)


@dataclass(frozen=True)
class Outcome:
    """A row trained again: how, and in which columns it differs from what is kept."""

    row: Row
    trained: str
    again: Cells

    @property
    def differing(self) -> dict[str, tuple[str, str]]:
        """Return the columns that differ, with the kept cell and the new one."""
        return differences(self.row.cells, self.again)

    @property
    def line(self) -> str:
        """Return what is said of the row."""
        found = self.differing
        if not found:
            return f"equal: {self.row.name}, {self.trained}"
        shown = [f"{c} {new or 'empty'}, kept {old or 'empty'}" for c, (old, new) in found.items()]
        more = f"; {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
        return f"NOT EQUAL: {self.row.name}, {self.trained}: {'; '.join(shown[:_SHOWN])}{more}"


@dataclass(frozen=True)
class Stage:
    """One of the ways to train rows again, in folders of its own.

    part: what trains a row. name: what it is called where rows differ in it.
    """

    folder: Path
    part: Callable[[Row], Part]
    name: str

    def parts(self, rows: Iterable[Row]) -> dict[int | None, list[Part]]:
        """Return the parts that hold the rows, each once, by the length of their runs."""
        found: dict[int | None, list[Part]] = {}
        for row in rows:
            same = found.setdefault(row.max_iterations, [])
            if self.part(row) not in same:
                same.append(self.part(row))
        return found

    def commands(self, rows: Iterable[Row]) -> Iterable[str]:
        """Yield every command that trains what is left of the rows, and where it does so."""
        for length, parts in self.parts(rows).items():
            space = Workspace(self.folder, length)
            space.use()
            yield f"export TENSORBOARD_DIR={shlex.quote(str(space.tensorboard))}"
            yield f"export SAVE_DIR={shlex.quote(str(space.save))}"
            for part in parts:
                for command, _ in pending(part.shard, length):
                    yield command_of(*command.line)

    def train(self, rows: Sequence[Row], processes: int) -> tuple[int, list[Outcome]]:
        """Train rows, and return the exit code and, if that is 0, what came out."""
        found: dict[tuple[str, ...], tuple[str, Cells]] = {}
        for length, parts in self.parts(rows).items():
            space = Workspace(self.folder, length)
            space.use()
            left = {i: part for i, part in enumerate(parts) if pending(part.shard, length)}
            if left:
                names = {i: _describe(part) for i, part in left.items()}
                modules = {i: part.words for i, part in left.items()}
                code = run_modules(modules, names, space.logs, processes=processes)
                if code:
                    return code, []
            refuse_running([part.shard for part in parts], length)
            again = retrained(parts, space, say)
            for row in rows:
                if row.max_iterations == length and row.identity in again:
                    found[row.identity] = (_manner(self.part(row)), again[row.identity])
        return 0, [Outcome(row, *found[row.identity]) for row in rows]

    def clear(self, rows: Iterable[Row]) -> None:
        """Remove what training the rows has written, and nothing else."""
        for length in self.parts(rows):
            space = Workspace(self.folder, length)
            for folder, is_ours in _WRITTEN.items():
                for path in sorted((space.base / folder).rglob("*"), reverse=True):
                    if path.is_file() and is_ours(path.name):
                        path.unlink()
            _remove_empty(space.base)


_WRITTEN: dict[str, Callable[[str], bool]] = {
    "tensorboard": lambda name: name.startswith((FILE_PREFIX, ".")),
    "save": lambda name: name.endswith((".pth", ".txt")) or name[0] == ".",
    "csv": lambda name: name.endswith(".csv"),
    "logs": lambda name: name.startswith("task-"),
}
"""Folders of a stage, and how files that training writes there are called."""


def _remove_empty(folder: Path) -> None:
    """Remove a folder and those below it, as far as they are empty."""
    for path in sorted((folder, *folder.rglob("*")), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):
                path.rmdir()


def verify(
    experiment: Experiment,
    choice: Choice,
    *,
    data: Path,
    out: Path,
    processes: int,
    keep: bool = False,
    dry_run: bool = False,
) -> int:
    """Train kept rows again, compare every digit, and return 0 if all are equal, else 1.

    Below `out` it writes `verify/KEY.csv`, which has every cell of both; what it trained is
    removed, unless it was interrupted: the same command then goes on. With `keep`, what came of
    each row is noted in `data`.
    """
    folder = out.absolute() / "verify" / experiment.stem
    choice = choice.seeded(folder)
    chosen = choice.of(experiment, data)
    rows = list(chosen.values())
    stages = (
        Stage(folder / "alone", lambda row: row.alone, "alone"),
        Stage(folder / "pair", lambda row: row.pair, "beside one more seed"),
        Stage(folder / "stack", lambda row: row.stack, "in the stacks that they are from"),
    )
    choice.tell(chosen, path_of(experiment.key, data))
    say(_estimate(experiment, rows, stages))
    if dry_run:
        for command in (command for stage in stages for command in stage.commands(rows)):
            say(command)
        return 0
    with locked(folder, f"another process verifies rows in {folder}; name another --out"):
        choice.remember(folder)
        code, outcomes = _train_in_turn(stages, rows, processes)
        if code:
            return code
        wrong = [outcome for outcome in outcomes if outcome.differing]
        for outcome in wrong:
            say(outcome.line)
        _write(folder.parent / f"{experiment.stem}.csv", outcomes)
        if keep:
            say(f"noted in {add_verified(data, _records(outcomes, choice))}")
        for stage in stages:
            stage.clear(rows)
        (folder / _SEED).unlink(missing_ok=True)
        _remove_empty(folder)
    _hint(experiment, wrong)
    same = f"{len(rows) - len(wrong)} of {len(rows)} rows equal in every kept digit"
    say(same + _company(outcomes))
    return 1 if wrong else 0


def _hint(experiment: Experiment, wrong: Sequence[Outcome]) -> None:
    """Say of rows that differ where that is expected."""
    scripts = (SCRIPTS[model.script] for model in experiment.models)
    if wrong and any(flag.name == "--engine" for spec in scripts for flag in spec.flags):
        say(BEFORE_THE_ENGINE)


def _company(outcomes: Sequence[Outcome]) -> str:
    """Tell how many of the rows that are equal are so only beside others."""
    beside = sum(not one.differing and one.trained != ALONE for one in outcomes)
    return f", {beside} of them only in a stack with others" if beside else ""


def _train_in_turn(
    stages: Sequence[Stage], rows: Sequence[Row], processes: int
) -> tuple[int, list[Outcome]]:
    """Train rows until they are equal, and return the exit code and the last outcome of each."""
    left, tried, before = rows, set[Part](), ""
    done: dict[tuple[str, ...], Outcome] = {}
    for stage in stages:
        # A run without others, or of one seed, is the same part in several stages.
        untried = [row for row in left if stage.part(row) not in tried]
        if not untried:
            continue
        if before:
            say(f"{len(left)} of {len(rows)} rows differ {before}; now {stage.name}")
        tried |= {stage.part(row) for row in untried}
        code, outcomes = stage.train(untried, processes)
        if code:
            return code, []
        for outcome in outcomes:
            done[outcome.row.identity] = outcome
            if not outcome.differing:
                say(outcome.line)
        left = [row for row in left if done[row.identity].differing]
        before = stage.name
    return 0, list(done.values())


def _describe(part: Part) -> str:
    kinds = "+".join(part.variants)
    return " ".join(
        filter(None, (part.model, kinds, f"seeds {seeds_text(part.seeds)}", _manner(part)))
    )


def _manner(part: Part) -> str:
    runs = part.shard.runs
    return ALONE if runs == 1 else f"in a stack of {runs} runs"


def _estimate(experiment: Experiment, rows: Sequence[Row], stages: Sequence[Stage]) -> str:
    """Return what the stages cost, at the kept costs of like experiments."""
    total = seconds_here(experiment, 1)
    if total is None:
        return "CPU time unknown"
    told = []
    for stage in stages:
        parts = [part for found in stage.parts(rows).values() for part in found]
        each = total / experiment.iterations
        seconds = sum(
            part.iterations * (each if part.shard.runs > 2 else max(each, _SECONDS_ALONE))
            for part in parts
        )
        runs = sum(part.shard.runs for part in parts)
        told.append(f"{duration(seconds)} of CPU time for {runs} runs")
    first, *others = told
    when = ("differ", "still differ")
    more = (f"; where rows {w}, at most {o} more" for w, o in zip(when, others, strict=False))
    return f"about {first}" + "".join(more)


def _records(outcomes: Sequence[Outcome], choice: Choice) -> list[Verified]:
    """Return what is to be known of rows that were trained again."""
    ended, made_by = datetime.now(UTC).isoformat(timespec="seconds"), origin()
    found = []
    for outcome in outcomes:
        compared = len({**outcome.row.cells, **outcome.again})
        found.append(
            Verified(
                key=outcome.row.experiment.key,
                row=outcome.row.name,
                digest=digest_of(outcome.row.cells),
                verify_seed=None if choice.lines else choice.seed,
                trained=outcome.trained,
                compared=compared,
                equal=compared - len(outcome.differing),
                ended=ended,
                **made_by,
            )
        )
    return found


def _write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write every cell of both rows, one per line."""
    rows: list[Mapping[str, object]] = []
    for outcome in outcomes:
        for column in {**outcome.row.cells, **outcome.again}:
            pair = (outcome.row.cells.get(column, ""), outcome.again.get(column, ""))
            rows.append(
                {
                    "row": outcome.row.name,
                    "trained": outcome.trained,
                    "column": column,
                    "kept": pair[0],
                    "again": pair[1],
                    "equal": int(pair[0] == pair[1]),
                }
            )
    write_rows(path, rows)
    say(f"comparison {path}")
