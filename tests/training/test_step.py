"""One iteration: schedules, criterion, gradients, clipping, and optimisers bit for bit as torch."""

import math
from functools import partial

import numpy as np
import pytest
import torch

from stable_nalu.functional import mnac
from stable_nalu.task.arithmetic import SingleLayerTask
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.step import (
    OPTIMIZERS,
    SGD,
    Adam,
    RMSprop,
    TFRMSprop,
    TrainingStep,
    load_optimizer_state,
    optimizer_state,
)
from tests.training.configurations import configuration

X = torch.tensor([[1.5, -2.0], [0.5, 3.0], [1.0, 1.0]])
T = X.prod(-1, keepdim=True)
NMU = ("--layer-type", "ReRegualizedLinearMNAC")


def build(*words, script="single_layer", model=None):
    config = configuration(script, *words)
    if model is None:
        torch.manual_seed(config.seed)
        model = SingleLayerTask.network(config, SCRIPTS[script].layer_options(config))
    return model, TrainingStep([config], model)


def test_a_step_is_that_of_a_bare_loop():
    model, step = build(*NMU, "--learning-rate", "0.01", "--regualizer-oob", "0")
    W = model.layer_1.layer.W.detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([W], lr=0.01)
    for iteration in range(20):
        loss = torch.nn.functional.mse_loss(mnac(X, W), T)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            W.clamp_(0, 1)
        result = step.run(X, T, step.prepare(iteration))
        assert torch.equal(result.total.detach(), loss.detach())
        assert torch.equal(model.layer_1.layer.W.detach(), W.detach())
        assert torch.equal(result.gradients[0], W.grad)


@pytest.mark.parametrize(
    ("words", "iteration", "expected"),
    [
        ((), 0, "mse"),
        (("--train-criterion", "mape"), 0, "mape"),
        (("--train-criterion", "pcc"), 99, "pcc"),
        (("--train-criterion", "pcc-mse", "--pcc2mse-iteration", "5"), 4, "pcc"),
        (("--train-criterion", "pcc-mse", "--pcc2mse-iteration", "5"), 5, "mse"),
    ],
)
def test_criterion(words, iteration, expected):
    model, step = build(*words)
    criterion, _ = step.prepare(iteration)
    assert criterion.__name__ == expected
    y = model(X).detach()
    by_hand = {
        "mse": ((y - T) ** 2).mean(),
        "mape": ((T - y) / T).abs().mean(),
        "pcc": 1 - torch.corrcoef(torch.cat([y, T], -1).T)[0, 1],
    }[expected]
    error, _, _ = step.loss(X, T, *step.prepare(iteration))
    assert error.item() == pytest.approx(by_hand.item(), rel=1e-4)


@pytest.mark.parametrize("norm", [0.1, math.inf])
@pytest.mark.parametrize("value", [0.08, math.inf])
def test_norm_is_clipped_before_values(norm, value):
    words = [f"--clip-grad-{flag}={limit}" for flag, limit in (("norm", norm), ("value", value))]
    words = [word for word in words if not word.endswith("inf")]
    script = "single_layer_benchmark"
    clipped, raw = (
        step.run(X, T, step.prepare(0)).gradients[0]
        for _, step in (build(*NMU, *words, script=script), build(*NMU, script=script))
    )
    expected = (raw * min(1, norm / raw.norm())).clamp(-value, value)
    torch.testing.assert_close(clipped, expected)


def test_a_model_without_trainable_parameters_learns_after_the_step():
    model, step = build("--layer-type", "GradientBanditNAC")
    for iteration in range(3):
        result = step.run(X, T, step.prepare(iteration))
        assert result.gradients == ()
    assert model.layer_1.layer.W_hat.abs().max() > 0
    assert not result.total.requires_grad


STEPS = 300
SHAPES = ((2, 3), (3,), ())


def draw(shape, seed, dtype):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=dtype)


def gradients(step, dtype):
    """Gradients of very different size; the last parameter has none in every third step."""
    scale = 10.0 ** (step % 7 - 3)
    drawn = [scale * draw(shape, 1000 * step + k, dtype) for k, shape in enumerate(SHAPES)]
    if step % 3 == 2:
        drawn[-1] = None
    return drawn


