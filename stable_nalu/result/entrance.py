"""The one entrance to all training scripts: what `experiments/*.py` and `stable-nalu` call."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from stable_nalu.options import Config, ScriptSpec
from stable_nalu.task.run import Lines, train_script
from stable_nalu.training.task import Task


def run_script(
    spec: ScriptSpec,
    task: type[Task],
    argv: Sequence[str] | None = None,
    *more: Sequence[str],
    beside: Sequence[Lines] = (),
) -> int:
    """Do what the command line of a training script says, and return the exit code.

    It trains runs and says what they have learned, or looks at the model that `--evaluate` names.
    """
    learned = partial(_in_short, spec, task)
    return train_script(spec, task, argv, *more, beside=beside, evaluate=_report, learned=learned)


def _report(task: type[Task], spec: ScriptSpec, config: Config) -> int:
    from .reports import report  # It draws: matplotlib and pandas take long to import.

    return report(task, spec, config)


def _in_short(spec: ScriptSpec, task: type[Task], folders: Sequence[Path]) -> str | None:
    from stable_nalu.inspection.saved_model import in_short

    return in_short(spec, task, folders)
