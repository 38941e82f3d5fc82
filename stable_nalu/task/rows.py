"""Tasks that train on all their rows in every update: identity, comparison, addition, recovery.

The identity by a scalar autoencoder is section 1.1 and figure 1 of the NALU paper: how networks
fail beyond their training range. Its optimiser, rate and sampling are not published.

Comparisons of numbers are trained on one digit, tested on up to nineteen: the task of the Neural
Status Register; the published script compares other numbers than it labels.

In the notebook's addition two NALUs learn the sum of ten numbers: section "Experiments" of the
notes with the notebook. Its last evaluation trains on the test rows; here these are only measured,
unless `--train-on-test` says otherwise.

In the recovery of trees an EML tree learns a function that another one, drawn at random, computes:
in the phases of the published code, search at a high temperature, then hardening at a falling one
with penalties of what is undecided; measured is the tree whose likeliest choices are made.
"""

import copy
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, cast

import numpy as np
import torch

from stable_nalu import functional
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import UsageError
from stable_nalu.base.papers import FLAT
from stable_nalu.dataset import simple_function
from stable_nalu.dataset.simple_function import SampleStream
from stable_nalu.layer.equations import COLD, DECIDED, TOO_LARGE, EMLLayer, hardened
from stable_nalu.layer.registry import GeneralizedLayer
from stable_nalu.network.dense import ACTIVATIONS, IdentityNetwork, layers_between
from stable_nalu.options import Config, Flag, switch
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import and_layers, choice, integer, interval, number
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS, refuse
from stable_nalu.statistics import setups
from stable_nalu.training import floats
from stable_nalu.training.recorder import StepResult, TaggedValue
from stable_nalu.training.step import Penalties, TrainingStep
from stable_nalu.training.task import Batch, Drawn, Goal, Kind, Shape, Target
from stable_nalu.writer import event_file as tags
from stable_nalu.writer.event_file import ERROR_CURVE, METRIC_TEST, METRIC_VALID

from .arithmetic import READ_ROWS
from .shared import MeasuredTask, table, task_script


