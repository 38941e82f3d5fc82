"""The board: who is best at an operation on the same ranges and seeds; and the command `board`.

Two units are told apart by McNemar's test of their pairs, and all tests of one table by Holm's
method; those that it cannot tell apart share a rank.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from stable_nalu.errors import OptionError, did_you_mean
from stable_nalu.files import cells_of
from stable_nalu.machine import data_file
from stable_nalu.options.kinds import integer, seeds
from stable_nalu.paper.index import find
from stable_nalu.papers import FLAT
from stable_nalu.script import ScriptParser, exit_code, say
from stable_nalu.statistics.intervals import Estimate, holm, sign_test, wilson
from stable_nalu.statistics.setups import LEVEL

from .document import rate
from .stored import DATA, path_of

OPERATIONS = ("add", "sub", "mul", "div")
PUBLISHED, TUNED = "as published", "equal tuning"
TUNED_RUNS = data_file("docs/board") / "equal_tuning.csv"
_DMU = {"add": "add", "mul": "add", "sub": "sub", "div": "sub"}
_PAIR = "the pair of operations"

KEYS: Mapping[str, Sequence[tuple[str, tuple[str, ...]]]] = {
    "add": (("benchmark_sltr_add", ()), ("benchmark_sltr_add_mcfc", ("MCFC",))),
    "sub": (("benchmark_sltr_sub", ()),),
    "mul": (
        ("benchmark_sltr_mul", ()),
        ("robust-benchmark_sltr_mul", ("sNMU",)),
        ("benchmark_sltr_mul_mcfc", ("MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU")),
    ),
    "div": (
        ("benchmark_sltr_div", ()),
        ("nips-sltr-in2", ("realnpu_modified", "nru", "sign-nmru")),
    ),
}
"""Operation -> experiments whose kept runs take part, and which of their models; none: all."""

Outcomes = Mapping[tuple[str, str], bool]
"""Range and seed -> whether the run solved its task."""


@dataclass(frozen=True)
class Entry:
    """A unit that takes part.

    key: the experiment and model that it comes from, or its folder. told: what it is told about its
    operation, which others have to learn. rows: a row for each run, as they are kept.
    """

    key: tuple[str, str]
    label: str
    rows: tuple[Mapping[str, str], ...]
    told: str = ""
    league: str = PUBLISHED

    def outcomes(self, operation: str, rule: str) -> Outcomes:
        """Return which of its runs of an operation are solved by a rule of thresholds."""
        limits = thresholds(rule)
        return {
            (row["interpolation.range"], row["seed"]): float(row["extrapolation.last"] or "nan")
            < limits[operation, row["interpolation.range"]]
            for row in self.rows
            if row["operation"] == operation
        }


def kept_entries(operation: str, data: Path = DATA) -> list[Entry]:
    """Return the units of which runs of an operation are kept."""
    found = []
    for key, chosen in (*KEYS[operation], ("dmu", (f"given-{operation}", f"learned-{operation}"))):
        rows = cells_of(path_of(key, data)) if path_of(key, data).exists() else []
        for model in find(key).models:
            own = tuple(row for row in rows if row["model"] == model.key)
            if own and (not chosen or model.key in chosen):
                given = key == "dmu" and model.key.startswith("given")
                kind = "given" if given else "learned"
                label = f"DMU, operands {kind}" if key == "dmu" else model.label.partition(" [")[0]
                found.append(Entry((key, model.key), label, own, _PAIR if given else ""))
    return found


def tuned_entries(operation: str) -> list[Entry]:
    """Return the units with the best of equally many random settings."""
    rows = cells_of(TUNED_RUNS) if TUNED_RUNS.exists() else []
    found = []
    for one in kept_entries(operation):
        place = (one.label, operation)
        if own := tuple(row for row in rows if (row["unit"], row["operation"]) == place):
            found.append(replace(one, league=TUNED, rows=own))
    return found


RULES = ("benchmark", "1e-5", "DMU")
"""Rules of thresholds: of this benchmark, one for all tasks, and of the DMU's repository."""


