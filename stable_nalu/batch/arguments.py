"""The command line of the batch scripts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from stable_nalu.errors import UsageError
from stable_nalu.options.kinds import seeds

from .site import Site, read_site

SCHEDULERS = ("local", "slurm", "lsf", "print")


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the words behind `batch.py`."""
    parser = argparse.ArgumentParser(
        prog="batch.py",
        description="Train an experiment, or what is left of it, here or on a cluster.",
        epilog="batch.py --list names all batch scripts.",
    )
    parser.add_argument("name", nargs="?", help="batch script, or key of an experiment")
    parser.add_argument("first", nargs="?", type=int, metavar="FIRST_SEED", help="first seed")
    parser.add_argument("last", nargs="?", type=int, metavar="LAST_SEED", help="last seed")
    parser.add_argument(
        "gpu", nargs="?", metavar="GPU", help="GPU that this machine's processes see"
    )
    parser.add_argument(
        "--list", action="store_true", help="name all batch scripts and their models"
    )
    _add_choice(parser)
    _add_site(parser)
    arguments = parser.parse_args(argv)
    if arguments.name is None and not arguments.list:
        parser.error("name a batch script or an experiment, or use --list")
    if arguments.first is not None and arguments.last is None:
        parser.error("a first seed needs a last one: batch.py NAME 0 24")
    if arguments.first is not None and not 0 <= arguments.first <= arguments.last:
        parser.error(f"{arguments.first} to {arguments.last} is no range of seeds")
    return arguments


def _add_choice(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what to do")
    group.add_argument("--model", action="append", default=[], help="one of the models; repeatable")
    group.add_argument("--seeds", metavar="SEEDS", help="seeds in place of first and last: 0-4,7")
    group.add_argument("--scheduler", choices=SCHEDULERS, help="who runs the shards (local)")
    group.add_argument("--resume", action="store_true", help="only shards with runs left to train")
    group.add_argument("--status", action="store_true", help="count runs by state, train nothing")
    group.add_argument("--dry-run", action="store_true", help="print every command, train nothing")
    group.add_argument(
        "--max-iterations",
        type=int,
        metavar="N",
        help="train for less, or more; whole epochs where a script counts them",
    )
    group.add_argument("--runs-per-task", type=int, metavar="N", help="size of a shard (50)")
    group.add_argument("--jobs", type=int, metavar="N", help="local processes at a time (cores)")
    group.add_argument("--task", type=int, metavar="N", help="train shard N in this process")


def _add_site(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("site, over lfs_batch_jobs/site.toml")
    group.add_argument("--site", type=Path, metavar="FILE", help="another site file")
    group.add_argument("--partition", help="SLURM partition")
    group.add_argument("--queue", help="LSF queue")
    group.add_argument("--account", help="SLURM account, LSF project")
    group.add_argument("--module", action="append", dest="modules", help="module to load")
    group.add_argument("--setup", action="append", metavar="LINE", help="shell line before a job")
    group.add_argument("--log-dir", metavar="DIR", help="folder of the output (logs)")
    group.add_argument("--python", metavar="PATH", help="interpreter of the jobs")


def site_of(arguments: argparse.Namespace) -> Site:
    """The site file with the flags laid over it."""
    site = read_site(arguments.site)
    given = {
        name: getattr(arguments, name)
        for name in ("scheduler", "partition", "queue", "account", "log_dir", "python")
        if getattr(arguments, name) is not None
    }
    lists = {
        name: tuple(getattr(arguments, name))
        for name in ("modules", "setup")
        if getattr(arguments, name) is not None
    }
    return replace(site, **given, **lists)


def seeds_of(arguments: argparse.Namespace) -> list[int] | None:
    """The seeds asked for; None means the published ones."""
    if arguments.seeds is not None:
        try:
            return seeds().read_all([arguments.seeds])
        except ValueError as error:
            raise UsageError(f"argument --seeds: {error}") from None
    if arguments.first is None:
        return None
    return list(range(arguments.first, arguments.last + 1))


def passed_on(arguments: argparse.Namespace) -> list[str]:
    """The words that a job of this submission is told, to number its shards alike."""
    words = [str(v) for v in (arguments.first, arguments.last) if v is not None]
    words += ["--seeds", arguments.seeds] if arguments.seeds else []
    for model in arguments.model:
        words += ["--model", model]
    for flag, value in (
        ("--max-iterations", arguments.max_iterations),
        ("--runs-per-task", arguments.runs_per_task),
    ):
        words += [] if value is None else [flag, str(value)]
    return words
