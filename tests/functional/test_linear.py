import pytest
import torch

from stable_nalu.functional import linear, lstm_step
from stable_nalu.layer import GeneralizedCell
from tests.runs import RUNS, normal


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("with_bias", [True, False])
def test_against_a_sum(runs, with_bias):
    x, W = normal(*runs, 4, 3), normal(*runs, 2, 3, seed=1)
    bias = normal(*runs, 2, seed=2) if with_bias else None
    expected = (x.unsqueeze(-2) * W.unsqueeze(-3)).sum(-1)
    expected = expected if bias is None else expected + bias.unsqueeze(-2)
    torch.testing.assert_close(linear(x, W, bias), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("with_bias", [True, False])
def test_a_run_among_others_gives_the_numbers_of_the_run_alone(with_bias):
    x, W, bias = (v.float() for v in (normal(3, 128, 2), normal(3, 1, 2), normal(3, 1, seed=2)))
    together = linear(x, W, bias if with_bias else None)
    for run in range(3):
        alone = linear(x[run], W[run], bias[run] if with_bias else None)
        assert torch.equal(together[run], alone)


def test_inputs_without_runs_serve_all_runs_and_gradients():
    x, W, bias = normal(4, 3), normal(2, 5, 3, seed=1), normal(2, 5, seed=2)
    torch.testing.assert_close(linear(x, W, bias), linear(x.expand(2, 4, 3), W, bias))
    inputs = (normal(2, 4, 3), W, bias)
    assert torch.autograd.gradcheck(linear, [v.requires_grad_() for v in inputs])


def test_a_step_of_an_lstm_is_that_of_the_cell():
    cell = GeneralizedCell(3, 5, "LSTM").cell
    x, h, c = torch.randn(7, 3), torch.randn(7, 5), torch.randn(7, 5)
    gates = x @ cell.weight_ih.mT + h @ cell.weight_hh.mT + cell.bias_ih + cell.bias_hh
    torch.testing.assert_close(lstm_step(gates, c), cell(x, (h, c)))
