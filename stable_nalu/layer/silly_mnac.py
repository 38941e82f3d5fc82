"""SillyReRegualizedLinearMNAC, the NMU without its identity."""

from __future__ import annotations

import torch

from stable_nalu.functional import mnac
from stable_nalu.papers import MADSEN_2020

from .base import recurrent
from .nmu import normalized_mnac
from .ranged_weight import UnitWeightLayer
from .registry import register

_MODE = "no-idendity"


class SillyReRegualizedLinearMNACLayer(UnitWeightLayer):
    r"""Multiply all inputs, scaled by their weights: an ablation of the NMU in which an unused
    input (weight 0) makes the product zero (Madsen & Johansen 2020, published code).

        y_o = prod_i W'_oi x_i

    W' is the NMU's: clamp(W, mnac_epsilon, 1) with `nac_oob="regualized"`, else the raw W.

    Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

    Two more keys, SillyReRegualizedLinearNAC and -NALU, only name a layer type: a network with
    `nac_mul="mnac"` replaces the last three letters by "MNAC", and so finds this layer.

    Departs from the paper: it is not in the paper. Departs from the published code: that one cannot
    be built (a missing import); this is what it was meant to be.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        nac_oob: str = "regualized",
        regualizer_shape: str = "squared",
        mnac_epsilon: float = 0,
        mnac_normalized: bool = False,
        name: str | None = None,
    ):
        # Unlike the NMU it has no penalty z, and therefore not all options of its base.
        super().__init__(
            in_features,
            out_features,
            nac_oob=nac_oob,
            regualizer_shape=regualizer_shape,
            mnac_epsilon=mnac_epsilon,
            name=name,
        )
        self.mnac_normalized = mnac_normalized
        self.evaluates_rows_independently = not mnac_normalized

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        product = normalized_mnac if self.mnac_normalized else mnac
        return product(x, self.weights(), _MODE)

    def regualizer_terms(self):
        return {key: term for key, term in super().regualizer_terms().items() if key != "z"}


SillyReRegualizedLinearMNACCell = recurrent(SillyReRegualizedLinearMNACLayer)

ENTRY = register(
    key="SillyReRegualizedLinearMNAC",
    paper_name="NMU, z = W x",
    latex=r"\mathrm{NMU},\ \mathbf{z} = \mathbf{W} \odot \mathbf{x}",
    cites=MADSEN_2020,
    layer=SillyReRegualizedLinearMNACLayer,
    tier="extra",
)

NAME_ONLY = tuple(
    register(
        key=key,
        paper_name="NMU, z = W x (layer 2 only)",
        latex=ENTRY.latex,
        cites=MADSEN_2020,
        layer=None,
        tier="extra",
    )
    for key in ("SillyReRegualizedLinearNAC", "SillyReRegualizedLinearNALU")
)
