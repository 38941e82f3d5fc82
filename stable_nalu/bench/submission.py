"""Submissions: a layer file, its card and its judged runs, in a folder each.

Strangers write them, so nothing is read but regular files of limited size, and the card and the
rows are checked before anyone uses them. The layer runs in a sandbox only (`referee`).
"""

import argparse
import errno
import hashlib
import io
import json
import math
import os
import re
import resource
import stat
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import atomic_text_file, cells_of, visible_entries
from stable_nalu.base.script import say
from stable_nalu.layer import entries
from stable_nalu.layer.own_layers import load_layer_file
from stable_nalu.layer.registry import own_entries
from stable_nalu.options.flag import seeds, seeds_text
from stable_nalu.options.layer_options import own_options
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import find
from stable_nalu.result.judged import runs_of
from stable_nalu.result.pipeline import Folders, kept_apart
from stable_nalu.result.shard import Shard, train_shards
from stable_nalu.result.stored import Stopwatch, keep_formulas, path_of
from stable_nalu.statistics.table import write_rows
from stable_nalu.training.console import quiet

from .challenger import challenger_of
from .fence import MOST_BYTES
from .ranking import NAME, OPERATIONS, Entry, thresholds

LAYER, CARD, RUNS = "layer.py", "card.toml", "runs.csv"
SEEDS, ITERATIONS = "0-24", 50_000
POINT = ("operation", "interpolation.range", "seed")
_JUDGED = ("iterations", "threshold", "solved", "extrapolation.step.solved", "extrapolation.last")
FORMULA = ("verdict", "formula", "largest.rounding")


@dataclass(frozen=True)
class SubmissionCard:
    """What a submission says of its layer.

    layer: its class. told: what it is told about its operation, which others have to learn. given,
    learned: what holds from the start, and what training finds. parameters: name and number
    of those that are free. expresses: operations that it can compute. tuned: runs spent on settings
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
        """Write it as TOML, whose texts and lists are those of JSON."""
        with atomic_text_file(path) as file:
            for name, value in asdict(self).items():
                file.write(f"{name} = {json.dumps(value, ensure_ascii=False)}\n")


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


def read_card(path: Path) -> SubmissionCard:
    """Read a card; UsageError says what is wrong with it."""
    try:
        found: dict[str, Any] = tomllib.loads(content_of(path).decode())
    except (RecursionError, ValueError) as error:
        raise UsageError(f"{path} is no card: {error}") from None
    wanted = {field.name: field.type for field in fields(SubmissionCard)}
    if found.keys() != wanted.keys():
        differing = ", ".join(sorted(found.keys() ^ wanted.keys()))
        raise UsageError(f"{path} is no card: it lacks, or should not have, {differing}")
    for name, kind in wanted.items():
        value = found[name]
        fits = {
            str: isinstance(value, str),
            int: type(value) is int and value > 0,
            float: type(value) in (int, float) and 0 <= value < math.inf,
            tuple[str, ...]: isinstance(value, list) and all(type(v) is str for v in value),
        }
        if not fits[kind]:
            raise UsageError(f"{path}: {name} is not {_KINDS[kind]}")
        found[name] = tuple(value) if isinstance(value, list) else value
    for name in ("operations", "expresses"):
        if unknown := [one for one in found[name] if one not in OPERATIONS]:
            raise UsageError(f"{path}: {name} holds {unknown[0]!r}, not of {', '.join(OPERATIONS)}")
    if len(set(found["operations"])) != max(1, len(found["operations"])):
        raise UsageError(f"{path}: operations are none, or one of them twice")
    for one in found["parameters"]:
        if not re.fullmatch(r"[^=]+=[0-9]{1,9}", one):
            raise UsageError(f"{path}: parameters hold {one!r}, which is not NAME=NUMBER")
    return SubmissionCard(**found)


_KINDS = {str: "text", int: "a number from 1", float: "a number from 0"}
_KINDS |= {tuple[str, ...]: "a list of texts"}


@dataclass(frozen=True)
class Submission:
    """A folder of a layer, as it was read."""

    folder: Path
    source: bytes
    card: SubmissionCard
    rows: tuple[Mapping[str, str], ...]

    @property
    def entry(self) -> Entry:
        """Return it as a unit that takes part."""
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
        limit = limits[row["operation"], row["interpolation.range"]]
        try:
            solved = float(row["extrapolation.last"] or "nan") < limit
            judged = float(row["threshold"]) == limit and row["solved"] == str(int(solved))
            known = math.isfinite(float(row["extrapolation.step.solved"] or 0))
        except ValueError as error:
            raise UsageError(f"{RUNS}: {' '.join(point_of(row))}: {error}") from None
        if not judged or not known:
            said = f"is not judged by the threshold {limit:g}" if known else "has no finite step"
            raise UsageError(f"{RUNS}: {' '.join(point_of(row))} {said}")
    able = {row["operation"] for row in rows if row["solved"] == "1"}
    if more := able - set(card.expresses):
        raise UsageError(f"{CARD}: expresses lacks {', '.join(sorted(more))}, which runs solved")


def point_of(row: Mapping[str, str]) -> tuple[str, ...]:
    """Return the operation, range and seed of a row."""
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


@dataclass(frozen=True)
class TrainingPart:
    """Runs that train side by side: seeds of an operation, in one training range or in all."""

    operation: str
    seeds: tuple[int, ...]
    at: str | None = None


def trained(
    card: SubmissionCard, file: Path, work: TrainingPart, out: Path
) -> list[dict[str, str]]:
    """Train runs of a layer and return their judged rows, with what each network computes."""
    experiment = _planned(card, file, work.operation)
    (model,) = experiment.models
    if work.at is not None:
        points = (p for p in model.points if work.at == f"U{p['--interpolation-range'][0]}")
        model = replace(model, points=tuple(points))
    space = Folders(out, None if card.iterations == ITERATIONS else card.iterations)
    rows = judged_rows(replace(experiment, models=(model,)), work.seeds, space)
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
    with kept_apart(experiment, numbers, space) as (folder, expected):
        rows = cells_of(path_of(experiment.key, folder))
        path = keep_formulas(experiment, expected, folder)
        formulas = {_run(row): row for row in (cells_of(path) if path else [])}
    return [row | {c: formulas.get(_run(row), {}).get(c, "") for c in FORMULA} for row in rows]


def _run(row: Mapping[str, str]) -> tuple[str, ...]:
    return (row["model"], *point_of(row))


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


def submit(card: SubmissionCard, file: Path, folder: Path, out: Path) -> Submission:
    """Train a layer on the whole benchmark, and write its folder."""
    source = load_layer_file(str(file), card.sha256)
    watch, rows = Stopwatch(resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN), []
    numbers = tuple(seeds.several(card.seeds))
    for place, operation in enumerate(card.operations, start=1):
        say(f"[{place}/{len(card.operations)}] {operation}")
        rows += trained(card, file, TrainingPart(operation, numbers), out)
    session = watch.session({}, 1)
    able = {row["operation"] for row in rows if row["solved"] == "1"}
    card = replace(
        card,
        expresses=tuple(o for o in OPERATIONS if o in {*card.expresses, *able}),
        cpu_seconds=session.cpu_seconds,
        versions=session.versions,
    )
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_text_file(folder / LAYER) as copy:
        copy.write(source.source)
    write_rows(folder / RUNS, rows)
    card.write(folder / CARD)
    return read_submission(folder)
