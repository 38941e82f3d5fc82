"""NMRU, the Neural Multiplicative Reciprocal Unit, in the version without sign retrieval."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import has_torch_function_variadic

from stable_nalu.papers import MISTRY_2022_DIVISION

from .nmu import NMUBase
from .registry import register

# Training never divides by zero; the published code adds the float32 value in float64 runs too.
EPSILON = 2.0**-23
_BYTES_AT_ONCE = 8


class NMRUBase(NMUBase):
    """A product over inputs and their reciprocals; subclasses say what becomes of the signs."""

    default_name = "nmru"
    weights_per_input = 2

    def with_reciprocal(self, x: torch.Tensor) -> torch.Tensor:
        """Return [x, 1 / x]: `(*runs, batch, in)` -> `(*runs, batch, 2 in)`."""
        return _side_by_side(x, 1 / (x + EPSILON if self.training else x))


class ConcatReciprocalNMULayer(NMRUBase):
    r"""Multiply and divide with weights in {0, 1}: the NMRU of Mistry et al. (2022,
    arXiv:2110.05177), in its version without sign retrieval.

        y_o = prod_j (W_oj z_j + 1 - W_oj),    z = [x, 1 / (x + eps)],    W_oj in [0, 1]

    with eps = 2^-23 in training and 0 in evaluation. The first half of the weights multiplies, the
    second half divides. `nmu_noise` multiplies z in training by n ~ U(1, 5), one value per
    element, and divides the output by prod_j (W_oj n_j + 1 - W_oj).

    Shapes: x (*runs, batch, in), z (*runs, batch, 2 in), W (*runs, out, 2 in),
    y (*runs, batch, out).

    In evaluation, an input of exactly zero has an infinite reciprocal; with weight zero the output
    is NaN.

    Departs from the paper: no. Departs from the published code: no.
    """

    def __init__(
        self, in_features: int, out_features: int, *, mnac_normalized: bool = False, **options: Any
    ):
        super().__init__(in_features, out_features, **options)
        self.mnac_normalized = mnac_normalized
        self.evaluates_rows_independently = not mnac_normalized

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.product(self.with_reciprocal(x))


def _side_by_side(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return [x, y] along the last dimension."""
    recorded = x.requires_grad or has_torch_function_variadic(x, y)
    if recorded or not x.is_contiguous() or x.shape[-1] * x.itemsize != _BYTES_AT_ONCE:
        return torch.cat((x, y), dim=-1)
    # Torch copies short rows number by number: two seen as one take half as long.
    return torch.cat((x.view(torch.float64), y.view(torch.float64)), dim=-1).view(x.dtype)


ENTRY = register(
    key="NMRU",
    paper_name="NMRU (no sign retrieval)",
    latex=r"\mathrm{NMRU}_\mathrm{plain}",
    cites=MISTRY_2022_DIVISION,
    layer=ConcatReciprocalNMULayer,
)
