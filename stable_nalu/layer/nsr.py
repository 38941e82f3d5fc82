"""NSR, the Neural Status Register."""

from __future__ import annotations

import math
from typing import Any

import torch

from .base import Layer


class NSRLayer(Layer):
    r"""Compare two inputs that are chosen among all: the NSR of Faber & Wattenhofer (2023,
    arXiv:2004.07085).

        y_o = sigmoid(b_o + sum_k w_ok S_ok + u_ok (1 - 2 S_ok^2)),    S_ok = tanh(z d_ok)
        d_ok = sum_i (softmax_i(V_oik) - softmax_i(U_oik)) x_i

    S is the sign bit of the difference d, 1 - 2 S^2 the zero bit, both in [-1, 1].

    Shapes: x (*runs, batch, in), V and U (*runs, out, in, copies), w and u (*runs, out, copies),
    b (*runs, out), y (*runs, batch, out).

    copies: comparisons that are learned beside each other. z: how small a difference still counts;
        beyond 1 / z, gradients vanish.

    Departs from the paper: the second output, 1 - y, is left out. Departs from the published code:
    no; the penalties of the version of 2020 are not here.
    """

    default_name = "nsr"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        copies: int = 10,
        z: float = 1.0,
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        if copies < 1 or not z > 0:
            raise ValueError("copies has to be at least 1, and z above 0")
        self.copies = copies
        self.z = z
        for name in ("V", "U"):
            shape = (out_features, in_features, copies)
            self.register_parameter(name, torch.nn.Parameter(torch.empty(shape)))
        for name in ("w", "u"):
            shape = (out_features, copies)
            self.register_parameter(name, torch.nn.Parameter(torch.empty(shape)))
        self.b = torch.nn.Parameter(torch.empty(out_features))

    def reset_parameters(self) -> None:
        for choice in (self.V, self.U):
            torch.nn.init.normal_(choice, std=math.sqrt(2 / (self.in_features + self.copies)))
        for weight in (self.w, self.u):
            torch.nn.init.normal_(weight, std=math.sqrt(2 / (self.copies + 1)))
        torch.nn.init.zeros_(self.b)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chosen = torch.softmax(self.V, -2) - torch.softmax(self.U, -2)
        S = torch.tanh(self.z * (x.unsqueeze(-3) @ chosen))
        bits = S @ self.w.unsqueeze(-1) + (1 - 2 * S * S) @ self.u.unsqueeze(-1)
        return torch.sigmoid(self.b.unsqueeze(-2) + bits.squeeze(-1).mT)
