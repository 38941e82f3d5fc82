"""The tasks of the iNALU paper: data, initial weights, updates in turns, late penalty, restarts."""

import gc
import weakref

import numpy as np
import pytest
import torch

from stable_nalu.dataset.two_sums import TwoSums, two_sums
from stable_nalu.task import inalu
from stable_nalu.task.arithmetic import TEST_SEED, VALIDATION_SEED, RestartRule
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.checkpoint import RunState
from tests.training import configurations
from tests.training.engine.harness import planned, training

SCRIPT = "inalu"
SHARED = "--layer-option", "shared_weights=true"


def built(words=""):
    task = configurations.built(SCRIPT, words)
    return task, task.initialized(task.config, SCRIPTS[SCRIPT].layer_options(task.config))


@pytest.mark.parametrize(("seed", "published"), [(103, 69827.1), (105, 54211.7), (108, 44002.9)])
def test_quotients_have_the_error_of_published_runs_that_failed(seed, published):
    """Units that answer about 0 have the mean square of a / b, of 64,000 rows, most of it one."""
    _, (a, b) = TwoSums("uniform-1", seed).parts[1]
    assert np.mean((a / b) ** 2) == pytest.approx(published, rel=1e-4)


def test_rows_and_weights_are_drawn_one_after_the_other():
    task, model = built("--distribution exponential-0.8 --seed 3 --operation sub")
    random = np.random.RandomState(3)
    for scale, key in ((0.8, None), (0.8, VALIDATION_SEED), (0.5, TEST_SEED)):
        values = random.exponential(scale, (64_000, 2)).flatten()
        random.shuffle(values)
        x, t = task.datasets[0].fork([], key)[0:64_000]
        expected = values.reshape(-1, 2)
        np.testing.assert_array_equal(x.numpy(), expected.astype(np.float32))
        np.testing.assert_allclose(t[:, 0].numpy(), expected[:, 0] - expected[:, 1], rtol=1e-6)
    layer = model.layers[0].layer
    for name, mean in (("W_a_hat", 1), ("M_a_hat", -1), ("W_m_hat", 1), ("M_m_hat", -1), ("g", 0)):
        drawn = random.normal(mean, 0.1, layer.get_parameter(name).shape)
        np.testing.assert_allclose(layer.get_parameter(name).detach().numpy(), drawn, rtol=1e-6)


def test_gates_of_nalus_are_drawn_last():
    _, model = built("--layer-type NALU --hidden-size 2 --distribution many-normal --seed 5")
    random = np.random.RandomState(5)
    for inputs, outputs, own in zip((100, 2), (2, 1), model.layers, strict=True):
        names = ("nac_add.W_hat", 1), ("nac_add.M_hat", -1), ("G_add", 0)
        for name, mean in names:
            drawn = random.normal(mean, 0.1, (inputs, outputs)).T
            found = own.layer.get_parameter(name).detach().numpy()
            np.testing.assert_allclose(found, drawn, rtol=1e-5, atol=1e-7)


def test_half_of_many_inputs_are_in_the_first_sum():
    task, _ = built("--distribution many-uniform --seed 2 --operation add")
    x, (a, b) = task.datasets[0].rows.parts[2]
    assert x.shape == (10_000, 100)
    shares = np.linalg.lstsq(x.astype(float), np.stack([a, b], 1), rcond=None)[0].round(3)
    assert set(shares.ravel()) == {0.0, 1.0}
    assert shares.sum(1).max() == 1
    assert 35 <= shares[:, 0].sum() <= 65
    assert 13 <= shares[:, 1].sum() <= 37


def by_hand(x, t, start, steps, turns):
    """Return the parameters W, M, g of an iNALU of shared weights after the paper's updates."""
    own = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in start]
    squares = [torch.ones_like(v) for v in own]

    def update(k, gradient):
        clipped = gradient.clamp(-0.1, 0.1)
        squares[k] = 0.9 * squares[k] + 0.1 * clipped**2
        own[k].data -= 0.01 * clipped / torch.sqrt(squares[k] + 1e-10)

    for step in range(steps):
        rows = slice(64 * step, 64 * (step + 1))
        W, M, g = own
        A = torch.tanh(W) * torch.sigmoid(M)
        log = torch.log(x[rows].abs().clamp(min=1e-7)) @ A
        sign = (x[rows].sign() * A[:, 0].abs() + 1 - A[:, 0].abs()).prod(1, keepdim=True)
        y = torch.sigmoid(g) * (x[rows] @ A) + (1 - torch.sigmoid(g)) * log.exp() * sign
        loss = ((y - t[rows]) ** 2).mean()
        gradients = torch.autograd.grad(loss, own)
        for k in (0, 1) if step % 10 < 8 else (2,):
            update(k, gradients[k])
        if loss.item() < 1:
            own_turn = (0, 1) if step % 10 < 8 else (2,)
            for group in ((0, 1), (2,)) if turns == "all" else (own_turn,):
                penalty = 0.05 * sum((20 - v.abs()).clamp(min=0).mean() for v in own)
                gradients = torch.autograd.grad(penalty, own)
                for k in group:
                    update(k, gradients[k])
    return [v.detach().numpy() for v in own]


