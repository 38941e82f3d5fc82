"""Adam, RMSprop and SGD: bit for bit those of torch, also with a learning rate per run."""

import pytest
import torch

from stable_nalu.training.optimizer import (
    OPTIMIZERS,
    SGD,
    Adam,
    RMSprop,
    load_optimizer_state,
    optimizer_state,
)

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


def build(name, params, index=None):
    """An optimiser of one run (`index`), or of all runs with a learning rate each."""
    rates = torch.tensor(RATES, dtype=torch.float64)
    momenta = torch.tensor(MOMENTA, dtype=torch.float64)
    if index is not None:
        rates, momenta = RATES[index], MOMENTA[index]
    return SGD(params, rates, momenta) if name == "sgd" else OPTIMIZERS[name](params, rates)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["adam", "rmsprop", "sgd"])
def test_runs_with_their_own_learning_rates(name, dtype):
    together = build(name, parameters(dtype, (RUNS,)))
    alone = [
        build(name, [p[run].clone() for p in parameters(dtype, (RUNS,))], run)
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
    going = build(name, parameters(torch.float32, runs), index)
    for step in range(5):
        going.step(gradients(step, torch.float32, runs))
    resumed = build(name, [p.clone() for p in going.parameters], index)
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
