"""Compiled iterations against plain ones: parameters, losses, optimiser state, generators."""

import warnings

import pytest
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.layer.own_layers import register
from stable_nalu.options import SCRIPTS
from stable_nalu.training.arithmetic.task import TASKS
from stable_nalu.training.arithmetic.trainer import ArithmeticTraining
from stable_nalu.training.compiled import step
from stable_nalu.training.compiled.compiler import compiled_by_torch
from stable_nalu.training.compiled.step import CompiledStep
from stable_nalu.training.compiled.unroll import UnrollingError
from stable_nalu.training.plan.groups import default_dtype
from stable_nalu.training.stack import Setup
from stable_nalu.training.step import TrainingStep
from tests.ensemble.plans import CORE, six_runs
from tests.training.configurations import configurations

ITERATIONS = 20
LOG_EVERY = 8
RAMP = ("--regualizer-scaling-start", "0", "--regualizer-scaling-end", "10")

NOT_UNROLLED = {
    *("Tanh", "Sigmoid", "ReLU6", "Softsign", "SELU", "ELU", "ReLU", "linear"),
    *("MCFC", "MulMCFC", "MulMCFCSignINALU", "MulMCFCSignRealNPU"),
}
"""More cells than fit (MLPs), or operations that are not unrolled: recorded as they are."""


def as_recorded(graph):
    return graph


def session(*words, script="single_layer", stacked=True):
    """Model, data and optimiser of the runs of a command line."""
    spec = SCRIPTS[script]
    configs = configurations(script, "--no-cuda", *words)
    setup = Setup(
        configs,
        [str(k) for k in range(len(configs))],
        [spec.layer_options(config) for config in configs],
        torch.device("cpu"),
        stacked=stacked,
    )
    with default_dtype(configs[0].pytorch_precision):
        return ArithmeticTraining(setup, TASKS[script])


def train_both(*words, compiler=as_recorded, iterations=ITERATIONS, **keywords):
    """Train twice, plain at every log point and compiled (or plain) between."""
    ours, plain = session(*words, **keywords), session(*words, **keywords)
    assert CompiledStep.supports(ours.model)
    fast = CompiledStep(ours.step, compiler)
    for iteration in range(iterations):
        if iteration % LOG_EVERY == 0:
            fast.pause()
            result = ours.step.run(iteration, *ours.data.feed.next())
        else:
            result = fast.run(iteration, *ours.data.feed.next())
        expected = plain.step.run(iteration, *plain.data.feed.next())
        assert (result.penalty is None) == (expected.penalty is None)
        torch.testing.assert_close(
            result.total, expected.total, rtol=1e-4, atol=1e-6, equal_nan=True
        )
    fast.pause()
    return ours, plain


def assert_same_training(ours, plain, tolerance=0.0):
    assert ours.step.optimizer.steps == plain.step.optimizer.steps
    for one, other in zip(ours.step.parameters, plain.step.parameters, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance, equal_nan=True)
    for one, other in zip(ours.random.generators, plain.random.generators, strict=True):
        assert torch.equal(one.get_state(), other.get_state())


@pytest.fixture
def recorded_only(monkeypatch):
    def refuse(*arguments):
        def function(*values):
            raise UnrollingError("by this test")

        return function

    monkeypatch.setattr(step, "unrolled", refuse)


@pytest.mark.parametrize("layer", CORE)
def test_recorded(layer, recorded_only):
    """The recorded operations are those of the plain step."""
    assert_same_training(*train_both(*six_runs(layer), *RAMP))


@pytest.mark.parametrize("layer", [layer for layer in CORE if layer not in NOT_UNROLLED])
def test_unrolled(layer):
    """Written over (run, sample), they still round alike."""
    seen = []

    def note(graph):
        seen.append(graph)
        return graph

    assert_same_training(*train_both(*six_runs(layer), *RAMP, compiler=note))
    operations = {str(node.target) for node in seen[-1].graph.nodes}
    assert not operations & {"aten.bmm.default", "aten.prod.dim_int", "aten.sum.dim_IntList"}


@pytest.mark.parametrize("layer", sorted(NOT_UNROLLED))
def test_not_unrolled(layer):
    assert_same_training(*train_both(*six_runs(layer), compiler=as_recorded, iterations=10))


class Mixed(torch.nn.Module):
    """A layer as a user writes one, which knows nothing of runs."""

    def __init__(self, in_features, out_features):
        super().__init__()
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features))
        self.choice = torch.nn.Linear(in_features, 2)

    def forward(self, x):
        both = torch.stack([x @ self.W.T, (self.W * x.unsqueeze(1)).prod(-1)], dim=-1)
        return (both * self.choice(x).softmax(-1).unsqueeze(1)).sum(-1)


def test_a_plain_layer_of_the_user():
    register(Mixed)
    ours, plain = train_both(*six_runs("Mixed"), *RAMP)
    assert_same_training(ours, plain)
    assert all(p.isfinite().all() for p in ours.step.parameters)


NMU = six_runs("ReRegualizedLinearMNAC")


