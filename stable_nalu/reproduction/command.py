"""The command line of a reproduction."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.catalogue.index import find
from stable_nalu.errors import UsageError
from stable_nalu.machine import cores
from stable_nalu.options.kinds import seeds
from stable_nalu.script import EXIT_INTERRUPTED, EXIT_REQUEUE, exit_code

from .listing import listing
from .pipeline import Request, check, report, show_commands, train
from .stored import DATA
from .tables import Workspace

EXIT_PARTLY = 1
"""A figure lacks the data that it is drawn from."""


def main(argv: Sequence[str] | None = None) -> int:
    """Reproduce an experiment; the result is the exit code."""
    arguments = _parse(argv)

    def obey() -> int:
        if arguments.list:
            sys.stdout.write(listing(cores(), arguments.data))
            return 0
        code = _reproduce(arguments) if arguments.key else 0
        if arguments.report and not arguments.dry_run and code in (0, EXIT_PARTLY):
            from .page import write_page

            for path in write_page(arguments.data):
                sys.stdout.write(f"page {path}\n")
        return code

    return exit_code("reproduce.py", obey)


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="reproduce.py",
        description="Train an experiment, export it, summarise it, draw its figure and compare it "
        "with the published numbers. What is trained already is not trained again.",
    )
    parser.add_argument("key", nargs="?", help="an experiment; --list names them")
    parser.add_argument("--list", action="store_true", help="list every figure and table")
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder (results)")
    parser.add_argument("--model", action="append", default=[], help="one model; repeatable")
    parser.add_argument("--seeds", metavar="SEEDS", help="other seeds, as 0-4 or 0,3")
    parser.add_argument(
        "--max-iterations",
        type=int,
        metavar="N",
        help="a quick look; whole epochs where a script counts them",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="training processes (cores)")
    parser.add_argument(
        "--format", nargs="+", choices=("pdf", "png"), default=["pdf"], help="of figures (pdf)"
    )
    parser.add_argument(
        "--keep",
        action="store_true",
        help="add the outcome of every finished run to the compact results in --data",
    )
    parser.add_argument(
        "--data",
        type=Path,
        default=DATA,
        metavar="DIR",
        help="compact results, one file an experiment (docs/reproduction/data)",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="write the page that compares all compact results with the papers, beside --data",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the commands, run nothing")
    arguments = parser.parse_args(argv)
    if arguments.key is None and not (arguments.list or arguments.report):
        parser.error("name an experiment, or use --list or --report")
    return arguments


def _reproduce(arguments: argparse.Namespace) -> int:
    experiment = find(arguments.key)
    try:
        models = [experiment.model(key) for key in arguments.model] or list(experiment.models)
        chosen = seeds().read_all([arguments.seeds]) if arguments.seeds else None
    except (KeyError, ValueError) as error:
        raise UsageError(str(error.args[0])) from None
    space = Workspace(arguments.out, arguments.max_iterations)
    space.use()
    jobs = arguments.jobs or cores()
    request = Request(experiment, models, space, chosen, jobs, arguments.format)
    check(request)
    if arguments.dry_run:
        show_commands(request)
        return 0
    code = train(request)
    if code in (EXIT_REQUEUE, EXIT_INTERRUPTED):
        return code
    complete = report(request, arguments.data if arguments.keep else None)
    return code or (0 if complete else EXIT_PARTLY)
