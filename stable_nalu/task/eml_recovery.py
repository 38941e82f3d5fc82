"""The recovery of trees: an EML tree learns a function that another one, drawn at random, computes.

The phases follow the published code: search at a high temperature, then hardening at a falling one
with penalties on undecided choices. The measured tree makes the likeliest choices.
"""

import copy
from collections.abc import Mapping
from itertools import accumulate
from typing import Any, cast

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import UsageError
from stable_nalu.base.papers import FLAT
from stable_nalu.dataset import simple_function
from stable_nalu.layer.equations import COLD, DECIDED, TOO_LARGE, EMLLayer, hardened
from stable_nalu.layer.registry import GeneralizedLayer
from stable_nalu.options import Config, Flag
from stable_nalu.options.flag import choice, integer, number
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS, refuse
from stable_nalu.statistics import setups
from stable_nalu.training import floats
from stable_nalu.training.step import Penalties
from stable_nalu.training.task import Batch, Kind, Target
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID

from .shared import RowsTask, task_script

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
    """Return a tree whose only node of inputs is the deepest, as in the published code.

    With z = e^x - ln y, the published trees compute z, e - ln z, e^e / z and ln z. Deeper ones
    compute e - ln(ln z) and e^e / ln z.
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
    """Find a tree that computes the same as the target. Errors are of the snapped tree."""

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


# A flag is a few lines of a table.
# fmt: off
def _check_target(c: Config) -> None:
    refuse(c.target == "chain" and c.depth > max(HELD), "--target",
        f"no chain of depth {c.depth} is known", "take drawn")


_TASK = (
    LAYER_TYPE.but(default="EML", help="The tree.", choices=lambda: ("EML",)),
    Flag("--depth", integer(1, 8), 2, "Depth of the target and of the tree that learns it.",
        in_name="d{depth}"),
    choice("--target", "drawn",
        "What is to be found: a tree that the seed draws, or a chain of nodes, up to "
        "depth 4 as in the published code.", ("drawn", "chain"), young=True,
        in_name="ta-{target}"),
    Flag("--warm-start", number(0), None,
        "Start from the target plus normal noise of this deviation: no discovery.",
        in_name="ws-{warm_start:float}"),
    MAX_ITERATIONS.but(default=8000),
)
SCRIPT = task_script(
    "eml_recovery",
    summary="Train an EML tree to find another tree of its depth.",
    example="--depth 3 --pytorch-precision 64 --seed 0-63",
    task=_TASK,
    batch_size=None, learning_rate=1e-2,
    clip_grad_norm=1.0, inputs=2, checks=(_check_target,),
)
TASK = RecoveryTask
