"""Kept rows trained again from nothing.

One process trains one `RetrainedPart`: `python3 -m stable_nalu.result.retrain PART`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from stable_nalu.cluster.shard import Shard, train_shards
from stable_nalu.errors import UsageError
from stable_nalu.paper.experiment import ExpectedRun, Experiment
from stable_nalu.paper.index import find
from stable_nalu.process import begin
from stable_nalu.script import exit_code

from . import stored
from .judged import identifying, judged_runs, runs_of, runs_of_rows
from .records import cells_of
from .tables import Folders, export

Cells = Mapping[str, str]
"""Column -> cell of a row of a CSV file, as it stands there: every digit."""


@dataclass(frozen=True)
class RetrainedPart:
    """What one process trains: seeds of a model, in some of its variants.

    point: number of the only point that is trained; None: all.
    max_iterations: None where the runs have the published length.
    """

    key: str
    model: str
    variants: tuple[str, ...]
    point: int | None
    seeds: tuple[int, ...]
    max_iterations: int | None

    @property
    def shard(self) -> Shard:
        """Return the part in the terms of batches."""
        chosen = find(self.key).model(self.model).only_variants(*self.variants)
        if self.point is not None:
            chosen = replace(chosen, points=(chosen.points[self.point],))
        return Shard(self.model, chosen, chosen.variants, self.seeds)

    @property
    def iterations(self) -> int:
        """Return the iterations of all its runs together."""
        shard = self.shard
        lengths = [self.max_iterations or shard.model.length(v) for v in shard.variants]
        return sum(lengths) * shard.runs // len(lengths)

    @property
    def words(self) -> list[str]:
        """Return the words behind `python3 -m` that train it."""
        return [__name__, json.dumps(asdict(self))]

    def train(self) -> int:
        """Train what is left of it in this process, and return the exit code."""
        return train_shards([self.shard], self.max_iterations)


@dataclass(frozen=True)
class Row:
    """A kept row, and the run that it came from, as planned at its published length."""

    experiment: Experiment
    cells: Cells
    run: ExpectedRun

    @property
    def name(self) -> str:
        """Return what tells the row apart, such as `nmru div U[1,2] seed 3`."""
        *points, seed = self.identity
        return " ".join([*filter(None, points), f"seed {seed}"])

    @property
    def identity(self) -> tuple[str, ...]:
        """Return the cells that tell the row apart."""
        return _identity(self.experiment, self.cells)

    @property
    def max_iterations(self) -> int | None:
        """Return its length, None where that is the published one."""
        length = int(self.cells["iterations"])
        return None if length == self.run.model.length(self.run.variant) else length

    @property
    def alone(self) -> RetrainedPart:
        """Return the part that is its run alone."""
        run = self.run
        point, variants = run.point if run.model.points else None, (run.variant.name,)
        key, seeds = self.experiment.key, (run.seed,)
        return RetrainedPart(key, run.model.key, variants, point, seeds, self.max_iterations)


def kept_rows(experiment: Experiment, data: Path = stored.DATA) -> list[Row]:
    """Return all kept rows, in their order; UsageError names one whose run is not planned."""
    path = stored.path_of(experiment.key, data)
    table = stored.read(experiment.key, data)
    rows = []
    pairs = zip(cells_of(path), runs_of_rows(experiment, table), strict=True)
    for place, (cells, run) in enumerate(pairs, start=1):
        if run is None:
            raise UsageError(f"{path}: row {place} is of no run that {experiment.key} has now")
        rows.append(Row(experiment, cells, run))
    return rows


def retrained(
    parts: Iterable[RetrainedPart], space: Folders, warn: Callable[[str], object]
) -> dict[tuple[str, ...], Cells]:
    """Return the rows that would be kept of parts that are trained, by what tells them apart.

    The parts are of one experiment and one length, that of the folders.
    """
    parts = list(parts)
    experiment = find(parts[0].key)
    models = [m for m in experiment.models if m.key in {part.model for part in parts}]
    seeds = sorted({seed for part in parts for seed in part.seeds})
    export(models, space, experiment.criterion)
    expected = [run for m in models for run in runs_of(m, seeds, space.max_iterations)]
    runs = judged_runs(experiment, models, space.csv, expected, warn)
    with TemporaryDirectory() as folder:
        stored.keep(experiment, runs, expected, [], Path(folder))
        rows = cells_of(stored.path_of(experiment.key, Path(folder)))
    return {_identity(experiment, cells): cells for cells in rows}


def differences(kept: Cells, again: Cells) -> dict[str, tuple[str, str]]:
    """Return the columns in which two rows are not the same, with both cells as text.

    A column that one row lacks counts as empty there.
    """
    pairs = {c: (kept.get(c, ""), again.get(c, "")) for c in (*kept, *again)}
    return {column: pair for column, pair in pairs.items() if pair[0] != pair[1]}


def _identity(experiment: Experiment, cells: Cells) -> tuple[str, ...]:
    return tuple(cells[column] for column in identifying(experiment.key))


def main(argv: Sequence[str] | None = None) -> int:
    """Train the part that the one argument describes, and return the exit code."""
    (text,) = sys.argv[1:] if argv is None else argv
    part = json.loads(text)
    lists = {name: tuple(part[name]) for name in ("variants", "seeds")}
    return exit_code("reproduce.py", RetrainedPart(**part | lists).train)


if __name__ == "__main__":
    begin()
    raise SystemExit(main())
