"""One iteration: schedules, criterion, gradients, update, and what layers do after it."""

import copy

import pytest
import torch

from stable_nalu.abstract import PerRunRandomSource, stack_models
from stable_nalu.functional import mnac
from stable_nalu.layer import MultiWeightNAULayer
from stable_nalu.task import SCRIPTS
from stable_nalu.task.arithmetic import SingleLayerTask
from stable_nalu.training.step import TrainingStep
from tests.training.configurations import Penalised, configuration, configurations

X = torch.tensor([[1.5, -2.0], [0.5, 3.0], [1.0, 1.0]])
T = X.prod(-1, keepdim=True)
NMU = ("--layer-type", "ReRegualizedLinearMNAC")


def build(*words, script="single_layer", model=None, **options):
    config = configuration(script, *words)
    if model is None:
        torch.manual_seed(config.seed)
        model = SingleLayerTask.network(config, SCRIPTS[script].layer_options(config))
    return model, TrainingStep([config], model, stacked=False, **options)


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
        result = step.run(iteration, X, T)
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
    step.run(4, X, T)
    changed = [not torch.equal(W, b) for W, b in zip(model.weight_set(), before, strict=True)]
    assert changed == [False, True, False]


@pytest.mark.parametrize("flags", [("--clip-grad-norm", "0.1"), ("--clip-grad-value", "0.1")])
def test_clipping(flags):
    script = "single_layer_benchmark"
    _, step = build(*NMU, *flags, script=script)
    _, free = build(*NMU, script=script)
    clipped, raw = (s.run(0, X, T).gradients[0] for s in (step, free))
    expected = raw.clamp(-0.1, 0.1) if "value" in flags[0] else 0.1 * raw / raw.norm()
    torch.testing.assert_close(clipped, expected)


def test_norm_is_clipped_before_values():
    words = (*NMU, "--clip-grad-norm", "0.1", "--clip-grad-value", "0.08")
    _, step = build(*words, script="single_layer_benchmark")
    _, free = build(*NMU, script="single_layer_benchmark")
    raw = free.run(0, X, T).gradients[0]
    expected = (0.1 * raw / raw.norm()).clamp(-0.08, 0.08)
    torch.testing.assert_close(step.run(0, X, T).gradients[0], expected)


def test_a_model_without_trainable_parameters_learns_after_the_step():
    model, step = build("--layer-type", "GradientBanditNAC")
    for iteration in range(3):
        result = step.run(iteration, X, T)
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
    result = step.run(0, X, T)
    assert seen[0].item() == result.criterion.item()
    assert result.total.item() > seen[0].item()
    assert not seen[0].requires_grad


def stacked_and_single(*words, unit):
    configs = configurations("single_layer", *words, "--layer-type", unit)
    options = {"nac_oob": "clip", "nmu_noise": "--nmu-noise" in words}
    single = []
    for seed, config in enumerate(configs):
        torch.manual_seed(seed)
        single.append(SingleLayerTask.network(config, options))
    model = stack_models(copy.deepcopy(single))
    generators = [torch.Generator().manual_seed(run) for run in range(len(configs))]
    for module in model.extended_modules():
        module.random = PerRunRandomSource(generators)
    return configs, single, TrainingStep(configs, model, stacked=True)


@pytest.mark.parametrize("unit", ["ReRegualizedLinearMNAC", "NALU", "GradientBanditNAC"])
@pytest.mark.parametrize(
    "words",
    [
        ("--learning-rate", "0.001", "0.1"),
        ("--optimizer", "sgd", "--momentum", "0", "0.9"),
        ("--clip-grad-norm", "0.1", "1"),
        ("--regualizer", "0", "5", "--regualizer-scaling-start", "0", "--nmu-noise"),
    ],
)
def test_stacked_runs_take_the_steps_of_single_runs(words, unit):
    configs, single, together = stacked_and_single(*words, unit=unit)
    x = torch.stack([X, X * 1.5])
    t = x.prod(-1, keepdim=True)
    for iteration in range(5):
        together.run(iteration, x, t)
    for run, (config, model) in enumerate(zip(configs, single, strict=True)):
        torch.manual_seed(run)
        alone = TrainingStep([config], model, stacked=False)
        for iteration in range(5):
            alone.run(iteration, x[run], t[run])
        state = together.model.state_dict()
        for name, value in model.state_dict().items():
            torch.testing.assert_close(state[name][run], value, rtol=1e-6, atol=1e-7)