class RowsTask(MeasuredTask):
    """Trains on all rows in every update, or on few that Python draws."""

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self.data = list(map(self.rows_of, self.configs))
        self._laid: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def rows_of(self, config: Config) -> Batch:
        raise NotImplementedError

    @classmethod
    def count(cls, config: Config) -> int:
        raise NotImplementedError

    @classmethod
    def shape(cls, config: Config) -> Shape:
        rows, penalties = cls.count(config), cls.kind.penalties
        return Shape(rows, config.inputs, 1, None, config.verbose, penalties)

    def batches(self) -> Iterator[Batch]:
        return iter(self.data[:1])

    def samples(self) -> tuple[Sequence[SampleStream], Drawn]:
        return (), self.given

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return samples of some runs: their rows, the same ones for all iterations."""
        key = tuple(runs)
        if key not in self._laid:
            self._laid[key] = self.laid([self.data[run] for run in runs])
        return self._laid[key]

    @staticmethod
    def laid(rows: Sequence[Batch]) -> tuple[np.ndarray, np.ndarray]:
        x, t = (torch.stack(parts)[None].numpy() for parts in zip(*rows, strict=True))
        return x, t


POINTS = 101
"""Points of the training range at which the error is measured."""


class IdentityTask(RowsTask):
    """Reconstruct a number; the test error is the mean absolute one outside the training range."""

    kind = Kind(cost=3)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        self.randoms: list[np.random.Generator] = []
        super().__init__(config, device, *others)
        (low, high), (first, last) = config.train_range, config.test_range
        within = torch.linspace(low, high, POINTS, dtype=torch.float64)[:, None]
        self._within = floats(within, device)
        self._numbers = whole_numbers(first, last)
        self._outside = (self._numbers < low) | (self._numbers > high)
        self._over = floats(self._numbers[:, None], device)
        self.about = f"dataset: the identity on [{low}, {high}], {config.train_sampling}"

    def rows_of(self, config: Config) -> Batch:
        self.randoms.append(np.random.default_rng(config.seed))
        if config.train_sampling == "grid":
            x = floats(whole_numbers(*config.train_range)[:, None], self.device)
        else:
            (x,) = self._drawn(self.randoms[-1], 1)
        return x, x

    @classmethod
    def count(cls, config: Config) -> int:
        grid = config.train_sampling == "grid"
        return len(whole_numbers(*config.train_range)) if grid else config.batch_size

    def _drawn(self, random: np.random.Generator, count: int) -> torch.Tensor:
        """Return fresh batches, `(count, batch, 1)`."""
        (low, high), size = self.config.train_range, (count, self.config.batch_size, 1)
        return floats(torch.from_numpy(random.uniform(low, high, size)), self.device)

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        if self.config.train_sampling == "grid":
            return super().given(runs, count)
        x = torch.stack([self._drawn(self.randoms[run], count) for run in runs], 1).numpy()
        return x, x

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        sizes = config.hidden_size, config.hidden_layers
        return IdentityNetwork(config.layer_type, *sizes, **layer_options)

    def batches(self) -> Iterator[Batch]:
        if self.config.train_sampling == "grid":
            yield from super().batches()
        else:
            (x,) = self._drawn(self.randoms[0], 1)
            yield x, x

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor | str]:
        within = (model(self._within) - self._within).abs()
        over = (model(self._over) - self._over).abs().squeeze(-1)
        found = {METRIC_VALID: within.mean(), METRIC_TEST: over[self._outside].mean()}
        if self.at < self.config.max_iterations:
            return found
        return {**found, ERROR_CURVE: error_table(self._numbers.tolist(), over.tolist())}

    def get_state(self, run: int) -> dict[str, Any]:
        return {"random": self.randoms[run]}


def whole_numbers(low: float, high: float) -> torch.Tensor:
    return torch.arange(math.ceil(low), math.floor(high) + 1, dtype=torch.float64)


def error_table(x: Sequence[float], errors: Sequence[float]) -> str:
    return table(("x", "abs.error"), zip(map("{:g}".format, x), errors, strict=True))


RELATIONS = {name: getattr(operator, name) for name in ("gt", "lt", "ge", "le", "eq", "ne")}
MAGNITUDES = range(1, 19)
"""Powers of ten of the first number of a test pair."""
FARTHEST = 5
"""By how many scales the second number differs at most."""
NumberPairs = Sequence[tuple[int | float, int | float]]


def training_pairs(relation: str, random: np.random.Generator) -> NumberPairs:
    """Return all pairs of digits; of those that are equal or not, as many of both kinds."""
    digits = range(1, 10)
    every = [(a, b) for a in digits for b in digits]
    if relation not in ("eq", "ne"):
        return every
    unequal = [pair for pair in every if pair[0] != pair[1]]
    chosen = random.choice(len(unequal), len(digits), replace=False)
    return [(a, a) for a in digits] + [unequal[k] for k in chosen]


def pairs_of_magnitude(
    relation: str, scale: float, power: int, random: np.random.Generator
) -> NumberPairs:
    """Return pairs next to a number of so many digits, in both orders; equal ones as training.

    Whole numbers stay whole, as floats cannot tell the largest ones apart.
    """
    step: int | float = int(scale) if scale == int(scale) else scale
    digits = [int(random.integers(1, 10)), *map(int, random.integers(0, 10, power))]
    a = int("".join(map(str, digits)))
    found = [(a, a + i * step) for i in range(-FARTHEST, FARTHEST + 1)]
    if relation in ("eq", "ne"):
        del found[FARTHEST]
        found += [(a, a)] * (2 * FARTHEST)
    return [*found, *((b, a) for a, b in found)]


class ComparisonNetwork(ExtendedTorchModule):
    """x `(*runs, batch, 2)` -> a probability, `(*runs, batch, 1)`.

    An NSR gives one itself. Others are two layers, of a unit or dense ones with an activation
    between them, and a sigmoid.
    """

    def __init__(self, unit_name: str, hidden_size: int = 10, **layer_options):
        super().__init__("network")
        self.unit_name = unit_name
        self.squashes = unit_name != "NSR"
        sizes = [2, hidden_size, 1] if self.squashes else [2, 1]
        self.layers = layers_between(unit_name, sizes, layer_options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layers(x)
        return torch.sigmoid(y) if self.squashes else y


class ComparisonTask(RowsTask):
    """Tell whether a relation holds; errors are mean absolute ones of the probability."""

    kind = Kind(cost=3)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        self._tests: list[list[Batch]] = []
        super().__init__(config, device, *others)
        self.about = f"dataset: pairs of digits, times {config.scale:g}; is one {RELATION_WORDS}?"

    def rows_of(self, config: Config) -> Batch:
        random, relation, scale = np.random.default_rng(config.seed), config.relation, config.scale
        pairs = [(a * scale, b * scale) for a, b in training_pairs(relation, random)]
        tests = [pairs_of_magnitude(relation, scale, power, random) for power in MAGNITUDES]
        self._tests.append([self._labelled(relation, test) for test in tests])
        return self._labelled(relation, pairs)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(operation=config.relation)

    @classmethod
    def count(cls, config: Config) -> int:
        return len(training_pairs(config.relation, np.random.default_rng(0)))

    def _labelled(self, relation: str, pairs: NumberPairs) -> Batch:
        """Return inputs `(pairs, 2)` and whether the relation holds `(pairs, 1)`."""
        holds = RELATIONS[relation]
        x = [[float(a), float(b)] for a, b in pairs]
        t = [[float(holds(a, b))] for a, b in pairs]
        rows = (torch.tensor(part, dtype=torch.float64) for part in (x, t))
        return tuple(floats(part, self.device) for part in rows)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return ComparisonNetwork(config.layer_type, config.hidden_size, **layer_options)

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor | str]:
        x, t = self.data[run]
        errors = torch.stack([(model(a) - b).abs().squeeze(-1) for a, b in self._tests[run]])
        found: dict[str, Any] = {METRIC_VALID: (model(x) - t).abs().mean()}
        right = (errors < 0.5).double().mean() * 100
        found |= {METRIC_TEST: errors.mean(), tags.ACCURACY_TEST: right}
        if self.at < self.config.max_iterations:
            return found
        return {**found, ERROR_CURVE: error_table(MAGNITUDES, errors.mean(-1).tolist())}


INPUTS = 10
SPLIT = 4
"""The first sum takes so many inputs, the second one the others."""
TRAIN_HIGH, TEST_HIGH = 10.0, 100.0


class NotebookNetwork(ExtendedTorchModule):
    """x `(*runs, batch, input_size)` -> `(*runs, batch, 1)`: two layers of one unit."""

    def __init__(self, unit_name: str, input_size: int = 10, hidden_size: int = 2, **layer_options):
        super().__init__("network")
        self.unit_name = unit_name
        for name, sizes in (("layer_1", (input_size, hidden_size)), ("layer_2", (hidden_size, 1))):
            self.add_module(name, GeneralizedLayer(*sizes, unit_name, name=name, **layer_options))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer_2(self.layer_1(x))


class NotebookTask(RowsTask):
    """Add up each row; the loss is half the sum, over all rows, of squared errors.

    Training rows are uniform in [0, 10), as many test rows in [0, 100), drawn once from a seed.
    """

    kind = Kind(cost=100, errors=(None, tags.METRIC_TEST_HALF_SUM))

    def __init__(self, config: Config, device: torch.device, *others: Config):
        self.test_rows: list[Batch] = []
        super().__init__(config, device, *others)
        self.about = f"dataset: {config.train_size} rows of {INPUTS} numbers and their sum"

    def rows_of(self, config: Config) -> Batch:
        random = np.random.default_rng(config.seed)
        rows = self._drawn(random, TRAIN_HIGH)
        self.test_rows.append(self._drawn(random, TEST_HIGH))
        return rows

    @classmethod
    def count(cls, config: Config) -> int:
        return config.train_size

    def _drawn(self, random: np.random.Generator, high: float) -> Batch:
        """Return inputs `(rows, 10)` and targets `(rows, 1)`."""
        x = random.random((self.config.train_size, INPUTS)) * high
        a, b = x[:, :SPLIT].sum(1, keepdims=True), x[:, SPLIT:].sum(1, keepdims=True)
        rows = torch.from_numpy(x), torch.from_numpy(a + b)
        return tuple(floats(part, self.device) for part in rows)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return NotebookNetwork(config.layer_type, INPUTS, **layer_options)

    @property
    def _trains_on_test(self) -> bool:
        """Whether the update of this unit is the notebook's slip."""
        return self.config.train_on_test and self.at == self.config.max_iterations

    def batches(self) -> Iterator[Batch]:
        return iter(self.test_rows) if self._trains_on_test else super().batches()

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        if self._trains_on_test:
            return self.laid([self.test_rows[run] for run in runs])
        return super().given(runs, count)

    def losses(
        self, model: ExtendedTorchModule, result: StepResult, batch: Batch, *, at_log_point: bool
    ) -> Iterator[TaggedValue]:
        yield from result.losses()
        yield TaggedValue(tags.LOSS_HALF_SUM, result.criterion)
        yield TaggedValue(tags.LOSS_MSE, self._mean(result.criterion))
        if self._trains_on_test:
            for tag, value in self.measures(model).items():
                yield TaggedValue(f"{tag}{tags.AFTER_SUFFIX}", value)

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor]:
        x, t = self.test_rows[run]
        half_sum = functional.CRITERIA["half-sum"](model(x), t)
        return {tags.METRIC_TEST_HALF_SUM: half_sum, tags.MSE_TEST: self._mean(half_sum)}

    def _mean(self, half_sum: torch.Tensor) -> torch.Tensor:
        return half_sum * 2 / self.config.train_size

    def get_state(self, run: int) -> dict[str, Any]:
        return {"trained_on_test": self._trains_on_test}

    def set_state(self, run: int, state: Mapping[str, Any]) -> None:
        if state["trained_on_test"] and self.at < self.config.max_iterations:
            raise UsageError(
                "argument --train-on-test: the last update of this run was on its test rows, so it "
                "cannot go on; start anew with --remove-existing-data"
            )

    def target(self) -> Target:
        slices = [(0, SPLIT), (SPLIT, INPUTS)]
        targets = simple_function.FunctionTargets(simple_function.OPERATIONS["add"], slices)
        x, t = (rows[:READ_ROWS] for rows in self.data[0])
        return Target(targets, x, t, [(0.0, TEST_HIGH)], setups.Limit(FLAT))


