"""Trained runs of an experiment: their folders, and what is exported, judged and kept of them.

Whether kept rows are what training gives is verified: some are trained again, and every digit is
compared. A run trains the same alone and in company, so each row trains alone: one process trains
one run, as `python3 -m stable_nalu.result.trained RUN`.
"""

import argparse
import json
import os
import random
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import atomic_path, cells_of, locked, model_file
from stable_nalu.base.script import begin, cores, duration, exit_code, granted_cores, say
from stable_nalu.inspection.prediction_sweep import main as write_surfaces
from stable_nalu.paper.articles import weights_command
from stable_nalu.paper.experiment import MEASURED, ExpectedRun, Experiment, Model, words
from stable_nalu.paper.index import find
from stable_nalu.statistics.table import write_rows
from stable_nalu.statistics.thresholds import write_residuals
from stable_nalu.task.table import SCRIPTS
from stable_nalu.writer.event_file import FILE_PREFIX

from . import export as exporters
from . import stored
from .judged import identity_of, judged_runs, runs_of, runs_of_rows
from .shard import Shard, pending, refuse_running, run_modules, show_training, train_shards
from .stored import ALONE, Cells

_BODIES = {
    "export/single_layer_task/benchmark/pretrained_model_prediction_sweep.py": write_surfaces,
    "export/single_layer_task/generate_divBy0_extrap_thresholds.py": write_residuals,
    "experiments/weight_distribution.py": weights_command,
}
"""Script of a table besides exported runs -> its body."""


class Folders:
    """The folders below `out`; a shortened reproduction has a set of its own."""

    def __init__(self, out: Path, max_iterations: int | None = None):
        self.out, self.max_iterations = out, max_iterations
        short = "" if max_iterations is None else f"iterations-{max_iterations}"
        self.base = base = out.absolute() / short
        self.tensorboard, self.save, self.logs = base / "tensorboard", base / "save", base / "logs"
        self.csv, self.figures, self.summaries = base / "csv", base / "figures", base / "summary"

    def use(self) -> None:
        """Let this process and those it starts log and save here."""
        os.environ["TENSORBOARD_DIR"] = str(self.tensorboard)
        os.environ["SAVE_DIR"] = str(self.save)

    def show(self) -> None:
        """Print how a shell does the same."""
        say(f"export TENSORBOARD_DIR={shlex.quote(str(self.tensorboard))}")
        say(f"export SAVE_DIR={shlex.quote(str(self.save))}")


def chosen_models(experiment: Experiment, names: Sequence[str]) -> list[Model]:
    try:
        return [experiment.model(name) for name in names] or list(experiment.models)
    except KeyError as error:
        raise UsageError(f"argument --model: {error.args[0]}") from None


def tables_of(models: Sequence[Model]) -> dict[tuple[str, str], Model]:
    """Return (table, folder of its runs) -> one of the models that it holds."""
    found: dict[tuple[str, str], Model] = {}
    for model in models:
        found.setdefault((f"{model.csv}.csv", model.prefix), model)
    return found


def exporter_of(model: Model, criterion: str = "") -> tuple[str, exporters.RunParser | None]:
    """Return the script below `export/` for a model's runs, and what makes its rows of them.

    The exporter of all runs finds out what suits each; tasks of measured ones have no other.
    """
    if model.script in exporters.PAIR_SCRIPTS:
        return "two_digit_mnist/two_digit_mnist_reader.py", exporters.PAIRS
    if model.script in exporters.SEQUENCE_SCRIPTS:
        return "sequential_mnist.py", exporters.SEQUENCES
    if criterion == MEASURED:
        return "runs.py", None
    gated = model.prefix == "function_task_static_nalu"
    matcher = exporters.is_scored_or_gate if gated else exporters.is_scored
    return "simple_function_static.py", exporters.MetricParser(matcher)


def export(models: Sequence[Model], space: Folders, criterion: str = "") -> dict[str, pd.DataFrame]:
    """Export the runs of every model; models of one experiment name share a table.

    Return what runs logged, a row per step, by the names of the tables.
    """
    options = {"processes": granted_cores(), "progress_bar": False}
    found: dict[str, pd.DataFrame] = {}
    for (csv, prefix), model in tables_of(models).items():
        runs: list[exporters.RunTable] = []
        _, parser = exporter_of(model, criterion)
        options["with_config"] = parser is None
        folder = space.tensorboard / prefix
        if not folder.is_dir():
            raise UsageError(f"no run of {model.key} was trained; files in {space.logs} say why")
        exporters.export_csv(str(folder), str(space.csv / csv), parser, runs.append, **options)
        frames = [pd.DataFrame({"name": run.name, **run.columns}) for run in runs]
        found[model.csv] = pd.concat(frames, ignore_index=True)
    return found


