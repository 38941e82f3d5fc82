"""Many runs of a training script: flags in a TOML file, and flags that share runs among tasks.

Flags of scheduling are read beside those of a run and are no part of its configuration.
"""
# pyright: basic

import argparse
import re
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from stable_nalu.base import script as console
from stable_nalu.base.errors import OptionError, UsageError, named_as_in_python

from .flag import each_word, integer

SCHEDULERS = ("local", "slurm", "lsf", "print")
SWEEP = "--sweep"


def time_limit(word: str) -> int:
    """Return the minutes of a time such as `12:00`, hours and minutes."""
    match = re.fullmatch(r"(\d+):([0-5]\d)", word)
    if match is None or not (minutes := 60 * int(match[1]) + int(match[2])):
        raise ValueError(f"{word!r} is not a time; write hours and minutes, such as 12:00")
    return minutes


def add_site_flags(parser: argparse.ArgumentParser) -> None:
    add = console.adder(parser.add_argument_group("jobs, over lfs_batch_jobs/site.toml"))
    add("--site FILE", "another site file", type=Path)
    add("--partition NAME", "SLURM partition")
    add("--queue NAME", "LSF queue")
    add("--account NAME", "SLURM account, LSF project")
    limit, text = each_word("", time_limit).one, "per job (that of the experiment, else {})"
    add("--time HOURS:MINUTES", f"limit {text}".format("12:00"), type=limit)
    add("--memory GB", text.format(2), type=integer(1).one)
    text = "per job (1 for image tasks of experiments, 0 for all others)"
    add("--gpus", text, type=integer(0).one, choices=(0, 1))
    add("--module NAME", "module to load", action="append", dest="modules")
    add("--setup LINE", "shell line before a job; repeatable", action="append")
    add("--log-dir DIR", "folder of the output (logs)")
    add("--python PATH", "interpreter of the jobs")


def add_sweep_flags(parser: argparse.ArgumentParser) -> None:
    """Add flags of sweeps to a training script; what is not given is not in its namespace."""
    before = len(parser._actions)
    add = console.adder(parser.add_argument_group("many runs; see docs/clusters.md"))
    add(f"{SWEEP} FILE.toml", "flags of the runs; those that are typed win", type=Path)
    add("--scheduler", "share the runs among tasks, of this machine or of a cluster",
        choices=SCHEDULERS)  # fmt: skip
    add("--tasks N", "number of tasks (a core each; on clusters 50 runs each)",
        type=integer(1).one)  # fmt: skip
    add("--shard N", "train the runs of task N of --tasks in this process", type=integer(0).one)
    add_site_flags(parser)
    for action in parser._actions[before:]:
        action.default = argparse.SUPPRESS


def blocks_of(spec: Any, words: Sequence[str]) -> list[dict[str, list[Any]]]:
    """Return the flags of every block of the --sweep of a command line; without one, of none.

    The first block is the top of the file. Each `[[also]]` is another, laid over the top.
    """
    flags = [word.partition("=") for word in words]
    found = [
        value or after
        for (name, _, value), after in zip(flags, [*words, ""][1:], strict=True)
        if name == SWEEP
    ]
    if not found or not found[0]:
        return [{}]
    import tomllib

    from .values import typed_values

    path = Path(found[0])
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        also = content.pop("also", [])
        if not (isinstance(also, list) and all(isinstance(one, dict) for one in also)):
            raise ValueError("also is not a block; write [[also]] above its flags")
        kinds = {flag.dest: flag.kind.metavar for flag in spec.flags if flag.kind}
        ranged = {dest for dest, of in kinds.items() if of.startswith(("RANGE", "["))}
        with named_as_in_python():
            blocks = [_block(content | own, ranged) for own in ({}, *also)]
            return [one for block in blocks for one in typed_values(spec, block)]
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
        raise OptionError(SWEEP, problem, "name a TOML file of flags") from None
    except (ValueError, UsageError) as error:
        raise UsageError(f"argument {SWEEP}: {path}: {error}") from None


def _block(content: Mapping[str, Any], ranged: Set[str]) -> dict[str, Any]:
    """Return flags by their dests; lists of lists are several ranges."""
    block = {key.removeprefix("--").replace("-", "_"): value for key, value in content.items()}
    for name in ranged & block.keys():
        value = block[name]
        if isinstance(value, list) and value and all(isinstance(one, list) for one in value):
            block[name] = [tuple(one) for one in value]
    return block
