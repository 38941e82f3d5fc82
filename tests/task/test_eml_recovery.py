"""Recovery of trees: phases, penalties of doubt, targets, and what counts as found."""

import math

import pytest
import torch

from stable_nalu.layer.equations import EMLLayer, hardened
from stable_nalu.task.eml_recovery import chain, drawn_tree
from stable_nalu.training.step import TrainingStep
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID
from tests.training import configurations


def built(words=""):
    torch.set_default_dtype(torch.float64)
    task = configurations.built("eml_recovery", words)
    return task, task.config


def loss_of(task, model, at):
    """The loss of an update, penalties included."""
    step = TrainingStep([task.config], model, task.kind.penalties)
    return step.loss(*task.data[0], *step.prepare(at))[2]


def test_phases():
    assert [hardened(at, 8000) for at in (0, 6000, 7000, 8000)] == [0, 0, 0.5, 1]
    layer = EMLLayer(2, 1, iterations=8000).double()
    for at, t in ((0, 2.5), (6000, 2.5), (7000, 2.5 * 0.004**0.25), (8000, 0.01)):
        layer.tau.data.fill_(layer.tau_at(at))
        assert float(layer.heat(0)) == pytest.approx(t)
    task, config = built("--max-iterations 8000")
    for at, factor in ((6000, 1), (7000, 0.25), (8000, 0.01)):
        task.at = at
        step = TrainingStep([config], layer)
        task.begin(step)
        assert step.optimizer.learning_rate == pytest.approx(config.learning_rate * factor)


@pytest.mark.parametrize("tree", ["slots", "bottom"])
def test_chains_are_what_the_published_code_looks_for(tree):
    torch.set_default_dtype(torch.float64)
    x = torch.tensor([[1.5, 2.0], [3.0, 1.0]])
    z = x[:, 0].exp() - x[:, 1].log()
    known = [z, math.e - z.log(), math.exp(math.e) / z, z.log()]
    known += [math.e - z.log().log(), math.exp(math.e) / z.log()]
    for depth, expected in enumerate(known, start=1):
        torch.testing.assert_close(chain(depth, tree)(x)[:, 0], expected)


@pytest.mark.parametrize("tree", ["slots", "bottom"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_targets_are_of_their_depth_real_and_not_large(depth, tree):
    torch.manual_seed(depth)
    torch.set_default_dtype(torch.float64)
    grid = torch.cartesian_prod(torch.linspace(1, 3, 5), torch.linspace(1, 3, 5))
    layer = drawn_tree(depth, tree, grid)
    text = layer.expression(("x", "y"))
    assert text.count("(") >= depth
    assert {"x", "y"} <= set(text)
    real, imaginary = layer.levels(grid)[-1]
    assert real.abs().max() <= 50
    assert imaginary.abs().max() < 1e-9
    expected = eval(text, {"eml": lambda a, b: math.exp(a) - math.log(b), "x": 1.5, "y": 2.0})
    assert layer(torch.tensor([[1.5, 2.0]])).item() == pytest.approx(expected, rel=1e-6)


def test_a_warm_start_without_noise_is_the_target_and_found():
    task, config = built("--depth 3 --warm-start 0 --seed 3")
    torch.manual_seed(3)
    model = task.initialized(config, {})
    found = task.measures(model)
    assert found[METRIC_VALID] < 1e-20
    assert found[METRIC_TEST] < 1e-20


@pytest.mark.parametrize("seed", [0, 3])
def test_losses_and_gradients_are_numbers_however_large_nodes_are(seed):
    task, config = built(f"--depth 5 --seed {seed}")
    torch.manual_seed(seed)
    model = task.initialized(config, {})
    loss = loss_of(task, model, config.max_iterations)
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.requires_grad)


def test_the_loss_is_the_squared_distance_of_complex_numbers():
    """Of a tree whose values are small, in the search, where doubt costs nothing."""
    task, config = built("--depth 1")
    model = task.initialized(config, {})
    layer, (x, t) = model.layer, task.data[0]
    value = loss_of(task, model, 0).item()
    p = torch.softmax(layer.leaves[0] / 2.5, -1)
    a, b = (p[k, 0] + x @ p[k, 1:] for k in (0, 1))
    expected = ((a.exp() - b.log() - t[:, 0]) ** 2).mean().item()
    assert value == pytest.approx(expected, rel=1e-12)
