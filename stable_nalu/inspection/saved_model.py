"""A saved model that `--evaluate` names: its configuration and its parameters."""

from __future__ import annotations

from pathlib import Path

from stable_nalu.errors import UsageError
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.training.checkpoint import restore_parameters
from stable_nalu.training.stack import StackTraining


def trained_config(spec: ScriptSpec, config: Config, checkpoint: dict, file: Path) -> Config:
    """Return the configuration of a saved model, with the surroundings of this command."""
    saved = checkpoint.get("config") if isinstance(checkpoint, dict) else None
    wanted = [flag.dest for flag in spec.flags if flag.result]
    if not isinstance(saved, dict) or not set(wanted) <= set(saved):
        raise _not_ours(spec, file)
    return config.replace(**{dest: saved[dest] for dest in wanted})


def restore(run: StackTraining, spec: ScriptSpec, checkpoint: dict, file: Path) -> None:
    """Give a run the parameters of a saved model."""
    try:
        restore_parameters(run.model.state_dict(), checkpoint["model_state_dict"], file)
    except (UsageError, LookupError, TypeError, AttributeError):
        raise _not_ours(spec, file) from None


def _not_ours(spec: ScriptSpec, file: Path) -> UsageError:
    return UsageError(f"argument --evaluate: {file} is not a checkpoint of {spec.name}.py")
