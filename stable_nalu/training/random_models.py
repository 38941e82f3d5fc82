"""What untrained networks err by on the fixed rows of every run: the base of scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from stable_nalu.tags import (
    ABSOLUTE_SUFFIX,
    METRIC_TEST,
    METRIC_VALID,
    RANDOM_TEST,
    RANDOM_VALID,
    ROOT_SUFFIX,
)

from .recorder import TaggedValue, scalar

SEED = 1

RunSamples = Sequence[tuple[torch.Tensor, torch.Tensor]]
"""Inputs and targets of every run; runs may share tensors."""


class RandomModels:
    """Mean errors of untrained networks, and the absolute ones of the model beside them.

    build: makes an untrained network, initialised by torch. sets: validation and test.
    """

    def __init__(
        self,
        build: Callable[[], torch.nn.Module],
        count: int,
        sets: Sequence[RunSamples],
        *,
        stacked: bool,
    ):
        device = sets[0][0][0].device
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            models = [build().to(device) for _ in range(count)]
        means = [torch.stack([_errors(model, rows) for model in models]).mean(0) for rows in sets]
        self._means = means if stacked else [mean[:, 0] for mean in means]

    @staticmethod
    def measure(squares: torch.Tensor) -> torch.Tensor:
        """Return mean squared and mean absolute error, `(2, *runs)`, of the squares of all rows."""
        return torch.stack([squares.mean((-2, -1)), squares.sqrt().mean((-2, -1))])

    def logged(self, errors: Sequence[torch.Tensor]) -> list[TaggedValue]:
        """Return what is logged of the `measure` of the model on both sets, squared ones first.

        Of the untrained networks that is also the mean of the roots of their squared errors.
        """
        model = [
            scalar(tag + suffix, error)
            for suffix, of_sets in zip(
                ("", ABSOLUTE_SUFFIX), zip(*errors, strict=True), strict=True
            )
            for tag, error in zip((METRIC_VALID, METRIC_TEST), of_sets, strict=True)
        ]
        suffixes = "", ROOT_SUFFIX, ABSOLUTE_SUFFIX
        untrained = [
            scalar(tag + suffix, error)
            for tag, means in zip((RANDOM_VALID, RANDOM_TEST), self._means, strict=True)
            for suffix, error in zip(suffixes, means, strict=True)
        ]
        return [*model, *untrained]


@torch.no_grad()
def _errors(model: torch.nn.Module, rows: RunSamples) -> torch.Tensor:
    """Return mean squared error, its root and mean absolute error of one network: `(3, runs)`."""
    outputs: dict[int, torch.Tensor] = {}
    means: dict[tuple[int, int], torch.Tensor] = {}
    for x, t in rows:
        if (x.data_ptr(), t.data_ptr()) in means:
            continue
        if x.data_ptr() not in outputs:
            outputs[x.data_ptr()] = model(x)
        square, absolute = RandomModels.measure((outputs[x.data_ptr()] - t) ** 2)
        means[x.data_ptr(), t.data_ptr()] = torch.stack([square, square.sqrt(), absolute])
    return torch.stack([means[x.data_ptr(), t.data_ptr()] for x, t in rows], dim=-1)
