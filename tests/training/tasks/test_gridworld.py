"""The grid world's player: network, learning, names, what is logged, exported and resumed."""

import numpy as np
import pandas as pd
import pytest
import torch

from stable_nalu.abstract import stack_models
from stable_nalu.environment.worlds import Rules, Starts, TimeGridworldBatch, draw_starts
from stable_nalu.network.time_gridworld import TimeGridworldNetwork
from stable_nalu.options import OptionError
from stable_nalu.result.exporters import any_runs
from stable_nalu.task import SCRIPTS
from stable_nalu.training.tasks.episodes import greedy, learn, sampled, walk
from stable_nalu.training.tasks.gridworld import GridworldTask, frames_of
from tests.experiments.scripts import read, run, run_names
from tests.training.tasks.resuming import assert_an_interruption_changes_nothing

SCRIPT = "gridworld_time"
SMALL = (
    *("--episodes-per-update", "8", "--hidden-size", "8", "--workers", "1"),
    *("--eval-stimuli", "[5,6]", "--eval-episodes", "9", "--log-interval", "4"),
)
UNITS = [("LSTM", "recurrent"), ("NAC", "recurrent"), ("NAC", "feedforward"), ("NALU", "recurrent")]


def plan(words: str):
    return SCRIPTS[SCRIPT].plan(words.split())


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
    model = TimeGridworldNetwork(unit, wiring, hidden_size=7)
    worlds, found, learned = played(model)
    terms = []
    frames = frames_of("symbolic").double()
    for episode in range(6):
        cell = [torch.zeros(1, 7), torch.zeros(1, 7)]
        asked = worlds.stimulus[episode].double()
        register = torch.zeros(1, model.register_size)
        length = int(worlds.t[episode])
        for step in range(length):
            place = found.episode[step].tolist().index(episode)
            frame, action = (part[step][place] for part in (found.frame, found.action))
            if unit != "LSTM" and wiring == "recurrent":
                told = torch.stack((asked * (step == 0), torch.tensor(1.0))).unsqueeze(0)
                register = model.counter(told, register)
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
    ours = [learned.policy, learned.value, learned.entropy]
    torch.testing.assert_close(ours, wanted)
    for one, other in ((ours, wanted),):
        grads = [
            torch.autograd.grad(sum(losses), model.parameters(), allow_unused=True)
            for losses in (one, other)
        ]
        for mine, theirs in zip(*grads, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-8, atol=1e-12)


def test_episodes_that_have_ended_take_no_rows():
    torch.manual_seed(0)
    worlds, found, _ = played(TimeGridworldNetwork(hidden_size=8), 64)
    rows = [len(one) for one in found.live]
    assert rows[0] == 64
    assert sum(rows) < 1.12 * int(worlds.t.sum())
    assert int(torch.cat(found.live).sum()) == int(worlds.t.sum())
    assert len(rows) == int(worlds.t.max())


def test_sampled_actions_follow_the_policy():
    logits = torch.tensor([0.5, 0.2, 0.15, 0.1, 0.05]).log().expand(100_000, 5)
    noise = torch.rand(1, 100_000)
    actions = sampled(noise)(logits, 0, torch.arange(100_000))
    shares = torch.bincount(actions, minlength=5) / 100_000
    assert shares.tolist() == pytest.approx([0.5, 0.2, 0.15, 0.1, 0.05], abs=0.006)


