"""The command `reproduce`, and the list of all experiments with what each would cost here."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from stable_nalu.base.errors import OptionError
from stable_nalu.base.files import is_checkout, table_rows, tool
from stable_nalu.base.papers import STUDIES
from stable_nalu.base.script import (
    EXIT_INTERRUPTED,
    EXIT_REQUEUE,
    ScriptParser,
    cores,
    duration,
    exit_code,
)
from stable_nalu.options.flag import integer, seeds
from stable_nalu.options.flags import add_layer_flags
from stable_nalu.paper.experiment import Experiment
from stable_nalu.paper.index import EXPERIMENTS, find

from .pipeline import Folders, Request, chosen_models, report, show_commands, train
from .stored import DATA, path_of, seconds_here

UNSHOWN = "Runs that no figure shows"


def listing(cores: int, data: Path = DATA) -> str:
    """Return every experiment under the papers that show it, then those that no paper shows.

    data: the folder of kept results.
    """
    lines: list[str] = []
    for paper in STUDIES:
        shown = [experiment for experiment in EXPERIMENTS.values() if experiment.paper == paper]
        if shown:
            lines.append(f"{paper.title} ({paper.reference})")
            for experiment in shown:
                lines += _lines(experiment, cores, data)
            lines.append("")
    lines.append(UNSHOWN)
    for experiment in EXPERIMENTS.values():
        if experiment.paper is None:
            lines += _lines(experiment, cores, data)
    return "\n".join(lines) + "\n"


def _lines(experiment: Experiment, cores: int, data: Path) -> list[str]:
    place = f"{', '.join(experiment.numbers)}: " if experiment.numbers else ""
    head = f"  {experiment.key}\n      {place}{experiment.title}"
    if not experiment.models:
        return [f"{head}\n      {experiment.note}"]
    keys = ", ".join(model.key for model in experiment.models)
    size = f"{experiment.runs} runs x {lengths(experiment)} iterations"
    seconds = seconds_here(experiment, cores)
    time = "time unknown" if seconds is None else duration(seconds)
    entry = f"{head}\n      {size}, {time}; models {keys}"
    path = path_of(experiment.key, data)
    if not path.exists():
        return [entry]
    kept = sum(1 for _ in table_rows(path)) - 1
    return [f"{entry}\n      kept results of {kept} runs: {path}"]


def lengths(experiment: Experiment) -> str:
    """Return `50,000`, or the shortest and the longest of the runs as `50,000 to 100,000`."""
    each = sorted({m.length(variant) for m in experiment.models for variant in m.variants})
    return " to ".join(f"{length:,}" for length in dict.fromkeys((each[0], each[-1])))


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
            sys.stdout.write(listing(cores(), arguments.data))
            return 0
        if arguments.key is None and not arguments.report:
            remedy = "write one, --list to see them all, or --report"
            raise OptionError("KEY", "no experiment is named", remedy)
        code = 0 if arguments.key is None else _reproduce(arguments, challenge)
        if arguments.report and not arguments.dry_run and code in (0, EXIT_PARTLY):
            for path in tool("page").write_page(arguments.data, arguments.report_out):
                sys.stdout.write(f"page {path}\n")
        return code

    return exit_code("reproduce.py", obey)


def _parser(takes_a_layer: bool) -> ScriptParser:
    parser = ScriptParser(
        prog="reproduce.py",
        description="Train an experiment, export it, summarise it, draw its figure and compare it\n"
        "with the published numbers. What is trained already is not trained again.",
    )
    add = parser.add_argument
    add("key", metavar="KEY", nargs="?", help="an experiment; --list names them")
    add("--list", action="store_true", help="list every figure and table")
    add("--out", type=Path, metavar="DIR", default=Path("results"), help="folder (results)")
    add("--model", metavar="NAME", action="append", default=[], help="one model; repeatable")
    add("--seeds", type=seeds.several, metavar="SEEDS", help="other seeds, as 0-4 or 0,3")
    add(
        "--max-iterations",
        type=integer(0).one,
        metavar="N",
        help="a quick look; whole epochs where a script counts them",
    )
    add("--data-dir", type=Path, metavar="DIR", help="folder of MNIST and SVHN (IMAGE_DIR)")
    add("--jobs", type=integer(1).one, metavar="N", help="training processes (cores)")
    formats = ("pdf", "png")
    add("--format", nargs="+", choices=formats, default=formats, help="of figures (both)")
    _add_result_flags(parser)
    if takes_a_layer:
        own = add_layer_flags(
            parser, "a layer beside the published models: only it is trained (KEY, or challenge)"
        )
        own("--training", nargs="+", metavar="NAME=VALUE", help="flags over those of the figure")
        own("--submit", metavar="NAME", help="the layer of a file to the board; see docs/board.md")
    _add_verification_flags(parser)
    add("--dry-run", action="store_true", help="print the commands, run nothing")
    return parser


def _add_result_flags(parser: ScriptParser) -> None:
    add = parser.add_argument
    add(
        "--keep",
        action="store_true",
        help="add the outcome of every finished run to the compact results in --data; with "
        "--verify, note there in verified.csv what came of each row",
    )
    add(
        "--data",
        type=Path,
        default=DATA,
        metavar="DIR",
        help="compact results, a file for each experiment (docs/reproduction/data)",
    )
    add(
        "--report",
        action="store_true",
        help="write the page that compares all compact results with the papers",
    )
    add(
        "--report-out",
        type=Path,
        metavar="DIR",
        help="folder of the page (docs/reproduction, for the results that are kept there)",
    )


def _add_verification_flags(parser: ScriptParser) -> None:
    add = parser.add_argument_group(
        "kept rows trained again, at full length, and every kept digit compared"
    ).add_argument
    add(
        "--verify",
        action="store_true",
        help="verify rows of KEY; exit code 0 if all are equal, 1 if not. Each trains alone, which "
        "gives the same as in company. Kept results stay as they are",
    )
    add("--rows", type=integer(1).one, metavar="N", help="how many, at random (5)")
    add("--verify-seed", type=integer(0).one, metavar="N", help="of the random choice (the clock)")
    add(
        "--line",
        type=integer(2).one,
        nargs="+",
        metavar="N",
        help="instead, those in these lines of the file in --data; the header is line 1",
    )


def _verify(arguments: argparse.Namespace) -> int:
    from .verify import verify

    others = ("report", "report_out", "max_iterations", *sorted(CHALLENGER))
    for name in others:
        if getattr(arguments, name, None) not in (None, False):
            flag = f"--{name.replace('_', '-')}"
            raise OptionError(flag, "rows are verified as they are kept", "leave it out")
    if arguments.line and arguments.rows is not None:
        raise OptionError("--rows", "the rows of --line are chosen", "give one of them")
    return verify(arguments)


def _reproduce(arguments: argparse.Namespace, challenge: Challenge | None) -> int:
    if arguments.data_dir is not None:
        # Processes that train inherit it.
        os.environ["IMAGE_DIR"] = str(arguments.data_dir.absolute())
    for name in VERIFYING:
        if getattr(arguments, name) is not None and not arguments.verify:
            raise OptionError(f"--{name.replace('_', '-')}", "nothing is verified", "add --verify")
    if arguments.keep and not is_checkout() and arguments.data == DATA:
        problem = "the results of the installed package are kept as they are"
        raise OptionError("--keep", problem, "name a folder of your own with --data")
    if arguments.verify:
        return _verify(arguments)
    given = {name for name, value in vars(arguments).items() if value is not None}
    if challenge and (arguments.key == "challenge" or CHALLENGER & given):
        return challenge(arguments)
    experiment = find(arguments.key)
    models = chosen_models(experiment, arguments.model)
    space = Folders(arguments.out, arguments.max_iterations)
    space.use()
    jobs = arguments.jobs or cores()
    request = Request(experiment, models, space, arguments.seeds, jobs, arguments.format)
    if arguments.dry_run:
        show_commands(request)
        return 0
    code = train(request)
    if code in (EXIT_REQUEUE, EXIT_INTERRUPTED):
        return code
    complete = report(request, arguments.data if arguments.keep else None)
    return code or (0 if complete else EXIT_PARTLY)
