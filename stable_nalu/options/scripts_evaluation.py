"""Scripts that look at trained models: the flags of the training script, and a few of their own."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.errors import OptionError

from .flag import Config, Flag, FlagGroup
from .kinds import integer, number, text
from .scripts import SINGLE_LAYER_BENCHMARK

_SWEEP = FlagGroup(
    "Sweep",
    (
        Flag("--gold-outputs", None, False, "Write the exact answers and load no model."),
        Flag("--model-filepath", text("PATH"), None, "Checkpoint of a trained model."),
        Flag("--csv-save-folder", text("PATH"), ".", "Folder of the files that are written."),
        Flag("--csv-save-filename", text(), None, "Name of the file, without .csv."),
        Flag("--lower-bound", integer(), -6, "Smallest input."),
        Flag("--upper-bound", integer(), 6, "Largest input."),
        Flag("--step-size", number(above=0), 0.1, "Distance between inputs."),
    ),
)


def _check(config: Config) -> None:
    if config.upper_bound <= config.lower_bound:
        raise OptionError(
            "--upper-bound",
            f"{config.upper_bound} is not above --lower-bound {config.lower_bound}",
            "give a larger one",
        )
    if config.gold_outputs:
        return
    for flag, value in (
        ("--model-filepath", config.model_filepath),
        ("--csv-save-filename", config.csv_save_filename),
    ):
        if value is None:
            raise OptionError(flag, "is missing", "give it, or --gold-outputs for exact answers")
    if config.simple or config.input_size != 2:
        raise OptionError("--input-size", "a surface is over two inputs", "use a model of two")


PREDICTION_SWEEP = replace(
    SINGLE_LAYER_BENCHMARK,
    name="pretrained_model_prediction_sweep",
    folder="export/single_layer_task/benchmark",
    trains=False,
    summary="Write the predictions of a trained module or MLP over a grid of two inputs. Takes the "
    "flags that the model was trained with; those of training are accepted and not used.",
    example="--layer-type ReRegualizedLinearMNAC --model-filepath save/mul-nmu-s0.pth "
    "--csv-save-folder results/2d-surface-plots/csvs --csv-save-filename mul-nmu-s0",
    groups=(_SWEEP, *SINGLE_LAYER_BENCHMARK.groups),
    checks=(_check, *SINGLE_LAYER_BENCHMARK.checks),
)
