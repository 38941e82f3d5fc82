"""The player of the grid world: it sees the world and a number, acts, and counts."""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import linear
from stable_nalu.layer import GeneralizedCell, GeneralizedLayer

from .convolution import Convolution
from .dense import Dense

ALONE = "LSTM"
"""The baseline: an LSTM with no unit beside it."""

WIRINGS = ("recurrent", "feedforward")
ENCODING, ACTIONS = 64, 5


class TimeGridworldNetwork(ExtendedTorchModule):
    """An LSTM on what is seen, T and a register, with heads for actions and for the value.

    The register is what a unit makes of T. feedforward: unit(T), the same at every step.
    recurrent: n_t = unit([T, 1, n_{t-1}]) from n = 0, where T is there at the first step alone, so
    that it can count down. The baseline has no register.

    Shapes: frames `(frames, ...)`; stimulus, frame `(*runs, batch)`; h, c `(*runs, batch, hidden)`.
    """

    def __init__(
        self,
        unit_name: str = "NAC",
        wiring: str = "recurrent",
        observation: str = "symbolic",
        hidden_size: int = 64,
        register_size: int = 4,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name, self.wiring = unit_name, wiring
        self.hidden_size = hidden_size
        self.register_size = 0 if unit_name == ALONE else register_size
        self.encoder = PictureEncoder() if observation == "pixels" else Dense(50, ENCODING, "ReLU")
        size = ENCODING + 1 + self.register_size
        self.core = GeneralizedCell(size, hidden_size, "LSTM", name="core")
        self.counter: torch.nn.Module | None = None
        if unit_name != ALONE and wiring == "recurrent":
            self.counter = GeneralizedCell(
                2, register_size, unit_name, name="counter", **layer_options
            )
        elif unit_name != ALONE:
            self.counter = GeneralizedLayer(
                1, register_size, unit_name, name="counter", **layer_options
            )
        self.policy = Dense(hidden_size, ACTIONS, name="policy")
        self.value = Dense(hidden_size, 1, name="value")

    @property
    def weight_of_hidden(self) -> torch.Tensor:
        """Return what the LSTM multiplies its last output by."""
        return self.core.cell.weight_hh

    def seen(self, frames: torch.Tensor) -> torch.Tensor:
        """Return what each frame adds to the LSTM's gates, `(*runs, frames, 4 hidden)`."""
        cell = self.core.cell
        weight = cell.weight_ih[..., :ENCODING]
        return linear(self.encoder(frames), weight, cell.bias_ih + cell.bias_hh)

    def counted(
        self, stimulus: torch.Tensor, register: torch.Tensor | None, step: int
    ) -> torch.Tensor | None:
        """Return the register at a step, given that of the step before."""
        number = stimulus.unsqueeze(-1)
        if self.counter is None or (register is not None and self.wiring == "feedforward"):
            return register
        if self.wiring == "feedforward":
            return self.counter(number)
        if register is None:
            register = number.new_zeros(*stimulus.shape, self.register_size)
        told = number if step == 0 else torch.zeros_like(number)
        return self.counter(torch.cat((told, torch.ones_like(number)), -1), register)

    def heard(self, stimulus: torch.Tensor, register: torch.Tensor | None) -> torch.Tensor:
        """Return what T and the register add to the LSTM's gates, `(*runs, batch, 4 hidden)`."""
        x = stimulus.unsqueeze(-1)
        x = x if register is None else torch.cat((x, register), -1)
        return linear(x, self.core.cell.weight_ih[..., ENCODING:])

    def heads(self, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits of the actions, `(*runs, batch, 5)`, and values, `(*runs, batch)`."""
        return self.policy(h), self.value(h).squeeze(-1)


class PictureEncoder(ExtendedTorchModule):
    """x `(frames, 3, 56, 56)` -> `(*runs, frames, 64)`: two convolutions and a dense layer."""

    def __init__(self):
        super().__init__("encoder")
        self.first = Convolution(3, 16, 5, 3, "first")
        self.second = Convolution(16, 32, 3, 2, "second")
        self.dense = Dense(2048, ENCODING, "ReLU")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.expand(*self.first.W.shape[:-4], *x.shape[-4:])
        x = torch.relu(self.second(torch.relu(self.first(x))))
        return self.dense(x.flatten(-3))
