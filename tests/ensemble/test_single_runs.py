"""A run of a task is what it is alone: beside other seeds, in two processes, after a kill."""

import signal
from functools import cache

import pytest

from tests.ensemble.plans import assert_identical, fork, train, trained

DIGITS_LIBRARY = "sklearn.datasets"
KILLED = """
import os, signal
from stable_nalu.training import loop
save, saved = loop.save_together, []
def kill_when_saved(contents):
    save(contents)
    saved.append(1)
    if len(saved) == {saves}:
        os.kill(os.getpid(), signal.SIGKILL)
loop.save_together = kill_when_saved
"""
SUMS = (
    *("--layer-type", "GumbelNAC", "--interpolation-length", "5", "--extrapolation-length", "8"),
    *("--checkpoint-interval", "3", "--max-iterations", "8", "--engine", "torch"),
)
SCORED = (
    *("--layer-type", "LSTM", "--interpolation-length", "5", "--extrapolation-length", "8"),
    *("--random-models", "2", "--checkpoint-interval", "3", "--max-iterations", "8"),
)
WORDS = ("--layer-type", "NALU", "--checkpoint-interval", "1", "--max-epochs", "3")
PAPER = ("--number-range", "paper", "--head", "final", "--hidden-size", "8")
IDENTITY = ("--layer-type", "ReLU", "--checkpoint-interval", "3", "--max-iterations", "8")
MYSTERY = (
    *("--input-size", "8", "--output-size", "4", "--train-size", "70", "--test-size", "40"),
    *("--shuffle", "--checkpoint-interval", "1", "--max-epochs", "2"),
)
PROGRAMS = (
    *("--program", "programs", "--batch-size", "8", "--hidden-size", "8", "--log-interval", "8"),
    # Killed within a block of batches that were drawn at once.
    *("--checkpoint-interval", "9", "--max-iterations", "21"),
)
WORLD = (
    *("--layer-type", "NAC", "--episodes-per-update", "4", "--hidden-size", "4"),
    *("--eval-stimuli", "[5,6]", "--eval-episodes", "4", "--log-interval", "4"),
    *("--checkpoint-interval", "3", "--max-iterations", "8"),
)
COUNTED = (
    *("--cnn", "small", "--cnn-dropout", "0.5", "--extrapolation-lengths", "[1,20]"),
    *("--interpolation-length", "30", "--test-repeats", "1"),
    *("--checkpoint-interval", "1", "--max-epochs", "2"),
)
EVEN_DIGITS = (
    *("--image-size", "40", "--max-digits", "2", "--min-distance", "5", "--batch-size", "4"),
    *("--valid-images", "9", "--test-images", "9", "--layer-type", "NAC", "--log-interval", "8"),
    *("--train-images", "6", "--checkpoint-interval", "3", "--max-iterations", "8"),
)
NOTEBOOK = ("--train-size", "50", "--checkpoint-interval", "3", "--max-iterations", "8")
TREES = ("--depth", "1", "--checkpoint-interval", "3", "--max-iterations", "8")
COMPARED = ("--checkpoint-interval", "3", "--max-iterations", "8")
PAIRS = (
    *("--data-source", "digits", "--samples-per-permutation", "1", "--batch-size", "45"),
    *("--operation", "mul", "--checkpoint-interval", "1", "--max-epochs", "2"),
)
SEQUENCES = (
    *("--data-source", "digits", "--batch-size", "500", "--extrapolation-lengths", "[2,3]"),
    *("--checkpoint-interval", "1", "--max-epochs", "2"),
)
WITH_WORKERS = {
    "sums": ("simple_function_recurrent", SUMS),
    "scored sums": ("simple_function_recurrent", SCORED),
    "words": ("number_translation", WORDS),
    "words of the paper": ("number_translation", (*PAPER, *WORDS)),
    "identity": ("identity_autoencoder", IDENTITY),
    "mystery": ("mystery_arithmetic", MYSTERY),
    "programs": ("program_evaluation", PROGRAMS),
    "world": ("gridworld_time", WORLD),
    "counting": ("mnist_counting", COUNTED),
    "even digits": ("even_digit_count", EVEN_DIGITS),
    "notebook": ("notebook_addition", NOTEBOOK),
    "trees": ("eml_recovery", TREES),
    "compared": ("comparison", COMPARED),
}
EVERY = {
    **WITH_WORKERS,
    "pairs": ("two_digit_mnist", PAIRS),
    "sequences": ("sequential_mnist", SEQUENCES),
}


IN_A_STACK = ("scored sums", "identity", "notebook", "trees", "compared")
"""What the engine trains: all runs are saved at once."""
IN_TWO_PROCESSES = ("sums", "mystery", "world")
"""One script for each thing to count: iterations, epochs, updates of episodes."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What seed 1 of a script leaves behind where it is trained alone."""

    @cache
    def trained_alone(name):
        script, words = EVERY[name]
        root = tmp_path_factory.mktemp("alone")
        assert train(root, script, *words, "--seed", "1") == 0
        return trained(root)

    return trained_alone


def one_of(found, alone):
    """The runs that were trained alone, too."""
    return {name: found[name] for name in alone}


@pytest.mark.parametrize("name", IN_TWO_PROCESSES)
def test_two_processes_change_nothing(name, alone, tmp_path):
    script, words = EVERY[name]
    two = (*words, "--seed", "0-1", "--workers", "2")
    with fork(tmp_path, script, *two, imports=DIGITS_LIBRARY) as process:
        told, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert "2 runs in 2 stacks on 2 processes" in told
    found = trained(tmp_path)
    assert len(found) == 2
    assert_identical(alone(name), one_of(found, alone(name)))


@pytest.mark.parametrize("name", EVERY)
def test_neither_another_seed_nor_a_kill_changes_a_run(name, alone, tmp_path):
    """The kill comes in the midst of the second run, after its first checkpoint, or of both."""
    script, words = EVERY[name]
    one = ("--workers", "1") if name in WITH_WORKERS else ()
    two = (*words, "--seed", "0-1", *one)
    killed = KILLED.format(saves=2 if name in IN_A_STACK else 4)
    with fork(tmp_path, script, *two, before=killed, imports=DIGITS_LIBRARY) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert [len(run.series) > 0 for run in trained(tmp_path).values()] == [True, True]
    assert train(tmp_path, script, *two, "--resume") == 0
    assert_identical(alone(name), one_of(trained(tmp_path), alone(name)))
