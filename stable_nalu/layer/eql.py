"""EQL and EQL-division, small networks that learn equations."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch

from stable_nalu.functional import linear, mean_over, per_run

from .base import Layer

SMALL = 1e-3
"""Weights below it are held at zero in the last phase."""

TESTED = 1e-4
"""The least divisor of a trained EQL-division."""


class EQLLayer(Layer):
    r"""Learn an equation of sums, products, sines and cosines: the EQL of Martius & Lampert (2016,
    arXiv:1610.02995).

        h = (z_1, sin(z_2), cos(z_3), z_4 z_5),    z = W_k h + b_k,    y = W_L h + b_L

    with `width` columns in each of z_1 to z_5, for each of the `layers` - 1 hidden layers.

    Shapes: x (*runs, batch, in), W1 (*runs, 5 width, in), b1 (*runs, 5 width), W2
    (*runs, out or 5 width, 4 width), …, y (*runs, batch, out).

    Training of `iterations` has three phases: up to a quarter without a penalty; then with the
    penalty `g` of l1 sum |W|, which is in force without a flag; from 19/20 on without it again,
    while all weights below 0.001 are held at zero. `tau` is the iteration.

    Departs from the paper: two columns that are multiplied do not stand side by side; the paper
    tries 26 values of `l1` and three of `layers`, and chooses; its Adam has another epsilon.
    Departs from the published code: as the paper, which its settings differ from.
    """

    default_name = "eql"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        layers: int = 2,
        width: int = 10,
        l1: float = 1e-4,
        iterations: int = 50_000,
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        if not 2 <= layers <= 9 or width < 1 or iterations < 1:
            raise ValueError("layers has to be from 2 to 9, width and iterations at least 1")
        if not 0 <= l1 < math.inf:
            raise ValueError("l1 has to be a number from 0")
        self.layers = layers
        self.width = width
        self.l1 = l1
        self.iterations = iterations
        sizes = [in_features] + [4 * width] * (layers - 1)
        columns = [5 * width] * (layers - 1) + [self.last_columns(out_features)]
        for number, shape in enumerate(zip(columns, sizes, strict=True), start=1):
            setattr(self, f"W{number}", torch.nn.Parameter(torch.empty(shape)))
            setattr(self, f"b{number}", torch.nn.Parameter(torch.empty(shape[0])))
        self.tau = torch.nn.Parameter(torch.zeros(()), requires_grad=False)

    @classmethod
    def last_columns(cls, out_features: int) -> int:
        """Return how many columns the last layer has."""
        return out_features

    def reset_parameters(self) -> None:
        for number in range(1, self.layers + 1):
            W = getattr(self, f"W{number}")
            torch.nn.init.normal_(W, std=sum(W.shape[-2:]) ** -0.5)
            torch.nn.init.zeros_(getattr(self, f"b{number}"))

    def tau_at(self, iteration: int) -> float:
        return float(iteration)

    def weights(self, number: int) -> torch.Tensor:
        """Return the effective weights of a layer, counted from 1."""
        W = getattr(self, f"W{number}")
        is_last_phase = self.tau >= 0.95 * self.iterations
        least = torch.where(
            is_last_phase, torch.full_like(self.tau, SMALL), torch.zeros_like(self.tau)
        )
        return torch.where(W.abs() < per_run(least, 2), torch.zeros_like(W), W)

    def last(self, x: torch.Tensor) -> torch.Tensor:
        """Return the columns of the last layer."""
        w = self.width
        for number in range(1, self.layers):
            z = linear(x, self.weights(number), getattr(self, f"b{number}"))
            kept, sines, cosines = z[..., :w], z[..., w : 2 * w].sin(), z[..., 2 * w : 3 * w].cos()
            x = torch.cat((kept, sines, cosines, z[..., 3 * w : 4 * w] * z[..., 4 * w :]), -1)
        return linear(x, self.weights(self.layers), getattr(self, f"b{self.layers}"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(x)

    def regualizer_terms(self):
        return {"g": self.penalty}

    def penalty(self) -> torch.Tensor:
        """Return the penalty of this phase: `runs`."""
        matrices = [getattr(self, f"W{number}") for number in range(1, self.layers + 1)]
        total = sum(mean_over(W.abs(), 2) * math.prod(W.shape[-2:]) for W in matrices)
        counts = (self.tau >= self.iterations / 4) & (self.tau < 0.95 * self.iterations)
        return torch.where(counts, self.l1 * total, torch.zeros_like(self.tau))

    def after_step(self, loss: torch.Tensor) -> None:
        with torch.no_grad():
            for number in range(1, self.layers + 1):
                getattr(self, f"W{number}").copy_(self.weights(number))


class EQLDivLayer(EQLLayer):
    r"""Learn an equation that ends in a division: the EQL-division of Sahoo et al. (2018,
    arXiv:1806.07259).

        y_o = a_o / b_o if b_o > t, else 0,    (a, b) = W_L h + b_L

    with h as in EQL, and t = (iteration / epoch + 1)^(-1/2) in training, 0.0001 in tests. The
    penalty `g` is also the sum of max(t - b, 0) over the batch and outputs, so it grows with the
    batch, as published.

    Shapes: x (*runs, batch, in), the last W (*runs, 2 out, 4 width), y (*runs, batch, out).

    `epoch` is how many iterations are one. Departs from the paper: as EQL; no epochs of penalties
    on inputs of the test. Departs from the published code: as the paper.
    """

    default_name = "eql_div"
    forgets: ClassVar = {"_shortfall": None}

    def __init__(self, in_features: int, out_features: int, *, epoch: int = 450, **options: Any):
        super().__init__(in_features, out_features, **options)
        if epoch < 1:
            raise ValueError("epoch has to be at least 1")
        self.epoch = epoch
        self._shortfall: torch.Tensor | None = None

    @classmethod
    def last_columns(cls, out_features: int) -> int:
        return 2 * out_features

    def reset_parameters(self) -> None:
        super().reset_parameters()
        torch.nn.init.ones_(getattr(self, f"b{self.layers}"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = self.last(x)
        a, b = z[..., : self.out_features], z[..., self.out_features :]
        least = torch.full_like(self.tau, TESTED)
        if self.training:
            least = (self.tau / self.epoch + 1) ** -0.5
            self._shortfall = (per_run(least, 2) - b).clamp(min=0)
        divides = b > per_run(least, 2)
        return torch.where(
            divides, a / torch.where(divides, b, torch.ones_like(b)), torch.zeros_like(b)
        )

    def penalty(self) -> torch.Tensor:
        total, short = super().penalty(), self._shortfall
        if short is None:
            return total
        self._shortfall = None
        return total + mean_over(short, 2) * math.prod(short.shape[-2:])

    def after_step(self, loss: torch.Tensor) -> None:
        super().after_step(loss)
        self._shortfall = None
