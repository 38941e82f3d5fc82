"""Whether a run trains to the same bits alone and as a stack of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from ..step.step import TrainingStep
from .data import evaluate
from .task import Data

STEPS_COMPARED = 20


@dataclass(frozen=True)
class Trial:
    """A run that is trained for a few steps, alone or as a stack of one."""

    step: TrainingStep
    data: Data
    eval_mode: bool

    def gradients(self, iteration: int) -> list[torch.Tensor | None]:
        """Train a step, and return its loss and gradients."""
        result = self.step.run(iteration, *self.data.feed.next())
        return [result.total, *result.gradients]

    def errors(self) -> list[torch.Tensor]:
        """Return validation and test error, if there are any."""
        return evaluate(self.step.model, self.data.evaluation, eval_mode=self.eval_mode)


def has_same_bits(alone: Trial, stack: Trial, length: int) -> bool:
    """Compare steps that are spread over a schedule of that length, and errors.

    They differ where torch sums the products of a stack in another order, and then at once.
    """
    iterations = np.linspace(0, length - 1, STEPS_COMPARED).astype(int).tolist()
    return all(
        _are_equal(alone.gradients(iteration), stack.gradients(iteration))
        for iteration in iterations
    ) and _are_equal(alone.errors(), stack.errors())


def _are_equal(
    alone: Sequence[torch.Tensor | None], stacked: Sequence[torch.Tensor | None]
) -> bool:
    return all(
        one is other if one is None or other is None else torch.equal(one, other[0])
        for one, other in zip(alone, stacked, strict=True)
    )
