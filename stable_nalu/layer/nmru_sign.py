"""SignNMRU, the paper's NMRU: with sign retrieval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stable_nalu.functional.log_space import sign_phase
from stable_nalu.papers import MISTRY_2022_DIVISION

from .nmru import NMRUBase
from .registry import register


class SignNMRUBase(NMRUBase):
    """Magnitude and sign of the product of `z`, apart."""

    default_name = "nmru-sign"

    def signed_product(self, z: torch.Tensor) -> torch.Tensor:
        """Map z `(*runs, batch, 2 in)` to `(*runs, batch, out)`."""
        # Magnitude first: the order in which gradients of W are summed is part of the figures.
        magnitude = self.product(z.abs())
        return magnitude * torch.cos(sign_phase(z) @ self.W.mT)


class ConcatReciprocalNMUSignRetrievalLayer(SignNMRUBase):
    r"""Multiply and divide signed inputs with weights in {0, 1}: the NMRU of Mistry et al. (2022,
    arXiv:2110.05177).

        y_o = prod_j (W_oj |z_j| + 1 - W_oj) * cos(sum_j W_oj pi [z_j < 0]),  z = [x, 1 / (x + eps)]

    with W in [0, 1], and eps = 2^-23 in training and 0 in evaluation. The sign takes the raw W,
    even where the magnitude takes a clamped one. `nmu_noise` multiplies |z| in training by
    n ~ U(noise_range), one value per element, and undoes it as the NMRU without sign retrieval.

    Shapes: x (*runs, batch, in), z (*runs, batch, 2 in), W (*runs, out, 2 in),
    y (*runs, batch, out).

    Departs from the paper: no. Departs from the published code: `mnac_normalized`, which has no
    effect there, is no option.
    """

    follows_robustness_logging = True

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        noise_range: Sequence[float] = (1, 5),
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        if self.nmu_noise and noise_range[0] > noise_range[1]:
            raise ValueError(
                f"SignNMRU draws noise from U(low, high); noise_range {list(noise_range)} is empty "
                "([1, 0] has its special meaning for the NMU only)"
            )
        self.noise_range = noise_range

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.signed_product(self.with_reciprocal(x))


ENTRY = register(
    key="SignNMRU",
    paper_name="NMRU",
    latex=r"\mathrm{NMRU}",
    cites=MISTRY_2022_DIVISION,
    layer=ConcatReciprocalNMUSignRetrievalLayer,
)
