"""Stored results: `<key>.csv`, one row per run, from which every number follows.

Other files have the cost of runs, from which further costs are estimated (`cost/<key>.csv`), rows
that were retrained (`verified.csv`), formulas and causes of failures (`formula/<key>.csv`).
"""

import csv
import functools
import hashlib
import io
import json
import resource
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pandas as pd

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import atomic_text_file, cells_of, data_file, locked, tensorboard_root
from stable_nalu.base.script import bar, processor
from stable_nalu.paper.experiment import MEASURED, ExpectedRun, Experiment, Model, Variant, merged
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.statistics import table as tables
from stable_nalu.task.table import ARITHMETIC
from stable_nalu.writer import RunRecord

from .judged import compact, identifying, identity_of, options_of, outcome_columns, text_of
from .shard import State, state_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")
Cells = Mapping[str, str]
"""Column -> cell of a row of a CSV file, as it stands there: every digit."""


def read_records(kind: type[Record], path: Path) -> list[Record]:
    types: dict[str, Any] = {field.name: field.type for field in fields(kind)}
    records: list[Record] = []
    for place, cells in enumerate(cells_of(path) if path.exists() else (), 1):
        if cells.keys() != types.keys():
            raise UsageError(f"{path}: its columns are not {', '.join(types)}")
        values: dict[str, object] = {}
        for name, cell in cells.items():
            of = types[name]
            try:
                values[name] = of(cell) if of in (str, float, int) else int(cell) if cell else None
            except ValueError:
                problem = f"column {name} holds {cell!r}, no number"
                raise UsageError(f"{path}: row {place}: {problem}") from None
        records.append(kind(**values))
    return records


def _write_records(path: Path, records: "Sequence[DataclassInstance]") -> None:
    with atomic_text_file(path) as file:
        names = [field.name for field in fields(records[0])]
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(asdict, records))


def origin() -> dict[str, str]:
    """Return what numbers were made with: packages, processor and revision, as in records."""
    found = RunRecord.create("reproduce", {}, "")
    made_with = {**found.versions, "processor": processor()}
    import torch

    if torch.cuda.is_available():
        made_with["GPU"] = torch.cuda.get_device_name()
    versions = ", ".join(f"{name} {value}" for name, value in made_with.items())
    return {"versions": versions, "git_revision": found.git_revision or ""}


@dataclass(frozen=True)
class Session:
    """One time that runs of an experiment were trained, from start to end or interruption.

    began: the time in UTC, which tells sessions apart.
    runs, run_iterations: the runs that came to their end, and their iterations.
    cpu_seconds: of all training processes together. processes: how many at a time, at most.
    versions: of the packages, as text.
    """

    began: str
    runs: int
    run_iterations: int
    cpu_seconds: float
    wall_seconds: float
    processes: int
    versions: str
    git_revision: str


class Stopwatch:
    """A stopwatch of the processes that this one starts and waits for.

    whose: other processes, by the constants of `resource`.
    """

    def __init__(self, *whose: int) -> None:
        self._whose = whose or (resource.RUSAGE_CHILDREN,)
        self._began = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._start = self._seconds()

    def session(self, finished: Mapping[str, int], processes: int) -> Session:
        """Return what was done since then; finished: iterations of runs that came to their end."""
        cpu, wall = (round(b - a, 1) for a, b in zip(self._start, self._seconds(), strict=True))
        done = len(finished), sum(finished.values())
        return Session(self._began, *done, cpu, wall, processes, **origin())

    def _seconds(self) -> tuple[float, float]:
        used = [resource.getrusage(who) for who in self._whose]
        return sum(one.ru_utime + one.ru_stime for one in used), time.monotonic()


def add_sessions(path: Path, sessions: Iterable[Session]) -> None:
    if new := list(sessions):
        with locked(path):
            every = dict.fromkeys((*read_records(Session, path), *new))
            _write_records(path, sorted(every, key=attrgetter("began")))


