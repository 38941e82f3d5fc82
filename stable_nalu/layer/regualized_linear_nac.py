"""RegualizedLinearNAC, the NAU without clamping."""

from __future__ import annotations

from typing import Any

from stable_nalu.functional import Regualizer
from stable_nalu.papers import MADSEN_2020

from .base import recurrent
from .linear_nac import LinearNACLayer
from .registry import register


class RegualizedLinearNACLayer(LinearNACLayer):
    r"""Map inputs linearly, with weights pulled to {-1, 0, 1} by the NAU's penalty `W` alone: an
    ablation of Madsen & Johansen (2020, published code).

        y_o = sum_i W_oi x_i

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: that one cannot
    be built (a missing import); this is what it was meant to be. W is never clamped.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        regualizer_shape: str = "squared",
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        self.regualizer_shape = regualizer_shape
        self._bias = Regualizer("nac", "bias", regualizer_shape)

    def regualizer_terms(self):
        return {"W": None if self._bias.is_zero else lambda: self._bias(self.W)}


RegualizedLinearNACCell = recurrent(RegualizedLinearNACLayer)

ENTRY = register(
    key="RegualizedLinearNAC",
    paper_name="NAU, W = W_hat",
    latex=r"\mathrm{NAU},\ \mathbf{W} = \mathbf{\hat{W}}",
    cites=MADSEN_2020,
    layer=RegualizedLinearNACLayer,
    cell=RegualizedLinearNACCell,
    tier="extra",
)
