"""The folders of a reproduction, and the tables in them: exported, judged, summarised."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from stable_nalu.cluster.shard import Shard, pending
from stable_nalu.errors import UsageError
from stable_nalu.files import atomic_path
from stable_nalu.machine import granted_cores, model_file
from stable_nalu.paper.experiment import (
    MEASURED,
    Experiment,
    Model,
    words,
)
from stable_nalu.script import command_of, say

from .export import export_csv
from .judged import runs_of
from .run_parser import (
    PAIR_SCRIPTS,
    PAIRS,
    SEQUENCE_SCRIPTS,
    SEQUENCES,
    ArithmeticMatcher,
    MetricParser,
    RunParser,
)

_SWEEP = "export/single_layer_task/benchmark/pretrained_model_prediction_sweep.py"
_SMALL_DIVISORS = "export/single_layer_task/generate_divBy0_extrap_thresholds.py"
_WEIGHTS = "experiments/weight_distribution.py"
_BODIES = {
    _SWEEP: "inspection.prediction_sweep:main",
    _SMALL_DIVISORS: "statistics.small_divisors:main",
    _WEIGHTS: "figure.command:weights_command",
}
"""Script -> module and function below the package, which are its body."""
_SURFACES = {
    "NMU": ("mul-nmu", 0),
    "ReLU-h1": ("mul-ReLU-h1", 0),
    "ReLU-h100": ("mul-ReLU-h100", 8),
}
"""Model whose predictions are shown -> name of its table, and the seed that the paper chose."""


def _below(name: str, text: str) -> property:
    return property(lambda space: space.base / name, doc=text)


@dataclass(frozen=True)
class Folders:
    """The folders below `out`; a shortened reproduction has a set of its own."""

    out: Path
    max_iterations: int | None = None

    @property
    def base(self) -> Path:
        """Return the folder that holds everything."""
        short = "" if self.max_iterations is None else f"iterations-{self.max_iterations}"
        return self.out.absolute() / short

    tensorboard = _below("tensorboard", "Return the folder of run folders.")
    save = _below("save", "Return the folder of models and checkpoints.")
    csv = _below("csv", "Return the folder of exported tables.")
    figures = _below("figures", "Return the folder of figures and their side files.")
    summaries = _below("summary", "Return the folder of summaries and comparisons.")
    logs = _below("logs", "Return the folder of what training processes print.")

    def use(self) -> None:
        """Let this process and those it starts log and save here."""
        os.environ["TENSORBOARD_DIR"] = str(self.tensorboard)
        os.environ["SAVE_DIR"] = str(self.save)

    def show(self) -> None:
        """Print how a shell does the same."""
        say(f"export TENSORBOARD_DIR={shlex.quote(str(self.tensorboard))}")
        say(f"export SAVE_DIR={shlex.quote(str(self.save))}")


def show_training(left: Iterable[Shard], max_iterations: int | None) -> None:
    """Print the commands that train what is left of shards."""
    for shard in left:
        for command, _ in pending(shard, max_iterations):
            say(command_of(*command.line))


def chosen_models(experiment: Experiment, names: Sequence[str]) -> list[Model]:
    """Return the models of these names, or all of them for none."""
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
    matcher = ArithmeticMatcher(gates=model.prefix == "function_task_static_nalu")
    return "simple_function_static.py", MetricParser(matcher)


def export(models: Sequence[Model], space: Folders, criterion: str = "") -> list[Path]:
    """Export the runs of every model; models of one experiment name share a table."""
    written: list[Path] = []
    options = {"processes": granted_cores(), "progress_bar": False}
    for (csv, prefix), model in tables_of(models).items():
        _, parser = exporter_of(model, criterion)
        options["with_config"] = parser is None
        folder = space.tensorboard / prefix
        if not folder.is_dir():
            raise UsageError(f"no run of {model.key} was trained; files in {space.logs} say why")
        export_csv(str(folder), str(space.csv / csv), parser, **options)
        written.append(space.csv / csv)
    return written


@dataclass(frozen=True)
class OtherTable:
    """A table that a figure needs besides exported runs: the script that writes it, its words.

    source: the saved model that the script reads, if any.
    name: of the table, where it is of a model.
    """

    script: str
    words: list[str]
    source: Path | None = None
    name: str = ""

    @property
    def line(self) -> list[str]:
        """Return the words behind `python3`."""
        read = [] if self.source is None else ["--model-filepath", str(self.source)]
        return [self.script, *self.words, *read]

    def write(self) -> None:
        """Write the table in this process."""
        module, _, body = _BODIES[self.script].partition(":")
        getattr(import_module(f"stable_nalu.{module}"), body)(self.line[1:])

    def from_kept(self, data: Path) -> OtherTable:
        """Return the same table of the model that is kept in a folder of compact results."""
        return self if self.source is None else replace(self, source=self.kept_in(data))

    def keep(self, data: Path) -> Path:
        """Copy its model there, and return the copy."""
        assert self.source is not None
        path = self.kept_in(data)
        with atomic_path(path) as temporary:
            shutil.copyfile(self.source, temporary)
        return path

    def kept_in(self, data: Path) -> Path:
        """Return where its model is kept in a folder of compact results."""
        return data / "models" / f"{self.name}.pth"


def other_tables(
    experiment: Experiment, models: Sequence[Model], space: Folders
) -> list[OtherTable]:
    """Return the other tables of an experiment, whether or not what they read is there."""
    if experiment.key == "divBy0_gold_test_errors":
        path = space.csv / "divBy0_test_errors.csv"
        return [OtherTable(_SMALL_DIVISORS, ["--csv-out", str(path)])]
    if experiment.key == "article/w-distribution":
        path = space.csv / f"{experiment.stem}.csv"
        starts = ("uniform", "nac", "xavier-normal", "truncated-normal")
        return [OtherTable(_WEIGHTS, ["--init", *starts, "--csv-out", str(path)])]
    if experiment.key != "surface-mul":
        return []
    folder = ["--csv-save-folder", str(space.csv / "2d-surface-plots" / "csvs")]
    found = [OtherTable(_SWEEP, ["--gold-outputs", *folder])]
    for model in models:
        table, seed = _SURFACES[model.key]
        (run,) = runs_of(model, [seed], space.max_iterations)
        name = f"{table}-s{seed}"
        line = [*words(model.flags), *folder, "--csv-save-filename", name]
        path = model_file(space.save, run.name)
        found.append(OtherTable(_SWEEP, line, path, name))
    return found


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows of the same columns as a table."""
    import pandas as pd

    from stable_nalu.statistics.table import write_plain_frame

    write_plain_frame(path, pd.DataFrame(rows))
