"""Iterations on fixed rows, recorded run by run, against the step that records them."""

import warnings

import pytest
import torch

from stable_nalu.options import SCRIPTS
from stable_nalu.training.compiled import rows
from stable_nalu.training.compiled.compiler import compiled_by_torch
from stable_nalu.training.compiled.policy import rows_worth_compiling
from stable_nalu.training.compiled.rows import RunsInTurn
from stable_nalu.training.stack import Setup
from stable_nalu.training.tasks.notebook import NotebookTask
from stable_nalu.training.tasks.training import ITERATIONS, TaskTraining
from tests.training.configurations import configurations

SCRIPT = "notebook_addition"
UNITS = ("NALU", "NAC", "linear", "ReLU", "ELU")


def as_recorded(graph):
    return lambda *groups: graph(*(value for group in groups for value in group))


def training(*words, stacked=True, rows="64"):
    spec = SCRIPTS[SCRIPT]
    configs = configurations(SCRIPT, "--no-cuda", "--train-size", rows, *words)
    names, options = [str(c.seed) for c in configs], [spec.layer_options(c) for c in configs]
    setup = Setup(configs, names, options, torch.device("cpu"), stacked=stacked)
    return TaskTraining(setup, NotebookTask, ITERATIONS)


def trained(*words, updates=5, compiler=as_recorded, **keywords):
    """Losses of some updates, and the training."""
    own = training(*words, **keywords)
    fast = RunsInTurn(own.step, *own.task.rows, compiler=compiler)
    losses = [fast.run(own.step.prepare(k)).total.detach() for k in range(updates)]
    assert fast._works
    return losses, own


@pytest.mark.parametrize("unit", UNITS)
def test_updates_are_those_of_the_plain_step(unit):
    words = ("--layer-type", unit, "--seed", "0-2", "--learning-rate", "1e-3")
    losses, ours = trained(*words)
    plain = training(*words)
    for k, loss in enumerate(losses):
        expected = plain.step.run(k, *plain.task.rows)
        torch.testing.assert_close(loss, expected.total.detach(), rtol=1e-4, atol=1e-3)
    for one, other in zip(ours.step.parameters, plain.step.parameters, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=2e-5)


def test_a_stacked_run_is_the_run_alone_to_the_last_bit():
    clip = ("--clip-grad-norm", "1e5")
    together, ours = trained("--seed", "0-1", *clip)
    for run, seed in enumerate("01"):
        alone, own = trained("--seed", seed, *clip, stacked=False)
        assert [loss[run].item() for loss in together] == [loss.item() for loss in alone]
        for one, other in zip(ours.step.parameters, own.step.parameters, strict=True):
            assert torch.equal(one[run], other)


def test_what_depends_on_rows_alone_is_computed_once():
    graphs = []

    def kept(graph):
        graphs.append(graph)
        return as_recorded(graph)

    trained("--seed", "0-1", compiler=kept)
    (graph,) = graphs
    (log,) = [node for node in graph.graph.nodes if node.target is torch.ops.aten.log.default]
    assert log.meta["tensor_meta"].shape == (2, 64)


def test_rows_lie_next_to_each_other():
    graphs = []
    trained("--seed", "0-1", compiler=lambda graph: graphs.append(graph) or as_recorded(graph))
    nodes = [node for node in graphs[0].graph.nodes if node.op == "call_function"]
    elementwise = [n for n in nodes if torch.Tag.pointwise in getattr(n.target, "tags", ())]
    shapes = {tuple(node.meta["tensor_meta"].shape) for node in elementwise}
    assert {(2, 64), (1, 64)} < shapes
    assert not {(64, 2), (64, 1)} & shapes


def test_a_penalty_is_trained_plainly():
    words = ("--layer-type", "ReRegualizedLinearNAC", "--seed", "0-1")
    own, plain = training(*words), training(*words)
    fast = RunsInTurn(own.step, *own.task.rows, compiler=as_recorded)
    for k in range(4):
        ours, expected = fast.run(own.step.prepare(k)), plain.step.run(k, *plain.task.rows)
        assert (ours.penalty is None) == (expected.penalty is None) == (k == 0)
        torch.testing.assert_close(ours.total, expected.total, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    "words", [("--nalu-gate", "gumbel"), ("--layer-type", "ReRegualizedLinearMNAC")]
)
def test_noise_and_products_are_trained_plainly_and_without_a_warning(words):
    own, plain = training("--seed", "0-1", *words), training("--seed", "0-1", *words)
    fast = RunsInTurn(own.step, *own.task.rows, compiler=as_recorded)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(2):
            ours, expected = fast.run(own.step.prepare(k)), plain.step.run(k, *plain.task.rows)
            assert torch.equal(ours.total, expected.total)


def test_without_a_compiler_it_warns_once():
    def broken(graph):
        raise OSError("no compiler")

    own, plain = training("--seed", "0-1"), training("--seed", "0-1")
    fast = RunsInTurn(own.step, *own.task.rows, compiler=broken)
    with pytest.warns(UserWarning, match="without compiled code: .*no compiler"):
        fast.run(own.step.prepare(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast.run(own.step.prepare(1))
    for k in range(2):
        plain.step.run(k, *plain.task.rows)
    for one, other in zip(own.step.parameters, plain.step.parameters, strict=True):
        assert torch.equal(one, other)


def test_changes_in_place_and_random_numbers_are_not_computed_once():
    from torch.fx.experimental.proxy_tensor import make_fx

    for function in (lambda w, x: (w + x.clone().add_(1),), lambda w, x: (w * torch.rand_like(x),)):
        graph = make_fx(function)(torch.ones(3), torch.ones(3))
        with pytest.raises(rows.UnrollingError, match="operation"):
            rows.split_by_rows(graph, 1)


@pytest.mark.parametrize(
    ("words", "planned", "worth"),
    [
        ((), 1, True),
        (("--no-compile",), 1, False),
        (("--verbose",), 1, False),
        (("--max-iterations", "1000"), 1, False),
        (("--max-iterations", "1000"), 20, True),
    ],
)
def test_worth_compiling(words, planned, worth):
    (config,) = configurations(SCRIPT, "--no-cuda", *words)
    x, t = torch.empty(10_000, 10), torch.empty(10_000, 1)
    length = config.max_iterations + 1
    assert rows_worth_compiling(config, planned, length, x, t) is worth


@pytest.mark.slow
def test_compiled_updates_are_those_of_the_plain_step():
    losses, _ = trained("--seed", "0-1", rows="1000", compiler=compiled_by_torch)
    plain = training("--seed", "0-1", rows="1000")
    for k, loss in enumerate(losses):
        expected = plain.step.run(k, *plain.task.rows).total.detach()
        torch.testing.assert_close(loss, expected, rtol=1e-3, atol=1e-2)
