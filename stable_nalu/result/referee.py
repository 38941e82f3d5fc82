"""Whether a submission is what its layer gives: some of its rows are trained again, behind a fence.

`python3 -m stable_nalu.result.referee FOLDER` is the process that trains them. It has limits of
time and memory, and no writing outside its folder: on Linux the kernel refuses to write elsewhere
and to connect (Landlock, where it is there). A hook of Python refuses the same as a second fence,
which code in the same process may get around. What it may still do is read files that the user can
read.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import random
import resource
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import time
from argparse import ArgumentTypeError
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stable_nalu.console import plural
from stable_nalu.errors import UsageError, in_words
from stable_nalu.machine import CHECKOUT
from stable_nalu.options.kinds import seeds
from stable_nalu.process import begin
from stable_nalu.script import exit_code, say

from .ranking import thresholds
from .submission import (
    CARD,
    LAYER,
    POINT,
    RUNS,
    Submission,
    TrainingPart,
    parameters_of,
    problems_of,
    read_card,
    read_submission,
    trained,
)
from .verify import ROWS, differences

FRESH, SURE = 5, 0.001
"""Seeds that nobody was told, and below which p their runs are not like those of the table."""


def check(
    folder: Path, rows: int | None, seed: int | None, *, every: bool = False, fresh: int = FRESH
) -> int:
    """Judge a submission, and return 0 if it is accepted, else 1.

    rows: how many are trained again alone, at random by a seed; every: all of them, side by side.
    fresh: other seeds, of which as many runs should be solved.
    """
    try:
        submission = read_submission(folder)
        source = (folder / LAYER).read_text(encoding="utf-8")
        problems = [*problems_of(source), *_of_card(submission, source)]
        if not problems:
            seed = time.time_ns() % 10**6 if seed is None else seed
            with TemporaryDirectory(prefix="submission-") as place:
                problems = list(_trained_again(submission, Path(place), rows, seed, every, fresh))
    except (UsageError, OSError, ValueError, LookupError, ArgumentTypeError) as error:
        problems = [str(error) if isinstance(error, UsageError) else in_words(error)]
    for problem in problems:
        say(f"refused: {problem}")
    if not problems:
        say(f"accepted: {folder.name}")
    return 1 if problems else 0


def _of_card(submission: Submission, source: str) -> Iterator[str]:
    """Yield what the card and the rows contradict each other in, by looking at them alone."""
    card, rows = submission.card, submission.rows
    if hashlib.sha256(source.encode()).hexdigest() != card.sha256:
        yield f"{CARD}: sha256 is not that of {LAYER}"
    limits = thresholds("benchmark")
    known = list(dict.fromkeys(at for _, at in limits))
    numbers = seeds.several(card.seeds)
    planned: Counter[Any] = Counter(
        (o, r, str(s)) for o in card.operations for r in known for s in numbers
    )
    there: Counter[Any] = Counter(map(_point, rows))
    if rows and planned != there:
        (odd, *_) = [*(planned - there), *(there - planned)]
        lacks = "lacks" if planned[odd] > there[odd] else "should not have"
        yield f"{RUNS} {lacks} a row of {' '.join(odd)}"
        return
    for row in rows:
        limit = limits[row["operation"], row["interpolation.range"]]
        solved = str(int(float(row["extrapolation.last"] or "nan") < limit))
        if float(row["threshold"]) != limit or row["solved"] != solved:
            yield f"{RUNS}: {_name(row)} is not judged by the threshold {limit:g}"
            return
    able = {row["operation"] for row in rows if row["solved"] == "1"}
    if more := able - set(card.expresses):
        yield f"{CARD}: expresses lacks {', '.join(sorted(more))}, which runs have solved"


def _name(row: Mapping[str, str]) -> str:
    return f"{row['operation']} {row['interpolation.range']} seed {row['seed']}"


def _trained_again(
    submission: Submission, place: Path, rows: int | None, seed: int, every: bool, fresh: int
) -> Iterator[str]:
    for name in (LAYER, CARD):
        shutil.copyfile(submission.folder / name, place / name)
    card = submission.card
    free = _asked(place, [])
    if tuple(free) != card.parameters:
        yield f"{CARD}: parameters are not those of the layer, {', '.join(free)}"
        return
    chosen = list(submission.rows)
    if every:
        numbers = tuple(seeds.several(card.seeds))
        parts = [TrainingPart(name, numbers) for name in card.operations if chosen]
    else:
        chosen = random.Random(seed).sample(chosen, min(rows or ROWS, len(chosen)))
        say(f"{plural(len(chosen), 'row')}, chosen by --seed {seed}")
        parts = [
            TrainingPart(row["operation"], (int(row["seed"]),), row["interpolation.range"])
            for row in chosen
        ]
    found: dict[tuple[str, ...], Mapping[str, str]] = {}
    for work in parts:
        found |= {_point(row): row for row in _asked(place, [work])}
    wrong = {_name(row): differences(row, found.get(_point(row), {})) for row in chosen}
    for name, cells in wrong.items():
        for column, (old, new) in list(cells.items())[:1]:
            yield f"{RUNS}: {name}: {column} is {old or 'empty'}, again {new or 'empty'}"
    say(f"{len(chosen) - sum(map(bool, wrong.values()))} of {len(chosen)} rows equal, every digit")
    others = tuple(random.Random(seed).sample(range(1000, 10**6), fresh))
    if submission.rows and fresh > 1:
        unseen = _asked(place, [TrainingPart(operation, others) for operation in card.operations])
        for operation in card.operations:
            both = (submission.rows, unseen)
            p = _unlike(*([r for r in part if r["operation"] == operation] for part in both))
            if p < SURE:
                yield f"{RUNS}: {fresh} other seeds of {operation} solve less, or more: p = {p:.1g}"


def _point(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in POINT)


def _unlike(rows: Sequence[Mapping[str, str]], others: Sequence[Mapping[str, str]]) -> float:
    """Return the p of a permutation test: whether other seeds solve as many of their ranges."""
    from scipy.stats import permutation_test

    counts = []
    for part in (rows, others):
        solved = Counter({row["seed"]: 0 for row in part})
        solved.update(row["seed"] for row in part if row["solved"] == "1")
        counts.append(list(solved.values()))

    def gap(one: Any, other: Any) -> float:
        return sum(one) / len(one) - sum(other) / len(other)

    return float(permutation_test(counts, gap, n_resamples=9999, rng=0).pvalue)


def _asked(place: Path, work: Sequence[TrainingPart]) -> Any:
    """Return the rows of runs that a process of their own trains; facts of the layer for none."""
    return fenced("stable_nalu.result.referee", place, {"work": [asdict(one) for one in work]})


REQUEST, ANSWER = "request.json", "answer.json"
SECONDS, GIGABYTES = 600, 12
_LARGEST = 2**30
"""Bytes of a file that it may write."""
_PASSED = ("PATH", "LANG", "CXX", "LD_LIBRARY_PATH", "STABLE_NALU_CXXFLAGS", "STABLE_NALU_ENGINE")
_CREATE, _ADD_RULE, _RESTRICT, _NO_NEW_RIGHTS = 444, 445, 446, 38
"""Calls of the kernel, of the same numbers on every processor, and an option of `prctl`."""
_FILE_RIGHTS = 1 << 1 | 1 << 14
_RIGHTS = {1: 1 << 1 | sum(1 << k for k in range(4, 13)), 2: 1 << 13, 3: 1 << 14}
"""Version of Landlock -> what it can refuse: writing, removing, making, moving, cutting."""
_TCP = 0b11
_REFUSED = ("socket.connect", "socket.bind", "socket.getaddrinfo", "os.system", "os.exec")
_REFUSED += ("os.posix_spawn", "os.spawn", "os.fork")
_CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink")
_CHANGES += ("os.chmod", "os.chown", "os.truncate", "shutil.rmtree", "shutil.move")


def fenced(
    module: str,
    folder: Path,
    request: Mapping[str, Any],
    seconds: int = SECONDS,
    gigabytes: int = GIGABYTES,
) -> Any:
    """Run `python -m module FOLDER` behind a fence, and return what it answers to a request.

    UsageError says why there is no answer.
    """
    limits = {"seconds": seconds, "gigabytes": gigabytes}
    (folder / REQUEST).write_text(json.dumps({**request, "limits": limits}))
    (folder / ANSWER).unlink(missing_ok=True)
    given = {name: os.environ[name] for name in _PASSED if name in os.environ}
    places = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), str(folder))
    fixed = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(CHECKOUT), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", module, str(folder)],
        cwd=folder,
        env={**given, **places, **fixed},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            out, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise UsageError(f"it was stopped after {seconds} s") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise UsageError(f"it was stopped, at the latest after {seconds} s of the processor")
    if process.returncode or not (folder / ANSWER).exists():
        said = out.decode(errors="replace").strip().splitlines()
        raise UsageError(said[-1] if said else f"exit code {process.returncode}")
    return json.loads((folder / ANSWER).read_text())


def enter(folder: Path) -> Mapping[str, Any]:
    """Put this process behind the fence, and return what is asked of it."""
    request = json.loads((folder / REQUEST).read_text())
    size = request["limits"]["gigabytes"] * 2**30
    for kind, most in (
        (resource.RLIMIT_CPU, request["limits"]["seconds"]),
        (resource.RLIMIT_AS, size),
        (resource.RLIMIT_FSIZE, _LARGEST),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    landlock(folder)
    sys.addaudithook(_hook(folder.resolve()))
    return request


def answer(folder: Path, found: Any) -> None:
    """Leave what was found for the process outside."""
    (folder / ANSWER).write_text(json.dumps(found))


def landlock(folder: Path) -> int:
    """Let the kernel refuse writing outside a folder; return its version, 0 where it cannot."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)

    def call(number: int, *words: Any) -> int:
        return libc.syscall(ctypes.c_long(number), *words)

    version = call(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint(1))
    if version < 1:
        return 0
    rights = sum(bits for known, bits in _RIGHTS.items() if known <= version)
    rules = struct.pack("QQ", rights, _TCP) if version >= 4 else struct.pack("Q", rights)
    made = call(_CREATE, rules, ctypes.c_size_t(len(rules)), ctypes.c_uint(0))
    for path, allowed in ((folder, rights), (Path(os.devnull), rights & _FILE_RIGHTS)):
        place = os.open(path, os.O_PATH)
        rule = struct.pack("=Qi", allowed, place)
        call(_ADD_RULE, ctypes.c_int(made), ctypes.c_int(1), rule, ctypes.c_uint(0))
        os.close(place)
    libc.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
    closed = call(_RESTRICT, ctypes.c_int(made), ctypes.c_uint(0))
    os.close(made)
    return 0 if closed else version


