"""Whether a submission is what its layer gives: some of its rows are retrained in a sandbox.

`python3 -m stable_nalu.bench.referee FOLDER` is the program that trains them there. It answers on
standard output.
"""

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import begin, exit_code, plural, say
from stable_nalu.result.verify import ROWS, differences

from .fence import fenced
from .submission import (
    CARD,
    LAYER,
    RUNS,
    Submission,
    SubmissionCard,
    TrainingPart,
    parameters_of,
    point_of,
    printable,
    read_submission,
    trained,
)

FRESH, SURE = 5, 0.001
"""Number of seeds chosen here, and the p below which their runs differ from those of the table."""

_REQUEST = "request.json"


def check(folder: Path, arguments: argparse.Namespace) -> int:
    """Judge a submission by the flags of a check, and return 0 if it is accepted, else 1."""
    try:
        submission = read_submission(folder)
        problems = list(_retrained(submission, arguments))
    except UsageError as error:
        problems = [str(error)]
    for problem in problems:
        say(printable(f"refused: {problem}"))
    if not problems:
        say(f"accepted: {folder.name}")
    return 1 if problems else 0


def _retrained(submission: Submission, arguments: argparse.Namespace) -> Iterator[str]:
    card, fence = submission.card, not arguments.unfenced
    free = _ask(submission, [], fence)
    if free != [*card.parameters]:
        yield f"{CARD}: parameters are not those of the layer, {', '.join(map(str, free))}"
        return
    if not submission.rows:
        return
    seed = time.time_ns() % 10**6 if arguments.seed is None else arguments.seed
    chosen = list(submission.rows)
    if arguments.every:
        numbers = tuple(sorted({int(row["seed"]) for row in chosen}))
        calls = [[TrainingPart(operation, numbers)] for operation in card.operations]
    else:
        chosen = random.Random(seed).sample(chosen, min(arguments.rows or ROWS, len(chosen)))
        say(f"{plural(len(chosen), 'row')}, chosen by --seed {seed}")
        points = [
            (row["operation"], (int(row["seed"]),), row["interpolation.range"]) for row in chosen
        ]
        calls = [[TrainingPart(*point) for point in points]]
    found = {point_of(row): row for work in calls for row in _ask(submission, work, fence)}
    wrong = {point_of(row): differences(row, found.get(point_of(row), {})) for row in chosen}
    for point, cells in wrong.items():
        for column, (old, new) in list(cells.items())[:1]:
            name = " ".join(point)
            yield f"{RUNS}: {name}: {column} is {old or 'empty'}, again {new or 'empty'}"
    say(f"{len(chosen) - sum(map(bool, wrong.values()))} of {len(chosen)} rows equal, every digit")
    if (count := FRESH if arguments.fresh is None else arguments.fresh) < 2:
        return
    numbers = tuple(random.Random(seed).sample(range(1000, 10**6), count))
    rows = _ask(submission, [TrainingPart(one, numbers) for one in card.operations], fence)
    for operation in card.operations:
        both = ([r for r in of if r["operation"] == operation] for of in (submission.rows, rows))
        if (p := _unlike(*both)) < SURE:
            yield f"{RUNS}: {count} other seeds of {operation} solve less, or more: p = {p:.1g}"


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


def _ask(submission: Submission, work: Sequence[TrainingPart], fence: bool) -> list[Any]:
    """Return the rows of runs that another process trains; without work, the free parameters."""
    request = {"card": asdict(submission.card), "work": [asdict(one) for one in work]}
    files = {LAYER: submission.source, _REQUEST: json.dumps(request).encode()}
    answer = fenced(["-m", "stable_nalu.bench.referee"], files, fence=fence)
    try:
        found = json.loads(answer)
        planned = {(one.operation, str(seed)) for one in work for seed in one.seeds}
        if not work or planned == {point_of(row)[::2] for row in found if row["solved"]}:
            return list(found)
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise UsageError("the process of the layer answers with other rows than it was asked for")


def main() -> int:
    """Train what another process asks for, and write the rows to standard output."""
    given, runs = Path(sys.argv[1]), Path("runs").absolute()
    request = json.loads((given / _REQUEST).read_bytes())
    facts: dict[str, Any] = {
        n: tuple(v) if isinstance(v, list) else v for n, v in request["card"].items()
    }
    card, layer = SubmissionCard(**facts), given / LAYER
    work = [TrainingPart(**one) for one in request["work"]]

    def body() -> None:
        # Whatever the layer prints goes to the messages.
        with os.fdopen(os.dup(1), "w") as answer:
            os.dup2(2, 1)
            rows = [row for part in work for row in trained(card, layer, part, runs)]
            json.dump(rows if work else parameters_of(card, layer), answer)

    return exit_code("board.py", body)


if __name__ == "__main__":
    begin()
    raise SystemExit(main())
