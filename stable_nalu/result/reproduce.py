"""The command `reproduce`: runs trained, exported, judged, drawn and compared, in their folders.

Each stage starts from the files of the one before. `--list` names all experiments with their costs.
"""

import argparse
import fcntl
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from stable_nalu.base import script as console
from stable_nalu.base.errors import OptionError, UsageError
from stable_nalu.base.files import is_checkout, is_locked, shared_lock, table_rows, tool
from stable_nalu.base.papers import STUDIES
from stable_nalu.figure.entries import render
from stable_nalu.figure.runs import Context
from stable_nalu.options.flag import integer, seeds, seeds_text
from stable_nalu.options.flags import add_layer_flags
from stable_nalu.paper.experiment import JUDGED, ExpectedRun, Experiment
from stable_nalu.paper.index import EXPERIMENTS, all_entries, find
from stable_nalu.statistics.table import write_plain_frame, write_rows
from stable_nalu.writer.event_file import LOCK_NAME

from . import stored, trained
from .batch import EXPERIMENT
from .judged import compared, iterations_of, judged_runs, rates
from .shard import pending, refuse_running, run_shards, shards, show_training


class Reproduction:
    """An experiment to reproduce as a command line asks for."""

    def __init__(self, arguments: argparse.Namespace):
        self.experiment = find(arguments.key)
        self.models = trained.chosen_models(self.experiment, arguments.model)
        self.space = trained.Folders(arguments.out, arguments.max_iterations)
        self.seeds, self.length = arguments.seeds, arguments.max_iterations
        self.formats, self.processes = arguments.format, arguments.jobs or console.cores()
        self.logs = self.space.logs / self.experiment.stem
        self.shards = shards({model.key: model for model in self.models}, self.seeds)

    @cached_property
    def expected(self) -> list[ExpectedRun]:
        return trained.expected_of(self.models, self.seeds, self.space)

    def show(self) -> None:
        """Print every command that it would run."""
        space = self.space
        space.show()
        if "IMAGE_DIR" in os.environ:
            console.say(f"export IMAGE_DIR={shlex.quote(os.environ['IMAGE_DIR'])}")
        show_training(self.shards, self.length)
        for (csv, prefix), model in trained.tables_of(self.models).items():
            script = f"export/{trained.exporter_of(model, self.experiment.criterion)[0]}"
            folders = ["--tensorboard-dir", str(space.tensorboard / prefix)]
            console.say(console.command_of(script, *folders, "--csv-out", str(space.csv / csv)))
        for table in trained.other_tables(self.experiment, self.models, space):
            console.say(console.command_of(*table.line))

    def _left(self) -> tuple[list[int], set[str]]:
        """Return the numbers of the shards with remaining runs, and the names of these."""
        names = [[n for _, of in pending(one, self.length) for n in of] for one in self.shards]
        return [i for i, of in enumerate(names) if of], {name for of in names for name in of}

    def train(self) -> int:
        """Train what is not trained yet, and return the exit code."""
        numbers, names = self._left()
        if not numbers:
            refuse_running(self.shards, self.length)
            console.say("all runs are trained" if self.models else self.experiment.note)
            return 0
        left = {i: self.shards[i] for i in numbers}
        runs = console.plural(sum(shard.runs for shard in left.values()), "run")
        console.say(f"training {runs} in {console.plural(len(left), 'shard')}")
        words = [EXPERIMENT + self.experiment.stem]
        if self.seeds is not None:
            words += ["--seeds", seeds_text(self.seeds)]
        if self.length is not None:
            words += ["--max-iterations", str(self.length)]
        for model in self.models:
            words += ["--model", model.key]
        lock, watch = self.logs / LOCK_NAME, stored.Stopwatch()
        with shared_lock(lock):
            code = run_shards(words, left, self.logs, processes=self.processes)
        unfinished = self._left()[1]
        ended = names - unfinished
        lengths = {run.name: iterations_of(run) for run in self.expected if run.name in ended}
        stored.add_sessions(self.logs / "sessions.csv", [watch.session(lengths, self.processes)])
        if code in (console.EXIT_INTERRUPTED, console.EXIT_REQUEUE):
            return code
        if unfinished and is_locked(lock, fcntl.LOCK_EX):
            problem = f"another process trains {len(unfinished)} of these runs"
            raise UsageError(f"{problem}; repeat the command when it is done")
        # What this process could not train because another one did is done now, too.
        return code if unfinished else 0

    def report(self, data: Path | None) -> bool:
        """Export, draw, summarise and compare; return whether all figures could be drawn.

        data: where to keep the outcome of every run, if anywhere.
        """
        experiment, space = self.experiment, self.space
        refuse_running(self.shards, self.length)
        tables = trained.export(self.models, space, experiment.criterion)
        for table in trained.other_tables(experiment, self.models, space):
            if table.source is not None and not table.source.exists():
                console.say(f"no saved model {table.source}")
                continue
            table.write()
            if data is not None and table.source is not None:
                console.say(f"kept model {table.keep(data)}")
        complete, pictures = self._draw()
        has_outcome = experiment.criterion.startswith(JUDGED) or experiment.is_measured
        if has_outcome and self.models:
            runs = self._compare(tables)
            if data is not None:
                sessions = stored.read_records(stored.Session, self.logs / "sessions.csv")
                done = stored.finished(experiment, runs, self.expected)
                kept = stored.add(experiment, done, sessions, data)
                console.say(f"kept {len(kept)} runs in {stored.path_of(experiment.key, data)}")
                if formulas := stored.keep_formulas(experiment, self.expected, data):
                    console.say(f"what they compute: {formulas}")
        elif data is not None:
            problem = f"no success criterion applies to runs of {experiment.key}"
            console.say(f"nothing to keep: {problem}")
        if pictures:
            console.say(console.fact("figure", ", ".join(map(console.shown, pictures))))
        if self.models:
            console.say(console.fact("tables", console.shown(space.summaries)))
            console.say(console.fact("logs", console.shown(space.tensorboard)))
            console.say(console.fact("models", console.shown(space.save)))
        if self.length is not None and self.models:
            words = "experiments/reproduce.py", experiment.key, "--out", console.shown(space.out)
            console.say(console.fact("next", f"{console.command_of(*words)} (at full length)"))
        return complete

    def _compare(self, tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
        """Judge the runs, sum them up, and compare them with numbers that were given elsewhere."""
        experiment, folder = self.experiment, self.space.summaries
        runs = judged_runs(experiment, tables, self.expected, console.say)
        summary, rows, verdict = compared(experiment, runs)
        write_plain_frame(folder / f"{experiment.stem}.csv", summary)
        if not experiment.is_measured:
            console.say(console.fact("solved", console.joined(rates(runs))))
        if rows:
            write_rows(folder / f"{experiment.stem}_comparison.csv", rows)
        else:
            verdict = "no published number to compare with"
        console.say(console.paint(verdict, console.GREEN if verdict.startswith("OK") else ""))
        return runs

    def _draw(self) -> tuple[bool, list[Path]]:
        """Draw the figures; return whether each had data, and what to open."""
        space, entries = self.space, all_entries()
        complete, pictures = True, list[Path]()
        keys = [key for key in self.experiment.figure_keys if key in entries]
        for key in console.bar(keys, unit="figures", what="drawing"):
            entry = entries[key]
            context = Context(entry, space.csv)
            if len(self.models) < len(self.experiment.models):
                series = tuple(one for one in entry.series if context.find(one.files))
                context.figure = replace(entry, series=series or entry.series)
            try:
                paths = render(context, space.figures, self.formats)
            except (UsageError, ImportError) as error:
                console.say(f"figure {key} not drawn: {error}")
                complete = False
                continue
            drawn = [path for path in paths if path.suffix == f".{self.formats[0]}"]
            pictures += drawn or [path for path in paths if path.suffix == ".tex"]
            for warning in context.warnings:
                console.say(f"  {warning}")
        return complete, pictures


UNSHOWN = "Runs that no figure shows"


def listing(cores: int, data: Path = stored.DATA) -> str:
    """Return every experiment under the papers that show it, then those that no paper shows.

    data: the folder of kept results.
    """
    parts: list[str] = []
    for paper in (*STUDIES, None):
        title = f"{paper.title} ({paper.reference})" if paper else UNSHOWN
        if shown := [one for one in EXPERIMENTS.values() if one.paper == paper]:
            parts.append("\n".join([title, *(_listed(one, cores, data) for one in shown)]))
    return "\n\n".join(parts) + "\n"


def _listed(experiment: Experiment, cores: int, data: Path) -> str:
    place = f"{', '.join(experiment.numbers)}: " if experiment.numbers else ""
    head = f"  {experiment.key}\n      {place}{experiment.title}"
    if not experiment.models:
        return f"{head}\n      {experiment.note}"
    keys = ", ".join(model.key for model in experiment.models)
    each = sorted({m.length(variant) for m in experiment.models for variant in m.variants})
    lengths = " to ".join(f"{length:,}" for length in dict.fromkeys((each[0], each[-1])))
    size = f"{experiment.runs} runs x {lengths} iterations"
    seconds = stored.seconds_here(experiment, cores)
    time = "time unknown" if seconds is None else console.duration(seconds)
    entry = f"{head}\n      {size}, {time}; models {keys}"
    path = stored.path_of(experiment.key, data)
    if not path.exists():
        return entry
    return f"{entry}\n      kept results of {sum(1 for _ in table_rows(path)) - 1} runs: {path}"


VERIFYING = ("rows", "line", "verify_seed")
CHALLENGER = {"layer_type", "layer_file", "layer_option", "training", "submit"}
"""Arguments by which a layer is compared with published ones."""
EXIT_PARTLY = 1
"""A figure lacks the data that it is drawn from."""


Challenge = Callable[[argparse.Namespace], int]


def main(argv: Sequence[str] | None = None, challenge: Challenge | None = None) -> int:
    """Reproduce an experiment and return the exit code.

    challenge: compares a layer with published ones; without it no flags name one.
    """
    arguments = _parser(challenge is not None).parse_args(argv)

    def obey() -> int:
        if arguments.list:
            sys.stdout.write(listing(console.cores(), arguments.data))
            return 0
        if arguments.key is None and not arguments.report:
            remedy = "write one, --list to see them all, or --report"
            raise OptionError("KEY", "no experiment is named", remedy)
        code = 0 if arguments.key is None else _reproduce(arguments, challenge)
        if arguments.report and not arguments.dry_run and code in (0, EXIT_PARTLY):
            for path in tool("page").write_page(arguments.data, arguments.report_out):
                sys.stdout.write(f"page {path}\n")
        return code

    return console.exit_code("reproduce.py", obey)


def _parser(takes_a_layer: bool) -> console.ScriptParser:
    text = "Train an experiment, export it, summarise it, draw its figure and compare it\n"
    text += "with the published numbers. What is trained already is not trained again."
    parser = console.ScriptParser(prog="reproduce.py", description=text)
    add, several = console.adder(parser), integer(1).one
    add("key KEY", "an experiment; --list names them", nargs="?")
    add("--list", "list every figure and table")
    add("--out DIR", "folder (results)", type=Path, default=Path("results"))
    add("--model NAME", "one model; repeatable", action="append", default=[])
    add("--seeds SEEDS", "other seeds, as 0-4 or 0,3", type=seeds.several)
    text = "a quick look; whole epochs where a script counts them"
    add("--max-iterations N", text, type=integer(0).one)
    add("--data-dir DIR", "folder of MNIST and SVHN (IMAGE_DIR)", type=Path)
    add("--jobs N", "training processes (cores)", type=several)
    formats = ("pdf", "png")
    add("--format", "of figures (both)", nargs="+", choices=formats, default=formats)
    text = "add the outcome of every finished run to the compact results in --data; with "
    text += "--verify, note there in verified.csv what came of each row"
    add("--keep", text)
    text = "compact results, a file for each experiment (docs/reproduction/data)"
    add("--data DIR", text, type=Path, default=stored.DATA)
    add("--report", "write the page that compares all compact results with the papers")
    text = "folder of the page (docs/reproduction, for the results that are kept there)"
    add("--report-out DIR", text, type=Path)
    if takes_a_layer:
        text = "a layer beside the published models: only it is trained (KEY, or challenge)"
        own = add_layer_flags(parser, text)
        own("--training NAME=VALUE ...", "flags over those of the figure")
        own("--submit NAME", "the layer of a file to the board; see docs/board.md")
    text = "kept rows trained again, at full length, and every kept digit compared"
    add = console.adder(parser.add_argument_group(text))
    text = "verify rows of KEY; exit code 0 if all are equal, 1 if not. Each trains alone, which "
    text += "gives the same as in company. Kept results stay as they are"
    add("--verify", text)
    add("--rows N", "how many, at random (5)", type=several)
    add("--verify-seed N", "of the random choice (the clock)", type=integer(0).one)
    text = "instead, those in these lines of the file in --data; the header is line 1"
    add("--line N ...", text, type=integer(2).one)
    console.adder(parser)("--dry-run", "print the commands, run nothing")
    return parser


def _reproduce(arguments: argparse.Namespace, challenge: Challenge | None) -> int:
    if arguments.data_dir is not None:
        # Processes that train inherit it.
        os.environ["IMAGE_DIR"] = str(arguments.data_dir.absolute())
    for name in VERIFYING:
        if getattr(arguments, name) is not None and not arguments.verify:
            raise OptionError(f"--{name.replace('_', '-')}", "nothing is verified", "add --verify")
    if arguments.keep and not is_checkout() and arguments.data == stored.DATA:
        problem = "the results of the installed package are kept as they are"
        raise OptionError("--keep", problem, "name a folder of your own with --data")
    if arguments.verify:
        for name in ("report", "report_out", "max_iterations", *sorted(CHALLENGER)):
            if getattr(arguments, name, None) not in (None, False):
                flag = f"--{name.replace('_', '-')}"
                raise OptionError(flag, "rows are verified as they are kept", "leave it out")
        if arguments.line and arguments.rows is not None:
            raise OptionError("--rows", "the rows of --line are chosen", "give one of them")
        return trained.verify(arguments)
    given = {name for name, value in vars(arguments).items() if value is not None}
    if challenge and (arguments.key == "challenge" or CHALLENGER & given):
        return challenge(arguments)
    reproduction = Reproduction(arguments)
    reproduction.space.use()
    if arguments.dry_run:
        reproduction.show()
        return 0
    code = reproduction.train()
    if code in (console.EXIT_REQUEUE, console.EXIT_INTERRUPTED):
        return code
    complete = reproduction.report(arguments.data if arguments.keep else None)
    return code or (0 if complete else EXIT_PARTLY)
