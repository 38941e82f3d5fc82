"""Networks of this package in the arena: several starts at once, as one stack."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
import torch

from stable_nalu.abstract import ExtendedTorchModule, run_state, stack_models
from stable_nalu.inspection.formula import NetworkFormula
from stable_nalu.layer.eml import EMLLayer
from stable_nalu.network.arithmetic import SimpleFunctionStaticNetwork

from .contest import NOTHING, Clock, Reply
from .rivals import PERFECT
from .tasks import ProblemRows, formula_of

BATCH = 128
MOST_READ = 3
"""Networks of a stack that are rounded, and read as formulas, those with the lowest errors."""
Builder = Callable[[], ExtendedTorchModule]
Penalised = Callable[[Any, float, torch.Tensor], torch.Tensor]
"""From a stack, the part of its training that is over, and its losses to what is minimised."""


def two_layers(
    rows: ProblemRows, clock: Clock, seed: int, *, first: str, second: str, hidden: int,
    rate: float, penalty: float, starts: int, steps: int,
) -> Reply:  # fmt: skip
    """Train two layers of units; weights are pulled to whole numbers in the second half."""
    options: dict[str, Any] = {"nac_oob": "clip", "regualizer_shape": "linear"}
    size = rows.x.shape[1]

    def build() -> ExtendedTorchModule:
        return SimpleFunctionStaticNetwork(second, size, hidden, first_layer=first, **options)

    def step(model: ExtendedTorchModule, part: float, loss: torch.Tensor) -> torch.Tensor:
        pulled = penalty * min(1.0, max(0.0, 4 * part - 2))
        return loss + pulled * model.regualizer({"W"})["W"] if pulled else loss

    def replies(model: Any) -> list[Reply]:
        return _rounded_replies(model, build, rows)

    return _best(rows, clock, seed, build, starts, steps, rate, step, replies)


def _best(
    rows: ProblemRows, clock: Clock, seed: int, build: Builder, starts: int, steps: int,
    rate: float, penalised: Penalised, replies: Callable[[Any], list[Reply]],
) -> Reply:  # fmt: skip
    """Train stacks, one after another, and return the best reply of the best networks of each."""
    best, attempt = NOTHING, 0
    while best.error > PERFECT and not clock.is_over:
        torch.manual_seed(1000 * seed + attempt)
        model = stack_models([build() for _ in range(starts)])
        _trained(model, rows, clock, steps, rate, penalised)
        for one in _ordered(model, build, rows)[:MOST_READ]:
            best = min(best, *replies(one), key=lambda reply: reply.error)
        attempt += 1
    return best


def _trained(
    model: Any, rows: ProblemRows, clock: Clock, steps: int, rate: float, penalised: Penalised
) -> None:
    """Train a stack with Adam on batches, the rate falling to a hundredth as a cosine does."""
    x, y = torch.as_tensor(rows.x), torch.as_tensor(rows.y)[:, None]
    scale = y.var()
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for count in range(steps):
        if not clock.goes_on():
            return
        part = count / steps
        optimizer.param_groups[0]["lr"] = rate * (0.505 + 0.495 * math.cos(math.pi * part))
        batch = torch.randint(len(x), (BATCH,))
        loss = ((model(x[batch]) - y[batch]) ** 2).mean((-2, -1)) / scale
        optimizer.zero_grad()
        # A start that has diverged keeps no other one from learning.
        torch.where(loss.isfinite(), penalised(model, part, loss), 0.0).sum().backward()
        for parameter in model.parameters():
            parameter.grad.nan_to_num_(0.0, 0.0, 0.0)
        optimizer.step()
        model.optimize(loss.detach())


def _ordered(model: Any, build: Builder, rows: ProblemRows) -> list[ExtendedTorchModule]:
    """Return the networks of a stack, those with the lowest error of validation first."""
    with torch.no_grad():
        told = model(torch.as_tensor(rows.valid_x))[..., 0]
        errors = ((told - torch.as_tensor(rows.valid_y)) ** 2).mean(-1).nan_to_num(math.inf)
    found = []
    for run in torch.argsort(errors, stable=True).tolist():
        one = build()
        one.load_state_dict(run_state(model.state_dict(), run))
        found.append(one.eval())
    return found


def _answers(model: torch.nn.Module) -> Callable[[np.ndarray], np.ndarray]:
    def predict(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model(torch.as_tensor(x))[:, 0].numpy()

    return predict


def _rounded_replies(model: ExtendedTorchModule, build: Builder, rows: ProblemRows) -> list[Reply]:
    """Return a network as trained, with whole numbers for weights of layer 1, and for all."""

    def reply(rounded: tuple[str, ...]) -> Reply:
        one = build()
        one.load_state_dict(
            {n: w.round() if n.startswith(rounded) else w for n, w in model.state_dict().items()}
        )

        def formula(symbols: list[sympy.Symbol]) -> Any:
            # Outside of their training range, inputs of all problems are positive.
            read = NetworkFormula(one, len(symbols)).read(
                ((0.5, 1.0),) * len(symbols), rounded=False
            )
            return read.exprs[0].xreplace(dict(zip(read.symbols, symbols, strict=True)))

        return Reply.of(rows, _answers(one.eval()), formula)

    return [reply(()), reply(("layer_1",)), reply(("layer_1", "layer_2"))]


def eml(
    rows: ProblemRows, clock: Clock, seed: int, *, depth: int, rate: float, starts: int, steps: int,
    temperatures: list[float],
) -> Reply:  # fmt: skip
    """Train trees while choices get harder, then make them; one after another, blind."""
    warm, cold = temperatures

    def build() -> ExtendedTorchModule:
        return EMLLayer(rows.x.shape[1], 1, depth=depth)

    def step(model: Any, part: float, loss: torch.Tensor) -> torch.Tensor:
        model.temperature = warm * (cold / warm) ** max(0.0, 2 * part - 1) ** 2
        return loss

    def replies(model: Any) -> list[Reply]:
        model.temperature = cold
        made: Any = build()
        made.load_state_dict(model.state_dict())
        made.snap()
        hard = Reply.of(rows, _answers(made), lambda symbols: _tree(made, symbols))
        return [Reply.of(rows, _answers(model)), hard]

    return _best(rows, clock, seed, build, starts, steps, rate, step, replies)


def _tree(layer: Any, symbols: list[sympy.Symbol]) -> sympy.Expr:
    names = {str(symbol): symbol for symbol in symbols}
    tree = layer.expression(list(names))
    operator = {"eml": lambda a, b: sympy.exp(a) - sympy.log(b)}
    return formula_of(tree, names | operator)