SLOWEST = 0.01
"""Part of the learning rate that is left at the end."""
MOST_DRAWS = 20_000
BEYOND = 0.5, 4.5
"""Lower end and width of the range of test inputs."""
HELD = {2: 1, 3: 0, 4: 1, 5: 1, 6: 0}
"""Depth of a chain -> the place of what it holds: eml(1, held) or eml(held, 1)."""


def drawn_tree(depth: int, tree: str, grid: torch.Tensor) -> EMLLayer:
    """Return a tree of exactly this depth over both inputs, real and not large on a grid."""
    for _ in range(MOST_DRAWS):
        layer = EMLLayer(2, 1, depth=depth, tree=tree, temperature=COLD)
        if tree == "slots":
            layer.nodes.data[..., -1] += 1
        layer.snap()
        text = layer.expression(("x", "y"))
        nesting = max(accumulate((sign == "(") - (sign == ")") for sign in text))
        if not ("x" in text and "y" in text and nesting == depth):
            continue
        real, imaginary = layer.levels(grid)[-1]
        if real.abs().max() <= TOO_LARGE and imaginary.abs().max() < 1e-9 and real.std() > 1e-3:
            return layer
    raise UsageError(f"argument --depth: no tree of depth {depth} was found in {MOST_DRAWS} draws")


