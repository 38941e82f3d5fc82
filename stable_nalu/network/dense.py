"""Dense layers and convolutions as torch starts them, and small networks of these or of units."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import linear
from stable_nalu.layer.registry import GeneralizedLayer

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "Hardtanh": functional.hardtanh,
    "Sigmoid": torch.sigmoid,
    "ReLU6": functional.relu6,
    "Tanh": torch.tanh,
    "Tanhshrink": functional.tanhshrink,
    "Hardshrink": lambda z: torch.where(z.abs() > 0.5, z, torch.zeros_like(z)),
    "LeakyReLU": functional.leaky_relu,
    "Softshrink": lambda z: z - z.clamp(-0.5, 0.5),
    "Softsign": functional.softsign,
    "Threshold": lambda z: torch.where(z > 1, z, torch.zeros_like(z)),
    "ReLU": torch.relu,
    "PReLU": lambda z: z,
    "Softplus": functional.softplus,
    "ELU": functional.elu,
    "SELU": torch.selu,
    "linear": lambda z: z,
}
"""Activations in the figure's order, and none. Threshold is 0 below 1: the paper does not say.

The slope of PReLU is a parameter of its layer.
"""


class Dense(ExtendedTorchModule):
    """x `(..., in_features)` -> f(x W^T + b), `(..., out_features)`.

    W and b start uniform in +-1 / sqrt(in_features), as torch's linear layer does. PReLU has one
    slope for negative values, which is learned and starts at 0.25.
    """

    shown = ("in_features", "out_features", "activation")

    def __init__(
        self, in_features: int, out_features: int, activation: str = "linear", name: str = "dense"
    ):
        super().__init__("dense", name=name)
        self.in_features, self.out_features = in_features, out_features
        self.activation = activation
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))
        self.bias = torch.nn.Parameter(torch.empty(out_features))
        slope = torch.nn.Parameter(torch.empty(1)) if activation == "PReLU" else None
        self.register_parameter("slope", slope)

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.in_features)
        torch.nn.init.uniform_(self.W, -bound, bound)
        torch.nn.init.uniform_(self.bias, -bound, bound)
        if self.slope is not None:
            torch.nn.init.constant_(self.slope, 0.25)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        z = linear(x, self.W, self.bias)
        if self.slope is not None:
            return torch.where(z >= 0, z, self.slope.unsqueeze(-1) * z)
        return ACTIVATIONS[self.activation](z)


class Convolution(ExtendedTorchModule):
    """x `(images, channels, height, width)` through kernels, with a stride.

    W and b start uniform in +-1 / sqrt(inputs of a kernel), as torch's convolution does.
    """

    def __init__(
        self,
        channels: int,
        kernels: int,
        size: int,
        stride: int = 1,
        name: str = "conv",
        *,
        padding: int = 0,
        dilation: int = 1,
    ):
        super().__init__("convolution", name=name)
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.W = torch.nn.Parameter(torch.empty(kernels, channels, size, size))
        self.bias = torch.nn.Parameter(torch.empty(kernels))

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.W[0].numel())
        torch.nn.init.uniform_(self.W, -bound, bound)
        torch.nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.conv2d(x, self.W, self.bias, self.stride, self.padding, self.dilation)


def pooled(x: torch.Tensor) -> torch.Tensor:
    """Return the largest value of each 2 x 2 pixels of x `(images, channels, height, width)`."""
    # Where channels lie side by side, torch's pooling uses the processor's vectors.
    return functional.max_pool2d(x.contiguous(memory_format=torch.channels_last), 2)


def layers_between(
    unit_name: str, sizes: list[int], layer_options: dict[str, Any]
) -> torch.nn.Module:
    """Return layers between widths: of a unit, or with an activation behind all but the last."""
    layers: list[torch.nn.Module] = []
    for place, (size, width) in enumerate(zip(sizes, sizes[1:], strict=False), start=1):
        name = f"layer_{place}"
        if unit_name in ACTIVATIONS:
            activation = unit_name if place < len(sizes) - 1 else "linear"
            layers.append(Dense(size, width, activation, name))
        else:
            layers.append(GeneralizedLayer(size, width, unit_name, name=name, **layer_options))
    return torch.nn.Sequential(*layers)


class IdentityNetwork(ExtendedTorchModule):
    """x `(*runs, batch, inputs)` -> `(*runs, batch, outputs)`, through hidden layers of one size.

    An activation stands behind every hidden layer and not behind the last one. A unit of the zoo
    takes the place of all layers, the last one too; it has no bias.
    """

    def __init__(
        self,
        unit_name: str,
        hidden_size: int = 8,
        hidden_layers: int = 3,
        inputs: int = 1,
        outputs: int = 1,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name = unit_name
        sizes = [inputs, *[hidden_size] * hidden_layers, outputs]
        self.layers = layers_between(unit_name, sizes, layer_options)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)
