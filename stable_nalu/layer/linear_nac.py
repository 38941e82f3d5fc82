r"""LinearNAC — a bare linear map, the unconstrained baseline of the NAC (Madsen & Johansen 2020).

    y_o = sum_i W_oi x_i

Shapes: x (*runs, batch, in), W (*runs, out, in), y (*runs, batch, out).

Departs from the paper: it is not in the paper. Departs from the published code: no.
"""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule, Observation
from stable_nalu.abstract.observation import weight_observations
from stable_nalu.functional.initialization import xavier_bound
from stable_nalu.papers import MADSEN_2020

from .recurrent_cell import RecurrentCell
from .registry import register


class LinearNACLayer(ExtendedTorchModule):
    """A linear map without bias, range or penalty."""

    def __init__(self, in_features: int, out_features: int, *, name: str | None = None):
        super().__init__("nac", name)
        self.in_features = in_features
        self.out_features = out_features
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))

    def reset_parameters(self) -> None:
        bound = xavier_bound(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W, -bound, bound)

    def weights(self) -> torch.Tensor:
        """Return the effective weight W."""
        return self.W

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.W.mT

    def observations(self) -> list[Observation]:
        return weight_observations("W", self.weights, text_always=True, sparsity=False)


class LinearNACCell(RecurrentCell):
    """Recurrent LinearNAC."""

    Op = LinearNACLayer


ENTRY = register(
    key="LinearNAC",
    paper_name="Linear NAC",
    latex=r"\mathrm{NAC}_\mathrm{linear}",
    cites=MADSEN_2020,
    layer=LinearNACLayer,
    tier="extra",
)
