"""Equations from noisy samples: tasks of the EQL papers, and six operations of CalcNet.

Of the rows of a cube a part is for validation. The test is the larger cube `far`; a further one is
`near`, and `inside` is the cube of training. Around the cube of training their targets have no
noise. Batches are drawn with replacement. Errors are roots of mean squares over all outputs. EQL
networks have as many layers as the equation needs, unless the option says otherwise.
"""

from collections.abc import Iterator
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.equations import EQUATIONS
from stable_nalu.dataset.simple_function import StoredStream
from stable_nalu.layer.equations import EQLLayer
from stable_nalu.network.dense import ACTIVATIONS, IdentityNetwork
from stable_nalu.options import Config, Flag, FlagGroup
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import and_layers, choice, integer, number
from stable_nalu.training.recorder import EvaluationSet
from stable_nalu.training.task import Goal, Task
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID

from .arithmetic import TEST_SEED, StoredData
from .depth import FORMULA_LAYERS, WHOLE, FormulaTask, formula_script

MORE_TESTS = "metric/test/near", "metric/test/inside"
ACTIVE = "metric/active"
"""How many hidden units an EQL uses."""


class EquationTask(FormulaTask):
    """Learn an equation; the errors are roots of mean squares, and no threshold is known."""

    tested = METRIC_VALID, METRIC_TEST, *MORE_TESTS
    target = Task.target
    """No formula: constants of equations are no whole numbers that weights could be rounded to."""

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        for place in range(1, 1 + len(MORE_TESTS)):
            rows = [dataset.fork([], TEST_SEED + place) for dataset in self.datasets]
            self.evaluation.append(EvaluationSet(rows, device=device))
        if every := config.tenth_every:
            self._factor = lambda at: 0.1 ** ((at - 1) // every)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(operation=config.equation)

    @classmethod
    def dataset(cls, config: Config) -> StoredData:
        own, seed = EQUATIONS[config.equation], config.seed
        rows = own.drawn(seed, config.noise, TEST_SEED)
        return StoredData(own.text, *(StoredStream(seed, x, t) for x, t in rows))

    @classmethod
    def sizes(cls, config: Config) -> tuple[int, int]:
        return EQUATIONS[config.equation].sizes

    @classmethod
    def network(cls, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        hidden = 0 if config.layer_type in WHOLE else config.hidden_layers
        sizes = config.hidden_size, hidden, *cls.sizes(config)
        own = {"layers": EQUATIONS[config.equation].layers} | layer_options.get("own_options", {})
        return IdentityNetwork(
            config.layer_type, *sizes, **layer_options | {"layers": own["layers"]}
        )

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
SCRIPT = formula_script(
    "equations", "eq-{equation}",
    _TASK, _NETWORK, *FORMULA_LAYERS[:2], _NALU, common.PENALTIES, _OPTIMIZER,
    summary="Train a network on an equation in a small cube, and test it around the cube.",
    example="--layer-type EQLDiv --equation F-2 --batch-size 20 --seed 0-9",
    fields=(
        *nf.of_flags(*_TASK, *_NETWORK, *_OPTIMIZER.only("--adam-epsilon")),
        *nf.all_trailing("st-{start} te{tenth_every:int}"),
        nf.NameField(_golden, ("nalu_mul", "nalu_gate", "nac_weight"))),
)
TASK = EquationTask