def parameters(dtype):
    return [draw(shape, k, dtype) for k, shape in enumerate(SHAPES)]


def torch_trajectory(reference, own, dtype):
    """Step both; the parameters must agree bit for bit all the way."""
    params = reference.param_groups[0]["params"]
    for step in range(STEPS):
        drawn = gradients(step, dtype)
        for parameter, gradient in zip(params, drawn, strict=True):
            parameter.grad = gradient
        reference.step()
        own.step(drawn)
        for expected, actual in zip(params, own.parameters, strict=True):
            assert torch.equal(expected.detach(), actual), step


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("kind", "reference", "settings"),
    [
        (Adam, torch.optim.Adam, {"lr": 1e-3}),
        (Adam, torch.optim.Adam, {"lr": 1.0}),
        (RMSprop, torch.optim.RMSprop, {"lr": 1e-3}),
        (RMSprop, torch.optim.RMSprop, {"lr": 1.0}),
        (
            lambda own, rate, _: OPTIMIZERS["flux-rmsprop"](own, rate),
            *(torch.optim.RMSprop, {"lr": 1e-2, "alpha": 0.9}),
        ),
        (SGD, torch.optim.SGD, {"lr": 1e-2, "momentum": 0.0}),
        (SGD, torch.optim.SGD, {"lr": 1e-2, "momentum": 0.9}),
    ],
)
def test_an_optimiser_is_that_of_torch(kind, reference, settings, dtype):
    theirs = reference([p.requires_grad_() for p in parameters(dtype)], **settings)
    torch_trajectory(theirs, kind(parameters(dtype), *settings.values()), dtype)


def test_a_step_without_any_gradient_reads_none_of_the_step_before():
    """As where a loss does not depend on any parameter: there are no gradients at all then."""
    own = Adam(parameters(torch.float32), 0.1)
    own.step(gradients(0, torch.float32))
    before = [p.clone() for p in own.parameters]
    own.step(())
    assert own.steps == [1, 1, 1]
    assert all(map(torch.equal, own.parameters, before))


def test_the_optimiser_of_tensorflow_1_has_epsilon_in_its_root_and_squares_that_start_at_1():
    own = TFRMSprop([torch.tensor([2.0, -1.0])], 0.5)
    square, value = np.ones(2), np.array([2.0, -1.0])
    for gradient in ([3.0, 0.0], [-1.0, 1e-6], [0.5, 0.0]):
        own.step([torch.tensor(gradient)])
        square += 0.1 * (np.square(gradient) - square)
        value -= 0.5 * np.array(gradient) / np.sqrt(square + 1e-10)
        np.testing.assert_allclose(own.parameters[0], value, rtol=1e-6)


@pytest.mark.parametrize("kind", [Adam, RMSprop, TFRMSprop, partial(SGD, momentum=0.9)])
def test_a_saved_state_continues_bit_for_bit(kind):
    going = kind(parameters(torch.float32), 0.01)
    for step in range(5):
        going.step(gradients(step, torch.float32))
    resumed = kind([p.clone() for p in going.parameters], 0.01)
    load_optimizer_state(resumed, optimizer_state(going, None), None)
    assert resumed.steps == going.steps
    for step in range(5, 10):
        for optimizer in (going, resumed):
            optimizer.step(gradients(step, torch.float32))
    for expected, actual in zip(going.parameters, resumed.parameters, strict=True):
        assert torch.equal(actual, expected)


def test_a_saved_state_has_the_layout_of_torch():
    leaves = [p.requires_grad_() for p in parameters(torch.float32)]
    reference = torch.optim.Adam(leaves, lr=1e-3)
    own = Adam(parameters(torch.float32), 1e-3)
    drawn = gradients(0, torch.float32)
    for parameter, gradient in zip(leaves, drawn, strict=True):
        parameter.grad = gradient
    reference.step()
    own.step(drawn)
    theirs, ours = reference.state_dict(), optimizer_state(own, None)
    assert ours["state"].keys() == theirs["state"].keys()
    for k, entry in theirs["state"].items():
        assert ours["state"][k].keys() == entry.keys()
        assert all(torch.equal(ours["state"][k][slot], entry[slot]) for slot in entry)
    assert ours["param_groups"][0]["params"] == theirs["param_groups"][0]["params"]
