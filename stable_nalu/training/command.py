"""What every training script does around its loop: parse, claim run folders, report errors."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from stable_nalu.errors import UsageError
from stable_nalu.machine import granted_cores, tensorboard_root, usable_cores
from stable_nalu.options import SCRIPTS, Config, ScriptSpec
from stable_nalu.script import exit_code
from stable_nalu.writer import ResumePoint, RunFolder, RunRecord, RunWriter
from stable_nalu.writer.run_folder import WAYS_OUT

from .saved.checkpoint import plain

LENGTH_AND_LOGGING = frozenset(
    {
        "max_iterations",
        "max_epochs",
        "log_interval",
        "verbose",
        "save_best_model",
        "id",
        "name_prefix",
    }
)
"""Flags that change how long or how densely a run is recorded, not what it computes."""

_DOES_NOT_FIT = ("can't allocate memory", "not enough memory", "out of memory", "overflow")
"""How torch words that memory is short: on the CPU by system, on a GPU, for absurd sizes."""

TrainPlan = Callable[[ScriptSpec, Sequence[Config]], int]


def run_command(
    script: str, argv: Sequence[str] | None, train_plan: TrainPlan, threads: int = 1
) -> int:
    """Parse, let `train_plan` train all runs, return the exit code.

    threads: of torch, where the scheduler grants no other number; small models gain from no more
    than one.
    """
    spec = SCRIPTS[script]
    plan = spec.parse(argv)
    set_threads(threads)

    def obey() -> int:
        if plan.dry_run:
            sys.stdout.writelines(f"{name}\n" for name in plan.names())
            return 0
        return train_plan(spec, plan.configs)

    return exit_code(f"{script}.py", obey)


def set_threads(otherwise: int = 1) -> None:
    """Threads of torch: what the scheduler grants, else `otherwise`."""
    torch.set_num_threads(granted_cores() or min(otherwise, usable_cores()))


@contextmanager
def memory_errors_as_usage_errors() -> Iterator[None]:
    """Say in one line that what was asked for does not fit into memory."""
    try:
        yield
    except (MemoryError, OverflowError, RuntimeError) as error:
        first_line = next(iter(str(error).splitlines()), "")
        if isinstance(error, RuntimeError) and not any(m in first_line for m in _DOES_NOT_FIT):
            raise
        raise UsageError(
            "this does not fit into memory: lower --batch-size, --input-size, --hidden-size or, "
            "with many runs, --ensemble-size"
        ) from error


def device_of(config: Config) -> torch.device:
    """The GPU where there is one, unless the configuration stays on the CPU."""
    cuda = torch.cuda.is_available() and not config.no_cuda
    return torch.device("cuda" if cuda else "cpu")


def run_control(spec: ScriptSpec) -> set[str]:
    """Flags in which two recordings of the same run may differ."""
    return {flag.dest for flag in spec.flags if not flag.result} | LENGTH_AND_LOGGING


def open_writer(
    stack: ExitStack,
    spec: ScriptSpec,
    config: Config,
    name: str,
    resume: ResumePoint | None = None,
) -> RunWriter:
    """Claim the folder of a run until `stack` closes, and open its event file."""
    record, rules = _record(spec, config), _rules(spec, config)
    folder = RunFolder.claim(tensorboard_root() / name, record, resume=resume, **rules)
    stack.enter_context(folder)
    return RunWriter(folder, verbose=config.verbose)


def check_folder(
    spec: ScriptSpec, config: Config, name: str, resume: ResumePoint | None = None
) -> None:
    """Refuse a run whose folder `open_writer` would refuse, before anything is done."""
    record, rules = _record(spec, config), _rules(spec, config)
    RunFolder.check(tensorboard_root() / name, record, resume=resume, **rules)


def _record(spec: ScriptSpec, config: Config) -> RunRecord:
    command = f"python3 experiments/{spec.name}.py {shlex.join(spec.argv_of(config))}"
    return RunRecord.create(spec.name, plain(config.as_dict()), command)


def _rules(spec: ScriptSpec, config: Config) -> dict[str, Any]:
    """What may become of data that is in a run folder already."""
    return {
        "run_control": run_control(spec),
        # A run that is to be resumed but was never saved starts anew.
        "remove_existing_data": config.remove_existing_data or getattr(config, "resume", False),
        "ways_out": _ways_out(spec),
    }


def _ways_out(spec: ScriptSpec) -> list[str]:
    """What to do about a run folder that is taken, with the flags that the script has."""
    flags = {flag.name for flag in spec.flags}
    anew, resume, elsewhere = WAYS_OUT
    if "--id" not in flags:
        elsewhere = elsewhere.removesuffix(" or --id")
    return [anew, resume, elsewhere] if "--load-checkpoint" in flags else [anew, elsewhere]
