"""Readers of programs against plain loops, one program and one token at a time."""

import numpy as np
import pytest
import torch

from stable_nalu.dataset.programs import TOKENS, draw, in_steps, write
from stable_nalu.network.programs import ProgramNetwork, Reading
from stable_nalu.task import SCRIPTS
from stable_nalu.task.program_evaluation import ProgramTask, sees_registers, sees_value

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
    return write(draw(np.random.default_rng(seed), config.program, batch, nesting, 0, 100))


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
    wanted = torch.stack(
        [
            one_by_one(
                model,
                config,
                table.tokens[row, : table.lengths[row]],
                table.values[row, : table.lengths[row]],
            )[-1]
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


def test_a_unit_alone_adds_what_it_is_told_to():
    """A controller whose matrices are all the same: registers add numbers up."""
    model = ProgramNetwork("NAC", hidden_size=2, register_size=2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        # Of W_hat and M_hat, the first row: n_1 = v + n_1.
        model.matrices.bias[[0, 1, 6, 7]] = 30.0
    x = torch.zeros(6, len(TOKENS))
    values = torch.tensor([7.0, 5.0, 0.0, 0.0, 35.0, -3.0])
    reading = Reading((2, 2, 2), x, values, torch.tensor([4, 5]))
    assert model(reading).tolist() == [42, 2]
