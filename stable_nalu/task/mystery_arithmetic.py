"""The mystery arithmetic problem: which inputs, and which operation, are behind each output?

From an article about the NALU paper, which trains one layer on all outputs at once.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.script import unknown_choice
from stable_nalu.layer.registry import GeneralizedLayer
from stable_nalu.network.dense import Dense
from stable_nalu.options import Config, Flag, switch
from stable_nalu.options.flag import and_layers, choice, each_word, integer, interval
from stable_nalu.options.flags import LAYER_TYPE, refuse
from stable_nalu.training import floats
from stable_nalu.training.recorder import LogRecord, StepLosses
from stable_nalu.training.task import EPOCHS, Batch, Kind, Task
from stable_nalu.writer.event_file import LOSS_EPOCH, MSE_TEST, MSE_TRAIN, PROBLEM

from .shared import EVALUATION, MEASURED_EPOCHS, OPERATIONS, SIGNS, table, task_script

_PROBLEM, TRAIN, TEST, _ORDER = range(4)
"""Random streams of a seed."""
_MOST_SHOWN = 20
"""Outputs that the console lists of a problem; the log has all."""


class Formula(NamedTuple):
    """What an output is: input `i` `operation` input `j`."""

    i: int
    j: int
    operation: str

    @property
    def formula(self) -> str:
        """Return it as one writes it, such as `x12 * x55`."""
        return f"x{self.i} {SIGNS[self.operation]} x{self.j}"


class MysteryProblem:
    """One instance of the problem, and the rows that it asks for: all of a seed alone.

    Problem, training rows, test rows and orders have a random stream each: a size or a range of
    one changes none of the others.
    """

    def __init__(self, inputs: int, outputs: int, operations: Sequence[str], seed: int):
        self.inputs = inputs
        self._seed = seed
        random = self._random(_PROBLEM)
        self.outputs: list[Formula] = []
        for _ in range(outputs):
            i, j = random.choice(inputs, 2, replace=False).tolist()
            self.outputs.append(Formula(i, j, operations[int(random.integers(len(operations)))]))

    def _random(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng((self._seed, *stream))

    def solve(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs `(rows, outputs)` of inputs `(rows, inputs)`."""
        columns = [OPERATIONS[o.operation](x[:, o.i], x[:, o.j]) for o in self.outputs]
        return np.stack(columns, -1)

    def rows(self, stream: int, count: int, low: float, high: float) -> Batch:
        """Return uniform inputs of the training set, or of the test set, and their outputs."""
        x = self._random(stream).uniform(low, high, (count, self.inputs))
        return torch.from_numpy(x), torch.from_numpy(self.solve(x))

    def order(self, epoch: int, count: int) -> torch.Tensor:
        """Return a random order of the training rows, another one in each epoch."""
        return torch.from_numpy(self._random(_ORDER, epoch).permutation(count))


VANILLA = "vanilla"
"""The article's name of a dense layer with a ReLU on its output, and nothing before it."""


class MysteryNetwork(ExtendedTorchModule):
    """x `(*runs, batch, inputs)` -> `(*runs, batch, outputs)`, through a single layer.

    The NAC starts Xavier-normal, as the article has it; a NALU does if its options say so, and
    other layers start as they do everywhere.
    """

    def __init__(self, unit_name: str, inputs: int, outputs: int, **layer_options):
        super().__init__("network")
        self.unit_name = unit_name
        name = "layer_1"
        if unit_name == VANILLA:
            self.layer = Dense(inputs, outputs, "ReLU", name)
        else:
            self.layer = GeneralizedLayer(inputs, outputs, unit_name, name=name, **layer_options)

    def reset_parameters(self) -> None:
        super().reset_parameters()
        if self.unit_name == "NAC":
            for weight in self.parameters():
                torch.nn.init.xavier_normal_(weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


class MysteryTask(Task):
    """Fit all outputs; the errors are mean squared ones, of all outputs and by operation."""

    kind = Kind(EPOCHS, cost=100, errors=(MSE_TRAIN, MSE_TEST))

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        operations = config.operations.split(",")
        seed = config.seed if config.problem_seed is None else config.problem_seed
        self.problem = MysteryProblem(config.input_size, config.output_size, operations, seed)
        train = self.problem.rows(TRAIN, config.train_size, *config.train_range)
        test = self.problem.rows(TEST, config.test_size, *config.test_range)
        self._train, self.test_rows = (
            tuple(floats(part, device) for part in rows) for rows in (train, test)
        )
        self.about = self._shown()
        self._of_operation = {
            name: torch.tensor([o.operation == name for o in self.problem.outputs], device=device)
            for name in operations
        }

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        if config.layer_type == "NALU":
            layer_options = {**layer_options, **NALU_VARIANTS[config.nalu_variant]}
        sizes = config.input_size, config.output_size
        return MysteryNetwork(config.layer_type, *sizes, **layer_options)

    def batches(self) -> Iterator[Batch]:
        x, t = self._train
        if self.config.shuffle:
            order = self.problem.order(self.at, self.config.train_size).to(self.device)
            x, t = x[order], t[order]
        size = self.config.batch_size
        return zip(x.split(size), t.split(size), strict=True)

    def losses(
        self, model: ExtendedTorchModule, result: StepLosses, batch: Batch, *, at_log_point: bool
    ) -> list[LogRecord]:
        return [*result.records(), LogRecord(LOSS_EPOCH, result.criterion)]

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor | str]:
        train, test = (((model(x) - t) ** 2).mean(0) for x, t in (self._train, self.test_rows))
        found: dict[str, torch.Tensor | str] = {MSE_TRAIN: train.mean(), MSE_TEST: test.mean()}
        for name, of_operation in self._of_operation.items():
            # A problem that has none of an operation has no error of it, which is not a number.
            total = test.where(of_operation, 0).sum()
            found[f"{MSE_TEST}/{name}"] = total / of_operation.sum()
        if self.at:
            return found
        rows = [(k, o.i, o.operation, o.j) for k, o in enumerate(self.problem.outputs)]
        return {**found, PROBLEM: table(("output", "input", "operation", "input"), rows)}

    def _shown(self) -> str:
        low, high = self.config.train_range
        count = self.config.train_size
        outputs = self.problem.outputs
        shown = [f"y{k} = {output.formula}" for k, output in enumerate(outputs[:_MOST_SHOWN])]
        more = ["..."] if len(outputs) > len(shown) else []
        first = f"dataset: a problem of {self.config.operations}, {count} rows on [{low}, {high}]"
        return "\n      ".join([first, *shown, *more])


