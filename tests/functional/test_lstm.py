"""The LSTM that acts while it runs: its gradients are those of autograd."""

import pytest
import torch

from stable_nalu.functional.lstm import chosen, hidden_of, lstm_step
from stable_nalu.layer import GeneralizedCell

BATCH, HIDDEN, LENGTH, LEFT_OUT_AT = 7, 5, 6, 3


def test_a_step_is_that_of_the_cell():
    cell = GeneralizedCell(3, HIDDEN, "LSTM").cell
    x, h, c = torch.randn(BATCH, 3), torch.randn(BATCH, HIDDEN), torch.randn(BATCH, HIDDEN)
    gates = x @ cell.weight_ih.mT + h @ cell.weight_hh.mT + cell.bias_ih + cell.bias_hh
    with torch.no_grad():
        ours, theirs = lstm_step(gates, h, c)[:2], cell(x, (h, c))
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("runs", [(), (2,)])
def test_gradients_are_those_of_autograd_where_rows_are_left_out(runs):
    inputs = torch.randn(*runs, LENGTH, BATCH, 4 * HIDDEN, dtype=torch.float64, requires_grad=True)
    W = torch.randn(*runs, 4 * HIDDEN, HIDDEN, dtype=torch.float64, requires_grad=True)
    rows = torch.rand(*runs, BATCH).argsort(-1)[..., :4]

    def gates_at(step):
        return chosen(inputs[..., step, :, :], rows if step >= LEFT_OUT_AT else None)

    h = c = inputs.new_zeros(*runs, BATCH, HIDDEN)
    plain = []
    for step in range(LENGTH):
        if step == LEFT_OUT_AT:
            h, c = chosen(h, rows), chosen(c, rows)
        write, keep, new, show = (gates_at(step) + h @ W.mT).chunk(4, -1)
        c = keep.sigmoid() * c + write.sigmoid() * new.tanh()
        h = show.sigmoid() * c.tanh()
        plain.append(h)
    wanted = torch.cat(plain, -2)

    h = c = inputs.new_zeros(*runs, BATCH, HIDDEN)
    passed = []
    for step in range(LENGTH):
        left = rows if step == LEFT_OUT_AT else None
        h, c = chosen(h, left), chosen(c, left)
        with torch.no_grad():
            h, c, one = lstm_step(gates_at(step) + h @ W.mT, h, c, left)
        passed.append(one)
    found = hidden_of(torch.cat([gates_at(step) for step in range(LENGTH)], -2), W, passed)

    torch.testing.assert_close(found, wanted)
    weight = torch.randn_like(wanted)
    theirs, ours = (torch.autograd.grad((y * weight).sum(), (inputs, W)) for y in (wanted, found))
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
