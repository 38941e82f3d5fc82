"""Equations: their values, their rows, how errors are measured, and Adam's epsilon."""

from math import cos, pi, sin

import numpy as np
import pytest
import torch

from stable_nalu.task.equations import EQUATIONS
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.step import TrainingStep
from tests.experiments.scripts import run
from tests.training import configurations

SCRIPT = "equations"
KNOWN = {
    "div": lambda a, b: sin(pi * a) / (b * b + 1),
    "F-1": lambda a, b, c, d: (sin(pi * a) + sin(2 * pi * b + pi / 8) + b - c * d) / 3,
    "F-2": lambda a, b, c, d: (sin(pi * a) + b * cos(2 * pi * a + pi / 4) + c - d * d) / 3,
    "F-3": lambda a, b, c, d: ((1 + b) * sin(pi * a) + b * c * d) / 3,
    "F-4": lambda a, b, c, d: (sin(pi * a) + cos(2 * b * sin(pi * a)) + b * c * d) / 2,
}


def built(words=""):
    torch.manual_seed(0)
    task = configurations.built(SCRIPT, words)
    return task, task.initialized(task.config, SCRIPTS[SCRIPT].layer_options(task.config))


@pytest.mark.parametrize("equation", EQUATIONS)
def test_rows_are_those_of_the_paper(equation):
    task, _ = built(f"--equation {equation} --seed 3")
    training, validation, test = task.datasets[0]._streams.values()
    x, t = test[0:10_000]
    exact = [KNOWN[equation](*row) for row in test.x.tolist()]
    np.testing.assert_allclose(test.t[:, 0], exact, rtol=1e-12, atol=1e-12)
    assert (len(x), len(t)) == (5000, 5000)
    assert (x.abs().amax(-1) > 1).all()
    assert x.abs().max() <= 2
    assert (len(training.x), len(validation.x)) == (9000, 1000)
    for rows in (training, validation):
        assert np.abs(rows.x).max() <= 1
        noise = rows.t[:, 0] - [KNOWN[equation](*row) for row in rows.x.tolist()]
        assert noise.std() == pytest.approx(0.01, rel=0.1)


def test_errors_are_roots_and_tests_are_the_same_for_all_seeds():
    (task, model), (other, _) = built(), built("--seed 1")
    ((x, t),) = task.evaluation[1].rows_of_runs()
    assert torch.equal(x, other.evaluation[1].rows_of_runs()[0][0])
    assert not torch.equal(*(one.evaluation[0].inputs(9) for one in (task, other)))
    found = dict(task.measures(model))
    model.eval()
    with torch.no_grad():
        expected = ((model(x) - t) ** 2).mean().sqrt()
    assert found["metric/test/extrapolation"].item() == pytest.approx(expected.item())


def test_the_first_step_of_adam_tells_its_epsilon():
    x, t = torch.ones(1, 2), torch.zeros(1, 1)
    words = "--layer-type linear --hidden-layers 0 --adam-epsilon 0.5 --learning-rate 1"
    task, model = built(words)
    before = [p.detach().clone() for p in model.parameters()]
    step = TrainingStep([task.config], model)
    gradients = torch.autograd.grad(task.loss(model, x, t, torch.nn.MSELoss()), step.parameters)
    step.optimizer.step(gradients)
    for old, new, g in zip(before, model.parameters(), gradients, strict=True):
        assert torch.allclose(new, old - g / (g.abs() + 0.5))


def test_no_run_counts_as_solved_as_no_threshold_is_known(capsys):
    assert run(SCRIPT, "--layer-option", "width=1", "--max-iterations", "2", "--seed", "0-1") == 0
    out = capsys.readouterr().out
    assert "test error" in out
    assert "are solved" not in out
    assert ": solved" not in out
