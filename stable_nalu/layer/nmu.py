"""NMU, the Neural Multiplication Unit, and sNMU, its stochastic version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stable_nalu.abstract import Bound, Observation
from stable_nalu.functional import mnac, per_run, std_over

from .base import recurrent
from .nau import UnitWeightLayer

BATCH_NOISE = [1, 0]


class NMUBase(UnitWeightLayer):
    """The product over a weight `W`, and the noise that it undoes."""

    mnac_normalized = False
    noise_range: Sequence[float] = (1, 5)

    def __init__(
        self, in_features: int, out_features: int, *, nmu_noise: bool = False, **options: Any
    ):
        super().__init__(in_features, out_features, **options)
        self.nmu_noise = nmu_noise

    def product(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(*runs, batch, columns of W)` to the output, with the noise if asked for."""
        W = self.weights()
        if not (self.nmu_noise and self.training):
            self.record_input(x)
            return self._product(x, W)
        low, high = self.noise_bounds(x)
        noise = self.random.uniform(x.shape[-2:], low, high, like=x)
        x = x * noise
        self.record_input(x)
        return self._product(x, W) / mnac(noise, W)

    def _product(self, x, W):
        return normalized_mnac(x, W) if self.mnac_normalized else mnac(x, W)

    def noise_bounds(self, x: torch.Tensor) -> tuple[Bound, Bound]:
        """Return the lowest and highest noise for the input x."""
        low, high = self.noise_range
        return low, high


class NMULayer(NMUBase):
    r"""Multiply those inputs whose weight is 1: the NMU of Madsen & Johansen (2020,
    arXiv:2001.05016), and the sNMU of Mistry et al. (2022, arXiv:2211.05624).

        y_o = prod_i (W_oi x_i + 1 - W_oi),    W_oi in [0, 1]

        sNMU, in training:  y_o = prod_i (W_oi n_i x_i + 1 - W_oi) / prod_i (W_oi n_i + 1 - W_oi)

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    `nmu_noise` makes it the sNMU, which draws one n_i ~ U(noise_range) per element of x, or
    n_i ~ U(1, 1 + 1 / std(x)) for the `noise_range` [1, 0]. `mnac_normalized` multiplies x / c and
    scales the product back, c = std(x).

    Departs from the paper: no. Departs from the published code: the noise does not change the
    caller's tensor in place.
    """

    follows_robustness_logging = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        mnac_normalized: bool = False,
        noise_range: Sequence[float] = (1, 5),
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        self.mnac_normalized = mnac_normalized
        self.evaluates_rows_independently = not mnac_normalized
        self.noise_range = noise_range

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.product(x)

    def noise_bounds(self, x: torch.Tensor) -> tuple[Bound, Bound]:
        if self.noise_range != BATCH_NOISE:
            return super().noise_bounds(x)
        upper = 1 + 1 / std_over(x.detach(), 2)
        if self.trace is not None:
            self.trace["snmu_noise/upper"] = upper
        return 1.0, upper

    def observations(self) -> list[Observation]:
        observed = super().observations()
        if self.trace and "snmu_noise/upper" in self.trace:
            upper = self.trace["snmu_noise/upper"]
            observed.append(
                Observation("scalar", "snmu_noise/upper", lambda: upper, verbose_only=False)
            )
        return observed


def normalized_mnac(x: torch.Tensor, W: torch.Tensor, mode: str = "prod") -> torch.Tensor:
    """Return the product of x / c times c^(sum W), c the standard deviation of a run's x."""
    c = per_run(std_over(x, 2), 2)
    return mnac(x / c, W, mode) * c ** W.sum(-1).unsqueeze(-2)


NMUCell = recurrent(NMULayer)
ReRegualizedLinearMNACLayer, ReRegualizedLinearMNACCell = NMULayer, NMUCell