@pytest.mark.parametrize(("engine", "turns"), [(True, "own"), (True, "all"), (False, "own")])
def test_updates_are_made_in_turns_and_the_penalty_has_its_own(engine, turns):
    words = (
        "--penalty-turns",
        turns,
        "--operation",
        "mul",
        "--distribution",
        "uniform-1",
        "--penalty-epoch",
        "0",
        *SHARED,
    )
    configs = planned(
        SCRIPT, *words, "--seed", "4-5" if engine else "4", "--pytorch-precision", "64",
        iterations=24, log_interval=100,
    )  # fmt: skip
    run = training(SCRIPT, configs, engine=engine)
    for _ in run.train():
        pass
    if engine:
        run.engine.store()
    data = TwoSums("uniform-1", 4)
    x, operands = data.parts[0]
    random = data.random
    laws = (1, (2, 1)), (-1, (2, 1)), (0, 1)
    start = [random.normal(mean, 0.1, shape).astype(np.float32) for mean, shape in laws]
    t = torch.from_numpy(operands.prod(0)[:, None].astype(np.float32))
    expected = by_hand(torch.from_numpy(x).double(), t.double(), start, 25, turns)
    layer = run.model.layers[0].layer
    for name, value in zip(("W_a_hat", "M_a_hat", "g"), expected, strict=True):
        found = layer.get_parameter(name).detach()
        np.testing.assert_allclose(found[0] if engine else found, value, rtol=1e-9, atol=1e-12)


def values(run):
    return torch.cat([p[0].detach().ravel() for p in run.model.parameters()]).numpy()


def test_a_run_whose_loss_stays_high_starts_again_and_others_go_on(monkeypatch):
    monkeypatch.setattr(inalu, "EPOCH", 10)
    monkeypatch.setattr(inalu, "STORED", 90)
    reset = RunState.reset
    words = "--distribution", "uniform-5", "--seed", "0", "--operation", "div", "add"
    own = training(SCRIPT, planned(SCRIPT, *words, iterations=300, log_interval=1000))
    weights = []
    monkeypatch.setattr(
        RunState, "reset", lambda run, k: (reset(run, k), weights.append(values(own)))
    )
    for _ in own.train():
        pass
    assert own.task.rule.counts[0] == len(weights) > 0
    assert own.model.starts.tolist() == [1 + len(weights), 1]
    random = TwoSums("uniform-5", 0).random
    for mean, size in ((1, 2), (-1, 2), (1, 2), (-1, 2), (0, 1)):
        random.normal(mean, 0.1, size)
    for found in weights[:2]:
        np.testing.assert_allclose(found, random.uniform(-2, 2, 9), rtol=1e-6)
    calm = training(SCRIPT, planned(SCRIPT, *words, "--no-restarts", iterations=300))
    for _ in calm.train():
        pass
    assert calm.task.rule.counts == [0, 0]


@pytest.mark.parametrize(
    ("losses", "stuck"),
    [
        ([5.0] * 20, True),
        ([0.9] * 20, False),
        ([50.0] * 10 + [5.0] * 10, False),
        ([2.0, 9.0] * 10, True),
    ],
)
def test_a_run_is_stuck_if_its_loss_is_high_and_has_not_fallen(losses, stuck):
    rule = RestartRule(1, 19, 1.0)
    rule.record(np.array([losses]))
    assert rule.due() == [0] * stuck


@pytest.mark.parametrize("times", [1, 3])
def test_a_saved_restart_rule_goes_on_as_if_it_had_not_been_saved(times):
    losses = np.random.default_rng(0).lognormal(0.3, 1, (2, 40))
    going, saved = RestartRule(2, 10, 1.0), RestartRule(2, 10, 1.0)
    decisions = []
    for at in range(0, 40, 4):
        for rule in (going, saved):
            rule.record(losses[:, at : at + (4 if times == 1 else 1)], times)
            decisions.append(rule.due())
        states = [saved.get_state(run) for run in range(2)]
        saved = RestartRule(2, 10, 1.0)
        for run, state in enumerate(states):
            saved.set_state(run, state)
    assert decisions[::2] == decisions[1::2]
    assert any(decisions)


def test_runs_share_rows_in_memory_only_as_long_as_they_are_trained():
    task, _ = built("--operation mul --seed 6")
    first = weakref.ref(task.datasets[0].rows)
    assert two_sums("uniform-1", 6) is first()
    del task
    gc.collect()
    assert first() is None