def chain(depth: int, tree: str) -> EMLLayer:
    """Return a tree whose only node of inputs is the deepest: those of the published code.

    With z = e^x - ln y they compute z, e - ln z, e^e / z and ln z; here they go on with
    e - ln(ln z) and e^e / ln z.
    """
    layer = EMLLayer(2, 1, depth=depth, tree=tree, temperature=COLD)
    held = [0]
    for level in range(depth, 1, -1):
        held.append(2 * held[-1] + HELD[level])
    leaves, nodes = layer.leaves.data[0].fill_(0), layer.nodes.data[0].fill_(0)
    leaves[:, 0] = 1
    leaves[2 * held[-1] : 2 * held[-1] + 2] = leaves.new_tensor([[0, 1, 0], [0, 0, 1]])
    inner = list(zip(range(1, depth), held[1:], strict=True))
    if tree == "slots":
        nodes[:, 0] = 1
        for level, slot in inner:
            nodes[layer.place(level)][slot] = nodes.new_tensor([0, 0, 0, 1])
    else:
        nodes.fill_(DECIDED)
        for level, slot in [*inner, (depth, 2 * held[-1]), (depth, 2 * held[-1] + 1)]:
            nodes[layer.place(level)][slot] = -DECIDED
    with torch.no_grad():
        layer.snap()
    return layer


