"""The one entrance to all training scripts: what `experiments/*.py` and `stable-nalu` call."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.base.script import packages

with packages(sys.argv[0]):
    from stable_nalu.options import Config, ScriptSpec
    from stable_nalu.task.run import Lines, train_script
    from stable_nalu.training.task import Task


def run_script(
    name: str,
    argv: Sequence[str] | None = None,
    *more: Sequence[str],
    beside: Sequence[Lines] = (),
) -> int:
    """Do what the command line of a training script says, and return the exit code.

    It trains runs and says what they have learned, or looks at the model that `--evaluate` names.
    """
    return train_script(name, argv, *more, beside=beside, evaluate=_report, learned=_in_short)


def _report(task: type[Task], spec: ScriptSpec, config: Config) -> int:
    from .reports import report  # It draws: matplotlib and pandas take long to import.

    return report(task, spec, config)


def _in_short(folders: Sequence[Path]) -> str | None:
    from stable_nalu.inspection.saved_model import in_short

    return in_short(folders)