@cache
def thresholds(rule: str) -> dict[tuple[str, str], float]:
    """Return operation and range -> below which test error a run is solved."""
    keys = [f"benchmark_sltr_{operation}" for operation in OPERATIONS]
    rows = [row for key in keys for row in cells_of(path_of(key))]
    if rule == "DMU":
        rows = cells_of(path_of("dmu_thresholds"))
    flat = rule == "1e-5"
    return {
        (row["operation"], row["interpolation.range"]): FLAT if flat else float(row["threshold"])
        for row in rows
    }


@dataclass(frozen=True)
class Placed:
    """Where a unit stands in one table.

    best, worst: the ranks that the tests leave open: behind those that are better, and before those
    that are worse.
    """

    solved: int
    runs: int
    best: int
    worst: int

    @property
    def rank(self) -> str:
        """Return the ranks, as `1` or `2-4`."""
        return f"{self.best}" if self.best == self.worst else f"{self.best}–{self.worst}"

    @property
    def rate(self) -> Estimate:
        """Return the share of solved runs with its interval."""
        return wilson(self.solved, self.runs)


def placed(table: Mapping[Any, Outcomes]) -> dict[Any, Placed]:
    """Return where units stand that have outcomes of the same runs, the best rate first."""
    solved = {name: {run for run, met in runs.items() if met} for name, runs in table.items()}
    pairs = list(itertools.combinations(table, 2))
    tests = [_p(len(solved[a] - solved[b]), len(solved[b] - solved[a])) for a, b in pairs]
    better = dict.fromkeys(table, 0)
    worse = dict.fromkeys(table, 0)
    for (a, b), p in zip(pairs, holm(tests), strict=True):
        if p < LEVEL:
            first, second = sorted((a, b), key=lambda name: -len(solved[name]))
            worse[first] += 1
            better[second] += 1
    found = {
        name: Placed(len(solved[name]), len(runs), 1 + better[name], len(table) - worse[name])
        for name, runs in table.items()
    }
    return dict(sorted(found.items(), key=lambda item: (item[1].best, -item[1].solved)))


@cache
def _p(won: int, lost: int) -> float:
    return sign_test(won, lost)


def at_range(outcomes: Outcomes, one: str | None) -> Outcomes:
    """Return the outcomes in one range, or all of them for None."""
    return {run: met for run, met in outcomes.items() if one in (None, run[0])}


ROOT = Path("submissions")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_SUBMIT = ("layer_type", "layer_option", "training", "told", "given", "learned", "tuned", "failure")
_CHECK = ("rows", "seed", "fresh")


def main(argv: Sequence[str] | None = None) -> int:
    """Submit a layer or check a submission, and return the exit code."""
    arguments = _parser().parse_args(argv)
    return exit_code("board.py", lambda: _obey(arguments))


