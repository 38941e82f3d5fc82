"""What all tasks share: rows, names, seeds, and the engine that trains what torch does."""

from pathlib import Path

import numpy as np
import pytest
import torch

from stable_nalu.network.dense import IdentityNetwork
from stable_nalu.task.gridworld_time import draw_starts
from stable_nalu.task.program_evaluation import draw, in_steps
from stable_nalu.task.table import SCRIPTS
from tests.experiments.scripts import read, run, run_names, saved
from tests.training.configurations import built

SCRIPT = "identity_autoencoder"
UNIFORM = ("--layer-type", "Tanh", "--train-sampling", "uniform", "--log-interval", "4")


def test_a_row_measures_what_the_updates_before_it_have_made():
    """The first row is of the start weights; the last one is logged, whatever the interval is."""
    assert run(SCRIPT, *UNIFORM, "--max-iterations", "6") == 0
    (name,) = run_names(SCRIPT, *UNIFORM, "--max-iterations", "6")
    log = read(name)
    errors = log.series("metric/valid/interpolation")
    assert sorted(errors) == [0, 4, 6]
    assert run(SCRIPT, *UNIFORM, "--max-iterations", "0", "--id", "1") == 0
    (short,) = run_names(SCRIPT, *UNIFORM, "--max-iterations", "0", "--id", "1")
    assert read(short).series("metric/valid/interpolation") == {0: errors[0]}
    assert sorted(log.series("loss/train/critation")) == [0, 4, 6]


def test_a_run_that_diverges_is_recorded_and_leaves_the_others_alone():
    words = ("--layer-type", "linear", "--log-interval", "2", "--max-iterations", "8")
    words = (*words, "--optimizer", "sgd", "--workers", "1", "--learning-rate")
    assert run(SCRIPT, *words, "1e10", "--seed", "0-1") != 0
    (name, _) = run_names(SCRIPT, *words, "1e10", "--seed", "0-1")
    log = read(name)
    assert ("/diverged/text_summary") in log.tags
    assert len(log.series("loss/train/total")) < 5
    assert saved(name)["progress"]["diverged_at"] is not None


@pytest.mark.parametrize("name", ["adam", "rmsprop", "sgd"])
def test_optimisers_are_those_of_torch(name):
    """The first updates of the scalar autoencoder against a loop written with torch.optim."""
    words = ("--layer-type", "Tanh", "--optimizer", name, "--max-iterations", "5")
    assert run(SCRIPT, *words) == 0
    (last,) = run_names(SCRIPT, *words)
    torch.manual_seed(0)
    start = IdentityNetwork("Tanh")
    start.reset_parameters()
    model = torch.nn.Sequential(
        *(layer for size in (1, 8, 8) for layer in (torch.nn.Linear(size, 8), torch.nn.Tanh())),
        torch.nn.Linear(8, 1),
    )
    optimizers = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop, "sgd": torch.optim.SGD}
    optimizer = optimizers[name](model.parameters(), lr=1e-2)
    x = torch.arange(-5.0, 6.0)[:, None]
    torch.nn.utils.vector_to_parameters(
        torch.nn.utils.parameters_to_vector(start.parameters()), model.parameters()
    )
    for _ in range(6):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), x).backward()
        optimizer.step()
    ours = saved(last)["model_state_dict"].values()
    for own, theirs in zip(ours, model.parameters(), strict=True):
        np.testing.assert_allclose(own, theirs.detach(), rtol=2e-5, atol=1e-6)


RUNS = (
    "eml_recovery --depth 2 --target chain --layer-option tree=bottom init=random_hot",
    "comparison --relation ne",
    "comparison --layer-type HardSoftmaxNAC --hidden-size 3",
    "identity_autoencoder --layer-type Tanh --train-sampling uniform --batch-size 16",
    "identity_autoencoder --layer-type NAU --hidden-size 50",
    "notebook_addition --train-size 200",
)
LENGTH = ("--max-iterations", "30", "--log-interval", "10", "--pytorch-precision", "64")


@pytest.mark.parametrize("command", RUNS)
def test_the_engine_trains_what_torch_does_each_run_alone(command):
    script, *words = [*command.split(), *LENGTH]
    logs = {}
    for seeds, how in (("0-6", "lanes"), ("3", "lanes"), ("3", "torch")):
        own = [*words, "--seed", seeds, "--engine", how, "--name-prefix", f"{how}{seeds}"]
        assert run(script, *own) == 0
        log = read(run_names(script, *own)[3 if seeds == "0-6" else 0])
        actual = ("loss", "metric", "error")
        logs[seeds, how] = {k: v for k, v in log.values.items() if k[1].startswith(actual)}
    assert logs["0-6", "lanes"] == logs["3", "lanes"]
    lanes, torch = logs["3", "lanes"], logs["3", "torch"]
    assert lanes.keys() == torch.keys()
    for (step, tag), values in torch.items():
        if tag.startswith("loss"):
            assert lanes[step, tag] == pytest.approx(values, rel=1e-6, abs=1e-12)


NAMES = (Path(__file__).parent / "fixtures" / "names.txt").read_text().splitlines()
"""Command lines, and the name in the line after each."""


@pytest.mark.parametrize("line", range(0, len(NAMES), 2))
def test_a_command_keeps_its_name(line):
    command, name = NAMES[line : line + 2]
    script, *words = command.split()
    (config,) = SCRIPTS[script].plan(words).configs
    assert SCRIPTS[script].run_name(config) == name.strip()


SEED = 3


def task(script, words=""):
    return built(script, f"--seed {SEED} {words}")


def generator():
    return np.random.default_rng(SEED)


def test_numbers_of_an_autoencoder():
    """The second draw, as the first one is made at the start."""
    ((x, _),) = task("identity_autoencoder", "--train-sampling uniform").batches()
    assert np.array_equal(x.numpy(), np.float32(generator().uniform(-5, 5, (2, 64, 1))[1]))


def test_rows_of_the_notebook():
    x, _ = task("notebook_addition", "--train-size 9").data[0]
    assert np.array_equal(x.numpy(), np.float32(generator().random((9, 10)) * 10))


def test_programs():
    _, results = next(task("program_evaluation", "--program programs").batches())
    drawn = draw(generator(), "programs", 64 * 16, 2, 0, 100)
    assert results.tolist() == next(in_steps(drawn, 16)).results.tolist()


def test_worlds():
    one = task("gridworld_time")
    worlds, _ = next(one.batches())
    starts = draw_starts(generator(), one.rules, 64)
    for drawn, found in zip(starts, (worlds.stimulus, worlds.player, worlds.target), strict=True):
        assert found.tolist() == drawn.tolist()
