"""Chains of operations: targets, noise, and starts from exact weights."""

import numpy as np
import pytest
import torch

from stable_nalu.task.depth import EXACT, OPERATIONS, PRODUCTS, SUMS, Chain
from stable_nalu.task.table import SCRIPTS, TASKS
from tests.training.configurations import configuration

SCRIPT = "depth"
STACK = "--layer-type NMU --sum-layer NAU"


def planned(words):
    return configuration(SCRIPT, *words.split())


def built(words):
    torch.set_default_dtype(torch.float64)
    config = planned(words)
    options = SCRIPTS[SCRIPT].layer_options(config)
    torch.manual_seed(config.seed)
    task = TASKS[SCRIPT](config, torch.device("cpu"))
    return task, task.initialized(config, options)


def errors(task, model):
    return [error.item() for _, error in task.measures(model)]


@pytest.mark.parametrize("operations", OPERATIONS)
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_targets_are_what_their_formula_says(operations, depth):
    chain = Chain(planned(f"--operations {operations} --depth {depth} --redundant 2"))
    x, t = chain.fork([1, 2], seed=3)[0:50]
    assert x.shape == (50, depth + 3)
    known = {"exp": np.exp, "ln": np.log}
    columns = {f"x{k + 1}": x[:, k].double().numpy() for k in range(x.shape[1])}
    expected = eval(chain.print_operation(), known | columns)
    np.testing.assert_allclose(t[:, 0].numpy(), expected, rtol=2e-5)


def test_noise_is_relative_uniform_of_its_deviation_and_in_training_only():
    task, model = built(f"{STACK} --start near --start-noise 0 --noise 0.1 --batch-size 4000")
    ((x, t),) = task.batches()
    factor = t / ((x[:, :1] + x[:, 1:2]) * x[:, 2:3]) - 1
    assert x.shape[1] == 4
    assert factor.abs().max() <= 0.1 * 3**0.5
    assert factor.std().item() == pytest.approx(0.1, rel=0.05)
    assert abs(factor.mean().item()) < 0.01
    assert np.corrcoef(factor[:, 0], t[:, 0])[0, 1] > 0.2
    assert max(errors(task, model)) < 1e-20
    model.zero_grad()
    changed = x.clone()
    changed[:, 3] = 7
    assert torch.equal(model(changed), model(x))


@pytest.mark.parametrize("unit", EXACT)
@pytest.mark.parametrize("depth", [1, 3, 4])
def test_exact_weights_solve_at_once(unit, depth):
    own = {SUMS: "sub", ("mul",): "mul", PRODUCTS: "div", ("eml",): "eml"}
    operations = own.get(EXACT[unit], "add,div")
    words = f"--layer-type {unit} --operations {operations} --depth {depth} --redundant 3"
    task, model = built(f"{words} --start near --start-noise 0")
    assert max(errors(task, model)) < 1e-9
    task, model = built(words)
    assert max(errors(task, model)) > 1e-3


@pytest.mark.parametrize(
    ("words", "last"),
    [(f"{STACK} --depth 3", 5), ("--layer-type EML --operations eml --depth 3", 12)],
)
def test_a_curriculum_knows_all_but_the_last_level(words, last):
    _, random = built(words)
    _, exact = built(f"{words} --start near --start-noise 0")
    _, step = built(f"{words} --start curriculum")
    values = [torch.cat([p.flatten() for p in m.parameters()]) for m in (random, exact, step)]
    start, known, own = values
    assert torch.equal(own[-last:], start[-last:])
    assert torch.equal(own[:-last], known[:-last])
    assert not (start == known).any()


def test_errors_are_relative_to_the_square_of_the_target():
    task, model = built(f"{STACK} --depth 3")
    (x, t), *_ = task.evaluation[1].rows_of_runs()
    assert x.min() >= 2
    model.eval()
    with torch.no_grad():
        expected = ((model(x) - t) ** 2).mean() / (t**2).mean()
    assert errors(task, model)[1] == pytest.approx(expected.item())
