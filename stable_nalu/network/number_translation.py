"""Networks that read English number words: embedding, LSTM, and a cell or a head behind it."""

from __future__ import annotations

from typing import Any

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer.generalized import GeneralizedCell, GeneralizedLayer

from .dense import Dense

PADDING_ID = 0


class NumberTranslationNetwork(ExtendedTorchModule):
    """Token ids `(*runs, batch, time)` -> value `(*runs, batch, 1)`.

    Each token is embedded and fed to an LSTM; the output cell `unit_name` accumulates over the
    LSTM's outputs. All states start at zero and stay as they are at padding (id 0), so the answer
    is the output cell's state after the last word (of an LSTM's pair, the first).

    Departs from the published code: no. With its seed, the NALU cell and no penalty this network
    gives the two losses that are known of the published one, to all printed digits.
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
        self.outputs_pair = unit_name == "LSTM"
        self.register_buffer("lstm_zero_state_h", torch.zeros(hidden_size))
        self.register_buffer("lstm_zero_state_c", torch.zeros(hidden_size))
        self.register_buffer("output_zero_state", torch.zeros(1))
        self.embedding = torch.nn.Parameter(torch.empty(vocabulary_size, embedding_size))
        # Published runs drew here too, as the LSTM does, and later random numbers depend on it.
        torch.nn.init.normal_(self.embedding)
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
        zero = self._initial(self.output_zero_state, x)
        output: Any = (zero, zero) if self.outputs_pair else zero
        for t in range(x.shape[-1]):
            token = x[..., t].unsqueeze(-1)
            is_word = token != PADDING_ID
            embedded = self.embedding.take_along_dim(token, dim=-2)
            h, c = _keep_at_padding(is_word, self.lstm_cell(embedded, (h, c)), (h, c))
            output = _keep_at_padding(is_word, self.output_cell(h, output), output)
        return output[0] if self.outputs_pair else output


def _keep_at_padding(is_word: torch.Tensor, new: Any, old: Any) -> Any:
    """Return the new state at words and the old one at padding; a state may be a tuple."""
    if isinstance(old, tuple):
        return tuple(_keep_at_padding(is_word, *pair) for pair in zip(new, old, strict=True))
    return torch.where(is_word, new, old)


class NumberReaderNetwork(ExtendedTorchModule):
    """Token ids `(batch, time)` -> value `(batch, 1)`, as in the NALU paper.

    Each token is embedded and fed to torch's own LSTM, which has no stacks; the head `unit_name`
    maps its output behind the last word. `linear` has a bias, as torch's own.
    """

    def __init__(
        self,
        unit_name: str,
        embedding_size: int = 32,
        hidden_size: int = 128,
        vocabulary_size: int = 31,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name = unit_name
        self.vocabulary_size = vocabulary_size
        self.embedding = torch.nn.Parameter(torch.empty(vocabulary_size, embedding_size))
        self.lstm_cell = GeneralizedCell(embedding_size, hidden_size, "LSTM", name="lstm_layer")
        if unit_name == "linear":
            self.head = Dense(hidden_size, 1, name="head")
        else:
            self.head = GeneralizedLayer(hidden_size, 1, unit_name, name="head", **layer_options)

    def reset_parameters(self) -> None:
        torch.nn.init.normal_(self.embedding)
        self.lstm_cell.reset_parameters()
        self.head.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cell = self.lstm_cell.cell
        words = torch.nn.functional.embedding(x, self.embedding)
        start = [words.new_zeros(1, len(x), cell.hidden_size)] * 2
        weights = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
        states, *_ = torch.lstm(words, start, weights, True, 1, 0.0, self.training, False, True)
        last = (x != PADDING_ID).sum(-1) - 1
        return self.head(states[torch.arange(len(x), device=x.device), last])