NALU_VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "article": {"nalu_two_nac": True, "nalu_gate": "linear", "nalu_init": "xavier-normal"},
    "two-nac": {"nalu_two_nac": True, "nalu_init": "xavier-normal"},
    "shared": {"nalu_init": "xavier-normal"},
    "custom": {},
}
"""NALUs that the mystery problem compares -> the options of the layer that they are short for."""


def _operations(word: str) -> str:
    """Read different operations, `add,sub,mul`, in the order of their table."""
    names = word.split(",")
    for place, name in enumerate(names):
        if name not in OPERATIONS:
            raise ValueError(unknown_choice(name, tuple(OPERATIONS)))
        if name in names[:place]:
            raise ValueError(f"{name} is given twice; give every operation once")
    return ",".join(name for name in OPERATIONS if name in names)


# A flag is a few lines of a table.
# fmt: off
def _check_operands(c: Config) -> None:
    refuse(c.input_size < 2, "--input-size",
        f"every output has two different operands, there is {c.input_size} input",
        "give 2 or more")


def _check_variant(c: Config) -> None:
    """Require that a variant is one of a NALU, and that no other flag says what it says."""
    default, variant = next(iter(NALU_VARIANTS)), c.nalu_variant
    refuse(c.layer_type != "NALU" and variant != default, "--nalu-variant",
        f"{variant} is a variant of the NALU, --layer-type is {c.layer_type}", "leave it out")
    for option in NALU_VARIANTS[default]:
        said = c.layer_type == "NALU" and variant != "custom" and c.is_typed(option)
        refuse(said, f"--{option.replace('_', '-')}", f"is what --nalu-variant {variant} says",
            "add --nalu-variant custom")


_TASK = (
    LAYER_TYPE.but(choices=and_layers(lambda: (VANILLA,)),
        help="The layer, by its key or name; vanilla: a dense layer with a ReLU on its output."),
    choice("--nalu-variant", next(iter(NALU_VARIANTS)),
        "What --layer-type NALU is, each with a Xavier-normal start: two NACs and a gate that "
        "is not squashed (article), two NACs (two-nac), one for both paths as in the paper "
        "(shared); or what the other --nalu flags say (custom).", tuple(NALU_VARIANTS),
        in_name="v-{nalu_variant}"),
    Flag("--input-size", integer(1), 100, "Number of inputs.", in_name="n{input_size}"),
    Flag("--output-size", integer(1), 10, "Number of outputs.", in_name="m{output_size}"),
    Flag("--operations", each_word("OPERATION[,...]", _operations), "add,sub,mul",
        "Operations that the outputs are drawn from; div, whose results have no bound where a "
        "range contains zero, has to be named.", in_name="op-{operations:listed}"),
    Flag("--train-range", interval, [-10, 10], "Range of the training inputs.",
        in_name="i-{train_range:pair}"),
    Flag("--test-range", interval, [-10, 10], "Range of the test inputs.",
        in_name="e-{test_range:pair}"),
    Flag("--train-size", integer(1), 1000, "Number of training rows.",
        in_name="t{train_size}-{test_size}"),
    Flag("--test-size", integer(1), 1000, "Number of test rows."),
    MEASURED_EPOCHS.but(default=250),
    switch("--shuffle", "Draw a new order of the training rows in every epoch.", in_name="sh"),
    Flag("--problem-seed", integer(0), None,
        "Seed of the problem and of its rows, by default the run's; initial weights follow "
        "--seed.", in_name="p{problem_seed}"),
)
_LOOK = EVALUATION.only("--evaluate", "--evaluation-dir").but(
    evaluate={"help":
        "Train nothing: print the problem of this saved model and what its layer has "
        "learned of it, output by output, and draw both. Its own flags are used."},
    evaluation_dir={"help":
        "Where --evaluate writes; by default mystery_arithmetic_plots in SAVE_DIR."},
)
SCRIPT = task_script(
    "mystery_arithmetic",
    summary="Train one layer whose outputs are sums, differences and products of two inputs.",
    example="--layer-type NALU --nalu-variant article --seed 0-49",
    task=_TASK,
    checks=(_check_operands, _check_variant), batch_size=32, learning_rate=1e-3, log_interval=1,
    unit="Epochs", look=_LOOK,
)
TASK = MysteryTask
