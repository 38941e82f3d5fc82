"""Whether kept rows are what training gives: some are trained again, and every digit compared.

A run trains the same alone and in company, so each row trains alone: one process trains one run, as
`python3 -m stable_nalu.result.verify RUN`.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import cells_of, locked
from stable_nalu.base.script import begin, cores, duration, exit_code, say
from stable_nalu.paper.experiment import ExpectedRun, Experiment
from stable_nalu.paper.index import find
from stable_nalu.statistics.table import write_rows
from stable_nalu.task.table import SCRIPTS
from stable_nalu.writer.event_file import FILE_PREFIX

from . import stored
from .judged import identity_of, runs_of_rows
from .shard import Shard, pending, refuse_running, run_modules, show_training, train_shards
from .stored import ALONE, Cells, Verified, add_verified, digest_of, origin, seconds_here
from .trained import Folders, chosen_models, retrained

ROWS = 5
_SEED = "verify-seed"
"""The file that says how rows were drawn, beside what is trained of them."""
_SECONDS_ALONE = 2e-4
"""CPU time of an iteration of one module alone, evaluations counted in: rough."""
BEFORE_THE_ENGINE = (
    "rows that were kept before there was an engine have the last digits of plain torch: with "
    "STABLE_NALU_ENGINE=torch those come out again that were trained alone"
)
_SHOWN = 3
"""How many columns that differ are named in a line."""


def alone(key: str, model: str, variant: str, point: int, seed: int) -> Shard:
    """Return one run as a shard; point: its place among those of the model, if that has some."""
    chosen = find(key).model(model).only_variants(variant)
    chosen = replace(chosen, points=chosen.points[point : point + 1])
    return Shard(model, chosen, chosen.variants, (seed,))


class Row:
    """A kept row, and the run that it came from, as planned at its published length.

    identity: the cells that tell it apart. name: the same as `nmru div U[1,2] seed 3`.
    max_iterations: its length, None where that is the published one.
    place: what `alone` makes its shard of.
    """

    def __init__(self, experiment: Experiment, cells: Cells, run: ExpectedRun):
        self.experiment, self.cells, self.run = experiment, cells, run
        self.identity = identity_of(experiment, cells)
        *points, seed = self.identity
        self.name = " ".join([*filter(None, points), f"seed {seed}"])
        length = int(cells["iterations"])
        self.max_iterations = None if length == run.model.length(run.variant) else length
        names = {"key": experiment.key, "model": run.model.key, "variant": run.variant.name}
        self.place: dict[str, Any] = names | {"point": run.point, "seed": run.seed}
        self.shard = alone(**self.place)


def kept_rows(experiment: Experiment, data: Path = stored.DATA) -> list[Row]:
    """Return all kept rows, in their order; UsageError names one whose run is not planned."""
    path = stored.path_of(experiment.key, data)
    runs = runs_of_rows(experiment, stored.read(experiment.key, data))
    if None in runs:
        problem = f"row {runs.index(None) + 1} is of no run that {experiment.key} has now"
        raise UsageError(f"{path}: {problem}")
    pairs = zip(cells_of(path), runs, strict=True)
    return [Row(experiment, cells, run) for cells, run in pairs if run]


def in_pairs(kept: Cells, again: Cells) -> dict[str, tuple[str, str]]:
    """Return both cells of every column; one that a row lacks counts as empty there."""
    return {c: (kept.get(c, ""), again.get(c, "")) for c in (*kept, *again)}


def differences(kept: Cells, again: Cells) -> dict[str, tuple[str, str]]:
    """Return the columns in which two rows are not the same, with both cells as text."""
    return {c: pair for c, pair in in_pairs(kept, again).items() if pair[0] != pair[1]}


def _seed_of_draw(arguments: argparse.Namespace, folder: Path) -> int | None:
    """Return the seed of a random choice, None without one; a stopped one in a folder goes on."""
    if arguments.line:
        return None
    if arguments.verify_seed is not None:
        return arguments.verify_seed
    stopped = folder / _SEED
    return int(stopped.read_text()) if stopped.exists() else time.time_ns() % 10**6


def _chosen(
    experiment: Experiment, arguments: argparse.Namespace, seed: int | None
) -> dict[int, Row]:
    """Return the rows to verify by their lines in the file, of which the header is line 1."""
    path = stored.path_of(experiment.key, arguments.data)
    if not path.exists():
        problem = f"{experiment.key} has no kept results in {arguments.data}"
        raise OptionError("--verify", problem, "--list says which experiments have some")
    models = {model.key for model in chosen_models(experiment, arguments.model)}
    found = {
        line: row
        for line, row in enumerate(kept_rows(experiment, arguments.data), start=2)
        if row.run.model.key in models
        and (arguments.seeds is None or row.run.seed in arguments.seeds)
    }
    if not found:
        raise UsageError(f"{path} holds no row of these models and seeds")
    count = arguments.rows or min(ROWS, len(found))
    if count > len(found):
        problem = f"{count} is too large; {path} holds {len(found)} such rows"
        raise OptionError("--rows", problem, f"write {len(found)} for all of them")
    lines = sorted(set(arguments.line or random.Random(seed).sample(list(found), count)))
    for line in lines:
        if line not in found:
            remedy = f"lines 2 to {max(found)} hold rows; --model and --seeds leave some out"
            raise OptionError("--line", f"line {line} of {path} holds no such row", remedy)
    return {line: found[line] for line in lines}


def _spaces(folder: Path, rows: Iterable[Row]) -> Iterator[tuple[Folders, list[Row]]]:
    """Yield rows by the length of their runs, with the folders that these train in."""
    found: dict[int | None, list[Row]] = {}
    for row in rows:
        found.setdefault(row.max_iterations, []).append(row)
    for length, same in found.items():
        space = Folders(folder / ALONE, length)
        space.use()
        yield space, same


def verify(arguments: argparse.Namespace) -> int:
    """Train kept rows again, compare every digit, and return 0 if all are equal, else 1.

    Below --out it writes `verify/KEY.csv`, which has every cell of both; what it trained is
    removed, unless it was interrupted: the same command then goes on. With --keep, what came of
    each row is noted in --data.
    """
    experiment, data = find(arguments.key), arguments.data
    folder = arguments.out.absolute() / "verify" / experiment.stem
    seed = _seed_of_draw(arguments, folder)
    chosen = _chosen(experiment, arguments, seed)
    rows = list(chosen.values())
    drawn = "" if seed is None else f", chosen by --verify-seed {seed}"
    say(f"{len(chosen)} kept rows of {stored.path_of(experiment.key, data)}{drawn}")
    for line, row in chosen.items():
        say(f"  line {line}: {row.name}")
    say(_estimate(experiment, rows))
    if arguments.dry_run:
        for space, same in _spaces(folder, rows):
            space.show()
            show_training((row.shard for row in same), space.max_iterations)
        return 0
    with locked(folder, f"another process verifies rows in {folder}; name another --out"):
        if seed is not None:  # for when this is stopped
            folder.mkdir(parents=True, exist_ok=True)
            (folder / _SEED).write_text(str(seed))
        code, again = _train(folder, rows, arguments.jobs or cores())
        if code:
            return code
        wrong = [differences(row.cells, again[row.identity]) for row in rows]
        for row, differing in sorted(zip(rows, wrong, strict=True), key=lambda one: bool(one[1])):
            say(_said(row, differing))
        pairs = [(row, in_pairs(row.cells, again[row.identity])) for row in rows]
        _write(folder.parent / f"{experiment.stem}.csv", pairs)
        if arguments.keep:
            say(f"noted in {add_verified(data, _records(pairs, seed))}")
        _clear(folder, rows)
    count = sum(map(bool, wrong))
    scripts = (SCRIPTS[model.script] for model in experiment.models)
    if count and any(flag.name == "--engine" for spec in scripts for flag in spec.flags):
        say(BEFORE_THE_ENGINE)
    say(f"{len(rows) - count} of {len(rows)} rows equal in every kept digit")
    return 1 if count else 0


def _estimate(experiment: Experiment, rows: Sequence[Row]) -> str:
    total = seconds_here(experiment, 1)
    if total is None:
        return "CPU time unknown"
    each = max(total / experiment.iterations, _SECONDS_ALONE)
    seconds = sum(int(row.cells["iterations"]) for row in rows) * each
    return f"about {duration(seconds)} of CPU time for {len(rows)} runs"


def _train(
    folder: Path, rows: Sequence[Row], processes: int
) -> tuple[int, dict[tuple[str, ...], Cells]]:
    """Train rows, and return the exit code and, if that is 0, what would be kept by identity."""
    again: dict[tuple[str, ...], Cells] = {}
    for space, same in _spaces(folder, rows):
        length = space.max_iterations
        left = {i: row for i, row in enumerate(same) if pending(row.shard, length)}
        if left:
            calls = {
                i: json.dumps(row.place | {"max_iterations": length}) for i, row in left.items()
            }
            modules = {i: ["stable_nalu.result.verify", call] for i, call in calls.items()}
            names = {i: f"{row.name}, {ALONE}" for i, row in left.items()}
            code = run_modules(modules, names, space.logs, processes=processes)
            if code:
                return code, {}
        refuse_running([row.shard for row in same], length)
        experiment, models = same[0].experiment, {row.run.model.key for row in same}
        own = replace(experiment, models=tuple(m for m in experiment.models if m.key in models))
        found, _ = retrained(own, sorted({row.run.seed for row in same}), space)
        again |= {identity_of(experiment, cells): cells for cells in found}
    return 0, again


def _said(row: Row, differing: dict[str, tuple[str, str]]) -> str:
    """Return what is said of a row that was trained again."""
    if not differing:
        return f"equal: {row.name}, {ALONE}"
    shown = [f"{c} {new or 'empty'}, kept {old or 'empty'}" for c, (old, new) in differing.items()]
    more = f"; {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return f"NOT EQUAL: {row.name}, {ALONE}: {'; '.join(shown[:_SHOWN])}{more}"


_WRITTEN: dict[str, Callable[[str], bool]] = {
    "tensorboard": lambda name: name.startswith((FILE_PREFIX, ".")),
    "save": lambda name: name.endswith((".pth", ".txt")) or name[0] == ".",
    "csv": lambda name: name.endswith(".csv"),
    "logs": lambda name: name.startswith("task-"),
}
"""Folders of a verification, and how files that training writes there are called."""


def _clear(folder: Path, rows: Sequence[Row]) -> None:
    for space, _ in _spaces(folder, rows):
        for name, is_ours in _WRITTEN.items():
            for path in sorted((space.base / name).rglob("*")):
                if path.is_file() and is_ours(path.name):
                    path.unlink()
    (folder / _SEED).unlink(missing_ok=True)
    for path in sorted((folder, *folder.rglob("*")), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):  # It holds what is not ours.
                path.rmdir()


Pairs = Sequence[tuple[Row, dict[str, tuple[str, str]]]]
"""Rows, each with the kept cell and the new one of every column."""


def _records(rows: Pairs, seed: int | None) -> list[Verified]:
    """Return what is to be known of rows that were trained again; seed: of their draw."""
    ended, made_by = datetime.now(UTC).isoformat(timespec="seconds"), origin()
    return [
        Verified(
            *(row.experiment.key, row.name, digest_of(row.cells), seed, ALONE),
            *(len(pairs), sum(kept == again for kept, again in pairs.values()), ended),
            **made_by,
        )
        for row, pairs in rows
    ]


def _write(path: Path, rows: Pairs) -> None:
    lines = [
        {"row": row.name, "trained": ALONE, "column": column}
        | {"kept": kept, "again": again, "equal": int(kept == again)}
        for row, pairs in rows
        for column, (kept, again) in pairs.items()
    ]
    write_rows(path, lines)
    say(f"comparison {path}")


def main(argv: Sequence[str] | None = None) -> int:
    (text,) = sys.argv[1:] if argv is None else argv
    call = json.loads(text)
    length = call.pop("max_iterations")
    return exit_code("reproduce.py", lambda: train_shards([alone(**call)], length))


if __name__ == "__main__":
    begin()
    raise SystemExit(main())
