"""The command `arena`: hold contests, each in a process of its own, and keep their rows."""

import csv
import errno
import io
import itertools
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import torch

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import atomic_text_file, locked, refuse_one_file, table_rows, tool
from stable_nalu.base.script import ScriptParser, adder, bar, exit_code, plural, processor, say
from stable_nalu.options.flag import integer, number, seeds
from stable_nalu.statistics.table import in_columns

from .contest import COLUMNS, CONTESTANTS, IDENTITY, PROBLEMS, Row, contest

ROWS = Path("results", "arena.csv")
SLACK = 60
"""CPU seconds beside those of a contest that its process has to judge a formula."""
PATIENCE = 10
"""Seconds of the wall clock for each CPU second that the process of a contest may use."""
EXIT_DIFFERENT = 1
SAME_AGAIN = ("status", "inside", "outside", "recovered", "formula")
_PRELOADED = {
    "sklearn": ["sklearn.ensemble", "sklearn.neural_network"],
    "gplearn": ["gplearn.genetic"],
    "pyoperon": ["pyoperon.sklearn"],
}
_FROM_OUTSIDE = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    return exit_code("stable-nalu arena", lambda: _obey(arguments))


def _parser() -> ScriptParser:
    parser = ScriptParser(
        prog="stable-nalu arena",
        description="Units of this package beside other families of models, on formulas: the\n"
        "same rows for everyone, the same CPU seconds on one thread. What is in --rows already\n"
        "is not held again, so a command that was stopped goes on where it was. Other libraries\n"
        "come with pip install 'stable-nalu[arena]'; contestants without theirs are left out.",
    )
    add = adder(parser)
    add("--list", "name tasks and contestants, and what is missing")
    for flag, names, text in (
        ("--tasks KEY", list(PROBLEMS), "tasks (all)"),
        ("--contestants NAME", list(CONTESTANTS), "who (all)"),
    ):
        add(f"{flag} ...", text, choices=names, default=names)
    add("--seed SEEDS", "seeds (0-2)", type=seeds.several, default=[0, 1, 2])
    kind = number(above=0, maximum=1e6).one
    add("--seconds CPU", "CPU time of a contest (10)", type=kind, default=10.0)
    text = "noise of training rows: its deviation by that of targets (0)"
    add("--noise SHARE ...", text, type=number(0).one, default=[0.0])
    text = "how many more inputs there are, which do not matter (0)"
    add("--redundant N ...", text, type=integer(0, 100).one, default=[0])
    add("--jobs N", "contests at a time (1)", type=integer(1).one, default=1)
    add("--rows CSV", f"where rows are kept ({ROWS})", type=Path, default=ROWS)
    add("--report HTML", "write a page about all of --rows", type=Path)
    add("--report-only", "hold no contest")
    add("--verify", "hold contests of --rows again, by their steps, and compare every digit")
    return parser


def _obey(arguments: Any) -> int:
    if arguments.list:
        return _list()
    identities = _asked(arguments)
    if arguments.report:
        refuse_one_file({"--rows": arguments.rows, "--report": arguments.report})
    kept = read_rows(arguments.rows)
    if arguments.verify:
        return _verify(identities, kept, arguments.jobs)
    if not arguments.report_only:
        with locked(arguments.rows, f"{arguments.rows} is written by another arena; wait for it"):
            kept = read_rows(arguments.rows)
            done = set(map(name_of, kept))
            missing = [one for one in identities if name_of(one) not in done]
            count = len(identities) - len(missing)
            say(f"{plural(len(missing), 'contest')} to run, {count} finished before")
            for row in _held([(one, None) for one in missing], arguments.jobs):
                kept.append(row)
                _write(arguments.rows, kept)
        kept = read_rows(arguments.rows)
    if not kept:
        raise OptionError("--rows", f"{arguments.rows} has no row", "leave out --report-only")
    report = tool("arena")
    say("\n".join(in_columns(*report.summary(kept))))
    if arguments.report:
        try:
            report.write_page(kept, arguments.report)
        except OSError as error:
            problem = f"cannot write {arguments.report}: {error.strerror}"
            raise OptionError("--report", problem, "name another file") from None
        say(f"page {arguments.report}")
    return 0


def _list() -> int:
    columns = ["key", "family", "formula", "train", "outside"]
    tasks = [[getattr(one, column) for column in columns] for one in PROBLEMS.values()]
    who = [
        [c.name, c.given, f"not installed: {', '.join(c.missing)}" if c.missing else c.library]
        for c in CONTESTANTS.values()
    ]
    say("\n".join(in_columns(["task", *columns[1:]], tasks)))
    say("\n" + "\n".join(in_columns(["contestant", "given", "library"], who)))
    return 0


def _asked(arguments: Any) -> list[Row]:
    names = []
    for name in arguments.contestants:
        if missing := CONTESTANTS[name].missing:
            what = f"{', '.join(missing)} not installed; pip install 'stable-nalu[arena]'"
            say(f"{name} is left out: {what}")
        else:
            names.append(name)
    if not names:
        raise OptionError("--contestants", "nobody is left", "pip install 'stable-nalu[arena]'")
    asked = itertools.product(
        arguments.seed, arguments.noise, arguments.redundant, arguments.tasks, names
    )
    # Whoever is named twice plays once.
    return [
        dict(zip(IDENTITY, (task, name, seed, arguments.seconds, *more), strict=True))
        for seed, *more, task, name in dict.fromkeys(asked)
    ]