class RecoveryTask(RowsTask):
    """Find a tree that computes what the target does; errors are those of the snapped tree."""

    kind = Kind(cost=10, penalties=Penalties)

    def __init__(self, config: Config, device: torch.device, *others: Config):
        self.targets: list[EMLLayer] = []
        self._beyond: list[Batch] = []
        super().__init__(config, device, *others)
        self.about = f"dataset: {self.targets[0].expression(('x', 'y'))} on [1, 3]²"

    def rows_of(self, config: Config) -> Batch:
        grid = floats(_grid(), self.device)
        options = dict(word.split("=", 1) for word in config.layer_option)
        tree = options.get("tree", "slots")
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(config.seed)
            drawn = config.target == "drawn"
            target = drawn_tree(config.depth, tree, grid) if drawn else chain(config.depth, tree)
            low, width = BEYOND
            beyond = floats(low + width * torch.rand(4000, 2, dtype=torch.float64), self.device)
            self.targets.append(target)
            self._beyond.append((beyond, target(beyond)))
            return grid, target(grid)

    @classmethod
    def count(cls, config: Config) -> int:
        return len(_grid())

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        options = {"depth": config.depth, "iterations": config.max_iterations}
        return GeneralizedLayer(2, 1, config.layer_type, **options, **layer_options)

    def initialized(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        model = super().initialized(config, layer_options)
        if config.warm_start is not None:
            target = dict(self.targets[self.configs.index(config)].named_parameters())
            with torch.no_grad():
                for name, own in cast("EMLLayer", model.layer).named_parameters():
                    if own.requires_grad:
                        own.copy_(target[name] + config.warm_start * torch.randn_like(own))
        return model

    def begin(self, step: TrainingStep) -> None:
        step.optimizer.learning_rate = self.config.learning_rate * self.rate_factor(self.at)

    def rate_factor(self, at: int) -> float:
        return max(SLOWEST, (1 - hardened(at, self.config.max_iterations)) ** 2)

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor]:
        layer = copy.deepcopy(cast("EMLLayer", model.layer)).eval()
        layer.snap()
        layer.set_parameter("tau", 1.0)
        sets = {METRIC_VALID: self.data[run], METRIC_TEST: self._beyond[run]}
        return {tag: ((layer(x) - t) ** 2).mean() for tag, (x, t) in sets.items()}

    def target(self) -> Target:
        operation = simple_function.Operation("eml", 2, self.targets[0].computed, "{}, {}".format)
        targets = simple_function.FunctionTargets(operation, [(0, 1), (1, 2)])
        x, t = self.data[0]
        low, width = BEYOND
        return Target(targets, x, t, [(low, low + width)], setups.Limit(FLAT))


def _grid() -> torch.Tensor:
    axis = torch.linspace(1, 3, 21, dtype=torch.float64)
    return torch.cartesian_prod(axis, axis)


RELATION_WORDS = "greater (gt, ge), less (lt, le) or equal (eq, ne)"


# A flag is a few lines of a table.
# fmt: off
def _check_ranges(c: Config) -> None:
    (low, high), (first, last) = c.train_range, c.test_range
    refuse(first >= low and last <= high, "--test-range",
        f"[{first},{last}] lies within --train-range [{low},{high}]",
        "nothing is extrapolated; give a wider one")
    refuse(c.train_sampling == "grid" and high - low < 1, "--train-range",
        f"[{low},{high}] is too narrow for --train-sampling grid, its whole numbers",
        "give a wider one, or --train-sampling uniform")


