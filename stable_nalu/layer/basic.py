"""A dense layer with an activation: the layer of the MLP baselines."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from stable_nalu.functional import kaiming_bound, linear, xavier_bound

from .base import WeightLayer, recurrent


@dataclass(frozen=True)
class Activation:
    """A function, and the bound of the uniform initial weights that goes with it."""

    function: Callable[[torch.Tensor], torch.Tensor]
    bound: Callable[[int, int], float]


ACTIVATIONS = {
    "Tanh": Activation(
        torch.tanh,
        lambda fan_in, fan_out: xavier_bound(fan_in, fan_out, gain=5.0 / 3.0),
    ),
    "Sigmoid": Activation(torch.sigmoid, xavier_bound),
    "ReLU6": Activation(functional.relu6, kaiming_bound),
    "Softsign": Activation(functional.softsign, xavier_bound),
    "SELU": Activation(torch.selu, lambda fan_in, _: math.sqrt(3.0 / fan_in)),
    "ELU": Activation(functional.elu, kaiming_bound),
    "ReLU": Activation(torch.relu, kaiming_bound),
    "linear": Activation(lambda x: x, xavier_bound),
}


class BasicLayer(WeightLayer):
    r"""Map inputs linearly and apply an activation: a layer of the MLPs that Madsen & Johansen
    (2020) and others compare with. `registry` names the source of each activation.

        y_o = activation(sum_i W_oi x_i + bias_o)

    Shapes: x (*runs, batch, in), W (*runs, out, in), bias (*runs, out), y (*runs, batch, out).

    Departs from the published code: no.
    """

    default_name = "basic"

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        activation: str = "linear",
        bias: bool = True,
        **options: Any,
    ):
        super().__init__(in_features, out_features, **options)
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation {activation!r} is not one of {', '.join(ACTIVATIONS)}")
        self.activation = activation
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))
        self.register_parameter(
            "bias", torch.nn.Parameter(torch.empty(out_features)) if bias else None
        )

    def reset_parameters(self) -> None:
        bound = ACTIVATIONS[self.activation].bound(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W, -bound, bound)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ACTIVATIONS[self.activation].function(linear(x, self.W, self.bias))


BasicCell = recurrent(BasicLayer)
