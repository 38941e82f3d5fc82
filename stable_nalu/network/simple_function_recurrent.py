"""A recurrent cell and an output layer for sequences of vectors."""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer.generalized import GeneralizedCell, GeneralizedLayer

_LINEAR_OUTPUT = ("GRU", "LSTM", "RNN-tanh", "RNN-ReLU", "RNN-linear")


class SimpleFunctionRecurrentNetwork(ExtendedTorchModule):
    """x `(*runs, batch, time, input_size)` -> `(*runs, batch, 1)`.

    h_0 is trainable; h_t = cell(x_t, h_{t-1}); y = output_layer(h_T). An LSTM carries a pair
    (h, c), both trainable at the start.
    """

    def __init__(
        self, unit_name: str, input_size: int = 10, *, hidden_size: int = 2, **layer_options
    ):
        super().__init__("network")
        self.unit_name = unit_name
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.is_lstm = unit_name == "LSTM"
        for name in self._state_names():
            self.register_parameter(name, torch.nn.Parameter(torch.empty(self.hidden_size)))
        # The spelling is the one of published state dictionaries.
        self.recurent_cell = GeneralizedCell(
            input_size, self.hidden_size, unit_name, name="recurrent_layer", **layer_options
        )
        output_unit = "linear" if unit_name in _LINEAR_OUTPUT else unit_name
        self.output_layer = GeneralizedLayer(
            self.hidden_size, 1, output_unit, name="output_layer", **layer_options
        )

    def _state_names(self) -> tuple[str, ...]:
        return ("h_t0", "c_t0") if self.is_lstm else ("zero_state",)

    def reset_parameters(self) -> None:
        for name in self._state_names():
            torch.nn.init.zeros_(getattr(self, name))
        super().reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (*x.shape[:-2], self.hidden_size)
        initial = [getattr(self, n).unsqueeze(-2).expand(shape) for n in self._state_names()]
        state = tuple(initial) if self.is_lstm else initial[0]
        return self.output_layer(self.recurent_cell.unroll(x, state))


class UntrainedLSTM(torch.nn.Module):
    """An LSTM and a read-out of its last state, as torch initialises them."""

    def __init__(self, input_size: int, hidden_size: int):
        super().__init__()
        self.lstm = torch.nn.LSTM(input_size, hidden_size, batch_first=True)
        self.output = torch.nn.Linear(hidden_size, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map x `(batch, time, in)` to `(batch, 1)`."""
        states, _ = self.lstm(x)
        return self.output(states[:, -1])
