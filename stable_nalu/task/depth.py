"""Success by depth: operations on operations, learned by a unit at each level or by one network.

The target is a chain of `--depth` operations on the inputs x_1, x_2, …:

    h_0 = x_1,    h_k = operation_k(h_{k-1}, x_{k+1}),    t = h_depth

`--operations` are taken in turn: add,mul of depth 4 is ((x_1 + x_2) * x_3 + x_4) * x_5. The
operation eml is exp(x_{k+1}) - ln(h_{k-1}). `--redundant` inputs stand behind those of the chain,
and the target does not depend on them.

EML trees and EQL networks learn a chain as one layer that has levels itself. Any other unit is a
layer per level, which sees the output of the level below and all inputs, and has to find its two
operands; `--sum-layer` is the unit of levels that add or subtract, which is then given.

Weights start at random; `near` the exact ones: those plus normal noise; or as the last step of a
`curriculum`: exact up to the last level, which is random. All of them are trained.

Errors are mean squares relative to that of the target. A run is solved below 1e-5, 0.3 % of the
target, beyond the range of training.
"""

import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.dataset.distribution import LegacyRandom, SampleRange, Uniform
from stable_nalu.dataset.simple_function import FunctionTargets, Operation, SampleStream
from stable_nalu.network.chain import ChainNetwork, WholeNetwork
from stable_nalu.options import Config, Flag, FlagGroup
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import buildable_layers, choice, integer, number
from stable_nalu.training.task import Goal, Target

from . import arithmetic
from .description import lower

SUMS, PRODUCTS = ("add", "sub"), ("mul", "div")
OPERATIONS = ("add,mul", "add,div", "sub,mul", "sub,div", "add", "mul", "sub", "div", "eml")
WHOLE = ("EML", "EQL", "EQLDiv")
"""Units that have levels themselves."""
EXACT = {
    "ReRegualizedLinearNAC": SUMS,
    "ReRegualizedLinearMNAC": ("mul",),
    "NRU": PRODUCTS,
    "NALU": (*SUMS, *PRODUCTS),
    "iNALU": (*SUMS, *PRODUCTS),
    "EML": ("eml",),
}
"""Unit -> the operations that its exact weights are known of."""


def operations_of(config: Config) -> list[str]:
    """Return the operation of each level, the lowest first."""
    words = config.operations.split(",")
    return [words[level % len(words)] for level in range(config.depth)]


def units_of(config: Config) -> list[str]:
    """Return the unit of each level, or of all levels together."""
    if config.layer_type in WHOLE:
        return [config.layer_type]
    adding = config.sum_layer or config.layer_type
    return [adding if o in SUMS else config.layer_type for o in operations_of(config)]


def chained(operations: Sequence[str], *x: Any) -> Any:
    """Return the targets of inputs x_1, x_2, …, one more than there are operations.

    Inputs are arrays, or symbols, of which they are formulas.
    """
    functions: Any = np
    if not isinstance(x[0], np.ndarray):
        import sympy as functions
    h, *others = x
    known = {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "div": operator.truediv,
        "eml": lambda h, own: functions.exp(own) - functions.log(h),
    }
    for operation, own in zip(operations, others, strict=True):
        h = known[operation](h, own)
    return h


def formula(operations: Sequence[str]) -> str:
    """Return the target as text."""
    signs = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
    text = "x1"
    for level, operation in enumerate(operations, start=1):
        own = f"x{level + 1}"
        inner = f"({text})" if level > 1 else text
        text = (
            f"exp({own}) - ln({text})"
            if operation == "eml"
            else f"{inner} {signs[operation]} {own}"
        )
    return text


class Chain:
    """The inputs and targets of a run: forks draw from its range, each by a seed of its own.

    With noise, a further input, which networks do not see, makes targets t (1 + noise u), u uniform
    of variance 1.
    """

    def __init__(self, config: Config):
        self._parent = LegacyRandom(config.seed)
        self._operations = operations_of(config)
        self._noise = config.noise
        self.seen = config.depth + 1 + config.redundant

    def get_input_size(self) -> int:
        """Return how many numbers are drawn for a row."""
        return self.seen + (self._noise > 0)

    def print_operation(self) -> str:
        """Return the target as text."""
        return formula(self._operations)

    def fork(
        self, sample_range: list[Any], seed: int | None = None, *, noisy: bool = False
    ) -> SampleStream:
        """Return samples of a range; without a seed, the parent draws one."""
        drawn, span = self.get_input_size(), SampleRange.parse(sample_range)
        read = [(k, k + 1) for k in range(len(self._operations) + 1)]
        combine = partial(chained, self._operations)
        if noisy and self._noise:
            combine = partial(_noisy, combine, self._noise, span.intervals[0])
            read.append((drawn - 1, drawn))
        name = f"{formula(self._operations)}, noise {self._noise if noisy else 0}"
        operation = Operation(name, None, combine, formula)
        seed = int(self._parent.integers(0, 2**32 - 1)) if seed is None else seed
        targets = FunctionTargets(operation, read)
        return SampleStream(seed, Uniform(), span, (drawn,), targets)


def _noisy(combine: Any, noise: float, interval: tuple[float, float], *x: np.ndarray) -> np.ndarray:
    low, high = interval
    u = ((2 * x[-1] - low - high) / (high - low)) * 3**0.5
    return combine(*x[:-1]) * (1 + noise * u)


