"""The stages of a reproduction, each from the files of the one before, in folders of its own."""

import fcntl
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import atomic_path, is_locked, model_file, shared_lock
from stable_nalu.base.script import (
    EXIT_INTERRUPTED,
    EXIT_REQUEUE,
    GREEN,
    bar,
    command_of,
    fact,
    granted_cores,
    joined,
    paint,
    plural,
    say,
    shown,
)
from stable_nalu.figure.entries import render
from stable_nalu.figure.runs import Context
from stable_nalu.inspection.prediction_sweep import main as write_surfaces
from stable_nalu.paper.articles import weights_command
from stable_nalu.paper.experiment import (
    JUDGED,
    MEASURED,
    ExpectedRun,
    Experiment,
    Model,
    seeds_text,
    words,
)
from stable_nalu.paper.index import all_entries
from stable_nalu.statistics import small_divisors
from stable_nalu.statistics.table import write_plain_frame, write_rows
from stable_nalu.writer.run_folder import LOCK_NAME

from .compare import compared, rates
from .export import RunTable, export_csv
from .jobs import EXPERIMENT
from .judged import iterations_of, judged_runs, runs_of
from .run_parser import (
    PAIR_SCRIPTS,
    PAIRS,
    SEQUENCE_SCRIPTS,
    SEQUENCES,
    MetricParser,
    RunParser,
    is_scored,
    is_scored_or_gate,
)
from .shard import Shard, pending, refuse_running, run_shards, shards, show_training
from .stored import Session, Stopwatch, add_sessions, keep, keep_formulas, path_of, read_records

_BODIES = {
    "export/single_layer_task/benchmark/pretrained_model_prediction_sweep.py": write_surfaces,
    "export/single_layer_task/generate_divBy0_extrap_thresholds.py": small_divisors.main,
    "experiments/weight_distribution.py": weights_command,
}
"""Script of a table besides exported runs -> its body."""


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
    gated = model.prefix == "function_task_static_nalu"
    return "simple_function_static.py", MetricParser(is_scored_or_gate if gated else is_scored)


def export(models: Sequence[Model], space: Folders, criterion: str = "") -> dict[str, pd.DataFrame]:
    """Export the runs of every model; models of one experiment name share a table.

    Return what runs logged, a row per step, by the names of the tables.
    """
    options = {"processes": granted_cores(), "progress_bar": False}
    found: dict[str, pd.DataFrame] = {}
    for (csv, prefix), model in tables_of(models).items():
        runs: list[pd.DataFrame] = []

        def keep(table: RunTable, runs: list[pd.DataFrame] = runs) -> None:
            runs.append(pd.DataFrame({"name": table.name, **table.columns}))

        _, parser = exporter_of(model, criterion)
        options["with_config"] = parser is None
        folder = space.tensorboard / prefix
        if not folder.is_dir():
            raise UsageError(f"no run of {model.key} was trained; files in {space.logs} say why")
        export_csv(str(folder), str(space.csv / csv), parser, keep, **options)
        found[model.csv] = pd.concat(runs, ignore_index=True)
    return found


def _expected(
    models: Sequence[Model], seeds: Sequence[int] | None, space: Folders
) -> list[ExpectedRun]:
    """Return the runs of some models, as planned."""
    return [run for model in models for run in runs_of(model, seeds, space.max_iterations)]


def judged(experiment: Experiment, seeds: Sequence[int] | None, space: Folders) -> pd.DataFrame:
    """Export the runs of an experiment that are trained, and judge them."""
    tables = export(experiment.models, space, experiment.criterion)
    return judged_runs(experiment, tables, _expected(experiment.models, seeds, space), say)


