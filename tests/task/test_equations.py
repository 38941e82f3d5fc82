"""Equations: their values, their rows, how errors are measured, rates and Adam's epsilon."""

from math import cos, pi, sin, sqrt

import numpy as np
import pytest
import torch

from stable_nalu.dataset.equations import EQUATIONS
from stable_nalu.task.equations import MORE_TESTS
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


def cart(x, angle, v, w):
    """Return the four derivatives of a cart with a pendulum."""
    s, c = sin(angle), cos(angle)
    own = -x - 0.01 * v + w * w * s + 0.1 * w * c + 9.81 * s * c
    other = -0.2 * w - 19.62 * s + x * c + 0.01 * v * c - w * w * s * c
    return v, w, own / (s * s + 1), other / (s * s + 1)


MORE = {
    "pendulum": (lambda a, b: (b / 9.81, -sin(a)), 900, 100, (-2, 2), 3, 4),
    "cart": (cart, 900, 100, (-1, 1), 1.5, 2),
    "calc-add": (lambda a, b: (a + b,), 65536, 5000, (-10, 10), 10, 50),
    "calc-sub": (lambda a, b: (a - b,), 65536, 5000, (-10, 10), 10, 50),
    "calc-mul": (lambda a, b: (a * b,), 65536, 5000, (-10, 10), 10, 50),
    "calc-div": (lambda a, b: (a / b,), 65536, 5000, (-10, 10), 10, 50),
    "calc-square": (lambda a: (a * a,), 65536, 5000, (0, 10), 10, 50),
    "calc-sqrt": (lambda a: (sqrt(a),), 65536, 5000, (0, 10), 10, 50),
}


def built(words=""):
    torch.manual_seed(0)
    task = configurations.built(SCRIPT, words)
    return task, task.initialized(task.config, SCRIPTS[SCRIPT].layer_options(task.config))


@pytest.mark.parametrize("equation", KNOWN)
def test_rows_are_those_of_the_paper(equation):
    task, _ = built(f"--equation {equation} --seed 3")
    training, validation, test, near, inside = task.datasets[0].streams.values()
    assert 1 < np.abs(near.x).max() <= 1.5
    assert 0.9 < np.abs(inside.x).max() <= 1
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


@pytest.mark.parametrize("equation", MORE)
def test_rows_of_several_outputs_and_of_operations_are_right(equation):
    known, rows, others, (low, high), near, far = MORE[equation]
    task, _ = built(f"--equation {equation} --seed 3 --noise 0")
    training, validation, *tests = task.datasets[0].streams.values()
    assert (len(training.x), len(validation.x)) == (rows, others)
    for stream, end in zip(
        (training, validation, *tests), (high, high, far, near, high), strict=True
    ):
        exact = [known(*row) for row in stream.x[:2000].tolist()]
        np.testing.assert_allclose(stream.t[:2000], exact, rtol=1e-9, atol=1e-12)
        assert 0.95 * end < stream.x.max() <= end
        assert stream.x.min() >= (0 if low == 0 else -end)
    is_new = all((np.abs(stream.x).max(-1) > high).all() for stream in tests[:2])
    assert is_new == (equation in ("pendulum", "cart"))


def test_set_equations_is_complete():
    assert {*KNOWN, *MORE} == {*EQUATIONS}


def test_initial_weights_and_rates_of_calcnet():
    words = "--equation calc-mul --hidden-size 3 --hidden-layers 1 --layer-type G-NALU"
    more = "--start calcnet --tenth-every 100 --learning-rate 0.5 --layer-option gate_of_abs=true"
    task, model = built(f"{words} {more}")
    gates = [p for name, p in model.named_parameters() if "G_" in name]
    others = torch.cat([p.flatten() for name, p in model.named_parameters() if "G_" not in name])
    assert [gate.unique().tolist() for gate in gates] == [[10], [10]]
    assert len(others) == 2 * (2 * 3 + 3)
    assert 0.4 < others.std() < 1.6
    rates = [0.5 * task.rate_factor(at) for at in (1, 100, 101, 200, 201)]
    assert rates == pytest.approx([0.5, 0.5, 0.05, 0.05, 0.005])


def test_errors_of_several_outputs_by_an_independent_calculation():
    words = "--equation pendulum --layer-type EQL --layer-option width=1 sigmoids=true layers=3"
    task, model = built(words)
    found = {tag: value.item() for tag, value in task.measures(model)}
    W = {
        name.rsplit(".", 1)[1]: p.detach().double().numpy() for name, p in model.named_parameters()
    }
    streams = list(task.datasets[0].streams.values())[1:]
    tags = "metric/valid/interpolation", "metric/test/extrapolation", *MORE_TESTS
    for tag, stream in zip(tags, streams, strict=True):
        h = stream.x
        for k in (1, 2, 3):
            h = h @ W[f"W{k}"].T + W[f"b{k}"]
            if k < 3:
                sigmoid = 1 / (1 + np.exp(-h[:, 5]))
                columns = h[:, 0], np.sin(h[:, 1]), np.cos(h[:, 2]), h[:, 3] * h[:, 4], sigmoid
                h = np.stack(columns, -1)
        assert found[tag] == pytest.approx(np.sqrt(np.mean((h - stream.t) ** 2)), rel=1e-4)
    assert 0 <= found["metric/active"] <= 10


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
