"""A saved model that `--evaluate` names: its configuration and its parameters."""

from __future__ import annotations

from pathlib import Path

from stable_nalu.errors import UsageError
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.training.checkpoint import load_torch, restore_parameters
from stable_nalu.training.loop import Training
from stable_nalu.training.plan.runs import PlannedRun
from stable_nalu.training.surroundings import default_dtype, precision
from stable_nalu.training.task import Task


def trained_run(task: type[Task], spec: ScriptSpec, config: Config) -> Training:
    """Return the run whose saved model is named, with the surroundings of this command."""
    file = Path(config.evaluate)
    checkpoint = load_torch(file, "--evaluate")
    saved = checkpoint.get("config") if isinstance(checkpoint, dict) else None
    wanted = [flag.dest for flag in spec.flags if flag.result]
    if not isinstance(saved, dict) or not set(wanted) <= set(saved):
        raise _not_ours(spec, file)
    trained = config.replace(**{dest: saved[dest] for dest in wanted})
    try:
        with default_dtype(precision(trained)):
            run = Training(task, [PlannedRun.of(spec, trained)])
    except ValueError as error:
        raise UsageError(str(error)) from None
    try:
        restore_parameters(run.model.state_dict(), checkpoint["model_state_dict"], file)
    except (UsageError, LookupError, TypeError, AttributeError):
        raise _not_ours(spec, file) from None
    return run


def _not_ours(spec: ScriptSpec, file: Path) -> UsageError:
    return UsageError(f"argument --evaluate: {file} is not a checkpoint of {spec.name}.py")
