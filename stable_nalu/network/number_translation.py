"""English number words to their value: embedding, LSTM and an accumulating output cell."""

from __future__ import annotations

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer import GeneralizedCell


class NumberTranslationNetwork(ExtendedTorchModule):
    """Token ids `(*runs, batch, time)` -> value `(*runs, batch, 1)`.

    Each token is embedded and fed to an LSTM; the output cell `unit_name` accumulates over the
    LSTM's outputs, and its last state is the answer. State starts at zero.
    """

    def __init__(
        self,
        unit_name: str,
        embedding_size: int = 2,
        hidden_size: int = 2,
        vocabulary_size: int = 30,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name = unit_name
        self.hidden_size = hidden_size
        self.register_buffer("lstm_zero_state_h", torch.zeros(hidden_size))
        self.register_buffer("lstm_zero_state_c", torch.zeros(hidden_size))
        self.register_buffer("output_zero_state", torch.zeros(1))
        self.embedding = torch.nn.Parameter(torch.empty(vocabulary_size, embedding_size))
        self.lstm_cell = GeneralizedCell(embedding_size, hidden_size, "LSTM", name="lstm_layer")
        self.output_cell = GeneralizedCell(
            hidden_size, 1, unit_name, name="recurrent_output", **layer_options
        )

    def reset_parameters(self) -> None:
        torch.nn.init.normal_(self.embedding)
        self.lstm_cell.reset_parameters()
        self.output_cell.reset_parameters()

    def _initial(self, zeros: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return zeros.unsqueeze(-2).expand(*x.shape[:-1], zeros.shape[-1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self._initial(self.lstm_zero_state_h, x)
        c = self._initial(self.lstm_zero_state_c, x)
        output = self._initial(self.output_zero_state, x)
        for t in range(x.shape[-1]):
            one_hot = torch.nn.functional.one_hot(x[..., t], self.embedding.shape[-2])
            token = one_hot.to(self.embedding.dtype) @ self.embedding
            h, c = self.lstm_cell(token, (h, c))
            output = self.output_cell(h, output)
        return output

    def extra_repr(self) -> str:
        return f"unit_name={self.unit_name}"
