"""Whether a submission is what its layer gives: some of its rows are trained again, behind a fence.

`python3 -m stable_nalu.result.referee FOLDER` is the process that trains them.
"""

from __future__ import annotations

import hashlib
import random
import shutil
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
from stable_nalu.options.kinds import seeds
from stable_nalu.process import begin
from stable_nalu.script import exit_code, say

from .fence import answer, enter, fenced
from .layer_source import problems_of
from .ranking import thresholds
from .submission import (
    CARD,
    LAYER,
    POINT,
    RUNS,
    Submission,
    TrainingPart,
    parameters_of,
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
    numbers = seeds().several(card.seeds)
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
    if not every:
        chosen = random.Random(seed).sample(chosen, min(rows or ROWS, len(chosen)))
        say(f"{plural(len(chosen), 'row')}, chosen by --seed {seed}")
    found: dict[tuple[str, ...], Mapping[str, str]] = {}
    for work in _parts(submission, chosen, every):
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
            parts = (submission.rows, unseen)
            p = _unlike(*([r for r in part if r["operation"] == operation] for part in parts))
            if p < SURE:
                yield f"{RUNS}: {fresh} other seeds of {operation} solve less, or more: p = {p:.1g}"


def _point(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in POINT)


def _parts(
    submission: Submission, rows: Sequence[Mapping[str, str]], every: bool
) -> Iterator[TrainingPart]:
    """Yield what is trained again: each row alone, or all of an operation."""
    if every and rows:
        numbers = tuple(seeds().several(submission.card.seeds))
        yield from (TrainingPart(name, numbers) for name in submission.card.operations)
        return
    for row in rows:
        yield TrainingPart(row["operation"], (int(row["seed"]),), row["interpolation.range"])


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


def main() -> int:
    """Do what is asked of this process, behind a fence."""
    place = Path(sys.argv[1])
    layer = place / LAYER
    asked = [
        TrainingPart(one["operation"], tuple(one["seeds"]), one["at"])
        for one in enter(place)["work"]
    ]

    def body() -> None:
        card = read_card(place / CARD)
        with TemporaryDirectory(dir=place) as out:
            rows = [row for work in asked for row in trained(card, layer, work, Path(out))]
        answer(place, rows if asked else parameters_of(card, layer))

    return exit_code("board.py", body)


if __name__ == "__main__":
    begin()
    raise SystemExit(main())
