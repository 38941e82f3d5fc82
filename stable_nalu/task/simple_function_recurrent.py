"""Sums over sequences, joined by an operation, by a recurrent cell: `simple_function_recurrent`.

The published script cannot start, so this implements its evident intent.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from stable_nalu import functional
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.base.papers import FLAT
from stable_nalu.dataset import distribution, simple_function
from stable_nalu.dataset.simple_function import SampleStream
from stable_nalu.network.arithmetic import (
    MC_LSTM,
    SimpleFunctionRecurrentNetwork,
    readout_of,
)
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import (
    as_clause,
    buildable_layers,
    cell_names,
    choice,
    data_range,
    integer,
    number,
)
from stable_nalu.statistics import setups
from stable_nalu.training import floats
from stable_nalu.training.recorder import RandomModels
from stable_nalu.training.step import SUM_WEIGHT
from stable_nalu.training.task import Batch, Goal, Kind, Logging, Observed, Shape, Target
from stable_nalu.writer.event_file import (
    LOSS_VALID_EXTRAPOLATION,
    LOSS_VALID_INTERPOLATION,
    METRIC_TEST,
    METRIC_VALID,
)

from .arithmetic import ERRORS, READ_ROWS, TEST_SEED, VALIDATION_SEED
from .shared import LAYER_OPTIONS, YOUNG_OPTIMIZER, MeasuredTask, lower, settings

EVALUATION_ROWS = 2048
SCORED_ROWS = 2048, 512
"""Fixed sequences of validation and test, where errors are held against untrained networks."""
FIXED_ROWS = 1000, 1000
"""Those of a validation that has a length of its own."""
EVALUATION_BLOCK = 256
"""Rows drawn at once: a block of long sequences in float64 is 20 MiB."""
LOG_INTERVAL = 1000
DRAWN_NUMBERS = 2**25
"""Inputs that are drawn at once for the engine, 128 MiB in float32."""


def build_dataset(config: Config) -> simple_function.SimpleFunctionRecurrentDataset:
    own = settings(config, "subset_ratio", "overlap_ratio", "simple", "seed")
    sizes = config.operation, config.input_size
    return simple_function.SimpleFunctionRecurrentDataset(*sizes, **own)


def check_sequences(c: Config) -> None:
    """Require slices that fit into the vector, and divisors that keep away from zero in scores."""
    if c.subset_ratio is None and c.is_typed("overlap_ratio"):
        raise OptionError("--overlap-ratio", "has no slice to be part of", "add --subset-ratio")
    try:
        dataset = build_dataset(c)
    except ValueError as error:
        flag = "--input-size" if c.subset_ratio is None else "--subset-ratio"
        remedy = "change --input-size, --subset-ratio or --overlap-ratio"
        raise OptionError(flag, as_clause(error), remedy) from None
    if c.operation == "div" and c.random_models:
        start, end = dataset.subset_ranges[1]
        summands = (end - start) * c.interpolation_length
        common.require_no_zero(c.input_range, summands, "--input-range")


def check_readout(c: Config) -> None:
    unit = c.readout or readout_of(c.layer_type)
    problem, remedy = f"weighs a linear read-out, this one is {unit}", "add --readout linear"
    common.refuse(c.readout_l2 and unit != "linear", "--readout-l2", problem, remedy)


SOLVED = ("add", "sub", "mul", "squared")
"""Operations with a threshold in closed form."""


def solved_below(c: Config) -> float | None:
    """Return the error of networks whose first weights are 1e-5 off, as with static sums."""
    (low, high), *others = distribution.SampleRange.parse(c.input_range).intervals
    if not c.validation_length or others or c.operation not in SOLVED or c.subset_ratio is None:
        return None
    from stable_nalu.statistics.thresholds import ArithmeticTask, closed_form

    drawn = distribution.ExtrapolationRange(low, high)
    sizes = c.input_size, c.subset_ratio, c.overlap_ratio, c.simple
    return closed_form(ArithmeticTask(c.operation, drawn, *sizes, steps=c.extrapolation_length))


class UntrainedLSTM(torch.nn.Module):
    """An LSTM and a read-out of its last state, as torch initialises them."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.lstm = torch.nn.LSTM(input_size, hidden_size, batch_first=True)
        self.output = torch.nn.Linear(hidden_size, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        states, _ = self.lstm(x)
        return self.output(states[:, -1])


class SumsTask(MeasuredTask):
    """Both evaluation streams go on at each use; as published, models are measured as they train.

    With untrained networks to compare with, or a length of validation, errors are measured on fixed
    sequences instead, and log points alone are logged.
    """

    kind = Kind(
        cost=30,
        reported=("seed", "operation", "layer_type", "simple", "cuda", "verbose", "max_iterations"),
    )
    logging = Logging(LOG_INTERVAL, updates=True, draws=True, results=ERRORS)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        if limit := solved_below(config):
            return Goal(limit=setups.Limit(limit))
        if config.random_models or config.validation_length:
            return Goal()
        return Goal(LOSS_VALID_INTERPOLATION, LOSS_VALID_EXTRAPOLATION)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self._datasets = list(map(build_dataset, self.configs))
        length, own = config.interpolation_length, config.input_range
        lengths = length, config.validation_length or length, config.extrapolation_length
        self._streams = [[d.fork(length, own) for length in lengths] for d in self._datasets]
        sample = length, self._datasets[0].get_input_size()
        training = [own[0] for own in self._streams]
        self._feed = simple_function.Feed(training, config.batch_size, *sample)
        numbers = len(self.configs) * config.batch_size * math.prod(sample)
        self.pause = max(1, DRAWN_NUMBERS // numbers)
        self.about = f"dataset: {self._datasets[0].print_operation()}"
        self._fixed: list[list[Batch]] = []
        """Sequences of validation and test, if they are fixed: those of every run."""
        if config.random_models or config.validation_length:
            seeds = VALIDATION_SEED, TEST_SEED
            counts = FIXED_ROWS if config.validation_length else SCORED_ROWS
            for length, seed, rows in zip(lengths[1:], seeds, counts, strict=True):
                drawn = [self._drawn(d.fork(length, own, seed), rows) for d in self._datasets]
                # All runs have the same inputs.
                self._fixed.append([(drawn[0][0], t) for _, t in drawn])
        if config.random_models:
            build = partial(UntrainedLSTM, config.inputs, config.hidden_size)
            self._random_models = RandomModels(build, config.random_models, self._fixed)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        own = settings(config, "hidden_size", "readout", "readout_l2") | layer_options
        return SimpleFunctionRecurrentNetwork(config.layer_type, config.inputs, **own)

    @classmethod
    def shape(cls, config: Config) -> Shape:
        inputs = build_dataset(config).get_input_size()
        sample = config.interpolation_length, inputs
        penalties = cls.kind.penalties
        width, draws = math.prod(sample), bool(config.random_models)
        batch = config.batch_size
        return Shape(batch, width, 1, None, config.verbose, penalties, sample, draws=draws)

    def batches(self) -> Iterator[Batch]:
        yield tuple(floats(part, self.device) for part in self._feed.next())

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        x, t = self._feed.draw(runs, count)
        return x.reshape(*x.shape[:3], -1), t

    def observed(self, clock: int, *, at_log_point: bool) -> Observed | None:
        if self._fixed and not at_log_point:
            return None
        verbose = at_log_point and self.config.verbose
        return Observed(verbose, verbose, verbose, verbose=True)

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor]:
        if not self._fixed:
            drawn = [self._drawn(own, EVALUATION_ROWS) for own in self._streams[run][1:]]
            errors = [functional.mse(model(x), t) for x, t in drawn]
            tags = LOSS_VALID_INTERPOLATION, LOSS_VALID_EXTRAPOLATION
            return dict(zip(tags, errors, strict=True))
        model.eval()
        with model.no_random():
            squares = [(model(x) - t) ** 2 for x, t in (fixed[run] for fixed in self._fixed)]
        model.train()
        if not self.config.random_models:
            found = (own.mean() for own in squares)
            return dict(zip((METRIC_VALID, METRIC_TEST), found, strict=True))
        errors = [self._random_models.measure(own) for own in squares]
        return dict(self._random_models.logged(errors, run))

    def _drawn(self, own: SampleStream, rows: int) -> Batch:
        x, t = own.draw(max(1, rows // EVALUATION_BLOCK), min(rows, EVALUATION_BLOCK))
        return floats(x.flatten(0, 1), self.device), floats(t.flatten(0, 1), self.device)

    def target(self) -> Target:
        c = self.config
        rows = build_dataset(c).fork(c.interpolation_length, c.input_range, VALIDATION_SEED)
        x, t = rows[0:READ_ROWS]
        intervals = distribution.SampleRange.parse(c.input_range).intervals
        return Target(rows.targets, x, t, intervals, setups.Limit(FLAT))

    def get_state(self, run: int) -> dict[str, Any]:
        return {f"random {k}": own.random for k, own in enumerate(self._streams[run])}


# A flag is a few lines of a table.
# fmt: off
_TASK = FlagGroup(
    "Task",
    common.LAYER_TYPE.but(choices=lambda: (*cell_names(), MC_LSTM),
        help="Unit of the recurrent cell, by its key or name."),
    common.OPERATION.but(choices=common.STATIC_OPERATIONS),
    *(common.SEED, common.MAX_ITERATIONS, common.SIMPLE),
)
_SIZES = common.TASK.only("--input-size", "--subset-ratio", "--overlap-ratio", "--batch-size").but(
    input_size={"default": 10, "help": "Length of the vector of every step."},
    subset_ratio={
        "default": None,
        "help": "Length of a slice divided by the length of the vector; without it, the lengths "
        "and the overlap of both slices are drawn."},
    overlap_ratio={"default": 0.5, "note": "of slices whose length --subset-ratio gives"},
    batch_size={"help": "Number of sequences in a training batch."},
)
_WIDTH = common.NETWORK.only("--hidden-size").but(
    hidden_size={"help": "Width of the state of the cell."})
_RAMP = ("--regualizer", *(f"--regualizer-scaling{end}" for end in ("", "-start", "-end")))
_SEQUENCES = FlagGroup(
    "Sequences and training",
    Flag("--interpolation-length", integer(1), 10,
        "Steps of the sequences of training and validation.", young=True),
    Flag("--extrapolation-length", integer(1), 1000, "Steps of the test sequences.", young=True),
    Flag("--validation-length", integer(1), None,
        "Steps of the sequences of validation, by default as in training. If given, errors are "
        "measured on 1,000 fixed sequences, every thousandth iteration is logged alone, and sums "
        "over time count as solved below the error of weights that are 1e-5 off.", young=True),
    choice("--readout", None, "Unit of the read-out; by default the cell's, or linear.",
        buildable_layers, young=True),
    Flag("--readout-l2", number(0), 0.0,
        "Penalty: this times half the mean square of the weights of a linear read-out.",
        young=True),
    Flag("--input-range", data_range, [1, 2], "Range of all inputs.", young=True),
    *(flag.but(young=True) for flag in (*_SIZES, *_WIDTH)),
    *(flag.but(young=True) for flag in common.PENALTIES.only(*_RAMP).but(
        regualizer={"default": SUM_WEIGHT}, regualizer_scaling={"default": "exp"},
        regualizer_scaling_start={"default": 0}, regualizer_scaling_end={"default": 1})),
    *YOUNG_OPTIMIZER,
    common.RANDOM_MODELS.but(
        note="untrained LSTMs; errors are then measured on fixed sequences, and logged every "
        "thousandth iteration alone"),
)
SCRIPT = ScriptSpec(
    name="simple_function_recurrent",
    summary="Train a recurrent cell on an operation on sums over time and slices.",
    example="--operation add --layer-type NAC --seed 0-9",
    groups=(_TASK, _SEQUENCES, *LAYER_OPTIONS,
        common.files_and_devices("simple_function_recurrent", "Iterations", by_engine=True)),
    name_fields=(
        lower("layer_type"), lower("operation"), nf.template("{seed}"), *nf.LAYER_OPTIONS_TRAILING,
        *nf.all_trailing(
            "i-{interpolation_length} e-{extrapolation_length} u-{input_range:range}",
            "z-{input_size}-{subset_ratio}-{overlap_ratio}",
            nf.BATCH_SIZE, "h{hidden_size}", nf.RATE, nf.GRAD_NORM,
            "v-{validation_length:int} ro-{readout:word} l2-{readout_l2:float}",
            "rr-{regualizer_scaling:word}-{regualizer:float}-{regualizer_scaling_start:float}"
            "-{regualizer_scaling_end:float}"),
    ),
    checks=(common.check_nalu, common.check_optimizer, common.check_schedule, check_sequences,
        check_readout, common.check_device, common.check_files),
)
TASK = SumsTask
