"""Predictions of a trained model over a grid of two inputs, and the exact answers.

The script takes the flags of the training script and a few of its own.
"""

import operator
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import exit_code
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec, switch
from stable_nalu.options.flag import file_name, integer, number, text
from stable_nalu.options.flags import refuse
from stable_nalu.task.arithmetic import BENCHMARK, SingleLayerBenchmark
from stable_nalu.training.checkpoint import load_torch

GOLD = {"mul": operator.mul, "div": operator.truediv, "add": operator.add, "sub": operator.sub}
"""Exact operations; division by zero is infinite, or not a number."""

_SWEEP = FlagGroup(
    "Sweep",
    switch("--gold-outputs", "Write the exact answers and load no model."),
    Flag("--model-filepath", text("PATH"), None, "Checkpoint of a trained model."),
    Flag("--csv-save-folder", text("PATH"), ".", "Folder of the files that are written."),
    Flag("--csv-save-filename", file_name, None, "Name of the file, without .csv."),
    Flag("--lower-bound", integer(), -6, "Smallest input."),
    Flag("--upper-bound", integer(), 6, "Largest input."),
    Flag("--step-size", number(above=0), 0.1, "Distance between inputs."),
)


def _check_sweep(c: Config) -> None:
    problem = f"{c.upper_bound} is not above --lower-bound {c.lower_bound}"
    refuse(c.upper_bound <= c.lower_bound, "--upper-bound", problem, "give a larger one")
    points = ((c.upper_bound - c.lower_bound) / c.step_size) ** 2
    problem = f"{c.step_size} makes more than {10**8:,} points"  # which are several gigabytes
    refuse(points > 10**8, "--step-size", problem, "give a larger one")
    if c.gold_outputs:
        return
    remedy = "give it, or --gold-outputs for exact answers"
    refuse(c.model_filepath is None, "--model-filepath", "is missing", remedy)
    refuse(c.csv_save_filename is None, "--csv-save-filename", "is missing", remedy)
    problem, remedy = "a surface is over two inputs", "use a model of two"
    refuse(c.simple or c.input_size != 2, "--input-size", problem, remedy)


PREDICTION_SWEEP = replace(
    BENCHMARK,
    name="pretrained_model_prediction_sweep",
    folder="export/single_layer_task/benchmark",
    summary="Write the predictions of a trained module or MLP over a grid of two inputs. Takes the "
    "flags that the model was trained with; those of training are accepted and not used.",
    example="--layer-type ReRegualizedLinearMNAC --model-filepath save/mul-nmu-s0.pth "
    "--csv-save-folder results/2d-surface-plots/csvs --csv-save-filename mul-nmu-s0",
    groups=(_SWEEP, *BENCHMARK.groups),
    checks=(_check_sweep, *BENCHMARK.checks),
)


def grid(lower: float, upper: float, step: float) -> torch.Tensor:
    """Return every pair of inputs, the first one outermost: `(points, 2)`."""
    axis = torch.arange(lower, upper + step, step)
    return torch.cartesian_prod(axis, axis)


def trained_model(spec: ScriptSpec, config: Config) -> torch.nn.Module:
    path = Path(config.model_filepath)
    try:
        model = SingleLayerBenchmark.network(config, spec.layer_options(config))
    except ValueError as error:
        raise UsageError(str(error)) from None
    saved: object = load_torch(path, "--model-filepath")
    state = saved.get("model_state_dict") if isinstance(saved, dict) else None
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


def surfaces(spec: ScriptSpec, config: Config) -> dict[str, dict[str, np.ndarray]]:
    """Return columns x1, x2 and pred by file name: of the model, or of the exact operations."""
    x = grid(config.lower_bound, config.upper_bound, config.step_size)
    if config.gold_outputs:
        answers = {f"{name}_gold": operate(x[:, 0], x[:, 1]) for name, operate in GOLD.items()}
    else:
        model = trained_model(spec, config)
        with torch.no_grad():
            answers = {config.csv_save_filename: model(x)[:, 0]}
    places = {"x1": x[:, 0].numpy(), "x2": x[:, 1].numpy()}
    return {name: places | {"pred": values.numpy()} for name, values in answers.items()}


def main(argv: Sequence[str] | None = None) -> int:
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