ALONE = "alone"
"""How a row was trained that was trained without others."""


@dataclass(frozen=True)
class Verified:
    """A stored row that was retrained.

    row: what identifies it. digest: of its stored cells; a row that replaced it has another one.
    verify_seed: of the random choice; None for a row that was named.
    trained: alone, or in what stack.
    compared, equal: how many cells, and how many of them matched.
    ended: the time in UTC.
    """

    key: str
    row: str
    digest: str
    verify_seed: int | None
    trained: str
    compared: int
    equal: int
    ended: str
    versions: str
    git_revision: str


def digest_of(cells: Cells) -> str:
    """Return what a kept row is known by, whatever the order of its columns."""
    text = json.dumps(cells, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def file_of(data: Path) -> Path:
    return data / "verified.csv"


def add_verified(data: Path, found: Iterable[Verified]) -> Path:
    """Add what came of rows, and return the file.

    It replaces what was known of the same digits; what is known of replaced rows stays.
    """
    path = file_of(data)
    with locked(path):
        known = read_records(Verified, path)
        every = {(one.key, one.row, one.digest): one for one in (*known, *found)}
        places = {key: place for place, key in enumerate(EXPERIMENTS)}
        # The sort is stable: rows of an experiment stay in the order in which they came.
        ordered = sorted(every.values(), key=lambda one: places.get(one.key, len(places)))
        _write_records(path, ordered)
    return path


DATA = data_file("docs/reproduction/data")


def path_of(key: str, data: Path = DATA) -> Path:
    return data / f"{EXPERIMENTS[key].stem}.csv"


def cost_of(key: str, data: Path = DATA) -> Path:
    return path_of(key, data / "cost")


def formulas_of(key: str, data: Path) -> Path:
    return path_of(key, data / "formula")


def kept_keys(data: Path = DATA, measured: bool | None = None) -> list[str]:
    """Return the keys of experiments with kept runs, in the order of the catalogue.

    measured: only those with measures, or only those with verdicts; None: both.
    """
    found = [one for one in EXPERIMENTS.values() if path_of(one.key, data).exists()]
    return [one.key for one in found if measured in (None, one.is_measured)]


def finished(
    experiment: Experiment, judged: pd.DataFrame, expected: Iterable[ExpectedRun]
) -> pd.DataFrame:
    """Return the rows of finished runs, as they are stored.

    expected: the same runs, as planned, below the present log folder.
    """
    done = {(run.model.key, run.leaf) for run in expected if state_of(run) is State.DONE}
    rows = [row for row in judged.to_dict("records") if (row["model"], row["name"]) in done]
    return pd.DataFrame(rows if experiment.is_measured else list(map(compact, rows)))


def _in_order(experiment: Experiment, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the table that is kept: by model as in the catalogue, then by point, then by seed."""
    if rows.empty:
        raise UsageError(f"no run of {experiment.key} is finished; there is nothing to keep")
    points, models = identifying(experiment.key), [model.key for model in experiment.models]
    place = rows.groupby(points[:-1], sort=False, dropna=False).ngroup()
    keyed = rows.assign(_model=rows["model"].map(models.index), _point=place)
    ordered = keyed.sort_values(["_model", "_point", "seed"], kind="stable")
    columns = [*points, "iterations", *outcome_columns(experiment, rows)]
    return ordered.loc[:, columns].reset_index(drop=True)


def cells_kept(experiment: Experiment, rows: pd.DataFrame) -> list[dict[str, str]]:
    """Return rows with their cells as texts, as a file of kept runs would hold them."""
    text = _in_order(experiment, rows).map(_whole).to_csv(index=False)
    return list(csv.DictReader(io.StringIO(text)))


def add(
    experiment: Experiment, new: pd.DataFrame, sessions: Iterable[Session], data: Path = DATA
) -> pd.DataFrame:
    """Add rows of runs to what is kept, and return that; a run that is there already is replaced.

    OptionError refuses to replace kept runs by shorter ones of the same seeds.
    """
    path, points = path_of(experiment.key, data), identifying(experiment.key)
    with locked(path):
        if path.exists():
            old = read(experiment.key, data)
            if len(new):
                both = pd.concat([new.assign(_new=True), old.assign(_new=False)], ignore_index=True)
                longest = both.groupby(points, dropna=False)["iterations"].transform("max")
                shorter = int((both["_new"] & (both["iterations"] < longest)).to_numpy().sum())
                if shorter:
                    problem = f"{path} has {shorter} of these runs with more iterations"
                    raise OptionError("--keep", problem, "name another folder with --data")
                old = pd.concat([new, old], ignore_index=True)
            # An empty cell is text in new rows and missing in those that are read.
            new = old.loc[~old[points].map(text_of).duplicated()]
        table = _in_order(experiment, new)
        tables.write_plain_frame(path, table.map(_whole))
    add_sessions(cost_of(experiment.key, data), sessions)
    return table


def _whole(value: object) -> object:
    """Return a cell, a whole number as text without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value


def read(key: str, data: Path = DATA) -> pd.DataFrame:
    path = path_of(key, data)
    table = tables.read_table(path)
    outcomes = outcome_columns(EXPERIMENTS[key], table)
    columns = (*identifying(key), "iterations", *outcomes)
    tables.require(table, columns, path, "a table of kept runs")
    table = tables.numeric(table, ("seed", "iterations", *outcomes), path)
    for column in ("seed", "iterations"):
        tables.refuse_rows(table[column] % 1 != 0, table, column, path, "no whole number")
    for column in {"solved", "diverged"} & set(outcomes):
        tables.refuse_rows(~table[column].isin([0, 1]), table, column, path, "neither 0 nor 1")
    return table.astype({"seed": int, "iterations": int})


def sessions_of(key: str, data: Path = DATA) -> list[Session]:
    return read_records(Session, cost_of(key, data))


COLUMNS = "verdict", "formula", "largest.rounding", "proof"
LONGEST = 120
"""Characters of a formula that is kept; a longer one says nothing to a reader."""


def formula_rows(
    experiment: Experiment,
    runs: Iterable[ExpectedRun],
    kept: Iterable[Cells],
    old: Iterable[Cells] = (),
) -> list[dict[str, str]]:
    """Return what the networks of finished runs compute, and why they failed.

    Runs have no row that were not saved, or whose task seeks no formula.
    kept: the rows of all runs. old: what is known of those that are not among `runs`.
    """
    root, points = tensorboard_root(), identifying(experiment.key)
    by_run = {tuple(row[c] for c in points): row for row in kept}
    lines: dict[tuple[str, ...], Cells] = {}
    for row in old:
        lines[tuple(row[c] for c in points)] = dict(list(row.items())[len(points) :])
    done = [run for run in runs if state_of(run) is State.DONE]
    for run in bar(done, unit="runs", what="formulas"):
        options = options_of(experiment, run) | {"model": run.model.key, "seed": run.seed}
        identity = identity_of(experiment, options)
        lines[identity] = _row(root / run.name, by_run.get(identity, {}))
    known = (one for one in by_run if lines.get(one))
    return [dict(zip(points, one, strict=True)) | {**lines[one]} for one in known]


def keep_formulas(experiment: Experiment, runs: Iterable[ExpectedRun], data: Path) -> Path | None:
    """Add what finished runs compute, and return the file; None where no run has a formula."""
    path = formulas_of(experiment.key, data)
    with locked(path):
        old = cells_of(path) if path.exists() else []
        kept = cells_of(path_of(experiment.key, data))
        if rows := formula_rows(experiment, runs, kept, old):
            tables.write_rows(path, rows)
    return path if rows else None


def _row(folder: Path, kept: Cells) -> dict[str, str]:
    from stable_nalu.inspection.saved_model import curve, failure, load

    try:
        trained = load(folder)
    except UsageError:
        return {}
    if (target := trained.target) is None:
        return {}
    try:
        found = trained.formula()
    except UsageError:
        found, row = None, dict.fromkeys(COLUMNS, "")
    else:
        row = found.row | {"largest.rounding": f"{found.change:.3g}"}
        row["formula"] = row["formula"] if len(row["formula"]) <= LONGEST else ""
    why = ""
    if kept.get("solved") == "0" and trained.config.script in ARITHMETIC:
        sparsity = float(kept.get("sparse.error.max") or "nan")
        with trained.precision():
            why = failure(trained.module, target, curve(folder)[1], found, sparsity)
    return row | {"failure": why}


RATES = {
    "simple_function_static": 40_000.0,
    "two_digit_mnist": 2.0,
    "ST_mnist_labels": 2.0,
    "sequential_mnist": 20.0,
    "sequential_svhn": 3.0,
}
RATE_OF_SINGLE_MODULES = 100_000.0
"""Iterations per second and core, all runs of a stack counted, where no kept cost tells: rough.
Image networks train alone, and much faster on a GPU."""


def seconds_here(experiment: Experiment, cores: int) -> float | None:
    """Return the estimated time on so many cores, at the stored CPU costs of like experiments.

    The cost of the experiment itself counts first, then the rate that it states, then the cost of
    the same task, input size, distribution, unit and width, then of ever less. A measured
    experiment takes no time that is known where only other scripts were trained so far.
    """
    measured, total = _measured(), 0.0
    for model in experiment.models:
        otherwise = None if experiment.criterion == MEASURED else RATE_OF_SINGLE_MODULES
        runs = model.runs / len(model.variants)
        for variant in model.variants:
            kinds = [] if experiment.rate is not None else _kinds(model, variant)
            found = [measured[kind] for kind in [(experiment.key,), *kinds] if kind in measured]
            rate = [*found, experiment.rate or RATES.get(model.script, otherwise)][0]
            if rate is None:
                return None
            total += runs * model.length(variant) / rate / cores
    return total


@functools.cache
def _measured() -> Mapping[tuple[str, ...], float]:
    """Return iterations per CPU second by experiment and by kind of task, from the stored costs.

    The CPU of a session with a GPU is idle most of the time, so these sessions do not count.
    """
    spent: dict[tuple[str, ...], list[float]] = {}
    for experiment in EXPERIMENTS.values():
        sessions = [one for one in sessions_of(experiment.key) if "GPU" not in one.versions]
        if iterations := sum(session.run_iterations for session in sessions):
            kinds = [k for m in experiment.models for one in m.variants for k in _kinds(m, one)]
            for kind in dict.fromkeys([(experiment.key,), *kinds]):
                total = spent.setdefault(kind, [0.0, 0.0])
                total[0] += iterations
                total[1] += sum(session.cpu_seconds for session in sessions)
    return {kind: iterations / seconds for kind, (iterations, seconds) in spent.items()}


def _kinds(model: Model, variant: Variant) -> list[tuple[str, ...]]:
    """Return what the cost of runs depends on, from all of it to the script alone."""
    flags = merged(model.flags, variant.flags)
    size = " ".join([*flags.get("--input-size", ()), *flags.keys() & {"--simple"}])
    parts = [model.flags, *(one.flags for one in model.variants)]
    families = {part.get("--sample-distribution", ("uniform",))[0] for part in parts}
    unit = [w for f in ("--layer-type", "--first-layer", "--nac-mul") for w in flags.get(f, "-")]
    kind = (
        *(model.script, size, "uniform" if families == {"uniform"} else "others"),
        *(" ".join(flags.get("--operation", ())), " ".join(unit)),
        " ".join(flags.get("--hidden-size", ())),
    )
    return [kind[:length] for length in range(len(kind), 0, -1)]
