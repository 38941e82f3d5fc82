"""The one entrance to all training scripts: what `experiments/*.py` and `stable-nalu` call."""

from collections.abc import Sequence
from pathlib import Path

from stable_nalu.options import Config, ScriptSpec
from stable_nalu.task.run import train_script
from stable_nalu.training.task import Task


def run_script(spec: ScriptSpec, task: type[Task], argv: Sequence[str] | None = None) -> int:
    """Do what the command line of a training script says, and return the exit code.

    It trains runs and says what they have learned, or looks at the model that `--evaluate` names.
    """

    def learned(folders: Sequence[Path]) -> str | None:
        from stable_nalu.inspection.saved_model import in_short

        return in_short(spec, task, folders)

    return train_script(spec, task, argv, evaluate=_report, learned=learned)


def _report(task: type[Task], spec: ScriptSpec, config: Config) -> int:
    from .reports import report  # It draws: matplotlib and pandas take long to import.

    return report(task, spec, config)
