"""One iteration: schedules, criterion, gradients, clipping, and optimisers bit for bit as torch."""

import copy

import pytest
import torch

from stable_nalu.abstract import PerRunRandomSource, stack_models
from stable_nalu.functional import mnac
from stable_nalu.layer import MultiWeightNAULayer
from stable_nalu.task import SCRIPTS
from stable_nalu.task.arithmetic import SingleLayerTask
from stable_nalu.training.step import (
    OPTIMIZERS,
    SGD,
    Adam,
    RMSprop,
    TrainingStep,
    clip_norm,
    clip_value,
    load_optimizer_state,
    optimizer_state,
)
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
        together.run(x, t, together.prepare(iteration))
    for run, (config, model) in enumerate(zip(configs, single, strict=True)):
        torch.manual_seed(run)
        alone = TrainingStep([config], model, stacked=False)
        for iteration in range(5):
            alone.run(x[run], t[run], alone.prepare(iteration))
        state = together.model.state_dict()
        for name, value in model.state_dict().items():
            torch.testing.assert_close(state[name][run], value, rtol=1e-6, atol=1e-7)


STEPS = 300
SHAPES = ((2, 3), (3,), ())
RUNS = 3
RATES = [1e-3, 5e-3, 1.0]
MOMENTA = [0.9, 0.5, 0.0]


def draw(shape, seed, dtype):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=dtype)


def gradients(step, dtype, runs=()):
    """Gradients of very different size; the last parameter has none in every third step."""
    scale = 10.0 ** (step % 7 - 3)
    drawn = [
        scale * draw((*runs, *shape), 1000 * step + k, dtype) for k, shape in enumerate(SHAPES)
    ]
    if step % 3 == 2:
        drawn[-1] = None
    return drawn


def parameters(dtype, runs=()):
    return [draw((*runs, *shape), k, dtype) for k, shape in enumerate(SHAPES)]


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
@pytest.mark.parametrize("rate", [1e-3, 1.0])
def test_adam_is_that_of_torch(dtype, rate):
    reference = torch.optim.Adam([p.requires_grad_() for p in parameters(dtype)], lr=rate)
    torch_trajectory(reference, Adam(parameters(dtype), rate), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rate", [1e-3, 1.0])
def test_rmsprop_is_that_of_torch(dtype, rate):
    reference = torch.optim.RMSprop([p.requires_grad_() for p in parameters(dtype)], lr=rate)
    torch_trajectory(reference, RMSprop(parameters(dtype), rate), dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd_is_that_of_torch(dtype, momentum):
    own = SGD(parameters(dtype), 1e-2, momentum)
    leaves = [p.requires_grad_() for p in parameters(dtype)]
    torch_trajectory(torch.optim.SGD(leaves, lr=1e-2, momentum=momentum), own, dtype)


def built(name, params, index=None):
    """An optimiser of one run (`index`), or of all runs with a learning rate each."""
    rates = torch.tensor(RATES, dtype=torch.float64)
    momenta = torch.tensor(MOMENTA, dtype=torch.float64)
    if index is not None:
        rates, momenta = RATES[index], MOMENTA[index]
    return SGD(params, rates, momenta) if name == "sgd" else OPTIMIZERS[name](params, rates)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["adam", "rmsprop", "sgd"])
def test_runs_with_their_own_learning_rates(name, dtype):
    together = built(name, parameters(dtype, (RUNS,)))
    alone = [
        built(name, [p[run].clone() for p in parameters(dtype, (RUNS,))], run)
        for run in range(RUNS)
    ]
    for step in range(STEPS):
        drawn = gradients(step, dtype, (RUNS,))
        together.step(drawn)
        for run, single in enumerate(alone):
            single.step([None if g is None else g[run] for g in drawn])
            for expected, actual in zip(single.parameters, together.parameters, strict=True):
                assert torch.equal(actual[run], expected), (step, run)


def test_a_step_without_any_gradient_reads_none_of_the_step_before():
    """As where a loss does not depend on any parameter: there are no gradients at all then."""
    own = Adam(parameters(torch.float32), 0.1)
    own.step(gradients(0, torch.float32))
    before = [p.clone() for p in own.parameters]
    own.step(())
    assert own.steps == [1, 1, 1]
    assert all(map(torch.equal, own.parameters, before))


@pytest.mark.parametrize("name", ["adam", "rmsprop", "sgd"])
@pytest.mark.parametrize("stacked", [False, True])
def test_a_saved_state_continues_bit_for_bit(name, stacked):
    runs = (RUNS,) if stacked else ()
    index = None if stacked else 0
    going = built(name, parameters(torch.float32, runs), index)
    for step in range(5):
        going.step(gradients(step, torch.float32, runs))
    resumed = built(name, [p.clone() for p in going.parameters], index)
    for run in range(RUNS) if stacked else (None,):
        load_optimizer_state(resumed, optimizer_state(going, run), run)
    assert resumed.steps == going.steps
    for step in range(5, 10):
        for optimizer in (going, resumed):
            optimizer.step(gradients(step, torch.float32, runs))
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


LIMITS = [0.5, 1.0, 3.0, 100.0]


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
    assert_equal(clip_norm(drawn, limit, 0), expected)


def test_norm_passes_over_missing_gradients():
    drawn = [None, *gradients(3, torch.float32)]
    expected = by_torch(drawn, lambda p: torch.nn.utils.clip_grad_norm_(p, 1.0))
    assert_equal(clip_norm(drawn, 1.0, 0), expected)


@pytest.mark.parametrize("limit", [0.1, 1000.0])
def test_value(limit):
    drawn = [None, *gradients(3, torch.float32)]
    expected = by_torch(drawn, lambda p: torch.nn.utils.clip_grad_value_(p, limit))
    assert_equal(clip_value(drawn, limit, 0), expected)


@pytest.mark.parametrize("clip", [clip_norm, clip_value])
def test_runs_have_their_own_limits(clip):
    together = gradients(3, torch.float32, (len(LIMITS),))
    clipped = clip(together, torch.tensor(LIMITS), 1)
    for run, limit in enumerate(LIMITS):
        expected = clip([g[run] for g in together], limit, 0)
        for own, alone in zip(clipped, expected, strict=True):
            torch.testing.assert_close(own[run], alone, rtol=1e-6, atol=0)


@pytest.mark.parametrize("clip", [clip_norm, clip_value])
def test_a_large_gradient_of_one_run_does_not_reach_the_others(clip):
    together = gradients(3, torch.float32, (len(LIMITS),))
    before = clip(together, 1.0, 1)
    for gradient in together:
        gradient[2] = float("nan")
    after = clip(together, 1.0, 1)
    for old, new in zip(before, after, strict=True):
        keep = [0, 1, 3]
        assert torch.equal(old[keep], new[keep])
