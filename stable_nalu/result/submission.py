"""Submissions: a layer file, its card and its judged runs, in a folder each.

The file may hold plain torch, and nothing that reaches out of it. That is a fence, no proof: it
refuses the usual ways to the seed, to the target, to files and to other processes, by the text of
the file, before any of it runs.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import json
import re
import resource
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from stable_nalu.errors import OptionError, UsageError
from stable_nalu.files import atomic_text_file, cells_of
from stable_nalu.layer import entries
from stable_nalu.layer.own_layers import load_layer_file, read_layer_file
from stable_nalu.layer.registry import own_entries
from stable_nalu.options.kinds import seeds, seeds_text
from stable_nalu.options.layer_options import own_options
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import find
from stable_nalu.script import say
from stable_nalu.statistics.table import write_rows
from stable_nalu.training.console import quiet

from .challenger import challenger_of
from .judged import runs_of
from .pipeline import Folders, kept_apart
from .ranking import OPERATIONS, Entry
from .shard import Shard, train_shards
from .stored import Stopwatch, keep_formulas, path_of

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


def read_card(path: Path) -> SubmissionCard:
    """Read a card; UsageError says what is wrong with it."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is no card: {error}") from None
    wanted = {field.name: str(field.type) for field in fields(SubmissionCard)}
    if found.keys() != wanted.keys():
        differing = ", ".join(sorted(found.keys() ^ wanted.keys()))
        raise UsageError(f"{path} is no card: it lacks, or should not have, {differing}")
    for name, kind in wanted.items():
        value = found[name]
        fits = {
            "str": isinstance(value, str),
            "int": type(value) is int,
            "float": type(value) in (int, float),
            "tuple[str, ...]": isinstance(value, list) and all(type(v) is str for v in value),
        }
        if not fits[kind]:
            raise UsageError(f"{path}: {name} is not a {kind}")
        if kind.startswith("tuple"):
            found[name] = tuple(value)
    for name in ("operations", "expresses"):
        if unknown := [one for one in found[name] if one not in OPERATIONS]:
            raise UsageError(f"{path}: {name} holds {unknown[0]!r}, not of {', '.join(OPERATIONS)}")
    return SubmissionCard(**found)


@dataclass(frozen=True)
class Submission:
    """A folder of a layer, as it was read."""

    folder: Path
    card: SubmissionCard
    rows: tuple[Mapping[str, str], ...]

    @property
    def entry(self) -> Entry:
        """Return it as a unit that takes part."""
        name = self.folder.name
        return Entry((name, self.card.layer), name, self.rows, self.card.told)


def read_submission(folder: Path) -> Submission:
    """Read a submission; one without `runs.csv` has no rows."""
    runs = folder / RUNS
    rows = tuple(cells_of(runs)) if runs.exists() else ()
    if rows and not {*POINT, *_JUDGED} <= rows[0].keys():
        raise UsageError(f"{runs} is no table of judged runs")
    return Submission(folder, read_card(folder / CARD), rows)


def submissions(root: Path) -> list[Submission]:
    """Return all submissions below a folder, by name."""
    return [read_submission(path.parent) for path in sorted(root.glob(f"*/{CARD}"))]


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
        told = keep_formulas(experiment, expected, folder)
        formulas = {_run(row): row for row in (cells_of(told) if told else [])}
    return [row | {c: formulas.get(_run(row), {}).get(c, "") for c in FORMULA} for row in rows]


def _run(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("model", *POINT))


def new_card(file: Path, arguments: argparse.Namespace) -> SubmissionCard:
    """Return the card of a command line, before anything is trained."""
    source = read_layer_file(str(file))
    if problems := problems_of(source.source):
        raise UsageError(f"{problems[0]}; see docs/board.md")
    load_layer_file(str(file))
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


MODULES = (
    *("torch", "torch.functional", "torch.nn", "torch.nn.functional", "torch.nn.init"),
    *("torch.nn.parameter", "torch.linalg", "torch.special", "torch.fft", "math", "typing"),
    *("collections.abc", "dataclasses", "functools", "itertools", "__future__"),
)
"""What a layer may import."""
_BUILTINS = re.findall(
    r"\w+",
    "abs all any bool classmethod dict enumerate filter float frozenset int isinstance issubclass "
    "len list map max min pow property range reversed round set slice sorted staticmethod str sum "
    "super tuple zip True False None NotImplementedError RuntimeError TypeError ValueError",
)
_SEEDS = {
    *("initial_seed", "seed", "manual_seed", "get_rng_state", "set_rng_state", "fork_rng"),
    *("Generator", "default_generator"),
}
_FILES = {
    *("load", "save", "from_file", "fromfile", "tofile", "numpy", "memmap", "compile", "ops"),
    *("classes", "import_ir_module", "format", "format_map"),
}
_FRAMES = ("f_", "gi_", "cr_", "ag_", "tb_", "co_")
"""How attributes begin by which code finds what called it."""
MOST_BYTES = 50_000


def problems_of(text: str) -> list[str]:
    """Return why the text of a layer file is refused, each with its line; nothing for a fit one."""
    if len(text.encode()) > MOST_BYTES:
        return [f"layer.py is larger than {MOST_BYTES:,} bytes"]
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        return [f"layer.py is not Python: {error}"]
    found = list(_found(tree))
    return [f"line {line} of layer.py {said}" for line, said in sorted(dict.fromkeys(found))]


def _found(tree: ast.Module) -> Iterator[tuple[int, str]]:
    elsewhere = _modules_behind()
    texts = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((node.lineno, said) for said in _imported(node, elsewhere))
        elif isinstance(node, ast.Attribute):
            if said := _reached(node, elsewhere):
                yield node.lineno, said
        elif isinstance(node, ast.Name):
            if "__" in node.id or (hasattr(builtins, node.id) and node.id not in _BUILTINS):
                yield node.lineno, f"uses {node.id}, which a layer has no need of"
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node.name.startswith("__") and node.name != "__init__":
                yield node.lineno, f"defines {node.name}"
        elif isinstance(node, ast.Constant) and "__" in str(node.value) and id(node) not in texts:
            yield node.lineno, "has text with two underscores, by which code finds other code"


def _modules_behind() -> set[str]:
    """Return names by which the modules that a layer may import lead to others."""
    found: set[str] = set()
    for module in map(import_module, MODULES):
        for name, value in vars(module).items():
            if isinstance(value, ModuleType) and value.__name__ not in MODULES:
                found.add(name)
    return found


def _imported(node: ast.Import | ast.ImportFrom, elsewhere: set[str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif node.module is None or node.level:
        names = ["." * node.level + (node.module or "")]
    else:
        names = [node.module]
        for alias in node.names:
            if said := _told(alias.name, elsewhere - {"parameter"}):
                yield said
    for name in names:
        if name not in MODULES:
            yield f"imports {name}; a layer imports torch and math alone"


def _reached(node: ast.Attribute, elsewhere: set[str]) -> str | None:
    of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
    of_super = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "super"
    if node.attr == "__init__" and of_super:
        return None
    if node.attr.startswith("_") and not (of_self and not node.attr.startswith("__")):
        return f"uses the private {node.attr}"
    return _told(node.attr, elsewhere)


def _told(name: str, elsewhere: set[str]) -> str | None:
    if name in _SEEDS:
        return f"uses {name}: a layer that reads the seed knows its run"
    if name in _FILES:
        return f"uses {name}, which reaches files or other code"
    if name.startswith(_FRAMES):
        return f"uses {name}: a layer that reads its callers knows the target"
    if name in elsewhere or name == "*":
        return f"uses {name}, which is not of plain torch"
    return None