def expected_of(
    models: Sequence[Model], seeds: Sequence[int] | None, space: Folders
) -> list[ExpectedRun]:
    return [run for model in models for run in runs_of(model, seeds, space.max_iterations)]


def judged(experiment: Experiment, seeds: Sequence[int] | None, space: Folders) -> pd.DataFrame:
    """Export the runs of an experiment that are trained, and judge them."""
    tables = export(experiment.models, space, experiment.criterion)
    return judged_runs(experiment, tables, expected_of(experiment.models, seeds, space), say)


def retrained(
    experiment: Experiment, seeds: Sequence[int], space: Folders
) -> tuple[list[dict[str, str]], list[ExpectedRun]]:
    """Return the rows that would be kept of trained runs, as texts, and the runs as planned."""
    expected = expected_of(experiment.models, seeds, space)
    rows = stored.finished(experiment, judged(experiment, seeds, space), expected)
    return stored.cells_kept(experiment, rows), expected


@dataclass(frozen=True)
class OtherTable:
    """A table that a figure needs besides exported runs: the script that writes it, its words.

    name, source: of a table of a model, and the saved model that the script reads.
    """

    script: str
    words: list[str]
    name: str = ""
    source: Path | None = None

    @property
    def line(self) -> list[str]:
        read = [] if self.source is None else ["--model-filepath", str(self.source)]
        return [self.script, *self.words, *read]

    def write(self) -> None:
        _BODIES[self.script](self.line[1:])

    def keep(self, data: Path) -> Path:
        """Copy its model there, and return the copy."""
        assert self.source is not None
        path = self.kept_in(data)
        with atomic_path(path) as temporary:
            shutil.copyfile(self.source, temporary)
        return path

    def kept_in(self, data: Path) -> Path:
        return data / "models" / f"{self.name}.pth"


def other_tables(
    experiment: Experiment, models: Sequence[Model], space: Folders
) -> list[OtherTable]:
    """Return the other tables of an experiment, whether or not what they read is there."""
    found = []
    for table in experiment.tables:
        line = [word.format(csv=space.csv) for word in table.words.split()]
        if not table.model:
            found.append(OtherTable(table.script, line))
        for model in (one for one in models if one.key == table.model):
            (run,) = runs_of(model, [table.seed], space.max_iterations)
            line = [*words(model.flags), *line, "--csv-save-filename", table.name]
            path = model_file(space.save, run.name)
            found.append(OtherTable(table.script, line, table.name, path))
    return found


ROWS = 5
_SEED = "verify-seed"
"""The file that says how rows were drawn, beside what is trained of them."""
_SECONDS_ALONE = 2e-4
"""CPU time of an iteration of one module alone, evaluations counted in: rough."""
BEFORE_THE_ENGINE = (
    "rows that were kept before there was an engine have the last digits of plain torch: with "
    "STABLE_NALU_ENGINE=torch those come out again that were trained alone"
)
_SHOWN = 3
"""How many columns that differ are named in a line."""


def alone(key: str, model: str, variant: str, point: int, seed: int) -> Shard:
    """Return one run as a shard. point: its place among the points of the model, if any."""
    chosen = find(key).model(model).only_variants(variant)
    chosen = replace(chosen, points=chosen.points[point : point + 1])
    return Shard(model, chosen, chosen.variants, (seed,))


class Row:
    """A kept row, and the run that it came from, as planned at its published length.

    identity: the cells that tell it apart. name: the same as `nmru div U[1,2] seed 3`.
    max_iterations: its length, None where that is the published one.
    place: what `alone` makes its shard of.
    """

    def __init__(self, experiment: Experiment, cells: Cells, run: ExpectedRun):
        self.experiment, self.cells, self.run = experiment, cells, run
        self.identity = identity_of(experiment, cells)
        *points, seed = self.identity
        self.name = " ".join([*filter(None, points), f"seed {seed}"])
        length = int(cells["iterations"])
        self.max_iterations = None if length == run.model.length(run.variant) else length
        names = {"key": experiment.key, "model": run.model.key, "variant": run.variant.name}
        self.place: dict[str, Any] = names | {"point": run.point, "seed": run.seed}
        self.shard = alone(**self.place)