@pytest.mark.parametrize(
    "words",
    [
        (*NMU, "--train-criterion", "pcc"),
        (*NMU, "--train-criterion", "mape"),
        (*NMU, "--train-criterion", "pcc-mse", "--pcc2mse-iteration", "11"),
        (*NMU, "--clip-grad-norm", "1"),
        (*NMU, "--clip-grad-norm", "0.1", "1"),
        (*NMU, "--learning-rate", "1e-2", "1e-3"),
        (*NMU, "--optimizer", "sgd"),
        (*NMU, "--optimizer", "sgd", "--momentum", "0.9", "0.5", "--learning-rate", "1e-3", "1e-2"),
        (*NMU, "--regualizer-z", "1", "--oob-mode", "regualized", *RAMP),
        (*NMU, "--regualizer", "1", "10", "--regualizer-scaling-start", "5", "--regualizer-l1"),
        (*six_runs("RealNPU"), "--regualizer-npu-w", "1", "--regualizer-gate", "1", *RAMP),
        (*six_runs("NALU"), "--nalu-gate", "regualized"),
        (*six_runs("NALU"), "--nalu-gate", "linear"),
        (*six_runs("NALU"), "--nalu-gate", "independent"),
        (*six_runs("NALU"), "--nalu-gate-shape", "vector"),
        (*six_runs("NALU"), "--nalu-init", "truncated"),
        (*NMU, "--input-size", "10"),
    ],
    ids=lambda words: "_".join(words[-4:]),
)
def test_options(words):
    assert_same_training(*train_both(*words))


def test_float64():
    words = (*six_runs("SignNMRU"), *RAMP, "--pytorch-precision", "64", "--clip-grad-norm", "1")
    with default_dtype(64):
        ours, plain = train_both(*words)
    assert ours.step.parameters[0].dtype == torch.float64
    assert_same_training(ours, plain)


def test_two_layers():
    words = ("--seed", "0-3", "--layer-type", "ReRegualizedLinearMNAC", "--input-size", "10")
    base = ("--operation", "add", "--first-layer", "ReRegualizedLinearNAC", "--nac-mul", "normal")
    words = (*words, *base)
    assert_same_training(*train_both(*words, script="simple_function_static"))


@pytest.mark.parametrize("noise", [("--noise-range", "[1,5]"), ("--noise-range", "[0.1,1.2]")])
@pytest.mark.parametrize("layer", ["ReRegualizedLinearMNAC", "ReRegualizedLinearNAC"])
def test_noise_is_that_of_single_draws(layer, noise):
    """Drawn ahead in blocks and rewound at every log point: equal bits and generators."""
    flag = "--nau-noise" if layer == "ReRegualizedLinearNAC" else "--nmu-noise"
    assert_same_training(*train_both(*six_runs(layer), flag, *noise))


def test_noise_of_the_batch():
    """Bounds that depend on the batch scale unit noise: one rounding more than a bounded draw."""
    words = (*NMU, "--nmu-noise", "--noise-range", "[1,0]")
    assert_same_training(*train_both(*words), 1e-6)


def test_noise_after_the_compiler_failed_for_the_second_variant():
    """Noise drawn ahead for compiled iterations is given back before plain ones draw."""
    calls = iter((as_recorded, None))

    def fail_later(graph):
        return next(calls)(graph)

    words = (*NMU, "--nmu-noise", "--train-criterion", "pcc-mse", "--pcc2mse-iteration", "5")
    with pytest.warns(UserWarning, match="training without compiled code"):
        ours, plain = train_both(*words, compiler=fail_later)
    assert_same_training(ours, plain)


def test_without_a_compiler(monkeypatch):
    """It warns once, and every iteration is the plain one."""
    calls = []

    def no_compiler(*arguments, **keywords):
        calls.append(arguments)
        raise RuntimeError("no C++ compiler\nmore about it")

    monkeypatch.setattr("torch._inductor.compile", no_compiler)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ours, plain = train_both(*NMU, *RAMP, compiler=compiled_by_torch)
    (warning,) = [str(w.message) for w in caught]
    assert warning == "training without compiled code: RuntimeError: no C++ compiler"
    assert len(calls) == 1
    assert_same_training(ours, plain)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--layer-type", "NMRU"), True),
        (("--layer-type", "NMRU", "--nmu-noise"), True),
        (("--layer-type", "GumbelNAC"), False),
        (("--layer-type", "GradientBanditNAC"), False),
        (("--layer-type", "HardSoftmaxNAC"), False),
    ],
)
def test_layers_with_state_are_not_compiled(words, expected):
    assert CompiledStep.supports(session(*words, "--seed", "0-1").model) is expected


class Idle(ExtendedTorchModule):
    """y = x w; `idle` has no gradient, `late` has one only through a penalty."""

    def __init__(self):
        super().__init__("network")
        self.idle = torch.nn.Parameter(torch.ones(3, 2, 1))
        self.late = torch.nn.Parameter(torch.ones(3, 2, 1))
        self.w = torch.nn.Parameter(torch.ones(3, 2, 1))

    def forward(self, x):
        return x @ self.w

    def regualizer_terms(self):
        return {"W": lambda: (self.late * self.w).sum((-2, -1))}


@pytest.mark.parametrize("late", [False, True])
def test_parameters_without_gradient(late):
    """They are not stepped, nor counted; counts that differ are left to the plain step."""
    start = "4" if late else "100"
    ramp = ("--regualizer-scaling-start", start, "--regualizer-scaling-end", "200")
    configs = configurations("single_layer", "--seed", "0-2", *ramp)
    one, other = (TrainingStep(configs, Idle(), stacked=True) for _ in range(2))
    fast = CompiledStep(one, as_recorded)
    for iteration in range(10):
        x = torch.randn(3, 7, 2)
        fast.run(iteration, x, x.sum(-1, keepdim=True))
        other.run(iteration, x, x.sum(-1, keepdim=True))
    assert one.optimizer.steps == other.optimizer.steps == [0, 5 if late else 0, 10]
    for p, q in zip(one.parameters, other.parameters, strict=True):
        torch.testing.assert_close(p, q, rtol=0, atol=0)


# Compiling costs seconds a layer; what is compiled is tested above for all of them.
REALLY_COMPILED = ("ReRegualizedLinearMNAC", "SignNMRU")


@pytest.mark.parametrize("layer", REALLY_COMPILED)
def test_really_compiled(layer):
    assert_same_training(*train_both(*six_runs(layer), compiler=compiled_by_torch))
