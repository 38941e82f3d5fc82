"""A network that reads digit images as numbers: two convolutions and two linear layers."""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional.sparse_gradients import pooled_convolution, rectified_linear


class RegressionMnistNetwork(ExtendedTorchModule):
    """x `(batch, 1, 28, 28)` -> `(batch, outputs)`, without an activation at the end.

    Convolutions of 20 and 50 filters of 5 x 5, each followed by ReLU and pooling of 2 x 2; a hidden
    layer of 500. Parameters have torch's own initial values.
    """

    def __init__(self, outputs: int = 1):
        super().__init__("regression_mnist")
        # Published runs drew in torch's constructors too, and later random numbers depend on it.
        self.conv1 = torch.nn.Conv2d(1, 20, 5)
        self.conv2 = torch.nn.Conv2d(20, 50, 5)
        self.fc1 = torch.nn.Linear(800, 500)
        self.fc2 = torch.nn.Linear(500, outputs)

    def reset_parameters(self) -> None:
        for layer in (self.conv1, self.conv2, self.fc1, self.fc2):
            layer.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = pooled_convolution(x, self.conv1.weight, self.conv1.bias)
        x = pooled_convolution(x, self.conv2.weight, self.conv2.bias)
        return self.fc2(rectified_linear(x.flatten(1), self.fc1.weight, self.fc1.bias))
