"""What happens before and after a plan of runs is trained, whichever loop trains it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stable_nalu.machine import save_root
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.script import EXIT_DIVERGED, EXIT_REQUEUE

from ..command import check_folder
from ..saved.best_model import BEST_MODELS, BEST_PARAMETERS
from ..saved.checkpoint import model_file, require_writable
from .interruption import Interruption
from .runs import PlannedRun, States, settle


@dataclass(frozen=True)
class Unit:
    """What a script counts its training in; `flag` names the last one."""

    name: str
    flag: str

    def last(self, config: Config) -> int:
        """The last one to train; counting starts at 0."""
        return getattr(config, self.flag.removeprefix("--").replace("-", "_"))


ITERATIONS = Unit("iteration", "--max-iterations")
EPOCHS = Unit("epoch", "--max-epochs")


@dataclass(frozen=True)
class StackResult:
    """How the training of a stack ended; `interrupted_at` is the first one of its unit left."""

    diverged: bool = False
    interrupted_at: int | None = None


def unfinished(
    stacks: Sequence[list[PlannedRun]], states: Mapping[str, States], unit: Unit
) -> tuple[list[list[PlannedRun]], bool]:
    """The stacks that have something left to train, and whether a finished run had diverged."""
    finished = [run for stack in stacks for run in stack if run.start > unit.last(run.config)]
    for run in finished:
        settle(run)
        sys.stdout.write(
            f"already trained to {unit.name} {run.start - 1}: {run.name}; "
            f"raise {unit.flag} to go on\n"
        )
    left = [stack for stack in stacks if stack[0].start <= unit.last(stack[0].config)]
    return left, any(states[run.name][run.start].diverged for run in finished)


def require_folders(
    spec: ScriptSpec, stacks: Sequence[Sequence[PlannedRun]], states: Mapping[str, States]
) -> None:
    """Refuse run folders in use, and a place that models cannot be saved to, before training."""
    runs = [run for stack in stacks for run in stack]
    for run in runs:
        state = states[run.name].get(run.start)
        check_folder(spec, run.config, run.name, state.resume_point if state else None)
    _require_save_files(runs)


def _require_save_files(runs: Sequence[PlannedRun]) -> None:
    first = runs[0].config
    roots = [] if first.no_save else [save_root()]
    if getattr(first, "save_best_model", False):
        roots += [save_root() / BEST_MODELS, save_root() / BEST_PARAMETERS]
    for root in roots:
        for run in runs:
            require_writable(model_file(root, run.name))


def plan_exit_code(results: Sequence[StackResult], interruption: Interruption, unit: Unit) -> int:
    """How a plan ended, as an exit code."""
    stopped = [r.interrupted_at for r in results if r.interrupted_at is not None]
    if stopped:
        sys.stdout.write(
            f"stopped before {unit.name} {min(stopped)}; the same command with --resume goes on\n"
        )
        return EXIT_REQUEUE if interruption.signal_number == signal.SIGTERM else 130
    return EXIT_DIVERGED if any(result.diverged for result in results) else 0
