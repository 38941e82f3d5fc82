"""Equations from noisy samples: tasks of the EQL papers, and six operations of CalcNet.

Of the rows of a cube a part is for validation. The test is the larger cube `far`; a further one is
`near`, and `inside` is the cube of training. Around the cube of training their targets have no
noise. Batches are drawn with replacement. Errors are roots of mean squares over all outputs. EQL
networks have as many layers as the equation needs, unless the option says otherwise.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.simple_function import (
    StoredStream,
)
from stable_nalu.layer.equations import EQLLayer
from stable_nalu.network.dense import ACTIVATIONS, IdentityNetwork
from stable_nalu.options import Config, Flag, FlagGroup
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import and_layers, choice, integer, number
from stable_nalu.training.recorder import EvaluationSet
from stable_nalu.training.task import Goal, Shape, Task
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID

from .arithmetic import TEST_SEED, VALIDATION_SEED, script
from .depth import FORMULA_CHECKS, FORMULA_LAYERS, FORMULA_NAME, WHOLE, FormulaTask, formula_files
from .shared import lower

TESTED = 5_000
MORE_TESTS = "metric/test/near", "metric/test/inside"
ACTIVE = "metric/active"
"""How many hidden units an EQL uses."""


class Equation(NamedTuple):
    """Texts of the outputs, separated by `;`, of so many inputs.

    layers: of an EQL that holds it. rows: of training and validation. low, high: the interval of
    training. near, far: factors of it in tests. whole: whether tests include the cube of training.
    """

    text: str
    inputs: int
    layers: int = 2
    rows: tuple[int, int] = (9_000, 1_000)
    low: float = -1
    high: float = 1
    near: float = 1.5
    far: float = 2
    whole: bool = False

    @property
    def outputs(self) -> int:
        return self.text.count(";") + 1


_SUM = "x3; x4; (-x1 - 0.01*x3 + x4**2*sin(x2) + 0.1*x4*cos(x2) + 9.81*sin(x2)*cos(x2))"
_SUM += "/(sin(x2)**2 + 1); (-0.2*x4 - 19.62*sin(x2) + x1*cos(x2) + 0.01*x3*cos(x2)"
_SUM += " - x4**2*sin(x2)*cos(x2))/(sin(x2)**2 + 1)"
_DYNAMICS = {"rows": (900, 100), "low": -2, "high": 2}
_CALC = {"rows": (65_536, TESTED), "low": -10, "high": 10, "near": 1, "far": 5, "whole": True}
_ROOT = _CALC | {"low": 0}
EQUATIONS = {
    "div": Equation("sin(pi*x1)/(x2**2 + 1)", 2),
    "F-1": Equation("(sin(pi*x1) + sin(2*pi*x2 + pi/8) + x2 - x3*x4)/3", 4),
    "F-2": Equation("(sin(pi*x1) + x2*cos(2*pi*x1 + pi/4) + x3 - x4**2)/3", 4, 3),
    "F-3": Equation("((1 + x2)*sin(pi*x1) + x2*x3*x4)/3", 4, 3),
    "F-4": Equation("(sin(pi*x1) + cos(2*x2*sin(pi*x1)) + x2*x3*x4)/2", 4, 4),
    "pendulum": Equation("x2/9.81; -sin(x1)", 2, **_DYNAMICS),
    "cart": Equation(_SUM, 4, 3, **_DYNAMICS),
    "calc-add": Equation("x1 + x2", 2, **_CALC),
    "calc-sub": Equation("x1 - x2", 2, **_CALC),
    "calc-mul": Equation("x1*x2", 2, **_CALC),
    "calc-div": Equation("x1/x2", 2, **_CALC),
    "calc-square": Equation("x1**2", 1, **_ROOT),
    "calc-sqrt": Equation("sqrt(x1)", 1, **_ROOT),
}


class Cube:
    """The rows of a run: all but those of tests are its own."""

    def __init__(self, config: Config):
        import sympy

        self.equation = own = EQUATIONS[config.equation]
        names = [f"x{k}" for k in range(1, own.inputs + 1)]
        parts = [sympy.lambdify(names, sympy.sympify(t), "numpy") for t in own.text.split(";")]
        seed, (training, validation) = config.seed, own.rows
        random = np.random.default_rng(seed)

        def targets(x: np.ndarray) -> np.ndarray:
            return np.stack([part(*x.T) for part in parts], -1)

        x = random.uniform(own.low, own.high, (training + validation, own.inputs))
        t = targets(x)
        t = t + config.noise * random.standard_normal(t.shape)
        self.streams = {
            None: StoredStream(seed, x[:training], t[:training]),
            VALIDATION_SEED: StoredStream(seed, x[training:], t[training:]),
        }
        for more, factor in enumerate((own.far, own.near, 1)):
            fixed = np.random.default_rng(TEST_SEED + more)
            size = factor * own.low, factor * own.high, (2 * TESTED, own.inputs)
            rows = fixed.uniform(*size)
            if factor > 1 and not own.whole:
                rows = rows[((rows < own.low) | (rows > own.high)).any(-1)]
            rows = rows[:TESTED]
            self.streams[TEST_SEED + more] = StoredStream(seed, rows, targets(rows))

    def get_input_size(self) -> int:
        return self.equation.inputs

    def print_operation(self) -> str:
        return self.equation.text

    def fork(self, sample_range: list[Any], seed: int | None = None, **_: Any) -> StoredStream:
        """Return the rows of training or, by their seeds, of validation or a test."""
        return self.streams[seed]


class EquationTask(FormulaTask):
    """Learn an equation; the errors are roots of mean squares, and no threshold is known."""

    tested = METRIC_VALID, METRIC_TEST, *MORE_TESTS
    target = Task.target
    """No formula: constants of equations are no whole numbers that weights could be rounded to."""

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        for seed in range(TEST_SEED + 1, TEST_SEED + 1 + len(MORE_TESTS)):
            rows = [dataset.fork([], seed) for dataset in self.datasets]
            self.evaluation.append(EvaluationSet(rows, device=device))
        if every := config.tenth_every:
            self._factor = lambda at: 0.1 ** ((at - 1) // every)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(operation=config.equation)

    @classmethod
    def dataset(cls, config: Config) -> Cube:
        return Cube(config)

    @classmethod
    def shape(cls, config: Config) -> Shape:
        own = EQUATIONS[config.equation]
        return Shape(config.batch_size, own.inputs, own.outputs, cls.eval_mode, config.verbose)

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        own = EQUATIONS[config.equation]
        hidden = 0 if config.layer_type in WHOLE else config.hidden_layers
        layers = layer_options.get("own_options", {}).get("layers", own.layers)
        sizes = {"inputs": own.inputs, "outputs": own.outputs, "layers": layers}
        options = layer_options | sizes
        return IdentityNetwork(config.layer_type, config.hidden_size, hidden, **options)

    def initialized(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        model = super().initialized(config, layer_options)
        if config.start == "calcnet":
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    is_gate = name.rpartition(".")[2].startswith("G_")
                    parameter.fill_(10.0) if is_gate else parameter.normal_()
        return model

    def measures(self, model: ExtendedTorchModule) -> Iterator[tuple[str, torch.Tensor]]:
        for tag, error in super().measures(model):
            yield tag, error.sqrt()
        for layer in model.modules():
            if isinstance(layer, EQLLayer):
                if self.engine is not None:
                    self.engine.store(model_alone=True)
                yield ACTIVE, layer.active_units()


def _golden(c: Config) -> str | None:
    """Return which functions of a unit have the golden ratio as their base, if one has."""
    own = {"m": c.nalu_mul, "g": c.nalu_gate, "w": c.nac_weight}
    codes = "".join(code for code, value in own.items() if value == "golden-ratio")
    return f"gr-{codes}" if codes else None


# A script or a flag is a few lines of a table.
# fmt: off
_TASK = FlagGroup(
    "Task and data",
    choice("--equation", "div", "Equation, by its name in the paper.", tuple(EQUATIONS)),
    Flag("--noise", number(0), 0.01, "Deviation of normal noise on targets, in training.",
        in_name="no-{noise:float}"),
    *common.TASK.only("--batch-size", "--seed"),
    common.MAX_ITERATIONS.but(default=50000),
)
_NETWORK = FlagGroup(
    "Network",
    common.LAYER_TYPE.but(default="EQLDiv", choices=and_layers(lambda: ACTIVATIONS),
        help="EQL or EQLDiv, which have layers themselves; or a unit, or an activation."),
    Flag("--hidden-size", integer(1), 32, "Width of hidden layers; an EQL has its own.",
        in_name="h{hidden_size}x{hidden_layers:int}"),
    Flag("--hidden-layers", integer(0), 2, "Hidden layers; an EQL has its own."),
    choice("--start", "layer", "Initial weights: the layer's own, or as in the code of CalcNet, "
        "standard normal ones and gates of 10.", ("layer", "calcnet"), young=True),
)
_NALU = common.NALU.but(nalu_mul={"choices": (*common.NALU_MUL, "golden-ratio")},
    nalu_gate={"choices": (*common.NALU_GATE, "golden-ratio")}, nac_weight={"young": True})
_OPTIMIZER = FlagGroup(
    common.OPTIMIZER.title,
    *common.OPTIMIZER,
    Flag("--adam-epsilon", number(above=0), 1e-8, "What Adam adds to its divisor.",
        in_name="ae-{adam_epsilon:float}"),
    Flag("--tenth-every", integer(0), 0, "Iterations after which the learning rate becomes a tenth "
        "of itself, again and again; 0: never.", young=True),
)
SCRIPT = script(
    name="equations", drawn_by=(),
    summary="Train a network on an equation in a small cube, and test it around the cube.",
    example="--layer-type EQLDiv --equation F-2 --batch-size 20 --seed 0-9",
    groups=(_TASK, _NETWORK, *FORMULA_LAYERS[:2], _NALU, common.PENALTIES, _OPTIMIZER,
        *formula_files("equations")),
    name_fields=(
        lower("layer_type"), nf.template("eq-{equation}"), nf.BATCH_SIZE, nf.SEED, nf.RATE,
        *nf.of_flags(*_TASK, *_NETWORK, *_OPTIMIZER.only("--adam-epsilon")),
        *nf.all_trailing("st-{start} te{tenth_every:int}"),
        nf.NameField(_golden, ("nalu_mul", "nalu_gate", "nac_weight")),
        *FORMULA_NAME,
    ),
    checks=FORMULA_CHECKS,
)
TASK = EquationTask
