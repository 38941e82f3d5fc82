"""Equations of two and four inputs from noisy samples of a small cube: tasks of the EQL papers.

Of 10,000 rows of [-1, 1]^d a tenth is for validation; 5,000 rows of [-2, 2]^d outside of it are the
test, on which targets have no noise. Batches are drawn with replacement. Errors are roots of mean
squares. EQL networks have as many layers as the equation needs.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.simple_function import (
    StoredStream,
)
from stable_nalu.network.dense import ACTIVATIONS, IdentityNetwork
from stable_nalu.options import Config, Flag, FlagGroup
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import and_layers, choice, integer, number
from stable_nalu.training.task import Goal, Task

from .arithmetic import TEST_SEED, VALIDATION_SEED, script
from .depth import FORMULA_CHECKS, FORMULA_LAYERS, FORMULA_NAME, WHOLE, FormulaTask, formula_files
from .shared import lower

EQUATIONS = {
    "div": ("sin(pi*x1)/(x2**2 + 1)", 2, 2),
    "F-1": ("(sin(pi*x1) + sin(2*pi*x2 + pi/8) + x2 - x3*x4)/3", 4, 2),
    "F-2": ("(sin(pi*x1) + x2*cos(2*pi*x1 + pi/4) + x3 - x4**2)/3", 4, 3),
    "F-3": ("((1 + x2)*sin(pi*x1) + x2*x3*x4)/3", 4, 3),
    "F-4": ("(sin(pi*x1) + cos(2*x2*sin(pi*x1)) + x2*x3*x4)/2", 4, 4),
}
"""Name -> the equation, its inputs, and the layers of an EQL that holds it."""
ROWS, TRAINING, TESTED = 10_000, 9_000, 5_000


class Cube:
    """The rows of a run: all but those of the test are its own."""

    def __init__(self, config: Config):
        import sympy

        self._text, self._inputs, _ = EQUATIONS[config.equation]
        names = [f"x{k}" for k in range(1, self._inputs + 1)]
        function = sympy.lambdify(names, sympy.sympify(self._text), "numpy")
        seed = config.seed
        random, fixed = (np.random.default_rng(s) for s in (seed, TEST_SEED))
        x = random.uniform(-1, 1, (ROWS, self._inputs))
        t = function(*x.T) + config.noise * random.standard_normal(ROWS)
        far = fixed.uniform(-2, 2, (2 * TESTED, self._inputs))
        far = far[np.abs(far).max(-1) > 1][:TESTED]
        self._streams = {
            None: StoredStream(seed, x[:TRAINING], t[:TRAINING, None]),
            VALIDATION_SEED: StoredStream(seed, x[TRAINING:], t[TRAINING:, None]),
            TEST_SEED: StoredStream(seed, far, function(*far.T)[:, None]),
        }

    def get_input_size(self) -> int:
        return self._inputs

    def print_operation(self) -> str:
        return self._text

    def fork(self, sample_range: list[Any], seed: int | None = None, **_: Any) -> StoredStream:
        """Return the rows of training or, by their seeds, of validation or test."""
        return self._streams[seed]


class EquationTask(FormulaTask):
    """Learn an equation; the errors are roots of mean squares, and no threshold is known."""

    target = Task.target
    """No formula: constants of equations are no whole numbers that weights could be rounded to."""

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(operation=config.equation)

    @classmethod
    def dataset(cls, config: Config) -> Cube:
        return Cube(config)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        _, inputs, layers = EQUATIONS[config.equation]
        hidden = 0 if config.layer_type in WHOLE else config.hidden_layers
        options = {"inputs": inputs, "layers": layers, **layer_options}
        return IdentityNetwork(config.layer_type, config.hidden_size, hidden, **options)

    def measures(self, model: ExtendedTorchModule) -> Iterator[tuple[str, torch.Tensor]]:
        for tag, error in super().measures(model):
            yield tag, error.sqrt()


# A script or a flag is a few lines of a table.
# fmt: off
_TASK = FlagGroup(
    "Task and data",
    choice("--equation", "div", "Equation, by its name in the paper.", tuple(EQUATIONS)),
    Flag("--noise", number(0), 0.01, "Deviation of normal noise on targets, in training."),
    *common.TASK.only("--batch-size", "--seed"),
    common.MAX_ITERATIONS.but(default=50000),
)
_NETWORK = FlagGroup(
    "Network",
    common.LAYER_TYPE.but(default="EQLDiv", choices=and_layers(lambda: ACTIVATIONS),
        help="EQL or EQLDiv, which have layers themselves; or a unit, or an activation."),
    Flag("--hidden-size", integer(1), 32, "Width of hidden layers; an EQL has its own."),
    Flag("--hidden-layers", integer(0), 2, "Hidden layers; an EQL has its own."),
)
_OPTIMIZER = FlagGroup(
    common.OPTIMIZER.title,
    *common.OPTIMIZER,
    Flag("--adam-epsilon", number(above=0), 1e-8, "What Adam adds to its divisor."),
)
SCRIPT = script(
    name="equations", drawn_by=(),
    summary="Train a network on an equation of a small cube, and measure it around the cube.",
    example="--layer-type EQLDiv --equation F-2 --batch-size 20 --seed 0-9",
    groups=(_TASK, _NETWORK, *FORMULA_LAYERS, _OPTIMIZER, *formula_files("equations")),
    name_fields=(
        lower("layer_type"), nf.template("eq-{equation}"), nf.BATCH_SIZE, nf.SEED, nf.RATE,
        *nf.all_trailing(
            "no-{noise:float} h{hidden_size}x{hidden_layers:int} ae-{adam_epsilon:float}"),
        *FORMULA_NAME,
    ),
    checks=FORMULA_CHECKS,
)
TASK = EquationTask