@contextmanager
def kept_apart(
    experiment: Experiment, seeds: Sequence[int], space: Folders
) -> Iterator[tuple[Path, list[ExpectedRun]]]:
    """Lend a folder of compact results that holds trained runs alone, and the runs as planned."""
    expected = _expected(experiment.models, seeds, space)
    with TemporaryDirectory() as folder:
        keep(experiment, judged(experiment, seeds, space), expected, [], Path(folder))
        yield Path(folder), expected


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
        _BODIES[self.script](self.line[1:])

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
    found = []
    for table in experiment.tables:
        line = [word.format(csv=space.csv) for word in table.words.split()]
        if not table.model:
            found.append(OtherTable(table.script, line))
        for model in (one for one in models if one.key == table.model):
            (run,) = runs_of(model, [table.seed], space.max_iterations)
            path = model_file(space.save, run.name)
            line = [*words(model.flags), *line, "--csv-save-filename", table.name]
            found.append(OtherTable(table.script, line, path, table.name))
    return found


@dataclass(frozen=True)
class Request:
    """What to reproduce, and how.

    seeds: None means the published ones.
    processes: how many train at a time.
    formats: of the figures.
    """

    experiment: Experiment
    models: Sequence[Model]
    space: Folders
    seeds: list[int] | None
    processes: int
    formats: Sequence[str] = ("png", "pdf")

    @property
    def words(self) -> list[str]:
        """Return the words that tell a training process which shards there are."""
        words = [EXPERIMENT + self.experiment.stem]
        if self.seeds is not None:
            words += ["--seeds", seeds_text(self.seeds)]
        if self.space.max_iterations is not None:
            words += ["--max-iterations", str(self.space.max_iterations)]
        for model in self.models:
            words += ["--model", model.key]
        return words

    @property
    def sessions(self) -> Path:
        """Return the file of what its training has cost so far."""
        return self.space.logs / self.experiment.stem / "sessions.csv"

    @property
    def training_lock(self) -> Path:
        """Return the file that all processes lock which train runs of it in the same folders."""
        return self.space.logs / self.experiment.stem / LOCK_NAME

    @property
    def every_shard(self) -> list[Shard]:
        """Return all shards, those that are trained already included."""
        return shards({model.key: model for model in self.models}, self.seeds)

    @property
    def expected(self) -> list[ExpectedRun]:
        """Return every run that was asked for."""
        return _expected(self.models, self.seeds, self.space)

    def shards(self) -> dict[int, Shard]:
        """Return the shards with runs left to train, by their number."""
        maximum = self.space.max_iterations
        return {i: shard for i, shard in enumerate(self.every_shard) if pending(shard, maximum)}


def show_commands(request: Request) -> None:
    """Print every command that a reproduction would run."""
    space = request.space
    space.show()
    if "IMAGE_DIR" in os.environ:
        say(f"export IMAGE_DIR={shlex.quote(os.environ['IMAGE_DIR'])}")
    show_training(request.shards().values(), space.max_iterations)
    for (csv, prefix), model in tables_of(request.models).items():
        folders = ["--tensorboard-dir", str(space.tensorboard / prefix)]
        words = [*folders, "--csv-out", str(space.csv / csv)]
        say(command_of(f"export/{exporter_of(model, request.experiment.criterion)[0]}", *words))
    for table in other_tables(request.experiment, request.models, space):
        say(command_of(*table.line))


def train(request: Request) -> int:
    """Train what is not trained yet, and return the exit code."""
    left = request.shards()
    if not left:
        refuse_running(request.every_shard, request.space.max_iterations)
        say("all runs are trained" if request.models else request.experiment.note)
        return 0
    runs = sum(shard.runs for shard in left.values())
    say(f"training {plural(runs, 'run')} in {plural(len(left), 'shard')}")
    logs = request.space.logs / request.experiment.stem
    before, watch = _unfinished(left.values(), request), Stopwatch()
    with shared_lock(request.training_lock):
        code = run_shards(request.words, left, logs, processes=request.processes)
    unfinished = request.shards()
    after = _unfinished(unfinished.values(), request)
    finished = {name: length for name, length in before.items() if name not in after}
    add_sessions(request.sessions, [watch.session(finished, request.processes)])
    if code in (EXIT_INTERRUPTED, EXIT_REQUEUE):
        return code
    if unfinished and is_locked(request.training_lock, fcntl.LOCK_EX):
        raise UsageError(
            f"another process trains {len(after)} of these runs; repeat the command when it is done"
        )
    # What this process could not train because another one did is done now, too.
    return code if unfinished else 0