def _hook(folder: Path) -> Any:
    """Return what refuses events; the compiler of the engine is the one program that may start."""
    compiler = shlex.split(os.environ.get("CXX") or "g++")[0]

    def inside(path: Any) -> bool:
        if isinstance(path, int):
            return True
        place = Path(os.fsdecode(path)).resolve()
        return place == Path(os.devnull) or place.is_relative_to(folder)

    def hook(event: str, words: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = words
            written = (mode and set(mode) & set("wax+")) or (flags or 0) & (os.O_WRONLY | os.O_RDWR)
            if written and not inside(path):
                raise PermissionError(f"it must not write {path}")
        elif event in _CHANGES:
            paths = [word for word in words if isinstance(word, str | bytes | os.PathLike)]
            if not all(map(inside, paths)):
                raise PermissionError(f"it must not change {paths[0]}")
        elif event == "subprocess.Popen" and os.fsdecode(words[0]) != compiler:
            raise PermissionError(f"it must not start {words[0]}")
        elif event.startswith(_REFUSED):
            raise PermissionError(f"it must not use {event}")

    return hook


def main() -> int:
    """Do what is asked of this process, behind a fence."""
    place = Path(sys.argv[1])
    layer = place / LAYER
    asked = [TrainingPart(**one) for one in enter(place)["work"]]

    def body() -> None:
        card = read_card(place / CARD)
        with TemporaryDirectory(dir=place) as out:
            rows = [row for work in asked for row in trained(card, layer, work, Path(out))]
        answer(place, rows if asked else parameters_of(card, layer))

    return exit_code("board.py", body)


if __name__ == "__main__":
    begin()
    raise SystemExit(main())
