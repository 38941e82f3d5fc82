"""Runs that are killed again and again at moments of all kinds end as if nothing had happened."""

import random
import signal

import pytest

from tests.ensemble.kills import Kill, assert_nothing_is_lost

NMU = (
    *("--layer-type", "ReRegualizedLinearMNAC", "--operation", "mul", "--nmu-noise"),
    *("--batch-size", "16", "--clip-grad-norm", "1"),
    *("--regualizer-scaling-start", "250", "--regualizer-scaling-end", "1000"),
    *("--log-interval", "50", "--checkpoint-interval", "100"),
    *("--interpolation-range", "[1,2]", "[-2,2]", "[[-2,-1],[1,2]]"),
    *("--extrapolation-range", "[2,6]"),
)
"""Of a seed, the first two ranges are drawn together, and the last one by itself."""
GROUPED = (
    *("--seed", "0-5", "--noise-range", "[1,5]", "[1,2]", "--ensemble-size", "10"),
    *("--workers", "2"),
)
"""Two processes with two stacks each, which draw the same samples and take turns."""
WIDE = (
    *("--layer-type", "ReRegualizedLinearNAC", "--nac-mul", "mnac", "--operation", "mul"),
    *("--regualizer-scaling-start", "250", "--regualizer-scaling-end", "1000"),
    *("--regualizer", "10", "1", "--seed", "0-2", "--ensemble-size", "3", "--workers", "1"),
    *("--input-size", "40", "--log-interval", "100", "--checkpoint-interval", "100"),
)
"""Two stacks on the same samples of more inputs than the engine writes out."""
IN_TORCH = (*NMU, "--seed", "0", "--workers", "1", "--engine", "torch")
LEAST = 1300
"""Iterations, past the ramp of the penalty."""


def drawn_kills(count):
    """Kills of both kinds at moments of all kinds, drawn from a fixed seed."""
    dice = random.Random(20)
    return [
        Kill(
            dice.choice((signal.SIGKILL, signal.SIGTERM)),
            dice.choice(("", "log", "checkpoint")),
            dice.randint(1, 2),
            dice.choice((0.0, dice.uniform(0, 0.02), dice.uniform(0, 0.4))),
        )
        for _ in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "words", "count", "runs"),
    [
        ("single_layer", (*NMU, *GROUPED), 6, 36),
        ("single_layer", (*NMU, "--seed", "0-16", "--workers", "1"), 2, 51),
        ("simple_function_static", WIDE, 5, 6),
        ("single_layer", IN_TORCH, 2, 3),
    ],
    ids=["grouped", "fifty of one process", "wide", "in torch"],
)
def test_arithmetic_runs(script, words, count, runs, tmp_path):
    assert_nothing_is_lost(tmp_path, script, words, drawn_kills(count), LEAST, runs)


SHORT = ("--workers", "1", "--checkpoint-interval")
RECURRENT = ("--layer-type", "GumbelNAC", "--seed", "0-1", *SHORT, "10")
WORLD = (
    *("--layer-type", "NAC", "--seed", "0-1", *SHORT, "5", "--episodes-per-update", "4"),
    *("--hidden-size", "4", "--log-interval", "5"),
    *("--eval-stimuli", "[5,6]", "--eval-episodes", "4", "--eval-interval", "10"),
)
PROGRAMS = (
    *("--program", "programs", "--layer-type", "NALU", "--seed", "0-1", *SHORT, "7"),
    *("--batch-size", "4", "--hidden-size", "4", "--log-interval", "100000"),
    *("--test-ranges", "[[100,1000]]"),
)
"""States of the generators are among what is resumed, also within a block of batches."""
COUNTING = ("--seed", "0-1", "--extrapolation-lengths", "[1,20]", "--test-repeats", "1", *SHORT)
ADDED = (
    *("--task", "sum", "--layer-type", "LSTM", "--sequence-loss", "all", "--cnn", "mlp8"),
    *(*COUNTING, "3"),
)
DROPPED = (
    *("--cnn", "small", "--cnn-dropout", "0.5", "--batch-size", "4"),
    *("--interpolation-length", "30", *COUNTING, "1"),
)
"""Masks of dropout come from generators that a checkpoint has to hold, too."""
EVEN_DIGITS = (
    *("--image-size", "40", "--max-digits", "2", "--min-distance", "5", "--batch-size", "4"),
    *("--valid-images", "9", "--test-images", "9", "--seed", "0-1", "--layer-type", "NAC"),
    *("--log-interval", "20", *SHORT, "10"),
)
TERM, KILL = Kill(signal.SIGTERM, "log"), Kill(signal.SIGKILL, "checkpoint", times=2)
LATER = Kill(signal.SIGKILL, "checkpoint", seconds=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "words", "flag", "kills", "least"),
    [
        ("simple_function_recurrent", RECURRENT, "--max-iterations", (KILL, LATER), 50),
        ("number_translation", RECURRENT, "--max-epochs", (TERM, KILL), 30),
        ("gridworld_time", WORLD, "--max-iterations", (TERM, KILL), 20),
        ("program_evaluation", PROGRAMS, "--max-iterations", (KILL, LATER), 60),
        ("mnist_counting", ADDED, "--max-epochs", (KILL,), 10),
        ("mnist_counting", DROPPED, "--max-epochs", (KILL,), 3),
        (
            "even_digit_count",
            (*EVEN_DIGITS, "--train-images", "6"),
            "--max-iterations",
            (TERM,),
            50,
        ),
        (
            "even_digit_count",
            (*EVEN_DIGITS, "--ensemble-size", "2"),
            "--max-iterations",
            (LATER,),
            50,
        ),
    ],
)
def test_other_runs(script, words, flag, kills, least, tmp_path):
    imports = "sklearn.datasets" if script in ("mnist_counting", "even_digit_count") else ""
    assert_nothing_is_lost(tmp_path, script, words, kills, least, 2, flag, imports)
