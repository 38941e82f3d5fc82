"""The command `board`: submit a layer to the board, or check what was submitted.

A submission is a folder of a layer file, its card and its judged runs. Strangers write them, so
nothing is read but regular files of limited size, and the card and the rows are checked before
anyone uses them. A check retrains rows in a sandbox, where `python3 -m stable_nalu.bench.board
FOLDER` trains them and answers on standard output.
"""

import argparse
import errno
import hashlib
import io
import json
import math
import os
import random
import re
import resource
import stat
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from stable_nalu.base.errors import OptionError, UsageError, did_you_mean
from stable_nalu.base.files import atomic_text_file, cells_of, visible_entries
from stable_nalu.base.script import ScriptParser, adder, begin, exit_code, plural, say
from stable_nalu.layer import entries
from stable_nalu.layer.own_layers import load_layer_file
from stable_nalu.layer.registry import own_entries
from stable_nalu.options.flag import integer, seeds, seeds_text
from stable_nalu.options.flags import own_options
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import find
from stable_nalu.result.document import rate
from stable_nalu.result.judged import runs_of
from stable_nalu.result.shard import Shard, train_shards
from stable_nalu.result.stored import Stopwatch, formula_rows
from stable_nalu.result.trained import ROWS, Folders, differences, retrained
from stable_nalu.statistics.table import write_rows
from stable_nalu.training.console import quiet

from .fence import MOST_BYTES, fenced, obstacle
from .ranking import OPERATIONS, Entry, challenger_of, kept_entries, placed, thresholds

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
"""Names of submissions, which no label of a stored unit matches."""
LAYER, CARD, RUNS, _REQUEST = "layer.py", "card.toml", "runs.csv", "request.json"
SEEDS, ITERATIONS = "0-24", 50_000
POINT = ("operation", "interpolation.range", "seed")
_JUDGED = ("iterations", "threshold", "solved", "extrapolation.step.solved", "extrapolation.last")
FORMULA = ("verdict", "formula", "largest.rounding")
FRESH, SURE = 5, 0.001
"""Number of seeds chosen here, and the p below which their runs differ from those of the table."""

_SUBMIT = ("layer_type", "layer_option", "training", "told", "given", "learned", "tuned", "failure")
_CHECK = ("rows", "seed", "fresh")

Work = Sequence[tuple[str, Sequence[int], str | None]]
"""Runs that train side by side: an operation, its seeds, and a training range; None: all ranges."""


