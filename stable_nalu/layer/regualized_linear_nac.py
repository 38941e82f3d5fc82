r"""RegualizedLinearNAC — a linear map pulled to {-1, 0, 1} by a penalty alone: the NAU without
clamping, an ablation of Madsen & Johansen (2020, published code).

    y_o = sum_i W_oi x_i

Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

Departs from the paper: it is not in the paper. Departs from the published code: that one cannot
be built (a missing import); this is what it was meant to be. W is never clamped.
"""

from __future__ import annotations

from stable_nalu.functional import Regualizer
from stable_nalu.papers import MADSEN_2020

from .linear_nac import LinearNACLayer
from .recurrent_cell import RecurrentCell
from .registry import register


class RegualizedLinearNACLayer(LinearNACLayer):
    """LinearNAC with the NAU's sparsity penalty `W`."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        regualizer_shape: str = "squared",
        name: str | None = None,
    ):
        super().__init__(in_features, out_features, name=name)
        self._bias = Regualizer("nac", "bias", regualizer_shape)

    def regualizer_terms(self):
        return {"W": None if self._bias.is_zero else lambda: self._bias(self.W)}


class RegualizedLinearNACCell(RecurrentCell):
    """Recurrent RegualizedLinearNAC."""

    Op = RegualizedLinearNACLayer


ENTRY = register(
    key="RegualizedLinearNAC",
    paper_name="NAU, W = W_hat",
    latex=r"\mathrm{NAU},\ \mathbf{W} = \mathbf{\hat{W}}",
    cites=MADSEN_2020,
    layer=RegualizedLinearNACLayer,
    cell=RegualizedLinearNACCell,
    tier="extra",
)