def _parser() -> ScriptParser:
    parser = ScriptParser(
        prog="board.py",
        description="Submit a layer to the board: train it on the benchmark of single modules, and "
        "write submissions/NAME. Or check a submission.",
    )
    add = parser.add_argument
    add("layer_file", metavar="FILE", nargs="?", type=Path, help="Python file of the layer")
    add("--submissions", type=Path, default=ROOT, metavar="DIR", help="folder (submissions)")
    add("--out", type=Path, default=Path("results"), metavar="DIR", help="of runs (results)")
    add = parser.add_argument_group("submit").add_argument
    add("--name", metavar="NAME", help="of the submission: small letters, digits and -")
    add("--layer-type", metavar="CLASS", help="of several in the file")
    add("--layer-option", nargs="+", metavar="NAME=VALUE", help="of its constructor")
    add("--training", nargs="+", metavar="NAME=VALUE", help="flags over those of the benchmark")
    add("--operation", nargs="+", choices=OPERATIONS, help="what it is trained for (all four)")
    add("--expresses", nargs="+", choices=OPERATIONS, help="what it can compute (what it solves)")
    add("--told", metavar="TEXT", help="what it is told about its operation (nothing)")
    add("--given", metavar="TEXT", help="what holds from the start")
    add("--learned", metavar="TEXT", help="what training finds (names of parameters)")
    add("--tuned", metavar="TEXT", help="runs spent on settings before these (none)")
    add("--failure", metavar="TEXT", help="of a negative result: why it does not work")
    whole = "; others are not ranked"
    add("--seeds", type=seeds().several, metavar="SEEDS", help=f"0-24{whole}")
    add("--max-iterations", type=integer(1).one, metavar="N", help=f"50000{whole}")
    add = parser.add_argument_group("check").add_argument
    add("--check", metavar="NAME", help="train random rows again alone, and compare every digit")
    add("--rows", type=integer(1).one, metavar="N", help="how many (5)")
    add("--seed", type=integer(0).one, metavar="N", help="of the random choice (the clock)")
    add("--every", action="store_true", help="all rows instead, side by side")
    add("--fresh", type=integer(0).one, metavar="N", help="seeds that are not in the table (5)")
    return parser


def _obey(arguments: argparse.Namespace) -> int:
    checks = arguments.check is not None
    for name in _SUBMIT if checks else _CHECK:
        if getattr(arguments, name) is not None:
            flag = f"--{name.replace('_', '-')}"
            remedy = "leave it out" if checks else "add --check NAME"
            raise OptionError(flag, "it belongs to the other use of this command", remedy)
    file = arguments.layer_file
    if not checks and (file is None or not file.is_file()):
        problem = f"{file} is not a file" if file else "no layer file is named"
        raise OptionError("FILE", problem, "write its path, or --check NAME")
    name = arguments.check if checks else arguments.name
    if name is None or not _NAME.fullmatch(name):
        problem = f"{name!r} is not a name" if name else "the submission has no name"
        raise OptionError("--check" if checks else "--name", problem, "write one such as my-unit")
    folder = arguments.submissions / name
    if checks:
        if not folder.is_dir():
            remedy = did_you_mean(
                name, [p.name for p in arguments.submissions.glob("*")], "see --submissions"
            )
            raise OptionError("--check", f"there is no {folder}", remedy)
        from .referee import FRESH, check

        fresh = FRESH if arguments.fresh is None else arguments.fresh
        every = arguments.every
        return check(folder, arguments.rows, arguments.seed, every=every, fresh=fresh)
    if folder.exists():
        raise OptionError("--name", f"{folder} is there", "remove it, or write another name")
    _submit(arguments, folder)
    return 0


def submitted(arguments: argparse.Namespace) -> int:
    """Submit the layer of a challenge, and return the exit code."""
    names = ("layer_type", "layer_option", "training", "seeds", "max_iterations", "out")
    own = _parser().parse_args([str(arguments.layer_file), "--name", arguments.submit])
    for name in names:
        setattr(own, name, getattr(arguments, name))
    return _obey(own)


def _submit(arguments: argparse.Namespace, folder: Path) -> None:
    from .submission import new_card, submit

    card = new_card(arguments.layer_file, arguments)
    submission = submit(card, arguments.layer_file, folder, arguments.out)
    own = submission.entry
    for operation in card.operations:
        rivals = [r for r in kept_entries(operation) if r.told == own.told]
        table = {entry.key: entry.outcomes(operation, "benchmark") for entry in (own, *rivals)}
        found = placed(table) if card.is_whole else placed({own.key: table[own.key]})
        one = found[own.key]
        rank = f"rank {one.rank} of {len(found)}" if card.is_whole else "not ranked: a short trial"
        say(f"{operation}: {rank}, solved {rate(one.solved, one.runs)}")
    say(f"{folder} is written; check it by --check {folder.name}")