@pytest.mark.parametrize(("unit", "wiring"), UNITS)
def test_players_of_a_stack_are_those_of_each(unit, wiring):
    models = [TimeGridworldNetwork(unit, wiring, hidden_size=8) for _ in range(3)]
    frames = frames_of("symbolic")
    starts = draw_starts(np.random.default_rng(0), Rules((9, 9)), 50)
    alone = []
    with torch.no_grad():
        for model in models:
            worlds = TimeGridworldBatch(50, Rules((9, 9)))
            worlds.start(starts)
            alone.append((walk(model, model.seen(frames), worlds, greedy).reward, worlds.t))
        stack = stack_models(models)
        worlds = TimeGridworldBatch((3, 50), Rules((9, 9)))
        worlds.start(Starts(*(np.stack([part] * 3) for part in starts)))
        reward = walk(stack, stack.seen(frames), worlds, greedy).reward
    assert torch.equal(reward, torch.stack([one for one, _ in alone]))
    assert torch.equal(worlds.t, torch.stack([t for _, t in alone]))


def test_pictures_go_through_the_convolutions_of_torch():
    model = TimeGridworldNetwork(observation="pixels")
    first, second = torch.nn.Conv2d(3, 16, 5, 3), torch.nn.Conv2d(16, 32, 3, 2)
    for ours, theirs in ((model.encoder.first, first), (model.encoder.second, second)):
        theirs.weight, theirs.bias = ours.W, ours.bias
    frames = frames_of("pixels")[:9]
    assert (frames.shape, frames.max(), frames.min()) == ((9, 3, 56, 56), 1, 0)
    hidden = second(first(frames).relu()).relu().flatten(1)
    assert hidden.shape == (9, 2048)
    torch.testing.assert_close(model.encoder(frames), model.encoder.dense(hidden))
    models = [TimeGridworldNetwork(observation="pixels") for _ in range(2)]
    alone = torch.stack([model.encoder(frames) for model in models])
    torch.testing.assert_close(stack_models(models).encoder(frames), alone)


@pytest.mark.slow
def test_five_updates_on_pixels():
    words = ("--observation", "pixels", *SMALL, "--max-iterations", "4")
    assert run(SCRIPT, *words) == 0
    for name in run_names(SCRIPT, *words):
        assert sorted(read(name).series("metric/train/reward")) == [4]


@pytest.mark.parametrize(
    ("words", "leaf"),
    [
        ("", "nac_s0_lr-adam-0.00100"),
        ("--layer-type LSTM --seed 2", "lstm_s2_lr-adam-0.00100"),
        (
            "--nac-wiring feedforward --observation pixels --stimulus-range [4,9]",
            "nac_w-feedforward_o-pixels_t-4-9_s0_lr-adam-0.00100",
        ),
        (
            "--max-reward 3 --time-limit 30 --reward-shape exact --late zero --no-reachable-only",
            "nac_m3.0_l30_r-exact_late-zero_far_s0_lr-adam-0.00100",
        ),
        (
            "--hidden-size 32 --register-size 8 --episodes-per-update 16 --entropy 0.1",
            "nac_h32_k8_b16_e-0.1-3000_s0_lr-adam-0.00100",
        ),
        ("--discount 0.9 --clip-grad-norm 1", "nac_g0.9_s0_lr-adam-0.00100_gn-1.0"),
    ],
)
def test_names(words, leaf):
    (config,) = plan(words).configs
    assert SCRIPTS[SCRIPT].leaf(config) == leaf


@pytest.mark.parametrize(
    ("words", "flag", "problem"),
    [
        ("--layer-type LSTM --nac-wiring recurrent", "--nac-wiring", "no unit to be wired"),
        ("--layer-type GRU --nac-wiring feedforward", "--nac-wiring", "a recurrent cell alone"),
        ("--stimulus-range [0,5]", "--stimulus-range", "from 1 on"),
        ("--stimulus-range [9,5]", "--stimulus-range", "low end above"),
        ("--stimulus-range [5,30]", "--time-limit", "ends worlds before step 30"),
        ("--eval-stimuli [5.5,9]", "--eval-stimuli", "other ends than whole numbers"),
        ("--reachable-only --no-reachable-only", "--reachable-only", "contradicts"),
        ("--max-reward 0", "--max-reward", "greater than 0"),
        ("--discount 1.5", "--discount", "largest value is 1"),
    ],
)
def test_bad_input(words, flag, problem):
    with pytest.raises(OptionError, match=problem) as refused:
        plan(words)
    assert refused.value.flag == flag