def name_of(row: Row) -> tuple[str, ...]:
    """Return what tells a contest from others, as text."""
    return (row["task"], row["contestant"], *(f"{float(row[name]):g}" for name in IDENTITY[2:]))


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, which stays as it is, without a last one that has no line end."""
    if not path.exists():
        return []
    foreign = OptionError("--rows", f"{path} is no table of the arena", "name another file")
    try:
        if not (path.is_file() or path.is_dir()):  # A pipe has no end.
            raise OSError(errno.EINVAL, "it is a device, not a file")
        whole, end, begun = path.read_bytes().decode("utf-8-sig").rpartition("\n")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        raise foreign from None
    if not end and ",".join(COLUMNS).startswith(begun):
        return []
    lines = io.StringIO(whole + end, newline="")
    header, *cells = [*table_rows(path, lines)] or [[]]
    if tuple(header) != COLUMNS:
        raise foreign
    rows: list[Row] = [dict(zip(COLUMNS, row, strict=True)) for row in cells]
    for place, row in enumerate(rows, start=1):
        try:
            name_of(row)
        except ValueError as error:
            raise UsageError(f"{path}: row {place}: {error}") from None
    return rows


def _write(path: Path, rows: Sequence[Row]) -> None:
    try:
        with atomic_text_file(path) as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _verify(identities: list[Row], kept: list[Row], jobs: int) -> int:
    found = {name_of(row): row for row in kept}
    work = [(one, int(found[name_of(one)]["steps"])) for one in identities if name_of(one) in found]
    same = 0
    for row in _held(work, jobs):
        old = found[name_of(row)]
        differ = [name for name in SAME_AGAIN if str(row[name]) != old[name]]
        same += not differ
        for name in differ[:1]:
            say(f"{' '.join(name_of(row)[:3])}: {name} was {old[name]}, is {row[name]}")
    say(f"{same} of {plural(len(work), 'row')} are equal in every digit")
    return 0 if same == len(work) else EXIT_DIFFERENT


def _held(work: Sequence[tuple[Row, int | None]], jobs: int) -> Iterator[Row]:
    """Yield the rows of contests as they end; of each, its steps if it is repeated."""
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    context = multiprocessing.get_context("forkserver")
    # A server that has imported what contestants need starts each contest at once.
    needs = {n for one, _ in work for n in CONTESTANTS[one["contestant"]].needs}
    libraries = [module for n in sorted(needs) for module in _PRELOADED.get(n, [n])]
    context.set_forkserver_preload([contest.__module__, *libraries])
    waiting, running = list(reversed(work)), {}
    try:
        with bar(total=len(work), unit="contests", what="arena") as progress:
            while waiting or running:
                while waiting and len(running) < jobs:
                    receiving, sending = context.Pipe(duplex=False)
                    process = context.Process(target=_hold, args=(*waiting[-1], sending))
                    process.start()
                    sending.close()
                    identity, steps = waiting.pop()
                    end = time.monotonic() + PATIENCE * _most_seconds(identity, steps)
                    running[receiving] = process, identity, end
                first = min(end for *_, end in running.values())
                ready = wait(list(running), max(0, first - time.monotonic()))
                late = [c for c, (*_, end) in running.items() if end <= time.monotonic()]
                for connection in [*ready, *(c for c in late if c not in ready)]:
                    process, identity, _ = running.pop(connection)
                    if connection in ready:
                        row = _received(connection, process, identity)
                    else:
                        process.kill()
                        row = _lost(identity, "no answer, by the wall clock")
                    yield row | {"processor": processor()}
                    progress.update()
    finally:
        for process, *_ in running.values():
            process.kill()


def _most_seconds(identity: Row, steps: int | None) -> int:
    """Return the CPU seconds of a contest's process; to repeat steps may take longer elsewhere."""
    return int(identity["seconds"] * (1 if steps is None else 10)) + SLACK


def _received(connection: Any, process: Any, identity: Row) -> Row:
    try:
        row = connection.recv()
        process.join()
        return row
    except EOFError:
        process.join()
    if -process.exitcode in _FROM_OUTSIDE:
        what = f"{identity['contestant']} on {identity['task']} was killed from outside"
        raise UsageError(f"{what}, or memory ran out; start the same command again")
    name = signal.Signals(-process.exitcode).name if process.exitcode < 0 else process.exitcode
    return _lost(identity, str(name))


def _lost(identity: Row, why: str) -> Row:
    row = dict.fromkeys(COLUMNS, "") | {"inside": "inf", "outside": "inf", "steps": 0, "cpu": ""}
    return row | identity | {"status": f"killed: {why}", "ended": "by force"}


def _hold(identity: Row, steps: int | None, connection: Any) -> None:
    """Hold a contest in this process, on one thread, with what libraries print left out."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    most = _most_seconds(identity, steps)
    resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    connection.send(contest(identity, steps))
