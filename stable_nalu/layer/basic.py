"""Baselines: a dense layer with an activation, the layer of MLPs, and torch's recurrent cells.

Cells are torch's GRUCell, LSTMCell and RNNCell, over run dimensions. Shapes: x (*runs, batch, in),
h, c (*runs, batch, hidden), weight_ih (*runs, k hidden, in), weight_hh (*runs, k hidden, hidden),
biases (*runs, k hidden); k = 3 (GRU), 4 (LSTM), 1 (RNN).

Their parameters have torch's names, order and initial range U(+-1 / sqrt(hidden)). As torch's cells
do, these draw in the constructor and once more at every `reset_parameters`.

Departs from the paper: as torch. Departs from the published code: no.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch.nn import functional

from stable_nalu.functional import kaiming_bound, linear, lstm_step, xavier_bound

from .base import Cell, WeightLayer, recurrent


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
    option_defaults: ClassVar = {"activation": "linear", "bias": True}
    option_choices: ClassVar = {"activation": ACTIVATIONS}

    def make_parameters(self) -> None:
        self.W = self.new_parameter()
        bias = self.new_parameter(self.out_features) if vars(self).pop("bias") else None
        self.register_parameter("bias", bias)

    def reset_parameters(self) -> None:
        bound = ACTIVATIONS[self.activation].bound(self.in_features, self.out_features)
        torch.nn.init.uniform_(self.W, -bound, bound)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return ACTIVATIONS[self.activation].function(linear(x, self.W, self.bias))


BasicCell = recurrent(BasicLayer)


class TorchCell(Cell):
    """Parameters of a cell with `gates` stacked linear maps."""

    gates: ClassVar[int]

    def __init__(self, input_size: int, hidden_size: int, *, name: str | None = None):
        super().__init__(input_size, hidden_size, name=name)
        rows = self.gates * hidden_size
        self.weight_ih = torch.nn.Parameter(torch.empty(rows, input_size))
        self.weight_hh = torch.nn.Parameter(torch.empty(rows, hidden_size))
        self.bias_ih = torch.nn.Parameter(torch.empty(rows))
        self.bias_hh = torch.nn.Parameter(torch.empty(rows))
        # Published runs drew here too: the numbers of later layers depend on it.
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            torch.nn.init.uniform_(parameter, -bound, bound)

    def _maps(self, x, h):
        return linear(x, self.weight_ih, self.bias_ih), linear(h, self.weight_hh, self.bias_hh)


class GRUCell(TorchCell):
    r"""Map (x_t, h) to h_t: the gated recurrent unit of Cho et al. (2014, arXiv:1406.1078).

        r, z = sigmoid(a_r + b_r), sigmoid(a_z + b_z);   n = tanh(a_n + r b_n)
        h_t = (1 - z) n + z h

    with a = weight_ih x_t + bias_ih and b = weight_hh h + bias_hh.
    """

    gates = 3

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        from_input, from_hidden = self._maps(x_t, h_tm1)
        a_r, a_z, a_n = from_input.chunk(3, dim=-1)
        b_r, b_z, b_n = from_hidden.chunk(3, dim=-1)
        reset, update = torch.sigmoid(a_r + b_r), torch.sigmoid(a_z + b_z)
        new = torch.tanh(a_n + reset * b_n)
        return new + update * (h_tm1 - new)


class LSTMCell(TorchCell):
    r"""Map (x_t, (h, c)) to (h_t, c_t): the LSTM of Hochreiter & Schmidhuber (1997).

        i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of a + b
        c_t = f c + i g;   h_t = o tanh(c_t)

    with a = weight_ih x_t + bias_ih and b = weight_hh h + bias_hh.
    """

    gates = 4

    def forward(
        self, x_t: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        h_tm1, c_tm1 = state
        from_input, from_hidden = self._maps(x_t, h_tm1)
        return lstm_step(from_input + from_hidden, c_tm1)


class RNNTanhCell(TorchCell):
    r"""Map (x_t, h) to h_t: the recurrent cell of Elman (1990), with the hyperbolic tangent.

        h_t = tanh(weight_ih x_t + bias_ih + weight_hh h + bias_hh)

    The names of weights and biases are torch's.
    """

    gates = 1

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        return torch.tanh(torch.add(*self._maps(x_t, h_tm1)))


class RNNReLUCell(TorchCell):
    r"""Map (x_t, h) to h_t: the recurrent cell of Elman (1990), with the rectifier.

        h_t = relu(weight_ih x_t + bias_ih + weight_hh h + bias_hh)

    The names of weights and biases are torch's.
    """

    gates = 1

    def forward(self, x_t: torch.Tensor, h_tm1: torch.Tensor) -> torch.Tensor:
        return torch.relu(torch.add(*self._maps(x_t, h_tm1)))