def _unfinished(left: Iterable[Shard], request: Request) -> dict[str, int]:
    """Return the runs with something left to train, and their iterations."""
    maximum = request.space.max_iterations
    names = {name for shard in left for _, found in pending(shard, maximum) for name in found}
    return {run.name: iterations_of(run) for run in request.expected if run.name in names}


def report(request: Request, data: Path | None = None) -> bool:
    """Export, draw, summarise and compare; return whether all figures could be drawn.

    data: where to keep the outcome of every run, if anywhere.
    """
    experiment, space = request.experiment, request.space
    refuse_running(request.every_shard, space.max_iterations)
    tables = export(request.models, space, experiment.criterion)
    for table in other_tables(experiment, request.models, space):
        if table.source is not None and not table.source.exists():
            say(f"no saved model {table.source}")
            continue
        table.write()
        if data is not None and table.source is not None:
            say(f"kept model {table.keep(data)}")
    complete, pictures = _draw(request)
    has_outcome = experiment.criterion.startswith(JUDGED) or experiment.is_measured
    if has_outcome and request.models:
        runs = _compare(request, tables)
        if data is not None:
            sessions = read_records(Session, request.sessions)
            kept = keep(experiment, runs, request.expected, sessions, data)
            say(f"kept {len(kept)} runs in {path_of(experiment.key, data)}")
            if formulas := keep_formulas(experiment, request.expected, data):
                say(f"what they compute: {formulas}")
    elif data is not None:
        say(f"nothing to keep: no success criterion applies to runs of {experiment.key}")
    for name, path in {
        "figure": ", ".join(map(shown, pictures)),
        "tables": shown(space.summaries),
        "logs": shown(space.tensorboard),
        "models": shown(space.save),
    }.items():
        if path and (name == "figure" or request.models):
            say(fact(name, path))
    if space.max_iterations is not None and request.models:
        words = "experiments/reproduce.py", experiment.key, "--out", shown(space.out)
        say(fact("next", f"{command_of(*words)} (at full length)"))
    return complete


def _compare(request: Request, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Judge the runs, sum them up, and compare them with numbers that were given elsewhere."""
    experiment, space = request.experiment, request.space
    runs = judged_runs(experiment, tables, request.expected, say)
    summary, rows, verdict = compared(experiment, runs)
    write_plain_frame(space.summaries / f"{experiment.stem}.csv", summary)
    if not experiment.is_measured:
        say(fact("solved", joined(rates(runs))))
    if rows:
        write_rows(space.summaries / f"{experiment.stem}_comparison.csv", rows)
    else:
        verdict = "no published number to compare with"
    say(paint(verdict, GREEN if verdict.startswith("OK") else ""))
    return runs


def _draw(request: Request) -> tuple[bool, list[Path]]:
    """Draw the figures of the experiment; return whether each had data, and what to open."""
    space, entries = request.space, all_entries()
    complete, pictures = True, list[Path]()
    keys = [key for key in request.experiment.figure_keys if key in entries]
    for key in bar(keys, unit="figures", what="drawing"):
        entry = entries[key]
        context = Context(entry, space.csv)
        if len(request.models) < len(request.experiment.models):
            series = tuple(one for one in entry.series if context.find(one.files))
            context.figure = replace(entry, series=series or entry.series)
        try:
            paths = render(context, space.figures, request.formats)
        except (UsageError, ImportError) as error:
            say(f"figure {key} not drawn: {error}")
            complete = False
            continue
        drawn = [path for path in paths if path.suffix == f".{request.formats[0]}"]
        pictures += drawn or [path for path in paths if path.suffix == ".tex"]
        for warning in context.warnings:
            say(f"  {warning}")
    return complete, pictures
