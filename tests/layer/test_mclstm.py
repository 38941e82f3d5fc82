"""The MC-LSTM: its formula as a loop, mass that is conserved, sequences, stacked runs."""

import copy
import math

import pytest
import torch

from stable_nalu.layer import MCLSTMCell
from stable_nalu.network import SimpleFunctionRecurrentNetwork
from tests.runs import in_runs

MASS, HIDDEN, BATCH, STEPS = 2, 3, 4, 5


def built(auxiliary, seed=0):
    torch.manual_seed(seed)
    cell = MCLSTMCell(MASS + auxiliary, HIDDEN, auxiliary=auxiliary, dtype=torch.float64)
    for parameter in cell.parameters():
        parameter.data += 0.5 * torch.randn_like(parameter)
    return cell


def softmax(logits):
    powers = [math.exp(v) for v in logits]
    return [power / sum(powers) for power in powers]


def by_hand(cell, x, a, c):
    """h and c behind a step of one row, given as lists."""
    R = [softmax(row) for row in cell.junction.r.tolist()]
    m = [sum(c[k] * R[k][n] for k in range(HIDDEN)) for n in range(HIDDEN)]
    for j in range(MASS):
        if cell.auxiliary:
            rows = range(j * HIDDEN, (j + 1) * HIDDEN)
            W, b = cell.W.tolist(), cell.b.tolist()
            logits = [sum(w * v for w, v in zip(W[k], a, strict=True)) + b[k] for k in rows]
        else:
            logits = cell.W[j].tolist()
        m = [m[n] + x[j] * share for n, share in enumerate(softmax(logits))]
    logits = [sum(w * v for w, v in zip(row, a, strict=True)) for row in cell.V.tolist()]
    o = [1 / (1 + math.exp(-z - v)) for z, v in zip(logits, cell.v.tolist(), strict=True)]
    return [o[n] * m[n] for n in range(HIDDEN)], [(1 - o[n]) * m[n] for n in range(HIDDEN)]


@pytest.mark.parametrize("auxiliary", [0, 1, 2])
def test_a_sequence_is_the_formula_step_by_step(auxiliary):
    cell = built(auxiliary)
    x = torch.randn(BATCH, STEPS, MASS + auxiliary, dtype=torch.float64)
    start = torch.rand(BATCH, HIDDEN, dtype=torch.float64)
    found = cell.unroll(x, (start, start))
    for row in range(BATCH):
        c = start[row].tolist()
        for step in range(STEPS):
            values = x[row, step].tolist()
            sign = [-1.0 if step == STEPS - 1 else 1.0]
            h, c = by_hand(cell, values[:MASS], values[MASS:] or sign, c)
        assert found[row].tolist() == pytest.approx(h, rel=1e-9)


@pytest.mark.parametrize("auxiliary", [0, 1])
def test_mass_that_flows_in_leaves_or_stays(auxiliary):
    cell = built(auxiliary)
    x = torch.randn(BATCH, STEPS, MASS + auxiliary, dtype=torch.float64)
    c = torch.rand(BATCH, HIDDEN, dtype=torch.float64)
    held, left = c.sum(-1), torch.zeros(BATCH, dtype=torch.float64)
    for step in range(STEPS):
        h, c = cell(x[:, step], (c, c))
        left = left + h.sum(-1)
        held = held + x[:, step, :MASS].sum(-1)
    torch.testing.assert_close(left + c.sum(-1), held)


def test_gates_start_nearly_closed_and_the_state_stays_where_it_is():
    cell = MCLSTMCell(MASS + 1, HIDDEN, auxiliary=1)
    assert torch.equal(cell.junction.r, torch.eye(HIDDEN))
    assert cell.v.tolist() == [-3.0] * HIDDEN
    assert cell.b.tolist() == [0.0] * MASS * HIDDEN
    torch.testing.assert_close(cell.V.mT @ cell.V, torch.eye(1))
    assert MCLSTMCell(2, 2, out_bias=-5.0).v.tolist() == [-5.0] * 2


@pytest.mark.parametrize("auxiliary", [0, 1])
def test_stacked_runs_are_single_ones(auxiliary):
    cells = [built(auxiliary, seed) for seed in range(3)]
    x = torch.randn(3, BATCH, STEPS, MASS + auxiliary, dtype=torch.float64)
    c = torch.rand(3, BATCH, HIDDEN, dtype=torch.float64)
    together = in_runs((3,), copy.deepcopy(cells)).unroll(x, (c, c))
    for run, cell in enumerate(cells):
        torch.testing.assert_close(together[run], cell.unroll(x[run], (c[run], c[run])))


def test_the_size_of_a_read_out_is_penalised_and_saturation_rewarded():
    network = SimpleFunctionRecurrentNetwork("MC-LSTM", 4, hidden_size=2, readout_l2=0.5)
    network.output_layer.layer.W.data = torch.tensor([[1.0, 3.0]])
    assert network.regualizer_terms()["L2"]().item() == 0.5 / 2 * (1 + 9) / 2
    assert set(dict(network.named_parameters())) > {"c_t0", "recurent_cell.junction.r"}
    cell = network.recurent_cell
    expected = -sum((p**2).mean().item() for p in (cell.junction.r, cell.W, cell.V, cell.v))
    assert cell.regualizer_terms()["W"]().item() == pytest.approx(expected, rel=1e-6)
