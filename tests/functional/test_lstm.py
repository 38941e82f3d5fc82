"""A step of an LSTM."""

import torch

from stable_nalu.functional.lstm import lstm_step
from stable_nalu.layer import GeneralizedCell

BATCH, HIDDEN = 7, 5


def test_a_step_is_that_of_the_cell():
    cell = GeneralizedCell(3, HIDDEN, "LSTM").cell
    x, h, c = torch.randn(BATCH, 3), torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)
    gates = x @ cell.weight_ih.mT + h @ cell.weight_hh.mT + cell.bias_ih + cell.bias_hh
    torch.testing.assert_close(lstm_step(gates, c), cell(x, (h, c)))
