r"""NMRU — Neural Multiplicative Reciprocal Unit, the version without sign retrieval
(Mistry et al. 2022, arXiv:2110.05177).

    y_o = prod_j (W_oj z_j + 1 - W_oj),    z = [x, 1 / (x + eps)],    W_oj in [0, 1]

with eps = 2^-23 in training and 0 in evaluation. The first half of the weights multiplies, the
second divides. With `nmu_noise`, in training, z is multiplied by n ~ U(1, 5), one value per
element, and the output divided by prod_j (W_oj n_j + 1 - W_oj).

Shapes: x (*runs, batch, in), z (*runs, batch, 2 in), W (*runs, out, 2 in), y (*runs, batch, out).

In evaluation, an input of exactly zero has an infinite reciprocal; with weight zero it is NaN.

Departs from the paper: no. Departs from the published code: no.
"""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.papers import MISTRY_2022_DIVISION

from .nmu import NMUBase
from .registry import register

# Training never divides by zero; the published code adds the float32 value in float64 runs too.
EPSILON = 2.0**-23
NOISE_RANGE = (1, 5)


class NMRUBase(NMUBase):
    """A product over inputs and their reciprocals; subclasses say what becomes of the signs."""

    def __init__(
        self,
        default_name: str,
        name: str | None,
        in_features: int,
        out_features: int,
        *,
        mnac_normalized: bool = False,
        noise_range: tuple[float, float] | list[float] = NOISE_RANGE,
        **options: Any,
    ):
        super().__init__(
            default_name,
            name,
            in_features,
            out_features,
            columns=2 * in_features,
            mnac_normalized=mnac_normalized,
            noise_range=noise_range,
            **options,
        )

    def with_reciprocal(self, x: torch.Tensor) -> torch.Tensor:
        """Return [x, 1 / x]: `(*runs, batch, in)` -> `(*runs, batch, 2 in)`."""
        return torch.cat((x, 1 / (x + EPSILON if self.training else x)), dim=-1)


class ConcatReciprocalNMULayer(NMRUBase):
    """Multiplication and division with weights in {0, 1}."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        nac_oob: str = "regualized",
        regualizer_shape: str = "squared",
        regualizer_z: float = 0,
        mnac_epsilon: float = 0,
        mnac_normalized: bool = False,
        nmu_noise: bool = False,
        name: str | None = None,
    ):
        super().__init__(
            "nmru",
            name,
            in_features,
            out_features,
            nac_oob=nac_oob,
            regualizer_shape=regualizer_shape,
            regualizer_z=regualizer_z,
            mnac_epsilon=mnac_epsilon,
            mnac_normalized=mnac_normalized,
            nmu_noise=nmu_noise,
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.product(self.with_reciprocal(x))


ENTRY = register(
    key="NMRU",
    paper_name="NMRU (no sign retrieval)",
    latex=r"\mathrm{NMRU}_\mathrm{plain}",
    cites=MISTRY_2022_DIVISION,
    layer=ConcatReciprocalNMULayer,
)
