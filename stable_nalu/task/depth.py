"""Formulas of more than a layer: chains of operations, by their depth.

The target of `depth` is a chain of `--depth` operations on the inputs x_1, x_2, …:

    h_0 = x_1,    h_k = operation_k(h_{k-1}, x_{k+1}),    t = h_depth

`--operations` are taken in turn: add,mul of depth 4 is ((x_1 + x_2) * x_3 + x_4) * x_5. The
operation eml is exp(x_{k+1}) - ln(h_{k-1}). `--redundant` inputs follow the inputs of the chain,
and the target does not depend on them.

EML trees and EQL networks learn a chain as one layer that has levels itself. Any other unit is a
layer per level, which sees the output of the level below and all inputs, and has to find its two
operands; `--sum-layer` is the unit of levels that add or subtract, which is then given.

Weights start at random; `near`, which is the exact weights plus normal noise; or as the last step
of a `curriculum`, exact up to the last level, which is random. All of them are trained.

Errors are mean squares divided by the mean square of the target. A run is solved below 1e-5, 0.3 %
of the target, beyond the range of training.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.distribution import LegacyRandom, SampleRange, Uniform
from stable_nalu.dataset.simple_function import (
    FunctionTargets,
    Operation,
    SampleStream,
)
from stable_nalu.layer.equations import DECIDED, EMLLayer
from stable_nalu.layer.nalu import AbstractNALULayer, INALULayer
from stable_nalu.layer.registry import GeneralizedLayer
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import buildable_layers, choice, integer, number
from stable_nalu.training.step import Penalties
from stable_nalu.training.task import Goal, Kind, Target

from .arithmetic import LOGGING, OperationTask, script
from .shared import DENSITY, SIGNS, lower
from .shared import OPERATIONS as TWO_OPERANDS

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
    known = {**TWO_OPERANDS, "eml": lambda h, own: functions.exp(own) - functions.log(h)}
    for operation, own in zip(operations, others, strict=True):
        h = known[operation](h, own)
    return h


def formula(operations: Sequence[str]) -> str:
    text = "x1"
    for level, operation in enumerate(operations, start=1):
        own = f"x{level + 1}"
        inner = f"({text})" if level > 1 else text
        is_eml = operation == "eml"
        text = f"exp({own}) - ln({text})" if is_eml else f"{inner} {SIGNS[operation]} {own}"
    return text


class Chain:
    """The inputs and targets of a run: forks draw from its range, each by a seed of its own.

    With noise, a further input, which networks do not see, makes targets t (1 + noise u) of
    training, u uniform of variance 1. Samples of training are a fork without a seed.
    """

    def __init__(self, config: Config):
        self._parent = LegacyRandom(config.seed)
        self._operations = operations_of(config)
        self._noise = config.noise
        self.seen = config.depth + 1 + config.redundant

    def get_input_size(self) -> int:
        return self.seen + (self._noise > 0)

    def print_operation(self) -> str:
        return formula(self._operations)

    def fork(self, sample_range: list[Any], seed: int | None = None, **_: Any) -> SampleStream:
        """Return samples of a range; without a seed, the parent draws one."""
        drawn, span = self.get_input_size(), SampleRange.parse(sample_range)
        noise = self._noise if seed is None else 0
        read = [(k, k + 1) for k in range(len(self._operations) + 1)]
        combine = partial(chained, self._operations)
        if noise:
            combine = partial(_noisy, combine, noise, span.intervals[0])
            read.append((drawn - 1, drawn))
        operation = Operation(f"{self.print_operation()}, noise {noise}", None, combine, formula)
        seed = int(self._parent.integers(0, 2**32 - 1)) if seed is None else seed
        return SampleStream(seed, Uniform(), span, (drawn,), FunctionTargets(operation, read))


def _noisy(combine: Any, noise: float, interval: tuple[float, float], *x: np.ndarray) -> np.ndarray:
    low, high = interval
    u = ((2 * x[-1] - low - high) / (high - low)) * 3**0.5
    return combine(*x[:-1]) * (1 + noise * u)


SATURATED = 20.0
"""The size of weights that are squashed, at which they are exact."""


class ChainNetwork(ExtendedTorchModule):
    """x `(*runs, batch, at least inputs)` -> `(*runs, batch, 1)`.

    Level k sees the output of the level below it, if there is one, and all inputs:

        h_1 = layer_1(x),    h_k = layer_k([h_{k-1}, x])

    units: the unit of each level, or of all in one. Columns of x behind the `inputs` are not seen.
    """

    def __init__(self, units: list[str], inputs: int, **layer_options: Any):
        super().__init__("network")
        self.inputs = inputs
        self.names = [f"layer_{level}" for level in range(1, len(units) + 1)]
        for level, (name, unit) in enumerate(zip(self.names, units, strict=True)):
            size = inputs + (level > 0)
            self.add_module(name, GeneralizedLayer(size, 1, unit, name=name, **layer_options))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x[..., : self.inputs]
        first, *others = (getattr(self, name) for name in self.names)
        y = first(x)
        for layer in others:
            y = layer(torch.cat((y, x), -1))
        return y

    @torch.no_grad()
    def set_exact(self, level: int, operation: str) -> None:
        """Let a level, counted from 1, compute an operation on what it has to."""
        layer = getattr(self, self.names[min(level, len(self.names)) - 1]).layer
        if isinstance(layer, EMLLayer):
            _set_tree(layer, level)
            return
        operands = (0, 1) if level == 1 else (0, level + 1)
        sign = -1.0 if operation in ("sub", "div") else 1.0
        row = torch.zeros(layer.in_features)
        row[list(operands)] = torch.tensor([1.0, sign])
        adds = operation in ("add", "sub")
        if isinstance(layer, AbstractNALULayer):
            for nac in {layer.nac_add, getattr(layer, "nac_mul", layer.nac_add)}:
                _set_squashed(nac.W_hat, nac.M_hat, row)
            gate = SATURATED if adds else -SATURATED
            layer.G_add.fill_(gate if layer.nalu_gate == "independent" else gate / len(row))
        elif isinstance(layer, INALULayer):
            for path in layer.paths:
                names = (f"{m}_{path}_hat" for m in "WM")
                _set_squashed(*map(layer.get_parameter, names), row[:, None])
            layer.g.fill_(SATURATED if adds else -SATURATED)
        else:
            layer.W.copy_(row)


def _set_squashed(W_hat: torch.Tensor, M_hat: torch.Tensor, W: torch.Tensor) -> None:
    """Let tanh(W_hat) sigmoid(M_hat) be W."""
    W_hat.copy_(SATURATED * W)
    M_hat.copy_(SATURATED * (2 * W.abs() - 1))


def _set_tree(tree: EMLLayer, level: int) -> None:
    """Let the tree of a level, counted from 1, be eml(x_{level+1}, the tree below it).

    It is the right part of the one above it; other nodes of the level are eml(1, 1).
    """
    if level == 1:
        slots, below = tree.leaves[0], 1
    else:
        # Levels that have children follow from the lowest one, each half as long.
        start, end = (2**tree.depth - 2 ** (tree.depth - level + k) for k in (2, 1))
        slots, below = tree.nodes[0, start:end], -1
    _decide(slots, 0)
    _decide(slots[-2], level + 1)
    _decide(slots[-1], below)


def _decide(logits: torch.Tensor, choice: int) -> None:
    logits.fill_(-DECIDED)
    logits[..., choice] = DECIDED


class FormulaTask(OperationTask):
    """A formula whose rows Python makes, for networks of more than a layer."""

    kind = Kind(penalties=Penalties)
    in_python, shown_inputs = True, 0


class DepthTask(FormulaTask):
    """Learn a chain; the errors are relative ones."""

    dataset = Chain

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        rows = [fixed.rows_of_runs() for fixed in self.evaluation]
        self._scales = [torch.stack([(t**2).mean() for _, t in own]) for own in rows]

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return replace(super().goal(config), operation=",".join(operations_of(config)))

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        levels: dict[str, int] = {}
        if config.layer_type in WHOLE:
            # An EQL has a hidden layer for each product, and one at least.
            products = sum(o in PRODUCTS for o in operations_of(config))
            levels = {"depth": config.depth, "layers": 1 + max(1, products)}
        return ChainNetwork(units_of(config), Chain(config).seen, **layer_options, **levels)

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

    def target(self) -> Target | None:
        found = super().target()
        return found and replace(found, scale=float((found.t**2).mean()))

    def measures(self, model: ExtendedTorchModule) -> Iterator[tuple[str, torch.Tensor]]:
        for (tag, error), scale in zip(super().measures(model), self._scales, strict=True):
            yield tag, error / scale.reshape(error.shape)


# A check, a script or a flag is a few lines of a table.
# fmt: off
def _check_start(c: Config) -> None:
    """Require exact weights of all levels that start from them."""
    if c.start == "random":
        return
    whole = c.layer_type in WHOLE
    for level, operation in enumerate(operations_of(c)):
        unit = units_of(c)[0 if whole else level]
        common.refuse(operation not in EXACT.get(unit, ()), "--start",
            f"no exact weights of {unit} for {operation} are known", "use --start random")
    common.refuse("tree=bottom" in c.layer_option, "--start",
        "a tree with variables at the bottom has no chain", "leave out tree=bottom")


def _check_sums(c: Config) -> None:
    """Refuse a unit of sums where nothing would be built of it."""
    whole, remedy = c.layer_type in WHOLE, "leave the flag out"
    common.refuse(c.sum_layer and whole, "--sum-layer",
        f"{c.layer_type} is all levels in one", remedy)
    common.refuse(c.sum_layer and not set(SUMS) & set(operations_of(c)), "--sum-layer",
        f"{c.operations} has no sums", remedy)


FORMULA_LAYERS = (
    common.OWN_LAYERS, common.WEIGHTS.without("--W-set-count"),
    common.NALU.without("--nac-weight"), common.PENALTIES,
)
_NAME = (
    *nf.all_trailing(
        *nf.PENALTY_FIELDS, nf.GRAD_NORM, nf.GRAD_VALUE, "nru-{nru_div_mode}", nf.TRASH_CELL),
    *(f for f in nf.LAYER_OPTIONS_TRAILING
      if not {"mnac_epsilon", "regualizer_shape"} & {*f.flags}),
    nf.trailing(nf.ID),
)
_CHECKS = common.check_schedule, common.check_optimizer, common.check_nalu, common.check_files


def formula_script(
    name: str, of: str, *groups: FlagGroup, fields: Sequence[nf.NameField] = (),
    checks: Sequence[Callable[[Config], None]] = (), **more: Any,
) -> ScriptSpec:
    """Return the description of a script of formulas.

    of: fields of run names behind the unit. fields: those behind the learning rate.
    """
    files = LOGGING.but(name_prefix={"default": name}, log_interval={"unnamed": DENSITY})
    first = lower("layer_type"), *map(nf.template, of.split()), nf.BATCH_SIZE, nf.SEED, nf.RATE
    return script(
        name=name, drawn_by=(), groups=(*groups, files, common.RUN_CONTROL),
        name_fields=(*first, *fields, *_NAME), checks=(*_CHECKS, *checks), **more)


_TASK = FlagGroup(
    "Task and data",
    choice("--operations", "add,mul", "Operations of the levels, taken in turn.", OPERATIONS),
    Flag("--depth", integer(1, 8), 2, "Number of operations."),
    Flag("--redundant", integer(0), 0, "Number of inputs that the target does not use.",
        in_name="re{redundant:int}"),
    Flag("--noise", number(0, maximum=1), 0.0,
        "Relative deviation of uniform noise on targets, in training.", in_name="no-{noise:float}"),
    *common.TASK.only("--interpolation-range", "--extrapolation-range", "--batch-size", "--seed"),
    common.MAX_ITERATIONS.but(default=20000),
)
_NETWORK = FlagGroup(
    "Network",
    common.LAYER_TYPE.but(default="iNALU", choices=buildable_layers),
    choice("--sum-layer", None, "Unit of levels that add or subtract, if another one.",
        buildable_layers, in_name="sl-{sum_layer}"),
    choice("--start", "random",
        "Start weights: random, exact plus noise, or exact up to the last level.",
        ("random", "near", "curriculum"), in_name="st-{start:word}-{start_noise:float}"),
    Flag("--start-noise", number(0), 0.5,
        "Deviation of --start near, as a part of the largest weight of a matrix."),
)
SCRIPT = formula_script(
    "depth", "op-{operations} d{depth:int}",
    _TASK, _NETWORK, *FORMULA_LAYERS, common.OPTIMIZER,
    summary="Train layers on chains of operations, from random or nearly exact weights.",
    example="--layer-type NMU --sum-layer NAU --depth 3 --seed 0-99",
    fields=(
        *nf.of_flags(*_TASK, *_NETWORK),
        *nf.all_trailing("i-{interpolation_range:range} e-{extrapolation_range:range}")),
    checks=(_check_sums, _check_start),
)
TASK = DepthTask