def kept_rows(experiment: Experiment, data: Path = stored.DATA) -> list[Row]:
    """Return all kept rows, in their order; UsageError names one whose run is not planned."""
    path = stored.path_of(experiment.key, data)
    runs = runs_of_rows(experiment, stored.read(experiment.key, data))
    if None in runs:
        problem = f"row {runs.index(None) + 1} is of no run that {experiment.key} has now"
        raise UsageError(f"{path}: {problem}")
    pairs = zip(cells_of(path), runs, strict=True)
    return [Row(experiment, cells, run) for cells, run in pairs if run]


def in_pairs(kept: Cells, again: Cells) -> dict[str, tuple[str, str]]:
    """Return both cells of every column; one that a row lacks counts as empty there."""
    return {c: (kept.get(c, ""), again.get(c, "")) for c in (*kept, *again)}


def differences(kept: Cells, again: Cells) -> dict[str, tuple[str, str]]:
    """Return the columns in which two rows are not the same, with both cells as text."""
    return {c: pair for c, pair in in_pairs(kept, again).items() if pair[0] != pair[1]}


def _chosen(
    experiment: Experiment, arguments: argparse.Namespace, seed: int | None
) -> dict[int, Row]:
    """Return the rows to verify by their lines in the file, of which the header is line 1."""
    path = stored.path_of(experiment.key, arguments.data)
    if not path.exists():
        problem = f"{experiment.key} has no kept results in {arguments.data}"
        raise OptionError("--verify", problem, "--list says which experiments have some")
    models = {model.key for model in chosen_models(experiment, arguments.model)}
    every, seeds = kept_rows(experiment, arguments.data), arguments.seeds
    of_models = {i: row for i, row in enumerate(every, 2) if row.run.model.key in models}
    found = {i: row for i, row in of_models.items() if seeds is None or row.run.seed in seeds}
    if not found:
        raise UsageError(f"{path} holds no row of these models and seeds")
    count = arguments.rows or min(ROWS, len(found))
    if count > len(found):
        problem = f"{count} is too large; {path} holds {len(found)} such rows"
        raise OptionError("--rows", problem, f"write {len(found)} for all of them")
    lines = sorted(set(arguments.line or random.Random(seed).sample(list(found), count)))
    for line in lines:
        if line not in found:
            remedy = f"lines 2 to {max(found)} hold rows; --model and --seeds leave some out"
            raise OptionError("--line", f"line {line} of {path} holds no such row", remedy)
    return {line: found[line] for line in lines}


def _spaces(folder: Path, rows: Iterable[Row]) -> Iterator[tuple[Folders, list[Row]]]:
    """Yield rows by the length of their runs, with the folders that these train in."""
    found: dict[int | None, list[Row]] = {}
    for row in rows:
        found.setdefault(row.max_iterations, []).append(row)
    for length, same in found.items():
        space = Folders(folder / ALONE, length)
        space.use()
        yield space, same


def verify(arguments: argparse.Namespace) -> int:
    """Train kept rows again, compare every digit, and return 0 if all are equal, else 1.

    Below --out it writes `verify/KEY.csv`, which has every cell of both; what it trained is
    removed, unless it was interrupted: the same command then goes on. With --keep, what came of
    each row is noted in --data.
    """
    experiment, data, seed = find(arguments.key), arguments.data, arguments.verify_seed
    folder = arguments.out.absolute() / "verify" / experiment.stem
    if arguments.line:
        seed = None
    elif seed is None:  # a stopped choice goes on
        stopped = folder / _SEED
        seed = int(stopped.read_text()) if stopped.exists() else time.time_ns() % 10**6
    chosen = _chosen(experiment, arguments, seed)
    rows = list(chosen.values())
    drawn = "" if seed is None else f", chosen by --verify-seed {seed}"
    say(f"{len(chosen)} kept rows of {stored.path_of(experiment.key, data)}{drawn}")
    for line, row in chosen.items():
        say(f"  line {line}: {row.name}")
    if (total := stored.seconds_here(experiment, 1)) is None:
        say("CPU time unknown")
    else:
        each = max(total / experiment.iterations, _SECONDS_ALONE)
        seconds = sum(int(row.cells["iterations"]) for row in rows) * each
        say(f"about {duration(seconds)} of CPU time for {len(rows)} runs")
    if arguments.dry_run:
        for space, same in _spaces(folder, rows):
            space.show()
            show_training((row.shard for row in same), space.max_iterations)
        return 0
    with locked(folder, f"another process verifies rows in {folder}; name another --out"):
        if seed is not None:  # for when this is stopped
            folder.mkdir(parents=True, exist_ok=True)
            (folder / _SEED).write_text(str(seed))
        code, again = _train(folder, rows, arguments.jobs or cores())
        if code:
            return code
        pairs = [(row, in_pairs(row.cells, again[row.identity])) for row in rows]
        wrong = [differences(row.cells, again[row.identity]) for row in rows]
        for row, differing in sorted(zip(rows, wrong, strict=True), key=lambda one: bool(one[1])):
            shown = [f"{c} {n or 'empty'}, kept {o or 'empty'}" for c, (o, n) in differing.items()]
            more = f"; {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
            text = f": {'; '.join(shown[:_SHOWN])}{more}" if shown else ""
            say(f"{'NOT EQUAL' if shown else 'equal'}: {row.name}, {ALONE}{text}")
        cells = ((row.name, c, *two) for row, of in pairs for c, two in of.items())
        columns = ("row", "trained", "column", "kept", "again", "equal")
        lines = ((name, ALONE, c, kept, new, int(kept == new)) for name, c, kept, new in cells)
        path = folder.parent / f"{experiment.stem}.csv"
        write_rows(path, [dict(zip(columns, line, strict=True)) for line in lines])
        say(f"comparison {path}")
        if arguments.keep:
            say(f"noted in {stored.add_verified(data, _records(pairs, seed))}")
        _clear(folder, rows)
    count = sum(map(bool, wrong))
    scripts = (SCRIPTS[model.script] for model in experiment.models)
    if count and any(flag.name == "--engine" for spec in scripts for flag in spec.flags):
        say(BEFORE_THE_ENGINE)
    say(f"{len(rows) - count} of {len(rows)} rows equal in every kept digit")
    return 1 if count else 0


