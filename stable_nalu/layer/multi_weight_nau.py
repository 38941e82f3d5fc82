"""MultiWeightNAU: K NAU weights that take turns."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional import mean_over
from stable_nalu.papers import MISTRY_2022_DIVISION

from .nau import NAUBase, nau_init_
from .registry import register


class MultiWeightNAULayer(NAUBase):
    r"""Add and subtract with one of K weights, which the iteration decides (Mistry et al. 2022,
    published code).

        y_o = sum_i clamp(W_k,oi, -1, 1) x_i,    k = iteration mod K

    Shapes: x (*runs, batch, in), W_0 ... W_{K-1} (*runs, out, in), y (*runs, batch, out).

    `W_set_count` is K. All penalties and the range are those of the active weight; the key `W-set`
    holds the spread of all of them, mean (W_k - mean_k W_k)^2, which no script adds to its loss.
    Weights that are not active get no gradient.

    Departs from the paper: it is not in the paper. Departs from the published code: no.
    """

    reads_iteration = True

    def __init__(
        self, in_features: int, out_features: int, *, W_set_count: int = 5, **options: Any
    ):
        super().__init__(in_features, out_features, **options)
        self.W_set_count = W_set_count
        for k in range(W_set_count):
            weight = torch.nn.Parameter(torch.empty(out_features, in_features))
            self.register_parameter(f"W_{k}", weight)

    def reset_parameters(self) -> None:
        for W in self.weight_set():
            nau_init_(W, beta_nau=False)
        self._z.reset()

    @property
    def active_name(self) -> str:
        """Return the name of the weight in use at this iteration."""
        return f"W_{self.iteration % self.W_set_count}"

    @property
    def W(self) -> torch.Tensor:
        """Return the weight in use at this iteration."""
        return getattr(self, self.active_name)

    def weight_set(self) -> list[torch.Tensor]:
        """Return all K weights."""
        return [getattr(self, f"W_{k}") for k in range(self.W_set_count)]

    def spread(self) -> torch.Tensor:
        """Return the mean squared distance of the K weights from their mean, shape `runs`."""
        stacked = torch.stack(self.weight_set(), dim=-3)
        return mean_over((stacked - stacked.mean(-3, keepdim=True)) ** 2, 3)

    def regualizer_terms(self):
        return super().regualizer_terms() | {"W-set": self.spread}

    def parameter_bounds(self):
        return {self.active_name: self.weight_range} if self.nac_oob == "clip" else {}

    def observations(self) -> list[Observation]:
        # The raw weight is logged here, unlike the clamped one of the NAU.
        return weight_observations("W", lambda: self.W)


ENTRY = register(
    key="MultiWeightNAU",
    paper_name="Multi-weight NAU",
    latex=r"\mathrm{NAU}_\mathrm{multi}",
    cites=MISTRY_2022_DIVISION,
    layer=MultiWeightNAULayer,
    tier="extra",
)