def main(argv: Sequence[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    return exit_code("board.py", lambda: _obey(arguments))


def _parser() -> ScriptParser:
    parser = ScriptParser(
        prog="board.py",
        description="Submit a layer to the board: train it on the benchmark of single modules, and "
        "write submissions/NAME. Or check a submission.",
    )
    add = adder(parser)
    add("layer_file FILE", "Python file of the layer", nargs="?", type=Path)
    add("--submissions DIR", "folder (submissions)", type=Path, default=Path("submissions"))
    add("--out DIR", "of runs (results)", type=Path, default=Path("results"))
    add = adder(parser.add_argument_group("submit"))
    add("--name NAME", "of the submission: small letters, digits and -")
    add("--layer-type CLASS", "of several in the file")
    add("--layer-option NAME=VALUE ...", "of its constructor")
    add("--training NAME=VALUE ...", "flags over those of the benchmark")
    add("--operation", "what it is trained for (all four)", nargs="+", choices=OPERATIONS)
    add("--expresses", "what it can compute (what it solves)", nargs="+", choices=OPERATIONS)
    add("--told TEXT", "what it is told about its operation (nothing)")
    add("--given TEXT", "what holds from the start")
    add("--learned TEXT", "what training finds (names of parameters)")
    add("--tuned TEXT", "runs spent on settings before these (none)")
    add("--failure TEXT", "of a negative result: why it does not work")
    whole = "; others are not ranked"
    add("--seeds SEEDS", f"0-24{whole}", type=seeds.several)
    add("--max-iterations N", f"50000{whole}", type=integer(1).one)
    add = adder(parser.add_argument_group("check"))
    add("--check NAME", "retrain random rows alone, and compare every digit")
    add("--rows N", "how many (5)", type=integer(1).one)
    add("--seed N", "of the random choice (the clock)", type=integer(0).one)
    add("--every", "all rows instead, side by side")
    add("--unfenced", "without bubblewrap: the layer may do anything")
    add("--fresh N", "seeds that are not in the table (5)", type=integer(0).one)
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
    if name is None or not NAME.fullmatch(name):
        problem = f"{name!r} is not a name" if name else "the submission has no name"
        raise OptionError("--check" if checks else "--name", problem, "write one such as my-unit")
    folder = arguments.submissions / name
    if not checks:
        if folder.exists():
            raise OptionError("--name", f"{folder} is there", "remove it, or write another name")
        return _submit(arguments, folder)
    if not folder.is_dir():
        known = [path.name for path in arguments.submissions.glob("*")]
        remedy = did_you_mean(name, known, "see --submissions")
        raise OptionError("--check", f"there is no {folder}", remedy)
    if not arguments.unfenced and (problem := obstacle()):
        remedy = "install it, or add --unfenced if you trust the layer"
        raise OptionError("--check", problem, remedy)
    try:
        problems = list(_problems(read_submission(folder), arguments))
    except UsageError as error:
        problems = [str(error)]
    for problem in problems:
        say(printable(f"refused: {problem}"))
    if not problems:
        say(f"accepted: {folder.name}")
    return 1 if problems else 0


def submitted(arguments: argparse.Namespace) -> int:
    """Submit the layer of a challenge, and return the exit code."""
    own = _parser().parse_args([str(arguments.layer_file), "--name", arguments.submit])
    for name in ("layer_type", "layer_option", "training", "seeds", "max_iterations", "out"):
        setattr(own, name, getattr(arguments, name))
    return _obey(own)


def _submit(arguments: argparse.Namespace, folder: Path) -> int:
    """Train a layer on the whole benchmark, write its folder, and print its ranks."""
    file = arguments.layer_file
    card = new_card(file, arguments)
    source = load_layer_file(str(file), card.sha256)
    watch, rows = Stopwatch(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN), []
    for place, operation in enumerate(card.operations, start=1):
        say(f"[{place}/{len(card.operations)}] {operation}")
        work = [(operation, seeds.several(card.seeds), None)]
        rows += trained(card, file, work, arguments.out)
    session = watch.session({}, 1)
    able = {*card.expresses, *(row["operation"] for row in rows if row["solved"] == "1")}
    card = replace(
        card,
        expresses=tuple(o for o in OPERATIONS if o in able),
        cpu_seconds=session.cpu_seconds,
        versions=session.versions,
    )
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_text_file(folder / LAYER) as copy:
        copy.write(source.source)
    write_rows(folder / RUNS, rows)
    card.write(folder / CARD)
    own = read_submission(folder).entry
    for operation in card.operations:
        rivals = [r for r in kept_entries(operation) if r.prior == own.prior and card.is_whole]
        table = {one.key: one.outcomes(operation, "benchmark") for one in (own, *rivals)}
        found = placed(table)
        one = found[own.key]
        rank = f"rank {one.rank} of {len(found)}" if card.is_whole else "not ranked: a short trial"
        say(f"{operation}: {rank}, solved {rate(one.solved, one.runs, one.rate)}")
    say(f"{folder} is written; check it by --check {folder.name}")
    return 0


@dataclass(frozen=True)
class SubmissionCard:
    """The description of a layer in a submission.

    layer: its class. `told`: its prior about the operation, which other layers have to learn.
    given, learned: what holds from the start, and what training finds. parameters: name and number
    of the free ones. expresses: operations that it can compute. tuned: runs spent on settings
    before these. failure: why it does not work; of a negative result. options, training:
    `name=value` of the constructor, and of flags of training. sha256: of the layer file.
    """

    layer: str
    told: str
    given: str
    learned: str
    parameters: tuple[str, ...]
    expresses: tuple[str, ...]
    tuned: str
    failure: str
    operations: tuple[str, ...]
    options: tuple[str, ...]
    training: tuple[str, ...]
    seeds: str
    iterations: int
    sha256: str
    cpu_seconds: float
    versions: str

    @property
    def is_whole(self) -> bool:
        """Return whether it has the seeds and the length that all are ranked by."""
        return (self.seeds, self.iterations) == (SEEDS, ITERATIONS)

    def write(self, path: Path) -> None:
        """Write it as TOML. JSON writes texts and lists in the same way."""
        with atomic_text_file(path) as file:
            for name, value in asdict(self).items():
                file.write(f"{name} = {json.dumps(value, ensure_ascii=False)}\n")

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> "SubmissionCard":
        """Return the card of what was read of one, in which tuples are lists."""
        return cls(**{n: tuple(v) if isinstance(v, list) else v for n, v in facts.items()})


def content_of(path: Path) -> bytes:
    """Read a file of a submission; a link, a device and a large file raise UsageError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        folder = os.open(path.parent, flags | os.O_DIRECTORY)
        try:
            number = os.open(path.name, flags, dir_fd=folder)
        finally:
            os.close(folder)
        with os.fdopen(number, "rb") as file:
            if not stat.S_ISREG(os.fstat(number).st_mode):
                raise UsageError(f"{path} is not a regular file")
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        link = path.is_symlink() or path.parent.is_symlink()
        said = "it is a link" if link else error.strerror or os.strerror(error.errno or errno.EIO)
        raise UsageError(f"cannot read {path}: {said}") from None
    if len(content) > MOST_BYTES:
        raise UsageError(f"{path} is larger than {MOST_BYTES:,} bytes")
    return content


_KINDS: dict[Any, tuple[str, Any]] = {
    str: ("text", lambda v: isinstance(v, str)),
    int: ("a number from 1", lambda v: type(v) is int and v > 0),
    float: ("a number from 0", lambda v: type(v) in (int, float) and 0 <= v < math.inf),
    tuple[str, ...]: (
        "a list of texts",
        lambda v: isinstance(v, list) and all(type(one) is str for one in v),
    ),
}
"""Type of a field of a card -> what it is in words, and whether a value is one."""


def read_card(path: Path) -> SubmissionCard:
    try:
        found: dict[str, Any] = tomllib.loads(content_of(path).decode())
    except (RecursionError, ValueError) as error:
        raise UsageError(f"{path} is no card: {error}") from None
    wanted = {field.name: field.type for field in fields(SubmissionCard)}
    if found.keys() != wanted.keys():
        differing = ", ".join(sorted(found.keys() ^ wanted.keys()))
        raise UsageError(f"{path} is no card: it lacks, or should not have, {differing}")
    for name, kind in wanted.items():
        words, fits = _KINDS[kind]
        if not fits(found[name]):
            raise UsageError(f"{path}: {name} is not {words}")
    for name in ("operations", "expresses"):
        if unknown := [one for one in found[name] if one not in OPERATIONS]:
            raise UsageError(f"{path}: {name} holds {unknown[0]!r}, not of {', '.join(OPERATIONS)}")
    if len(set(found["operations"])) != max(1, len(found["operations"])):
        raise UsageError(f"{path}: operations are none, or one of them twice")
    for one in found["parameters"]:
        if not re.fullmatch(r"[^=]+=[0-9]{1,9}", one):
            raise UsageError(f"{path}: parameters hold {one!r}, which is not NAME=NUMBER")
    return SubmissionCard.of(found)


@dataclass(frozen=True)
class Submission:
    """A folder of a layer, as it was read."""

    folder: Path
    source: bytes
    card: SubmissionCard
    rows: tuple[Mapping[str, str], ...]

    @property
    def entry(self) -> Entry:
        name = self.folder.name
        return Entry((name, self.card.layer), name, self.rows, self.card.told)


def read_submission(folder: Path) -> Submission:
    """Read a submission; one without `runs.csv` has no rows.

    UsageError says what is wrong with it, or in what its card and rows contradict each other.
    """
    if not NAME.fullmatch(folder.name):
        raise UsageError(f"{folder.name!r} is not a name")
    source, card = content_of(folder / LAYER), read_card(folder / CARD)
    if hashlib.sha256(source).hexdigest() != card.sha256:
        raise UsageError(f"{CARD}: sha256 is not the digest of {LAYER}")
    runs = folder / RUNS
    rows: tuple[Mapping[str, str], ...] = ()
    if os.path.lexists(runs):
        content = io.BytesIO(content_of(runs))
        rows = tuple(cells_of(runs, io.TextIOWrapper(content, "utf-8-sig", newline="")))
    if rows:
        _check_rows(card, rows)
    return Submission(folder, source, card, rows)


def _check_rows(card: SubmissionCard, rows: Sequence[Mapping[str, str]]) -> None:
    """Raise UsageError unless there is a row for each run of the card, judged as all are."""
    if lacking := {*POINT, *_JUDGED, *FORMULA} - rows[0].keys():
        raise UsageError(f"{RUNS} lacks the columns {', '.join(sorted(lacking))}")
    try:
        numbers = sorted({int(row["seed"]) for row in rows})
    except ValueError as error:
        raise UsageError(f"{RUNS}: seed: {error}") from None
    if seeds_text(numbers) != card.seeds:
        raise UsageError(f"{RUNS} has the seeds {seeds_text(numbers)}, {CARD} {card.seeds}")
    limits = thresholds("benchmark")
    ranges = dict.fromkeys(at for _, at in limits)
    planned: Counter[Any] = Counter(
        (o, at, str(n)) for o in card.operations for at in ranges for n in numbers
    )
    there: Counter[Any] = Counter(point_of(row) for row in rows)
    if planned != there:
        (odd, *_) = [*(planned - there), *(there - planned)]
        lacks = "lacks" if planned[odd] > there[odd] else "should not have"
        raise UsageError(f"{RUNS} {lacks} a row of {' '.join(odd)}")
    for row in rows:
        where, limit = f"{RUNS}: {' '.join(point_of(row))}", limits[point_of(row)[:2]]
        try:
            solved = float(row["extrapolation.last"] or "nan") < limit
            judged = float(row["threshold"]) == limit and row["solved"] == str(int(solved))
            known = math.isfinite(float(row["extrapolation.step.solved"] or 0))
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from None
        if not known:
            raise UsageError(f"{where} has no finite step")
        if not judged:
            raise UsageError(f"{where} is not judged by the threshold {limit:g}")
    able = {row["operation"] for row in rows if row["solved"] == "1"}
    if more := able - set(card.expresses):
        raise UsageError(f"{CARD}: expresses lacks {', '.join(sorted(more))}, which runs solved")


def point_of(row: Mapping[str, str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in POINT)


def printable(text: str) -> str:
    """Return a text of others in one line that no terminal obeys, cut off if it is long."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:500])


def submissions(root: Path) -> list[Submission]:
    """Return the submissions below a folder, by name; say which of them cannot be used."""
    found = []
    for folder in visible_entries(root) if root.is_dir() else ():
        if folder.is_file() and not folder.is_symlink():
            continue
        try:
            found.append(read_submission(folder))
        except UsageError as error:
            sys.stderr.write(f"warning: not on the board: {printable(f'{folder}: {error}')}\n")
    return found


def new_card(file: Path, arguments: argparse.Namespace) -> SubmissionCard:
    """Return the card of a command line, before anything is trained."""
    source = load_layer_file(str(file))
    own = [e.key for e in own_entries() if e.origin == str(file.resolve())]
    if arguments.layer_type is None and len(own) > 1:
        raise OptionError("--layer-type", f"{file} defines {', '.join(own)}", "name one of them")
    names = ("told", "given", "learned", "tuned", "failure")
    card = SubmissionCard(
        **{name: getattr(arguments, name) or "" for name in names},
        layer=arguments.layer_type or own[0],
        parameters=(),
        expresses=tuple(arguments.expresses or ()),
        operations=tuple(o for o in OPERATIONS if o in (arguments.operation or OPERATIONS)),
        options=tuple(arguments.layer_option or ()),
        training=tuple(arguments.training or ()),
        seeds=seeds_text(arguments.seeds) if arguments.seeds else SEEDS,
        iterations=arguments.max_iterations or ITERATIONS,
        sha256=source.sha256,
        cpu_seconds=0.0,
        versions="",
    )
    free = parameters_of(card, file)
    return replace(card, parameters=free, learned=card.learned or ", ".join(free))


def parameters_of(card: SubmissionCard, file: Path) -> tuple[str, ...]:
    """Return the free parameters of the layer, as `W=2`, of two inputs and one output."""
    load_layer_file(str(file))
    found = entries().get(card.layer)
    if found is None or found.layer is None:
        raise UsageError(f"{file.name} defines no layer {card.layer}")
    (model,) = _planned(card, file, card.operations[0]).models
    (run, *_) = runs_of(model, [0], None)
    with torch.random.fork_rng(devices=[]):
        build: Any = found.layer
        built = build(2, 1, **own_options(run.config, {}))
    free = ((name, p.numel()) for name, p in built.named_parameters() if p.requires_grad)
    return tuple(f"{name.removeprefix('module.')}={count}" for name, count in free)


def _planned(card: SubmissionCard, file: Path, operation: str) -> Experiment:
    """Return the figure of an operation, with the layer as its only model."""
    experiment = find(f"benchmark_sltr_{operation}")
    given = {"layer_type": card.layer, "layer_file": file, "layer_option": card.options}
    words = argparse.Namespace(**given, training=card.training)
    return replace(experiment, models=(challenger_of(words, [experiment]).model(experiment),))


def trained(card: SubmissionCard, file: Path, work: Work, out: Path) -> list[dict[str, str]]:
    """Train runs of a layer and return their judged rows, with what each network computes."""
    space = Folders(out, None if card.iterations == ITERATIONS else card.iterations)
    rows = []
    for operation, numbers, at in work:
        experiment = _planned(card, file, operation)
        (model,) = experiment.models
        if at is not None:
            points = (p for p in model.points if at == f"U{p['--interpolation-range'][0]}")
            experiment = replace(experiment, models=(replace(model, points=tuple(points)),))
        rows += judged_rows(experiment, numbers, space)
    return [{name: cell for name, cell in row.items() if name != "model"} for row in rows]


def judged_rows(
    experiment: Experiment, numbers: Sequence[int], space: Folders
) -> list[dict[str, str]]:
    """Train the models of an experiment side by side, and return their rows as they are kept."""
    space.use()
    parts = [Shard(m.key, m, m.variants, tuple(numbers)) for m in experiment.models]
    with quiet():
        code = train_shards(parts, space.max_iterations)
    if code:
        raise UsageError(f"training ended with exit code {code}")
    rows, expected = retrained(experiment, numbers, space)
    found = formula_rows(experiment, expected, rows)
    formulas = {(row["model"], *point_of(row)): {c: row[c] for c in FORMULA} for row in found}
    none = dict.fromkeys(FORMULA, "")
    return [row | formulas.get((row["model"], *point_of(row)), none) for row in rows]


def _problems(submission: Submission, arguments: argparse.Namespace) -> Iterator[str]:
    """Retrain runs of a submission in the sandbox, and yield what is wrong with it."""
    card, fence = submission.card, not arguments.unfenced
    free = _ask(submission, [], fence)
    if free != [*card.parameters]:
        yield f"{CARD}: parameters are not those of the layer, {', '.join(map(str, free))}"
        return
    if not submission.rows:
        return
    seed = time.time_ns() % 10**6 if arguments.seed is None else arguments.seed
    chosen = list(submission.rows)
    calls: list[Work]
    if arguments.every:
        numbers = sorted({int(row["seed"]) for row in chosen})
        calls = [[(operation, numbers, None)] for operation in card.operations]
    else:
        chosen = random.Random(seed).sample(chosen, min(arguments.rows or ROWS, len(chosen)))
        say(f"{plural(len(chosen), 'row')}, chosen by --seed {seed}")
        calls = [[(one, [int(number)], at) for one, at, number in map(point_of, chosen)]]
    found = {point_of(row): row for work in calls for row in _ask(submission, work, fence)}
    wrong = {point_of(row): differences(row, found.get(point_of(row), {})) for row in chosen}
    for point, cells in wrong.items():
        for column, (old, new) in list(cells.items())[:1]:
            name = " ".join(point)
            yield f"{RUNS}: {name}: {column} is {old or 'empty'}, again {new or 'empty'}"
    say(f"{len(chosen) - sum(map(bool, wrong.values()))} of {len(chosen)} rows equal, every digit")
    if (count := FRESH if arguments.fresh is None else arguments.fresh) < 2:
        return
    numbers = random.Random(seed).sample(range(1000, 10**6), count)
    rows = _ask(submission, [(operation, numbers, None) for operation in card.operations], fence)
    for operation in card.operations:
        both = ([r for r in of if r["operation"] == operation] for of in (submission.rows, rows))
        if (p := _unlike(*both)) < SURE:
            yield f"{RUNS}: {count} other seeds of {operation} solve less, or more: p = {p:.1g}"


def _unlike(*tables: Sequence[Mapping[str, str]]) -> float:
    """Return the p of a permutation test: whether seeds of two tables solve as many ranges."""
    from scipy.stats import permutation_test

    counts = []
    for rows in tables:
        solved = Counter({row["seed"]: 0 for row in rows})
        solved.update(row["seed"] for row in rows if row["solved"] == "1")
        counts.append(list(solved.values()))

    def gap(one: Any, other: Any) -> float:
        return sum(one) / len(one) - sum(other) / len(other)

    return float(permutation_test(counts, gap, n_resamples=9999, rng=0).pvalue)


def _ask(submission: Submission, work: Work, fence: bool) -> list[Any]:
    """Return the rows of runs that another process trains; without work, the free parameters."""
    request = json.dumps({"card": asdict(submission.card), "work": work}).encode()
    files = {LAYER: submission.source, _REQUEST: request}
    answer = fenced(["-m", "stable_nalu.bench.board"], files, fence=fence)
    try:
        found = json.loads(answer)
        planned = {(operation, str(seed)) for operation, numbers, _ in work for seed in numbers}
        if not work or planned == {point_of(row)[::2] for row in found if row["solved"]}:
            return list(found)
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    raise UsageError("the process of the layer answers with other rows than it was asked for")


def answer() -> int:
    """Train what another process asks for, and write the rows to standard output."""
    given, runs = Path(sys.argv[1]), Path("runs").absolute()
    request = json.loads((given / _REQUEST).read_bytes())
    card, work = SubmissionCard.of(request["card"]), request["work"]

    def body() -> None:
        # Whatever the layer prints goes to the messages.
        with os.fdopen(os.dup(1), "w") as file:
            os.dup2(2, 1)
            layer = given / LAYER
            found = trained(card, layer, work, runs) if work else parameters_of(card, layer)
            json.dump(found, file)

    return exit_code("board.py", body)


if __name__ == "__main__":
    begin()
    raise SystemExit(answer())
