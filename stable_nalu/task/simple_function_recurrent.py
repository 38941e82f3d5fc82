"""Sums over sequences, joined by an operation, by a recurrent cell: `simple_function_recurrent`.

The published script cannot start, so this is what it meant to do.
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
from stable_nalu.network.arithmetic import SimpleFunctionRecurrentNetwork
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import as_clause, cell_names, data_range, integer
from stable_nalu.statistics import setups
from stable_nalu.training import floats
from stable_nalu.training.recorder import RandomModels
from stable_nalu.training.task import Batch, Drawn, Goal, Kind, Logging, Observed, Shape, Target
from stable_nalu.writer.event_file import LOSS_VALID_EXTRAPOLATION, LOSS_VALID_INTERPOLATION

from .arithmetic import ERRORS, READ_ROWS, TEST_SEED, VALIDATION_SEED
from .shared import LAYER_OPTIONS, PENALTY_RAMP, YOUNG_OPTIMIZER, MeasuredTask, lower, settings

EVALUATION_ROWS = 2048
SCORED_ROWS = 2048, 512
"""Fixed sequences of validation and test, where errors are held against untrained networks."""
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

    With untrained networks to compare with, errors are measured on fixed sequences instead, and
    log points alone are logged.
    """

    kind = Kind(
        cost=30,
        reported=("seed", "operation", "layer_type", "simple", "cuda", "verbose", "max_iterations"),
    )
    logging = Logging(LOG_INTERVAL, updates=True, draws=True, results=ERRORS)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        if config.random_models:
            return Goal()
        return Goal(LOSS_VALID_INTERPOLATION, LOSS_VALID_EXTRAPOLATION)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self._datasets = list(map(build_dataset, self.configs))
        length = config.interpolation_length
        lengths, own = (length, length, config.extrapolation_length), config.input_range
        self._streams = [[d.fork(length, own) for length in lengths] for d in self._datasets]
        sample = length, self._datasets[0].get_input_size()
        training = [own[0] for own in self._streams]
        self._feed = simple_function.Feed(training, config.batch_size, *sample)
        numbers = len(self.configs) * config.batch_size * math.prod(sample)
        self.pause = max(1, DRAWN_NUMBERS // numbers)
        self.about = f"dataset: {self._datasets[0].print_operation()}"
        self._fixed: list[list[Batch]] = []
        """Sequences of validation and test, if they are fixed: those of every run."""
        if config.random_models:
            seeds = VALIDATION_SEED, TEST_SEED
            for length, seed, rows in zip(lengths[1:], seeds, SCORED_ROWS, strict=True):
                drawn = [self._drawn(d.fork(length, own, seed), rows) for d in self._datasets]
                # All runs have the same inputs.
                self._fixed.append([(drawn[0][0], t) for _, t in drawn])
            build = partial(UntrainedLSTM, config.inputs, config.hidden_size)
            self._random_models = RandomModels(build, config.random_models, self._fixed)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        own = settings(config, "hidden_size") | layer_options
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

    def samples(self) -> tuple[Sequence[SampleStream], Drawn]:
        return (), self._given

    def _given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the next batches of runs: x `(count, runs, batch, numbers)` and t."""
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
    common.LAYER_TYPE.but(choices=cell_names,
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
_SEQUENCES = FlagGroup(
    "Sequences and training",
    Flag("--interpolation-length", integer(1), 10,
        "Steps of the sequences of training and validation.", young=True),
    Flag("--extrapolation-length", integer(1), 1000, "Steps of the test sequences.", young=True),
    Flag("--input-range", data_range, [1, 2], "Range of all inputs.", young=True),
    *(flag.but(young=True) for flag in (*_SIZES, *_WIDTH)),
    *YOUNG_OPTIMIZER,
    common.RANDOM_MODELS.but(
        note="untrained LSTMs; errors are then measured on fixed sequences, and logged every "
        "thousandth iteration alone"),
)
SCRIPT = ScriptSpec(
    name="simple_function_recurrent",
    summary="Train a recurrent cell on sums over time and slices, joined by an operation.",
    example="--operation add --layer-type NAC --seed 0-9",
    groups=(_TASK, _SEQUENCES, *LAYER_OPTIONS,
        common.files_and_devices("simple_function_recurrent", "Iterations", by_engine=True)),
    name_fields=(
        lower("layer_type"), lower("operation"), nf.template("{seed}"), *nf.LAYER_OPTIONS_TRAILING,
        *nf.all_trailing(
            "i-{interpolation_length} e-{extrapolation_length} u-{input_range:range}",
            "z-{input_size}-{subset_ratio}-{overlap_ratio}",
            nf.BATCH_SIZE, "h{hidden_size}", nf.RATE, nf.GRAD_NORM),
    ),
    checks=(common.check_nalu, common.check_optimizer, check_sequences, common.check_device,
        common.check_files),
    fixed=PENALTY_RAMP,
)
TASK = SumsTask
