"""Training batches follow the seed alone, by NumPy's generator of it."""

import numpy as np

from stable_nalu.task.gridworld_time import draw_starts
from stable_nalu.task.program_evaluation import draw, in_steps
from tests.training.configurations import built

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
