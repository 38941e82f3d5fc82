"""IndependentNAC, a NAC whose two factors get gradients independent of each other."""

from __future__ import annotations

from stable_nalu.papers import MADSEN_2020

from .base import recurrent
from .nac import NACLayer
from .registry import register


class IndependentNACLayer(NACLayer):
    r"""Add and subtract as the NAC does, with an altered backward pass (Madsen & Johansen 2020,
    published code).

        y_o = sum_i W_oi x_i,    W = tanh(W_hat) * sigmoid(M_hat)

        dW / dW_hat := 1 - tanh(W_hat)^2,    dW / dM_hat := sigmoid'(M_hat)

    Shapes: x (*runs, batch, in), W_hat, M_hat (*runs, out, in), y (*runs, batch, out).

    Departs from the paper: it is not in the paper. Departs from the published code: the penalty `z`
    works as the NAC's; there, asking for it is an error because inputs are never recorded.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        regualizer_z: float = 0,
        name: str | None = None,
    ):
        options = {"regualizer_z": regualizer_z, "name": name}
        super().__init__(in_features, out_features, nac_weight="independent", **options)


IndependentNACCell = recurrent(IndependentNACLayer)

ENTRY = register(
    key="IndependentNAC",
    paper_name="Independent NAC",
    latex=r"\mathrm{NAC}_\mathrm{independent}",
    cites=MADSEN_2020,
    layer=IndependentNACLayer,
    cell=IndependentNACCell,
    tier="extra",
)
