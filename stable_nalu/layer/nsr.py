"""NSR, the Neural Status Register."""

import math
from typing import ClassVar

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

    option_defaults: ClassVar = {"copies": 10, "z": 1.0}

    def make_parameters(self) -> None:
        if self.copies < 1 or not self.z > 0:
            raise ValueError("copies has to be at least 1, and z above 0")
        i, o, k = self.in_features, self.out_features, self.copies
        self.V, self.U = self.new_parameter(o, i, k), self.new_parameter(o, i, k)
        self.w, self.u = self.new_parameter(o, k), self.new_parameter(o, k)
        self.b = self.new_parameter(o)

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
