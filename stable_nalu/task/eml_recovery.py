"""Recovery of trees: an EML tree learns a function that another one, drawn at random, computes.

In the phases of the published code: search at a high temperature, then hardening at a falling one
with penalties of what is undecided; measured is the tree whose likeliest choices are made.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from stable_nalu.errors import UsageError
from stable_nalu.options import Config, Flag
from stable_nalu.options import name_fields as nf
from stable_nalu.options.flags import LAYER_TYPE, MAX_ITERATIONS
from stable_nalu.options.kinds import integer, number
from stable_nalu.tags import METRIC_TEST, METRIC_VALID
from stable_nalu.training.task import Task

from .description import task_script

if TYPE_CHECKING:
    import torch

    from stable_nalu.abstract import ExtendedTorchModule
    from stable_nalu.layer.equations import EMLLayer

SEARCH, COLD = 2.5, 0.01
"""Temperature of the search, and at the end."""
SEARCHING = 0.75
"""Part of the iterations that is search."""
PENALTY, TOO_LARGE, LARGE_PENALTY = 0.02, 50.0, 1e-4
MOST_DRAWS = 20_000


def progress(at: int, iterations: int) -> float:
    """Return how far hardening is: 0 to 1."""
    searched = SEARCHING * iterations
    return max(0.0, at - searched) / max(1.0, iterations - searched)


def temperature(t: float) -> float:
    """Return the temperature of choices when hardening is so far."""
    return SEARCH * (COLD / SEARCH) ** (t * t)


def undecided(layer: EMLLayer) -> torch.Tensor:
    """Return the mean entropy of choices and variance of gates, each weighted by its doubt."""
    import torch

    total = torch.zeros(())
    for share, is_gate in zip(layer.choices(), (False, layer.tree == "bottom"), strict=True):
        if share.numel() == 0:
            continue
        if is_gate:
            total = total + (share * (1 - share) * (1 - (2 * share - 1).abs())).mean()
        else:
            most = 1 - 1 / share.shape[-1]
            doubt = ((1 - share.amax(-1)) / most).clamp(0, 1)
            entropy = -(share * share.clamp(min=1e-30).log()).sum(-1)
            total = total + (doubt * entropy).mean()
    return total


def drawn_tree(depth: int, tree: str, grid: torch.Tensor) -> EMLLayer:
    """Return a tree of exactly this depth over both inputs, real and not large on a grid."""
    from stable_nalu.layer.equations import EMLLayer

    for _ in range(MOST_DRAWS):
        layer = EMLLayer(2, 1, depth=depth, tree=tree, temperature=COLD)
        if tree == "slots":
            layer.nodes.data[..., -1] += 1
        layer.snap()
        text = layer.expression(("x", "y"))
        if not ("x" in text and "y" in text and _nesting(text) == depth):
            continue
        real, imaginary = layer.levels(grid)[-1]
        if real.abs().max() <= TOO_LARGE and imaginary.abs().max() < 1e-9 and real.std() > 1e-3:
            return layer
    raise UsageError(f"argument --depth: no tree of depth {depth} was found in {MOST_DRAWS} draws")


def _limited(values: torch.Tensor) -> torch.Tensor:
    """Return values whose squares, and gradients of these, are numbers."""
    import torch

    most = torch.finfo(values.dtype).max ** (1 / 6)
    return values.clamp(-most, most)


def _nesting(text: str) -> int:
    depths = [0]
    for sign in text:
        if sign in "()":
            depths.append(depths[-1] + (1 if sign == "(" else -1))
    return max(depths)


class RecoveryTask(Task):
    """Find a tree that computes what the target does; errors are those of the snapped tree."""

    cost = 10

    def __init__(self, config: Config, device: torch.device):
        import torch

        super().__init__(config, device)
        axis = torch.linspace(1, 3, 21, dtype=torch.float64)
        grid = self.own(torch.cartesian_prod(axis, axis))
        options = dict(word.split("=", 1) for word in config.layer_option)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(config.seed)
            self.target = drawn_tree(config.depth, options.get("tree", "slots"), grid)
            beyond = self.own(0.5 + 4.5 * torch.rand(4000, 2, dtype=torch.float64))
            self.rows = grid, self.target(grid)
            self._beyond = beyond, self.target(beyond)

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        from stable_nalu.layer import GeneralizedLayer

        return GeneralizedLayer(2, 1, config.layer_type, depth=config.depth, **layer_options)

    def initialized(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        import torch

        model = super().initialized(config, layer_options)
        if config.warm_start is not None:
            with torch.no_grad():
                pairs = zip(model.parameters(), self.target.parameters(), strict=True)
                for own, known in pairs:
                    own.copy_(known + config.warm_start * torch.randn_like(own))
        return model

    def begin(self) -> None:
        super().begin()
        t = progress(self.at, self.config.max_iterations)
        self.rate = self.config.learning_rate * max(0.01, (1 - t) ** 2)

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        layer = cast("EMLLayer", model.layer)
        hardened = progress(self.at, self.config.max_iterations)
        layer.temperature = temperature(hardened)
        levels = [(_limited(a), _limited(b)) for a, b in layer.levels(x)]
        real, imaginary = (part.squeeze(-1).mT for part in levels[-1])
        error = ((real - t) ** 2 + imaginary**2).mean()
        large = [(a.abs().maximum(b.abs()) - TOO_LARGE).relu() ** 2 for a, b in levels]
        penalty = LARGE_PENALTY * sum(part.mean() for part in large) / len(large)
        return error + penalty + PENALTY * hardened * undecided(layer)

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        layer = copy.deepcopy(cast("EMLLayer", model.layer))
        layer.snap()
        layer.temperature = COLD
        assert self.rows is not None
        sets = {METRIC_VALID: self.rows, METRIC_TEST: self._beyond}
        return {tag: ((layer(x) - t) ** 2).mean() for tag, (x, t) in sets.items()}

    def introduction(self) -> str:
        return f"dataset: {self.target.expression(('x', 'y'))} on [1, 3]²"


def _trees() -> tuple[str, ...]:
    return ("EML",)


SCRIPT = task_script(
    "eml_recovery",
    summary="Train an EML tree on what another one of its depth computes, and see if it is found.",
    example="--depth 3 --pytorch-precision 64 --seed 0-63",
    task=(
        LAYER_TYPE.but(default="EML", help="The tree.", choices=_trees),
        Flag("--depth", integer(1, 8), 2, "Depth of the target and of the tree that learns it."),
        Flag(
            "--warm-start",
            number(0),
            None,
            "Start from the target plus normal noise of this deviation: no discovery.",
        ),
        MAX_ITERATIONS.but(default=8000),
    ),
    fragments=(nf.template("d{depth}"), nf.template("ws-{warm_start:float}")),
    batch_size=None,
    learning_rate=1e-2,
    clip_grad_norm=1.0,
    compiles=True,
)
TASK = RecoveryTask