def _train(
    folder: Path, rows: Sequence[Row], processes: int
) -> tuple[int, dict[tuple[str, ...], Cells]]:
    """Train rows, and return the exit code and, if that is 0, what would be kept by identity."""
    again: dict[tuple[str, ...], Cells] = {}
    for space, same in _spaces(folder, rows):
        length = space.max_iterations
        left = {i: row for i, row in enumerate(same) if pending(row.shard, length)}
        calls = {i: json.dumps(r.place | {"max_iterations": length}) for i, r in left.items()}
        modules = {i: ["stable_nalu.result.trained", call] for i, call in calls.items()}
        names = {i: f"{row.name}, {ALONE}" for i, row in left.items()}
        if left and (code := run_modules(modules, names, space.logs, processes=processes)):
            return code, {}
        refuse_running([row.shard for row in same], length)
        experiment, models = same[0].experiment, {row.run.model.key for row in same}
        own = replace(experiment, models=tuple(m for m in experiment.models if m.key in models))
        found, _ = retrained(own, sorted({row.run.seed for row in same}), space)
        again |= {identity_of(experiment, cells): cells for cells in found}
    return 0, again


_WRITTEN: dict[str, Callable[[str], bool]] = {
    "tensorboard": lambda name: name.startswith((FILE_PREFIX, ".")),
    "save": lambda name: name.endswith((".pth", ".txt")) or name[0] == ".",
    "csv": lambda name: name.endswith(".csv"),
    "logs": lambda name: name.startswith("task-"),
}
"""Folders of a verification, and how files that training writes there are called."""


def _clear(folder: Path, rows: Sequence[Row]) -> None:
    for space, _ in _spaces(folder, rows):
        for name, is_ours in _WRITTEN.items():
            for path in sorted((space.base / name).rglob("*")):
                if path.is_file() and is_ours(path.name):
                    path.unlink()
    (folder / _SEED).unlink(missing_ok=True)
    for path in sorted((folder, *folder.rglob("*")), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):  # It holds what is not ours.
                path.rmdir()


Pairs = Sequence[tuple[Row, dict[str, tuple[str, str]]]]
"""Rows, each with the kept cell and the new one of every column."""


def _records(rows: Pairs, seed: int | None) -> list[stored.Verified]:
    """Return what is to be known of rows that were trained again; seed: of their draw."""
    ended, made_by = datetime.now(UTC).isoformat(timespec="seconds"), stored.origin()
    found = []
    for row, pairs in rows:
        of_row = (row.experiment.key, row.name, stored.digest_of(row.cells), seed, ALONE)
        equal = sum(kept == again for kept, again in pairs.values())
        found.append(stored.Verified(*of_row, len(pairs), equal, ended, **made_by))
    return found


def main(argv: Sequence[str] | None = None) -> int:
    (text,) = sys.argv[1:] if argv is None else argv
    call = json.loads(text)
    length = call.pop("max_iterations")
    return exit_code("reproduce.py", lambda: train_shards([alone(**call)], length))


if __name__ == "__main__":
    begin()
    raise SystemExit(main())
