"""Predictions of a trained model over a grid of two inputs, and the exact answers."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from stable_nalu.errors import UsageError
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options.scripts_evaluation import PREDICTION_SWEEP
from stable_nalu.script import exit_code

from ..saved.checkpoint import load_torch
from .task import TASKS

GOLD: Mapping[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "mul": operator.mul,
    "div": operator.truediv,
    "add": operator.add,
    "sub": operator.sub,
}


def grid(lower: float, upper: float, step: float) -> torch.Tensor:
    """Every pair of inputs, the first one outermost: `(points, 2)`."""
    axis = torch.arange(lower, upper + step, step)
    return torch.cartesian_prod(axis, axis)


def exact(operation: str, x: torch.Tensor) -> torch.Tensor:
    """The answers of an operation; division by zero is infinite, or not a number."""
    return GOLD[operation](x[:, 0], x[:, 1])


def trained_model(spec: ScriptSpec, config: Config) -> torch.nn.Module:
    """The model of a checkpoint, for evaluation."""
    path = Path(config.model_filepath)
    try:
        model = TASKS["single_layer_benchmark"].build(config, spec.layer_options(config))
    except ValueError as error:
        raise UsageError(str(error)) from None
    state = load_torch(path, "--model-filepath").get("model_state_dict")
    if not isinstance(state, dict):
        raise UsageError(f"argument --model-filepath: {path} lacks model_state_dict")
    try:
        model.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError):
        raise UsageError(
            f"argument --model-filepath: the parameters in {path} are not those of a "
            f"{config.layer_type} with these flags; give those that it was trained with"
        ) from None
    return model.eval()


def predictions(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    """Output of the model at every point."""
    with torch.no_grad():
        return model(x)[:, 0]


def surfaces(spec: ScriptSpec, config: Config) -> dict[str, dict[str, np.ndarray]]:
    """File name -> columns x1, x2, pred: the model's, or those of the exact operations."""
    x = grid(config.lower_bound, config.upper_bound, config.step_size)
    if config.gold_outputs:
        answers = {f"{operation}_gold": exact(operation, x) for operation in GOLD}
    else:
        model = trained_model(spec, config)
        answers = {config.csv_save_filename: predictions(model, x)}
    places = {"x1": x[:, 0].numpy(), "x2": x[:, 1].numpy()}
    return {name: places | {"pred": values.numpy()} for name, values in answers.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Parse the command line, evaluate, write the tables and return the exit code."""
    config, *others = PREDICTION_SWEEP.parse(argv).configs

    def sweep() -> None:
        import pandas as pd

        from stable_nalu.statistics.table import write_plain_frame

        if others:
            raise UsageError("one model at a time: give every flag one value")
        for name, columns in surfaces(PREDICTION_SWEEP, config).items():
            path = Path(config.csv_save_folder, f"{name}.csv")
            write_plain_frame(path, pd.DataFrame(columns))
            sys.stdout.write(f"{path}\n")

    return exit_code(f"{PREDICTION_SWEEP.name}.py", sweep)