class DepthTask(arithmetic.FormulaTask):
    """Learn a chain; the errors are relative ones."""

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        rows = [fixed.rows_of_runs() for fixed in self.evaluation]
        self._scales = [torch.stack([(t**2).mean() for _, t in own]) for own in rows]

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return replace(super().goal(config), operation=",".join(operations_of(config)))

    @classmethod
    def dataset(cls, config: Config) -> Chain:
        return Chain(config)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        units, inputs = units_of(config), Chain(config).seen
        if config.layer_type not in WHOLE:
            return ChainNetwork(units, inputs, **layer_options)
        # An EQL has a hidden layer for each product, and one at least.
        products = sum(o in PRODUCTS for o in operations_of(config))
        levels = {"depth": config.depth, "layers": 1 + max(1, products)}
        return WholeNetwork(config.layer_type, inputs, **layer_options, **levels)

    def initialized(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        model: Any = super().initialized(config, layer_options)
        if config.start == "random":
            return model
        operations = operations_of(config)
        exact = operations[:-1] if config.start == "curriculum" else operations
        for level, operation in enumerate(exact, start=1):
            model.set_exact(level, operation)
        if config.start == "near":
            with torch.no_grad():
                for weight in filter(torch.numel, model.parameters()):
                    weight += config.start_noise * weight.abs().max() * torch.randn_like(weight)
        return model

    def training_streams(self) -> list[SampleStream]:
        pairs = zip(self.datasets, self.configs, strict=True)
        return [chain.fork(c.interpolation_range, noisy=True) for chain, c in pairs]

    def target(self) -> Target | None:
        found = super().target()
        return found and replace(found, scale=float((found.t**2).mean()))

    def measures(self, model: ExtendedTorchModule) -> Iterator[tuple[str, torch.Tensor]]:
        for (tag, error), scale in zip(super().measures(model), self._scales, strict=True):
            yield tag, error / scale.reshape(error.shape)


def _check_start(c: Config) -> None:
    """Require exact weights of all levels that start from them."""
    if c.start == "random":
        return
    whole = c.layer_type in WHOLE
    for level, operation in enumerate(operations_of(c)):
        unit = units_of(c)[0 if whole else level]
        if operation not in EXACT.get(unit, ()):
            raise OptionError(
                "--start",
                f"no exact weights of {unit} for {operation} are known",
                "use --start random",
            )
    if "tree=bottom" in c.layer_option:
        raise OptionError(
            "--start", "a tree with variables at the bottom has no chain", "leave out tree=bottom"
        )


def _check_sums(c: Config) -> None:
    """Refuse a unit of sums where nothing would be built of it."""
    if c.sum_layer is None:
        return
    if c.layer_type in WHOLE:
        raise OptionError(
            "--sum-layer", f"{c.layer_type} is all levels in one", "leave the flag out"
        )
    if not set(SUMS) & set(operations_of(c)):
        raise OptionError("--sum-layer", f"{c.operations} has no sums", "leave the flag out")


SCRIPT = arithmetic.script(
    name="depth",
    drawn_by=(),
    summary="Train a unit on operations on operations, by their depth, from random or nearly exact "
    "weights.",
    example="--layer-type NMU --sum-layer NAU --depth 3 --seed 0-99",
    groups=(
        FlagGroup(
            "Task and data",
            choice(
                "--operations", "add,mul", "Operations of the levels, taken in turn.", OPERATIONS
            ),
            Flag("--depth", integer(1, 8), 2, "Number of operations."),
            Flag("--redundant", integer(0), 0, "Number of inputs that the target does not use."),
            Flag(
                "--noise",
                number(0, maximum=1),
                0.0,
                "Relative deviation of uniform noise on targets, in training.",
            ),
            *common.TASK.only(
                "--interpolation-range", "--extrapolation-range", "--batch-size", "--seed"
            ),
            common.MAX_ITERATIONS.but(default=20000),
        ),
        FlagGroup(
            "Network",
            common.LAYER_TYPE.but(default="iNALU", choices=buildable_layers),
            choice(
                "--sum-layer",
                None,
                "Unit of levels that add or subtract, if another one.",
                buildable_layers,
            ),
            choice(
                "--start",
                "random",
                "Start weights: random, exact plus noise, or exact up to the last level.",
                ("random", "near", "curriculum"),
            ),
            Flag(
                "--start-noise",
                number(0),
                0.5,
                "Deviation of --start near, as a part of the largest weight of a matrix.",
            ),
        ),
        *arithmetic.FORMULA_LAYERS,
        common.OPTIMIZER,
        arithmetic.formula_logging("depth"),
        common.RUN_CONTROL,
    ),
    name_fields=(
        *(lower("layer_type"), nf.template("op-{operations}"), nf.template("d{depth:int}")),
        *(nf.BATCH_SIZE, nf.SEED, nf.RATE),
        *nf.all_trailing(
            "re{redundant:int} no-{noise:float} sl-{sum_layer} st-{start:word}-{start_noise:float}",
            "i-{interpolation_range:range} e-{extrapolation_range:range}",
        ),
        *arithmetic.FORMULA_NAME,
    ),
    checks=(*arithmetic.FORMULA_CHECKS, _check_sums, _check_start),
)
TASK = DepthTask
