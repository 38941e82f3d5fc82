"""Trained runs of an experiment: their folders, and what is exported, judged and kept of them."""

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_path, model_file
from stable_nalu.base.script import granted_cores, say
from stable_nalu.inspection.prediction_sweep import main as write_surfaces
from stable_nalu.paper.articles import weights_command
from stable_nalu.paper.experiment import MEASURED, ExpectedRun, Experiment, Model, words
from stable_nalu.statistics.thresholds import write_residuals

from .export import (
    PAIR_SCRIPTS,
    PAIRS,
    SEQUENCE_SCRIPTS,
    SEQUENCES,
    MetricParser,
    RunParser,
    RunTable,
    export_csv,
    is_scored,
    is_scored_or_gate,
)
from .judged import judged_runs, runs_of
from .stored import cells_kept, finished

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


def exporter_of(model: Model, criterion: str = "") -> tuple[str, RunParser | None]:
    """Return the script below `export/` for a model's runs, and what makes its rows of them.

    The exporter of all runs finds out what suits each; tasks of measured ones have no other.
    """
    if model.script in PAIR_SCRIPTS:
        return "two_digit_mnist/two_digit_mnist_reader.py", PAIRS
    if model.script in SEQUENCE_SCRIPTS:
        return "sequential_mnist.py", SEQUENCES
    if criterion == MEASURED:
        return "runs.py", None
    gated = model.prefix == "function_task_static_nalu"
    return "simple_function_static.py", MetricParser(is_scored_or_gate if gated else is_scored)


def export(models: Sequence[Model], space: Folders, criterion: str = "") -> dict[str, pd.DataFrame]:
    """Export the runs of every model; models of one experiment name share a table.

    Return what runs logged, a row per step, by the names of the tables.
    """
    options = {"processes": granted_cores(), "progress_bar": False}
    found: dict[str, pd.DataFrame] = {}
    for (csv, prefix), model in tables_of(models).items():
        runs: list[RunTable] = []
        _, parser = exporter_of(model, criterion)
        options["with_config"] = parser is None
        folder = space.tensorboard / prefix
        if not folder.is_dir():
            raise UsageError(f"no run of {model.key} was trained; files in {space.logs} say why")
        export_csv(str(folder), str(space.csv / csv), parser, runs.append, **options)
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
    rows = finished(experiment, judged(experiment, seeds, space), expected)
    return cells_kept(experiment, rows), expected


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
