"""Readers of texts: number words by an embedding and an LSTM, and programs by recurrent networks.

A controller programs an arithmetic unit at every word of a program; others are baselines.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.programs import TOKENS
from stable_nalu.functional import linear, lstm_step, nac_weight
from stable_nalu.layer.base import Cell
from stable_nalu.layer.gated import LARGEST_EXPONENT
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


MATRICES = {"NAC": 2, "NALU": 3}
"""Units whose matrices the controller makes at every step -> how many these are."""

_EPSILON = 1e-7


class Reading(NamedTuple):
    """Programs as the network reads them, step by step; see `dataset.programs.Steps`.

    x `(*runs, rows, inputs)`: what is known beforehand of the controller's inputs, or a row per
    step where this is the same for all programs. values `(*runs, rows)`.
    """

    counts: tuple[int, ...]
    x: torch.Tensor
    values: torch.Tensor
    ends: torch.Tensor

    @property
    def counts_of_x(self) -> tuple[int, ...]:
        """Return the rows of x at each step."""
        shared = self.x.shape[-2] < self.values.shape[-1]
        return (1,) * len(self.counts) if shared else self.counts


class ProgramNetwork(ExtendedTorchModule):
    """Read programs and say what they compute: `Reading` -> `(*runs, batch)`.

    NAC, NALU: K registers n start at 0, and the unit maps the number that is read and the registers
    to registers, n_t = unit([v_t, n_{t-1}]); the first one is the answer. Its matrices are biased
    linear maps of h_t, the output of an LSTM, the controller, which may see v_t and tanh(n_{t-1}).
    Other units are recurrent cells, whose last state a linear layer reads.
    """

    def __init__(
        self,
        unit_name: str = "NALU",
        hidden_size: int = 64,
        register_size: int = 4,
        *,
        sees_value: bool = False,
        sees_registers: bool = False,
        **layer_options,
    ):
        super().__init__("network")
        self.unit_name, self.hidden_size = unit_name, hidden_size
        self.register_size = register_size
        self.sees_registers = sees_registers
        inputs = len(TOKENS) + sees_value
        self.known = inputs
        if unit_name in MATRICES:
            seen = inputs + register_size * sees_registers
            self.core = GeneralizedCell(seen, hidden_size, "LSTM", name="controller")
            size = MATRICES[unit_name] * register_size * (1 + register_size)
            self.matrices = Dense(hidden_size, size, name="matrices")
        else:
            if unit_name == "UGRNN":
                self.core = UGRNNCell(inputs, hidden_size)
            else:
                self.core = GeneralizedCell(
                    inputs, hidden_size, unit_name, name="core", **layer_options
                )
            self.answer = Dense(hidden_size, 1, name="answer")

    def forward(self, programs: Reading) -> torch.Tensor:
        return self.answers(programs).gather(-1, programs.ends)

    def answers(self, programs: Reading) -> torch.Tensor:
        """Return what the network would answer after each token, `(*runs, rows)`."""
        if self.unit_name not in MATRICES:
            return self.answer(self._hidden(programs)).squeeze(-1)
        if self.sees_registers:
            return self._computed_seen(programs)
        registers, found = None, []
        rows = self.matrices(self._hidden(programs)).split(programs.counts_of_x, -2)
        for of_step, value in zip(rows, _steps(programs.values, programs), strict=True):
            registers = self._next(of_step, value, registers)
            found.append(registers[..., 0, :])
        return torch.cat(found, -1)

    def _computed_seen(self, programs: Reading) -> torch.Tensor:
        """Return the answers where the controller sees the registers: steps that wait for these."""
        cell, dense = self.core.cell, self.matrices
        of_x, of_n = cell.weight_ih.split((self.known, self.register_size), -1)
        of_state = torch.cat((of_n, cell.weight_hh), -1)
        inputs = linear(programs.x, of_x, cell.bias_ih + cell.bias_hh)
        bias = dense.bias.unsqueeze(-2).expand(*inputs.shape[:-1], dense.out_features)
        gates, made = _StepByStep(inputs, of_state, programs), _StepByStep(bias, dense.W, programs)
        h = c = inputs.new_zeros(*inputs.shape[:-2], programs.counts[0], self.hidden_size)
        registers, found = None, []
        for count, value in zip(programs.counts, _steps(programs.values, programs), strict=True):
            if registers is None:
                seen = h.new_zeros(*h.shape[:-1], self.register_size)
            else:
                seen = torch.tanh(registers[..., :count].mT)
            h, c = h[..., :count, :], c[..., :count, :]
            h, c = lstm_step(gates.of(torch.cat((seen, h), -1)), c)
            registers = self._next(made.of(h), value, registers)
            found.append(registers[..., 0, :])
        return torch.cat(found, -1)

    def _hidden(self, programs: Reading) -> torch.Tensor:
        """Return the state behind each row of x, which is all that the core sees."""
        if self.unit_name == "LSTM" or self.unit_name in MATRICES:
            return _lstm(programs, self.core.cell)
        if isinstance(self.core, UGRNNCell):
            return self.core.unrolled(programs)
        return _unrolled(programs, programs.x, self.hidden_size, self.core)

    def _next(
        self, made: torch.Tensor, value: torch.Tensor, registers: torch.Tensor | None
    ) -> torch.Tensor:
        """Return the registers behind a step, `(*runs, K, batch)`.

        made: what the controller says, `(*runs, batch, matrices x K x (1 + K))`; a row may be all.
        """
        if registers is None:
            registers = value.new_zeros(*value.shape[:-1], self.register_size, value.shape[-1])
        x = torch.cat((value.unsqueeze(-2), registers[..., : value.shape[-1]]), -2).unsqueeze(-3)
        # A matrix for each row: elements of all rows lie side by side, products of matrices so
        # small would take longer.
        sizes = (MATRICES[self.unit_name], self.register_size, 1 + self.register_size)
        w_hat, m_hat, *G = made.mT.contiguous().unflatten(-2, sizes).unbind(-4)
        W = nac_weight(w_hat, m_hat)
        a = (W * x).sum(-2)
        if not G:
            return a
        exponent = (W * torch.log(x.abs() + _EPSILON)).sum(-2)
        m = torch.exp(exponent.clamp(max=LARGEST_EXPONENT))
        g = torch.sigmoid((G[0] * x).sum(-2))
        return m + g * (a - m)


def _steps(rows: torch.Tensor, programs: Reading) -> tuple[torch.Tensor, ...]:
    return rows.split(programs.counts, -1)


class _StepByStep:
    """A linear map z + x W^T whose x is only known step by step, and z beforehand.

    The gradient of W is one product for all steps together. Shapes: z `(*runs, rows, out)`, W
    `(*runs, out, in)`, x `(*runs, rows of the step, in)`.
    """

    def __init__(self, z: torch.Tensor, W: torch.Tensor, programs: Reading):
        self._seen: list[torch.Tensor] = []
        self._parts = iter(_WeightOfAllSteps.apply(z, W, self._seen).split(programs.counts, -2))
        self._W = W.detach().mT

    def of(self, x: torch.Tensor) -> torch.Tensor:
        """Return the map of the next x."""
        self._seen.append(x.detach())
        return next(self._parts) + x @ self._W


class _WeightOfAllSteps(torch.autograd.Function):
    """Gives z on, and takes the gradient of W from all that steps have made of z."""

    @staticmethod
    def forward(ctx: Any, z, W, seen):  # noqa: ARG004
        ctx.seen = seen
        return z.view_as(z)

    @staticmethod
    def backward(ctx: Any, dz):  # pyright: ignore[reportIncompatibleMethodOverride]
        return dz, dz.mT @ torch.cat(ctx.seen, -2), None


def _lstm(programs: Reading, cell: ExtendedTorchModule) -> torch.Tensor:
    """Return h of all rows of x."""
    inputs = linear(programs.x, cell.weight_ih, cell.bias_ih + cell.bias_hh)
    counts, W = programs.counts_of_x, cell.weight_hh.mT
    h = c = inputs.new_zeros(*inputs.shape[:-2], counts[0], cell.hidden_size)
    found: list[torch.Tensor] = []
    for gates in inputs.split(counts, -2):
        count = gates.shape[-2]
        # The first state is 0.
        own = gates + h[..., :count, :] @ W if found else gates
        h, c = lstm_step(own, c[..., :count, :])
        found.append(h)
    return torch.cat(found, -2)


def _unrolled(
    programs: Reading, inputs: torch.Tensor, size: int, cell: Callable[..., torch.Tensor]
) -> torch.Tensor:
    """Return the states of a cell behind all rows, which starts at 0."""
    found: list[torch.Tensor] = []
    h = inputs.new_zeros(*inputs.shape[:-2], programs.counts[0], size)
    for x in inputs.split(programs.counts, -2):
        h = cell(x, h[..., : x.shape[-2], :])
        found.append(h)
    return torch.cat(found, -2)


class UGRNNCell(Cell):
    r"""Map (x_t, h) to h_t: the update gate cell of Collins et al. (2016, arXiv:1611.09913).

        c = tanh(A [x_t, h] + a);   g = sigmoid(B [x_t, h] + b)
        h_t = g h + (1 - g) c

    Parameters start from U(+-1 / sqrt(hidden)), as those of torch's cells do.
    """

    def __init__(self, input_size: int, hidden_size: int, *, name: str | None = "core"):
        super().__init__(input_size, hidden_size, name=name)
        self.weight_ih = torch.nn.Parameter(torch.empty(2 * hidden_size, input_size))
        self.weight_hh = torch.nn.Parameter(torch.empty(2 * hidden_size, hidden_size))
        self.bias = torch.nn.Parameter(torch.empty(2 * hidden_size))

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -bound, bound)

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        z = linear(x_t, self.weight_ih, self.bias) + h_tm1 @ self.weight_hh.mT
        return _moved(z, h_tm1)

    def unrolled(self, programs: Reading) -> torch.Tensor:
        """Return the states behind all rows of x."""
        step = _StepByStep(linear(programs.x, self.weight_ih, self.bias), self.weight_hh, programs)
        return _unrolled(programs, programs.x, self.hidden_size, lambda _, h: _moved(step.of(h), h))


def _moved(z: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """Return h moved towards its new value, given the map of input and state."""
    new, kept = z.chunk(2, dim=-1)
    new = torch.tanh(new)
    return new + torch.sigmoid(kept) * (h - new)
