"""Readers of number words and of programs, against loops, torch and published losses."""

import math

import numpy as np
import pytest
import torch

from stable_nalu.network import NumberTranslationNetwork
from stable_nalu.network.sequences import NumberReaderNetwork
from stable_nalu.task.program_evaluation import (
    TOKENS,
    ProgramNetwork,
    ProgramTask,
    Reading,
    draw,
    in_steps,
    sees_registers,
    sees_value,
)
from stable_nalu.task.table import SCRIPTS

IDS = torch.tensor([[10, 29, 1, 28, 10], [8, 0, 0, 0, 0], [23, 3, 0, 0, 0]])


@pytest.mark.parametrize("unit_name", ["NAC", "NALU", "ReRegualizedLinearMNAC", "LSTM", "GRU"])
def test_padding_changes_nothing(unit_name):
    network = NumberTranslationNetwork(unit_name)
    y = network(IDS)
    assert y.shape == (3, 1)
    for row, words in enumerate((5, 1, 2)):
        assert torch.equal(network(IDS[row : row + 1, :words]), y[row : row + 1])
    assert not torch.equal(network(IDS[:, :1]), y)


SENTENCES = torch.cat((IDS, torch.tensor([[10, 29, 1, 28, 0], [10, 29, 1, 23, 3]]), IDS[:1]))


def read_by_torch(network, ids):
    """Let torch's own LSTM read each sentence by itself."""
    cell = network.lstm_cell.cell
    lstm = torch.nn.LSTM(cell.input_size, cell.hidden_size, batch_first=True)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        delattr(lstm, f"{name}_l0")
        setattr(lstm, f"{name}_l0", getattr(cell, name))
    last = [lstm(network.embedding[row[row != 0]].unsqueeze(0))[0][0, -1] for row in ids]
    return network.head(torch.stack(last))


@pytest.mark.parametrize("unit_name", ["linear", "NAC", "NALU"])
def test_a_reader_by_hand(unit_name):
    network = NumberReaderNetwork(unit_name, 3, 4).double()
    network.reset_parameters()
    y = network(SENTENCES)
    wanted = read_by_torch(network, SENTENCES)
    torch.testing.assert_close(y, wanted)
    weight = torch.randn_like(y)
    parameters = list(network.parameters())
    ours, theirs = (torch.autograd.grad((v * weight).sum(), parameters) for v in (y, wanted))
    torch.testing.assert_close(ours, theirs)


CASES = [
    "--program programs --layer-type LSTM",
    "--program programs --layer-type UGRNN",
    "--program addition --layer-type GRU --nesting 2",
    "--program programs --layer-type NALU",
    "--program programs --controller-sees-registers no --controller-sees-value yes",
    "--program programs --controller-sees-value yes --nesting 3",
    "--program addition --layer-type NALU",
    "--program addition --layer-type NAC --nesting 2",
]


def programs(config, seed, batch):
    nesting = config.nesting or (1 if config.program == "addition" else 2)
    return draw(np.random.default_rng(seed), config.program, batch, nesting, 0, 100)


def one_by_one(model, config, tokens, values):
    """What a network answers after each token of one program, by modules and formulas alone."""
    size = config.hidden_size
    state = torch.zeros(1, size)
    state = (state, state) if config.layer_type in ("LSTM", "NAC", "NALU") else state
    n = torch.zeros(config.register_size)
    found = []
    for token, value in zip(tokens, values, strict=True):
        x = [torch.eye(len(TOKENS))[token]]
        x += [torch.tensor([value / 100])] if sees_value(config) else []
        x += [torch.tanh(n)] if sees_registers(config) else []
        state = model.core(torch.cat(x).unsqueeze(0), state)
        h = state[0] if isinstance(state, tuple) else state
        if config.layer_type not in ("NAC", "NALU"):
            found.append(model.answer(h)[0, 0])
            continue
        seen = torch.cat((torch.tensor([float(value)]), n))
        parts = model.matrices(h)[0].view(-1, config.register_size, 1 + config.register_size)
        W = torch.tanh(parts[0]) * torch.sigmoid(parts[1])
        n = W @ seen
        if config.layer_type == "NALU":
            m = torch.exp((W @ torch.log(seen.abs() + 1e-7)).clamp(max=20))
            g = torch.sigmoid(parts[2] @ seen)
            n = g * n + (1 - g) * m
        found.append(n[0])
    return torch.stack(found)


@pytest.mark.parametrize("words", CASES)
def test_answers_and_gradients_are_those_of_a_plain_loop(words):
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    words = f"{words} --hidden-size 4"
    (config,) = SCRIPTS["program_evaluation"].plan(words.split()).configs
    task = ProgramTask(config, torch.device("cpu"))
    model = task.network(task.config, {})
    table = programs(config, 5, 6)
    x, t = task._reading(next(in_steps(table)))
    order = (-table.lengths).argsort(kind="stable")
    cut = [slice(length) for length in table.lengths]
    wanted = torch.stack(
        [
            one_by_one(model, config, table.tokens[row, cut[row]], table.values[row, cut[row]])[-1]
            for row in order
        ]
    )
    ours = model(x)
    torch.testing.assert_close(ours, wanted)
    assert t.tolist() == table.results[order].tolist()
    grads = [
        torch.autograd.grad((y * torch.linspace(-1, 1, 6)).sum(), list(model.parameters()))
        for y in (ours, wanted)
    ]
    for mine, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    ("unit", "ones", "values", "answers"),
    [
        # Of W_hat and M_hat, the first row: n_1 = v + n_1.
        ("NAC", [0, 1, 6, 7], [7.0, 5.0, 0.0, 0.0, 35.0, -3.0], [42, 2]),
        # A product of v alone, as the gate is closed, which has a largest value.
        ("NALU", [0, 6], [1.0, 1.0, 1.0, 1.0, 7.0, 1e12], [7, math.exp(20)]),
    ],
)
def test_a_unit_alone_computes_what_its_matrices_say(unit, ones, values, answers):
    """Those of a controller that are the same at each step."""
    words = f"--layer-type {unit} --hidden-size 2 --register-size 2"
    (config,) = SCRIPTS["program_evaluation"].plan(words.split()).configs
    model = ProgramNetwork(config)
    for parameter in model.parameters():
        parameter.data.zero_()
    model.matrices.bias.data[ones] = 30.0
    model.matrices.bias.data[12:13] = -30.0
    x = torch.zeros(6, len(TOKENS))
    reading = Reading((2, 2, 2), x, torch.tensor(values), torch.tensor([4, 5]))
    assert model(reading).tolist() == pytest.approx(answers, rel=1e-5)
