"""One iteration: schedules, criterion, gradients, clipping, and optimisers bit for bit as torch."""

from functools import partial

import pytest
import torch

from stable_nalu.functional import mnac
from stable_nalu.layer import MultiWeightNAULayer
from stable_nalu.task.arithmetic import SingleLayerTask
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.step import (
    SGD,
    Adam,
    RMSprop,
    TrainingStep,
    clip_norm,
    clip_value,
    load_optimizer_state,
    optimizer_state,
)
from tests.training.configurations import Penalised, configuration

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


def test_the_total_is_criterion_plus_penalty():
    words = ("--regualizer-scaling-start", "0", "--regualizer-scaling-end", "1")
    _, step = build(*words, model=Penalised({"W": 2.0}))
    error, penalty, total = step.loss(X, T, *step.prepare(1))
    assert penalty.item() == 10 * 2 * 3
    assert total.item() == error.item() + penalty.item()
    _, step = build(model=Penalised({"W": 2.0}))
    error, penalty, total = step.loss(X, T, *step.prepare(0))
    assert penalty is None
    assert total is error


def test_gumbel_layers_cool_down():
    model, step = build("--layer-type", "GumbelNAC")
    for iteration, expected in ((0, 1.0), (10_000, 0.904837), (10**6, 0.5)):
        step.prepare(iteration)
        assert model.layer_1.layer.tau.item() == pytest.approx(expected, rel=1e-6)


def test_iteration_reaches_layers_that_read_it():
    model = MultiWeightNAULayer(2, 1, nac_oob="clip", W_set_count=3)
    _, step = build("--learning-rate", "0.1", model=model)
    before = [W.detach().clone() for W in model.weight_set()]
    step.run(X, T, step.prepare(4))
    changed = [not torch.equal(W, b) for W, b in zip(model.weight_set(), before, strict=True)]
    assert changed == [False, True, False]


@pytest.mark.parametrize("flags", [("--clip-grad-norm", "0.1"), ("--clip-grad-value", "0.1")])
def test_clipping(flags):
    script = "single_layer_benchmark"
    _, step = build(*NMU, *flags, script=script)
    _, free = build(*NMU, script=script)
    clipped, raw = (s.run(X, T, s.prepare(0)).gradients[0] for s in (step, free))
    expected = raw.clamp(-0.1, 0.1) if "value" in flags[0] else 0.1 * raw / raw.norm()
    torch.testing.assert_close(clipped, expected)


def test_norm_is_clipped_before_values():
    words = (*NMU, "--clip-grad-norm", "0.1", "--clip-grad-value", "0.08")
    _, step = build(*words, script="single_layer_benchmark")
    _, free = build(*NMU, script="single_layer_benchmark")
    raw = free.run(X, T, free.prepare(0)).gradients[0]
    expected = (0.1 * raw / raw.norm()).clamp(-0.08, 0.08)
    torch.testing.assert_close(step.run(X, T, step.prepare(0)).gradients[0], expected)


def test_a_model_without_trainable_parameters_learns_after_the_step():
    model, step = build("--layer-type", "GradientBanditNAC")
    for iteration in range(3):
        result = step.run(X, T, step.prepare(iteration))
        assert result.gradients == ()
    assert model.layer_1.layer.W_hat.abs().max() > 0
    assert not result.total.requires_grad


def test_the_criterion_not_the_total_reaches_the_hook():
    seen = []

    class Listening(Penalised):
        def after_step(self, loss):
            seen.append(loss)

    model = Listening({"g": 1.0})
    _, step = build(model=model)
    result = step.run(X, T, step.prepare(0))
    assert seen[0].item() == result.criterion.item()
    assert result.total.item() > seen[0].item()
    assert not seen[0].requires_grad


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


@pytest.mark.parametrize("kind", [Adam, RMSprop, partial(SGD, momentum=0.9)])
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


def test_a_state_without_an_entry_starts_anew():
    own = Adam(parameters(torch.float32), 1e-3)
    own.step(gradients(0, torch.float32))
    load_optimizer_state(own, {"state": {}}, None)
    assert own.steps == [0, 0, 0]
    assert all((value == 0).all() for values in own.state.values() for value in values)


def test_a_saved_state_is_a_copy():
    own = Adam(parameters(torch.float32), 1e-3)
    own.step(gradients(0, torch.float32))
    saved = optimizer_state(own, None)["state"][0]["exp_avg"].clone()
    state = optimizer_state(own, None)
    own.step(gradients(1, torch.float32))
    assert torch.equal(state["state"][0]["exp_avg"], saved)


def by_torch(drawn, clip):
    """The gradients after `clip(parameters)`, a function of torch.nn.utils."""
    params = [None if g is None else torch.nn.Parameter(torch.zeros_like(g)) for g in drawn]
    for parameter, gradient in zip(params, drawn, strict=True):
        if parameter is not None:
            parameter.grad = gradient.clone()
    clip([p for p in params if p is not None])
    return [None if p is None else p.grad for p in params]


def assert_equal(actual, expected):
    for own, theirs in zip(actual, expected, strict=True):
        assert (own is None) == (theirs is None)
        assert own is None or torch.equal(own, theirs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("limit", [0.1, 1.0, 1000.0])
def test_norm(dtype, limit):
    drawn = gradients(3, dtype)
    expected = by_torch(drawn, lambda p: torch.nn.utils.clip_grad_norm_(p, limit))
    assert_equal(clip_norm(drawn, limit), expected)


def test_norm_passes_over_missing_gradients():
    drawn = [None, *gradients(3, torch.float32)]
    expected = by_torch(drawn, lambda p: torch.nn.utils.clip_grad_norm_(p, 1.0))
    assert_equal(clip_norm(drawn, 1.0), expected)


@pytest.mark.parametrize("limit", [0.1, 1000.0])
def test_value(limit):
    drawn = [None, *gradients(3, torch.float32)]
    expected = by_torch(drawn, lambda p: torch.nn.utils.clip_grad_value_(p, limit))
    assert_equal(clip_value(drawn, limit), expected)
