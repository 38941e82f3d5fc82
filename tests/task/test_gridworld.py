"""The grid world's player: network, learning, names, what is logged, exported and resumed."""

import numpy as np
import pandas as pd
import pytest
import torch

from stable_nalu.task.gridworld_time import (
    Rules,
    TimeGridworldBatch,
    TimeGridworldNetwork,
    draw_starts,
    learn,
    sampled,
    walk,
)
from stable_nalu.task.table import SCRIPTS
from tests.experiments.scripts import exported, read, run, run_names
from tests.training.configurations import built, configuration

SCRIPT = "gridworld_time"
SMALL = (
    *("--episodes-per-update", "8", "--hidden-size", "8", "--workers", "1"),
    *("--eval-stimuli", "[5,6]", "--eval-episodes", "9", "--log-interval", "4"),
)
UNITS = [("LSTM", "recurrent"), ("NAC", "recurrent"), ("NAC", "feedforward"), ("NALU", "recurrent")]


def frames_of(observation: str) -> torch.Tensor:
    return built(SCRIPT, f"--observation {observation}")._frames


def played(model, count=6, observation="symbolic", seed=1):
    """Episodes of a model by sampled actions, and what they teach."""
    random = np.random.default_rng(seed)
    worlds = TimeGridworldBatch(count)
    worlds.start(draw_starts(random, Rules(), count))
    noise = torch.from_numpy(random.random((24, count)))
    seen = model.seen(frames_of(observation).to(torch.get_default_dtype()))
    found = walk(model, seen, worlds, sampled(noise))
    return worlds, found, learn(model, seen, worlds, found, 0.99)


@pytest.mark.parametrize(("unit", "wiring"), UNITS)
def test_losses_and_gradients_are_those_of_a_plain_loop(unit, wiring):
    """Episodes one by one, through the modules themselves, with returns by their definition."""
    torch.set_default_dtype(torch.float64)
    words = "--layer-type", unit, *(("--nac-wiring", wiring) if unit != "LSTM" else ())
    model = TimeGridworldNetwork(configuration(SCRIPT, *words, "--hidden-size", "7"))
    worlds, found, learned = played(model)
    terms = []
    frames = frames_of("symbolic").double()
    for episode in range(6):
        cell = [torch.zeros(1, 7), torch.zeros(1, 7)]
        asked = worlds.stimulus[episode].double()
        register = torch.zeros(1, model.register_size)
        length = int(worlds.t[episode])
        for step in range(length):
            own = found.steps[step]
            place = own.episode.tolist().index(episode)
            frame, action = own.frame[place], own.action[place]
            if unit != "LSTM" and wiring == "recurrent":
                actual = torch.stack((asked * (step == 0), torch.tensor(1.0))).unsqueeze(0)
                register = model.counter(actual, register)
            elif unit != "LSTM":
                register = model.counter(asked.view(1, 1))
            x = torch.cat((model.encoder(frames[frame].unsqueeze(0)), asked.view(1, 1)), -1)
            cell = model.core(torch.cat((x, register), -1), tuple(cell))
            log_p = torch.log_softmax(model.policy(cell[0])[0], -1)
            value = model.value(cell[0])[0, 0]
            back = 0.99 ** (length - 1 - step) * found.reward[episode] / 10
            entropy = -(log_p.exp() * log_p).sum()
            terms.append(
                (-log_p[action] * (back - value.detach()), (back - value) ** 2 / 2, entropy)
            )
    wanted = [torch.stack(of_steps).mean() for of_steps in zip(*terms, strict=True)]
    ours = list(learned)
    torch.testing.assert_close(ours, wanted)
    for one, other in ((ours, wanted),):
        grads = [
            torch.autograd.grad(sum(losses), model.parameters(), allow_unused=True)
            for losses in (one, other)
        ]
        for mine, theirs in zip(*grads, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-12)


def test_what_is_logged_when(tmp_path):
    words = (*SMALL, "--max-iterations", "9", "--eval-interval", "8", "--seed", "0-1")
    assert run(SCRIPT, *words) == 0
    for name in run_names(SCRIPT, *words):
        log = read(name)
        assert sorted(log.series("metric/test/within")) == [0, 8, 9]
        assert log.series("metric/test/beyond") == {}
        # The episode begins with the player in the corner and the square in cell 18.
        assert log.series("metric/test/episode/0")[9] == 18
    long = tmp_path / "stimuli.csv"
    wide = exported("--stimuli-out", str(long)).set_index(["seed", "step"])
    table = pd.read_csv(long)
    assert list(table) == [
        *("name", "step", "layer.type", "wiring", "seed"),
        *("stimulus", "reward", "arrival", "exact", "arrived"),
    ]
    assert len(table) == 2 * 3 * 2
    own = table.set_index(["seed", "step", "stimulus"])
    assert own.loc[(1, 9, 6), "reward"] == wide.loc[(1, 9), "metric.test.stimulus.6.reward"]
    assert set(table["wiring"]) == {"recurrent"}


@pytest.mark.parametrize("seed", range(3))
def test_a_nalu_that_counts_overflows_from_its_usual_start(seed):
    """Its register is a product of its last values: 24 steps raise it above 1e10 or below 1."""

    def largest(start):
        torch.manual_seed(seed)
        task = built(SCRIPT, f"--layer-type NALU --nalu-init {start} --seed {seed}")
        model = task.network(task.config, SCRIPTS[SCRIPT].layer_options(task.config))
        model.reset_parameters()
        asked, register, found = torch.arange(5.0, 13.0), None, []
        for step in range(24):
            register = model.counted(asked, register, step)
            found.append(register.abs().max().item())
        return max(found)

    assert largest("default") > 1e10
    assert largest("truncated") < 1
