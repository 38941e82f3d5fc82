"""NRU, the Neural Reciprocal Unit."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.functional import mnac
from stable_nalu.papers import MISTRY_2022_DIVISION

from .nau import nau_init_
from .ranged_weight import RangedWeightLayer
from .registry import register

DIV_MODES = ("div", "div-sepSign")


class ReciprocalNMULayer(RangedWeightLayer):
    r"""Multiply and divide inputs with weights in {-1, 0, 1}: the NRU of Mistry et al. (2022,
    arXiv:2110.05177).

        div           y_o = prod_i (A_oi sign(x_i) |x_i|^W_oi + 1 - A_oi)
        div-sepSign   y_o = prod_i (A_oi |x_i|^W_oi + 1 - A_oi) * prod_i sign(x_i)^round(W_oi)

    with W in [-1, 1]; A = tanh(1000 W)^2 in training and |W| in evaluation.

    Shapes: x (*runs, batch, in), W (*runs, out, in), trash_cell (*runs, 1), y (*runs, batch, out).

    `trash_cell` adds a trainable scalar to the output, in training only. An input of exactly zero
    with a negative weight gives NaN (div) or infinity (div-sepSign), and W = 0 has no gradient.

    Departs from the paper: no. Departs from the published code: no.
    """

    default_name = "nru"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        mnac_epsilon: float = 0,
        beta_nau: bool = False,
        nru_div_mode: str = "div",
        trash_cell: bool = False,
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        if nru_div_mode not in DIV_MODES:
            raise ValueError(f"nru_div_mode {nru_div_mode!r} is not {' or '.join(DIV_MODES)}")
        self.mnac_epsilon = mnac_epsilon
        self.weight_range = (-1.0 + mnac_epsilon, 1.0)
        self.beta_nau = beta_nau
        self.nru_div_mode = nru_div_mode
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))
        trash = torch.nn.Parameter(torch.empty(1)) if trash_cell else None
        self.register_parameter("trash_cell", trash)

    def reset_parameters(self) -> None:
        nau_init_(self.W, self.beta_nau)
        if self.trash_cell is not None:
            torch.nn.init.zeros_(self.trash_cell)
        self._z.reset()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.record_input(x)
        y = mnac(x, self.weights(), self.nru_div_mode, is_training=self.training)
        if self.training and self.trash_cell is not None:
            return y + self.trash_cell.unsqueeze(-2)
        return y


ENTRY = register(
    key="NRU",
    paper_name="NRU",
    latex=r"\mathrm{NRU}",
    cites=MISTRY_2022_DIVISION,
    layer=ReciprocalNMULayer,
)
