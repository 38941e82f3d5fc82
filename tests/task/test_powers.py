"""The tasks of the NPU paper: their data, initial weights and measures, and the SIR model."""

from math import cos, exp, log, pi, sqrt

import numpy as np
import pytest
import sympy
import torch
from sympy.parsing.sympy_parser import convert_xor, parse_expr
from sympy.parsing.sympy_parser import implicit_multiplication_application as implicit
from sympy.parsing.sympy_parser import standard_transformations as standard

from stable_nalu.dataset.sobol import SobolPoints
from stable_nalu.layer.registry import GeneralizedLayer
from stable_nalu.network.pair import PairNetwork
from stable_nalu.task import fractional_sir, powers
from stable_nalu.task.table import SCRIPTS
from tests.experiments.scripts import read, run, run_names
from tests.training import configurations

SUMS = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "inv": lambda a, b: 1 / a,
    "sqrt": lambda a, b: sqrt(a) if a >= 0 else float("nan"),
}


def built(script, words=""):
    torch.manual_seed(0)
    task = configurations.built(script, words)
    return task, task.initialized(task.config, SCRIPTS[script].layer_options(task.config))


@pytest.mark.parametrize("function", SUMS)
def test_wide_targets_are_of_two_sums_of_fifty(function):
    task, _ = built("powers", f"--function {function} --batch-size 8")
    x, t = task.given((0,), 2)
    low, high = task.inputs
    assert x.shape == (2, 1, 8, 100)
    assert ((x >= low) & (x <= high)).all()
    for row, (target,) in zip(x[1, 0].astype(float), t[1, 0], strict=True):
        known = SUMS[function](sum(row[:50]), sum(row[38:88]))
        assert target == pytest.approx(known, rel=1e-4, abs=1e-4, nan_ok=True)


def test_sobol_points_go_on_and_leave_out_the_origin():
    points = SobolPoints(100)
    first, second = points(1, 4), points(5, 3)
    assert (first[0] == 0.5).all()
    assert sorted(first[:3, 7]) == [0.25, 0.5, 0.75]
    np.testing.assert_array_equal(points(2, 6), np.concatenate((first[1:], second)))


def test_the_grid_is_that_of_the_paper():
    task, model = built("powers")
    x, _ = task.tests["metric/test/extrapolation"]
    assert (len(x), x.min().item()) == (1681, pytest.approx(-4.1))
    assert x.abs().min() > 0.09
    found = task.measured(model, 0)
    with torch.no_grad():
        y = model(x)
    for k, known in enumerate((lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a / b)):
        errors = [abs(y[n, k].item() - known(a, b)) for n, (a, b) in enumerate(x.tolist())]
        assert found[f"metric/test/{powers.FOUR[k]}"].item() == pytest.approx(np.mean(errors))


def test_weights_start_as_in_the_paper():
    _, model = built("powers", "--function add --start positive --sums-first --hidden-size 9")
    sums, unit = (layer.layer for layer in model.layers)
    assert (sums.W.shape, unit.W_real.shape) == ((9, 100), (9, 1))
    for W in (sums.W, unit.W_real):
        assert 0 <= W.min() < W.max() <= 0.1
    assert (unit.g.tolist(), unit.W_im.abs().sum().item()) == ([1.0] * 9, 0.0)
    _, model = built("powers", "--layer-type NMU --hidden-size 50")
    assert 0.9 < model.layers[0].layer.W.max() <= 1
    assert model.layers[0].layer.W.min() < 0.1
    bound = sqrt(6 / 54)
    assert 0.9 * bound < model.layers[1].layer.W.abs().max() <= bound


def test_the_sir_model_has_the_published_states():
    exact = fractional_sir.truth()
    # Published after 5.128 days: 97.4672131 and 2.3260023, by a solver of lower tolerances.
    assert exact[1, :2].tolist() == [
        pytest.approx(97.4672131, abs=1e-5),
        pytest.approx(2.3260023, abs=1e-5),
    ]
    assert exact.sum(-1) == pytest.approx(np.full(80, 100.01))


def test_the_sir_loss_is_the_mean_square_and_the_sum_of_weights():
    task, model = built("fractional_sir", "--beta 0.1")
    u, errors = task.data[0][0], []
    states = [u]
    for _ in range(200):
        states.append(states[-1] + model(states[-1]))
    for k, known in enumerate(fractional_sir.truth()[:40]):
        at = min(int(k * 200 / 39 + 1e-9), 199)
        part = k * 200 / 39 - at
        own = (1 - part) * states[at][0] + part * states[at + 1][0]
        errors += [(a - b) ** 2 for a, b in zip(own.tolist(), known, strict=True)]
    weights = sum(p.abs().sum().item() for p in model.parameters())
    found = task.loss(model, *task.data[0], None)
    assert found.item() == pytest.approx(np.mean(errors) + 0.1 * weights, rel=1e-5)


def test_a_sir_run_is_the_same_alone_and_lbfgs_makes_it_no_worse():
    words = "--max-iterations 6 --log-interval 2 --polish 3 --optimizer flux-rmsprop --beta 0.1"
    assert run("fractional_sir", f"{words} --seed 0-2") == 0
    (name,) = run_names("fractional_sir", f"{words} --seed 2")
    together = read(name).series("metric/valid/interpolation")
    assert run("fractional_sir", f"{words} --seed 2 --remove-existing-data") == 0
    alone = read(name)
    assert alone.series("metric/valid/interpolation") == together
    loss = alone.series("loss/train/total")
    assert loss[6] <= loss[4]


def test_gates_that_are_open_or_read_the_input():
    x = torch.tensor([[0.5, -2.0]])
    naive = GeneralizedLayer(2, 1, "NPU", npu_gate="open").layer
    naive.reset_parameters()
    assert "g" not in dict((n, p) for n, p in naive.named_parameters() if p.requires_grad)
    (a,), (b,) = naive.W_real.tolist()
    assert naive(x).item() == pytest.approx(0.5**a * 2**b * cos(pi * b), rel=1e-5)
    unit = GeneralizedLayer(2, 1, "iNALU", gate_of_input=True).layer
    unit.reset_parameters()
    (first, second) = unit.g[0].tolist()
    share = 1 / (1 + exp(2 * second - 0.5 * first))
    plain = GeneralizedLayer(2, 1, "iNALU").layer
    plain.load_state_dict(unit.state_dict() | {"g": torch.tensor([log(share / (1 - share))])})
    assert unit(x).item() == pytest.approx(plain(x).item(), rel=1e-5)


@pytest.mark.parametrize("unit", ["NPU", "RealNPU"])
def test_the_formula_of_a_model_computes_what_the_model_does(unit):
    """Imaginary weights are cosines of logarithms, half-open gates are in it."""
    model, states = PairNetwork(unit, 3, 4, 3, {}), np.random.default_rng(0).uniform(1, 9, (50, 3))
    torch.manual_seed(0)
    model.reset_parameters()
    with torch.no_grad():
        for parameter in model.layers[0].parameters():
            parameter.uniform_(0.002, 1)
        model.layers[0].layer.g[0] = 0
    own, how = {n: sympy.Symbol(n) for n in "SIR"}, (*standard, implicit, convert_xor)
    texts = [side.partition("=")[2] for side in fractional_sir.formula(model).split(";")]
    sides = [
        sympy.lambdify(list(own), parse_expr(text, own, transformations=how))(*states.T)
        for text in texts
    ]
    expected = model(torch.from_numpy(states).float()).detach().numpy()
    np.testing.assert_allclose(np.stack(sides, -1), expected, rtol=0.05, atol=0.05)
