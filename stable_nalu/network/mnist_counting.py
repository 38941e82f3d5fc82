"""Image networks of the NALU paper's digit tasks, and cells that count or add what they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer.basic import TorchCell
from stable_nalu.layer.generalized import GeneralizedCell

from .dense import Convolution, Dense, pooled


class SmallReader(ExtendedTorchModule):
    """x `(images, 1, 28, 28)` -> `(images, outputs)`: PyTorch's example of 2017.

    Convolutions of 10 and 20 filters of 5 x 5, each pooled by 2 x 2, a hidden layer of 50, ReLU
    throughout. dropout: the probability with which whole channels of the second convolution, and
    units of the hidden layer, are left out of an update; the example has 0.5.
    """

    def __init__(self, outputs: int, dropout: float = 0.0):
        super().__init__("reader")
        self.dropout = dropout
        self.first = Convolution(1, 10, 5, name="first")
        self.second = Convolution(10, 20, 5, name="second")
        self.hidden = Dense(320, 50, "ReLU", "hidden")
        self.output = Dense(50, outputs, name="output")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.second(torch.relu(pooled(self.first(x))))
        x = torch.relu(pooled(self._dropped(x, 2)))
        return self.output(self._dropped(self.hidden(x.flatten(-3)), 0))

    def _dropped(self, x: torch.Tensor, inner: int) -> torch.Tensor:
        """Return x without some of its channels, whose `inner` dimensions go as one.

        The rest is larger, so that the mean stays.
        """
        if not (self.dropout and self.allow_random):
            return x
        shape = x.shape[x.ndim - inner - 2 : x.ndim - inner]
        noise = self.random.uniform(tuple(shape), 0, 1, x)
        kept = (noise >= self.dropout).to(x) / (1 - self.dropout)
        return x * kept.reshape(*kept.shape, *[1] * inner)


class LargeReader(ExtendedTorchModule):
    """x `(images, 1, 28, 28)` -> `(images, outputs)`: PyTorch's example of 2018.

    Convolutions of 20 and 50 filters of 5 x 5, each pooled by 2 x 2, and a hidden layer of 500.
    """

    def __init__(self, outputs: int):
        super().__init__("reader")
        self.first = Convolution(1, 20, 5, name="first")
        self.second = Convolution(20, 50, 5, name="second")
        self.hidden = Dense(800, 500, "ReLU", "hidden")
        self.output = Dense(500, outputs, name="output")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for convolution in (self.first, self.second):
            x = torch.relu(pooled(convolution(x)))
        return self.output(self.hidden(x.flatten(-3)))


class FlatReader(ExtendedTorchModule):
    """x `(images, 1, 8, 8)` -> `(images, outputs)`, through a hidden layer of 64."""

    def __init__(self, outputs: int):
        super().__init__("reader")
        self.hidden = Dense(64, 64, "ReLU", "hidden")
        self.output = Dense(64, outputs, name="output")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.output(self.hidden(x.flatten(-3)))


READERS: dict[str, Callable[..., ExtendedTorchModule]] = {
    "small": SmallReader,
    "large": LargeReader,
    "mlp8": FlatReader,
}


class CountingNetwork(ExtendedTorchModule):
    """Digit images, in sequences, -> what a cell has counted or added up.

    f_t = reader(x_t); h_t = cell(f_t, h_{t-1}) from h = 0; y_t = h_t or, for a cell of torch
    (LSTM, GRU, RNN), a dense layer of it without an activation.

    Shapes: x `(batch, time, 1, side, side)`, f `(batch, time, features)`,
    y `(batch, time or 1, outputs)`.
    """

    def __init__(
        self,
        unit_name: str,
        outputs: int,
        features: int,
        cnn: str = "small",
        dropout: float = 0.0,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name = unit_name
        self.outputs = outputs
        self.reader = READERS[cnn](features, **({"dropout": dropout} if cnn == "small" else {}))
        self.cell = GeneralizedCell(features, outputs, unit_name, name="cell", **layer_options)
        is_torch = isinstance(self.cell.cell, TorchCell)
        self.read_out = Dense(outputs, outputs, name="read_out") if is_torch else None

    def read(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the image network makes of x, all images in one pass."""
        return self.reader(x.flatten(-5, -4)).unflatten(-2, x.shape[-5:-3])

    def accumulate(self, features: torch.Tensor, *, every: bool = False) -> torch.Tensor:
        """Return the outputs of the last step alone, or of every one."""
        h = features.new_zeros(*features.shape[:-2], self.outputs)
        state: Any = (h, h) if self.unit_name == "LSTM" else h
        states = []
        for step in features.unbind(-2):
            state = self.cell(step, state)
            h = state[0] if isinstance(state, tuple) else state
            if every:
                states.append(h)
        found = torch.stack(states, -2) if every else h.unsqueeze(-2)
        if self.read_out is None:
            return found
        return self.read_out(found.flatten(-3, -2)).unflatten(-2, found.shape[-3:-1])

    def forward(self, x: torch.Tensor, *, every: bool = False) -> torch.Tensor:
        return self.accumulate(self.read(x), every=every)
