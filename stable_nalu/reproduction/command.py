"""The command line of a reproduction."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.batch.local import usable_cores
from stable_nalu.batch.work import EXIT_REQUEUE
from stable_nalu.catalogue.index import find
from stable_nalu.errors import UsageError
from stable_nalu.options.kinds import seeds

from .listing import listing
from .pipeline import Request, check, report, show_commands, train
from .workspace import Workspace


def main(argv: Sequence[str] | None = None) -> int:
    """Reproduce an experiment; the result is the exit code."""
    arguments = _parse(argv)
    try:
        if arguments.list:
            sys.stdout.write(listing(usable_cores()))
            return 0
        return _reproduce(arguments)
    except UsageError as error:
        sys.stderr.write(f"reproduce.py: error: {error}\n")
        return 2


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
    parser.add_argument("--dry-run", action="store_true", help="print the commands, run nothing")
    arguments = parser.parse_args(argv)
    if arguments.key is None and not arguments.list:
        parser.error("name an experiment, or use --list")
    return arguments


def _reproduce(arguments: argparse.Namespace) -> int:
    experiment = find(arguments.key)
    if not experiment.models:
        raise UsageError(f"{experiment.key} has nothing to train: {experiment.note}")
    try:
        models = [experiment.model(key) for key in arguments.model] or list(experiment.models)
        chosen = seeds().read_all([arguments.seeds]) if arguments.seeds else None
    except (KeyError, ValueError) as error:
        raise UsageError(str(error.args[0])) from None
    space = Workspace(arguments.out, arguments.max_iterations)
    space.use()
    jobs = arguments.jobs or usable_cores()
    request = Request(experiment, models, space, chosen, jobs)
    check(request)
    if arguments.dry_run:
        show_commands(request)
        return 0
    code = train(request)
    if code == EXIT_REQUEUE:
        return code
    report(request)
    return code