def test_what_is_logged_when(tmp_path, capsys):
    words = (*SMALL, "--max-iterations", "9", "--eval-interval", "8", "--seed", "0-1")
    assert run(SCRIPT, *words) == 0
    for name in run_names(SCRIPT, *words):
        log = read(name)
        assert sorted(log.series("metric/train/reward")) == [4, 8, 9]
        assert sorted(log.series("metric/test/stimulus/5/reward")) == [0, 8, 9]
        assert sorted(log.series("metric/test/within")) == [0, 8, 9]
        assert log.series("metric/test/beyond") == {}
        # The episode begins with the player in the corner and the square in cell 18.
        assert log.series("metric/test/episode/0")[9] == 18
    out, long = tmp_path / "runs.csv", tmp_path / "stimuli.csv"
    folder = ("--tensorboard-dir", str(tmp_path / "tensorboard" / "t"))
    assert any_runs((*folder, "--csv-out", str(out), "--stimuli-out", str(long))) == 0
    capsys.readouterr()
    table = pd.read_csv(long)
    assert list(table) == [
        *("name", "step", "layer.type", "wiring", "seed"),
        *("stimulus", "reward", "arrival", "exact", "arrived"),
    ]
    assert len(table) == 2 * 3 * 2
    wide = pd.read_csv(out).set_index(["seed", "step"])
    own = table.set_index(["seed", "step", "stimulus"])
    assert own.loc[(1, 9, 6), "reward"] == wide.loc[(1, 9), "metric.test.stimulus.6.reward"]
    assert set(table["wiring"]) == {"recurrent"}


def test_runs_without_tests_of_times(tmp_path, capsys):
    assert run("single_layer", "--max-iterations", "0") == 0
    out = tmp_path / "runs.csv"
    words = ("--tensorboard-dir", str(tmp_path / "tensorboard" / "t"), "--csv-out", str(out))
    assert any_runs((*words, "--stimuli-out", str(tmp_path / "long.csv"))) == 2
    assert "--stimuli-out: no run has" in capsys.readouterr().err


@pytest.mark.parametrize("seeds", ["0", "0-2"])
def test_an_interrupted_run_ends_as_if_nothing_had_happened(seeds, monkeypatch):
    words = (*SMALL, "--seed", seeds, "--max-iterations", "9")
    assert_an_interruption_changes_nothing(monkeypatch, SCRIPT, words, 6)


@pytest.mark.parametrize("seed", range(3))
def test_a_nalu_that_counts_overflows_from_its_usual_start(seed):
    """Its register is a product of its last values: 24 steps raise it above 1e10 or below 1."""

    def largest(start):
        (config,) = plan(f"--layer-type NALU --nalu-init {start} --seed {seed}").configs
        torch.manual_seed(seed)
        model = GridworldTask.network(config, SCRIPTS[SCRIPT].layer_options(config))
        model.reset_parameters()
        asked, register, found = torch.arange(5.0, 13.0), None, []
        for step in range(24):
            register = model.counted(asked, register, step)
            found.append(register.abs().max().item())
        return max(found)

    assert largest("default") > 1e10
    assert largest("truncated") < 1


@pytest.mark.slow
def test_a_register_that_counts_learns_to_wait():
    """A thousand updates of the recurrent NAC: 8 of 10 in training, as the prototype had."""
    words = ("--max-iterations", "1000", "--seed", "0", "--workers", "1", "--no-save")
    words += ("--eval-interval", "1000", "--eval-stimuli", "[8,12]", "--eval-episodes", "200")
    assert run(SCRIPT, *words) == 0
    (name,) = run_names(SCRIPT, *words)
    log = read(name)
    assert log.series("metric/train/reward")[1000] > 8