_IDENTITY = (
    LAYER_TYPE.but(default="ReLU", choices=and_layers(lambda: ACTIVATIONS),
        help="Activation of the hidden layers, or the unit of all layers, by its key or name."),
    choice("--train-sampling", "grid",
        "Train on all whole numbers of the range at once, or on a fresh uniform batch of "
        "--batch-size numbers.", ("grid", "uniform")),
    Flag("--train-range", interval, [-5, 5], "Range of the training inputs."),
    Flag("--test-range", interval, [-20, 20], "Range over which the error is measured."),
    Flag("--hidden-size", integer(1), 8, "Width of the hidden layers."),
    Flag("--hidden-layers", integer(1), 3, "Number of hidden layers."),
    MAX_ITERATIONS.but(default=10000),
)
IDENTITY = task_script(
    "identity_autoencoder",
    summary="Train a scalar autoencoder on the identity, and measure how it fails beyond the range "
    "that it was trained on.",
    example="--layer-type Tanh --seed 0-99",
    task=_IDENTITY,
    fragments=(
        "t-{train_sampling} i-{train_range:pair} e-{test_range:pair}",
        "h{hidden_size}x{hidden_layers}",
    ),
    checks=(_check_ranges,), batch_size=64, learning_rate=1e-2, inputs=1,
)
_COMPARISON = (
    LAYER_TYPE.but(default="NSR", choices=and_layers(lambda: ACTIVATIONS),
        help="The NSR; or a unit, or an activation, of two layers with a sigmoid behind them."),
    choice("--relation", "gt", f"Whether a number is {RELATION_WORDS}.", tuple(RELATIONS)),
    Flag("--scale", number(above=0), 1.0,
        "Distance of two neighbours: training numbers are 1 to 9 of it."),
    Flag("--hidden-size", integer(1), 10, "Width between two layers; the NSR has one."),
    MAX_ITERATIONS.but(default=50000),
)
COMPARISON = task_script(
    "comparison",
    summary="Train a unit to compare two digits, and measure it on numbers of up to 19 digits.",
    example="--layer-type NSR --relation gt --pytorch-precision 64 --seed 0-9",
    task=_COMPARISON,
    fragments=("rel-{relation:word} sc-{scale:float} h{hidden_size}",), batch_size=None,
    learning_rate=1e-3, inputs=2, criterion="mae",
)
_NOTEBOOK = (
    LAYER_TYPE.but(help="Unit of both layers, by its key or name.", choices=and_layers(dict)),
    Flag("--train-size", integer(1), 10000, "Number of training rows, and of test rows."),
    MAX_ITERATIONS.but(default=50000),
    switch("--train-on-test",
        "Make the last update on the test rows, as the notebook's last evaluation does by "
        "mistake; the errors behind it are logged, too.", young=True),
)
NOTEBOOK = task_script(
    "notebook_addition",
    summary="Train two layers on the sum of ten numbers, all rows at once, as a published notebook "
    "does.",
    example="--layer-type NALU --seed 0-99",
    task=_NOTEBOOK,
    fragments=("n{train_size}", nf.either("train_on_test", "tt", "")),
    batch_size=None, learning_rate=0.1, nalu_init="truncated", inputs=INPUTS, criterion="half-sum",
)
def _check_target(c: Config) -> None:
    refuse(c.target == "chain" and c.depth > max(HELD), "--target",
        f"no chain of depth {c.depth} is known", "take drawn")


_RECOVERY = (
    LAYER_TYPE.but(default="EML", help="The tree.", choices=lambda: ("EML",)),
    Flag("--depth", integer(1, 8), 2, "Depth of the target and of the tree that learns it."),
    choice("--target", "drawn",
        "What is to be found: a tree that the seed draws, or a chain of nodes, which up to "
        "depth 4 is that of the published code.", ("drawn", "chain"), young=True),
    Flag("--warm-start", number(0), None,
        "Start from the target plus normal noise of this deviation: no discovery."),
    MAX_ITERATIONS.but(default=8000),
)
RECOVERY = task_script(
    "eml_recovery",
    summary="Train an EML tree on what another one of its depth computes, and see if it is found.",
    example="--depth 3 --pytorch-precision 64 --seed 0-63",
    task=_RECOVERY,
    fragments=("d{depth} ta-{target} ws-{warm_start:float}",), batch_size=None, learning_rate=1e-2,
    clip_grad_norm=1.0, inputs=2, checks=(_check_target,),
)
