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
EIGHT, EPOCHS = "--checkpoint-interval 3 --max-iterations 8", "--checkpoint-interval 1 --max-epochs"
SUMS = "--interpolation-length 5 --extrapolation-length 8"
PAPER = "--number-range paper --head final --hidden-size 8"
EVERY = {
    "sums": f"simple_function_recurrent --layer-type GumbelNAC {SUMS} {EIGHT} --engine torch",
    "scored sums": f"simple_function_recurrent --layer-type LSTM {SUMS} --random-models 2 {EIGHT}",
    "words": f"number_translation --layer-type NALU {EPOCHS} 3",
    "words of the paper": f"number_translation {PAPER} --layer-type NALU {EPOCHS} 3",
    "identity": f"identity_autoencoder --layer-type ReLU {EIGHT}",
    "mystery": "mystery_arithmetic --input-size 8 --output-size 4 --train-size 70 --test-size 40 "
    f"--shuffle {EPOCHS} 2",
    # Killed within a block of batches that were drawn at once.
    "programs": "program_evaluation --program programs --batch-size 8 --hidden-size 8 "
    "--log-interval 8 --checkpoint-interval 9 --max-iterations 21",
    "world": "gridworld_time --layer-type NAC --episodes-per-update 4 --hidden-size 4 "
    f"--eval-stimuli [5,6] --eval-episodes 4 --log-interval 4 {EIGHT}",
    "counting": "mnist_counting --cnn small --cnn-dropout 0.5 --extrapolation-lengths [1,20] "
    f"--interpolation-length 30 --test-repeats 1 {EPOCHS} 2",
    "even digits": "even_digit_count --image-size 40 --max-digits 2 --min-distance 5 "
    "--batch-size 4 --valid-images 9 --test-images 9 --layer-type NAC --log-interval 8 "
    f"--train-images 6 {EIGHT}",
    "notebook": f"notebook_addition --train-size 50 {EIGHT}",
    "trees": f"eml_recovery --depth 1 {EIGHT}",
    "compared": f"comparison {EIGHT}",
    "pairs": "two_digit_mnist --data-source digits --samples-per-permutation 1 --batch-size 45 "
    f"--operation mul {EPOCHS} 2",
    "sequences": "sequential_mnist --data-source digits --batch-size 500 "
    f"--extrapolation-lengths [2,3] {EPOCHS} 2",
}
WITHOUT_WORKERS = ("pairs", "sequences")
IN_A_STACK = ("scored sums", "identity", "notebook", "trees", "compared")
"""What the engine trains: all runs are saved at once."""
IN_TWO_PROCESSES = ("sums", "mystery", "world")
"""One script for each thing to count: iterations, epochs, updates of episodes."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What seed 1 of a script leaves behind where it is trained alone."""

    @cache
    def trained_alone(name):
        script, *words = EVERY[name].split()
        root = tmp_path_factory.mktemp("alone")
        assert train(root, script, *words, "--seed", "1") == 0
        return trained(root)

    return trained_alone


def one_of(found, alone):
    """The runs that were trained alone, too."""
    return {name: found[name] for name in alone}


@pytest.mark.parametrize("name", IN_TWO_PROCESSES)
def test_two_processes_change_nothing(name, alone, tmp_path):
    script, *words = EVERY[name].split()
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
    script, *words = EVERY[name].split()
    one = () if name in WITHOUT_WORKERS else ("--workers", "1")
    two = (*words, "--seed", "0-1", *one)
    killed = KILLED.format(saves=2 if name in IN_A_STACK else 4)
    with fork(tmp_path, script, *two, before=killed, imports=DIGITS_LIBRARY) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert [len(run.logged) > 0 for run in trained(tmp_path).values()] == [True, True]
    assert train(tmp_path, script, *two, "--resume") == 0
    assert_identical(alone(name), one_of(trained(tmp_path), alone(name)))
