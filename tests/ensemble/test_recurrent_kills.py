"""Scripts of sequences and of pictures that are killed end as if nothing had happened."""

import signal

import pytest

from tests.ensemble.kills import Kill, disturb
from tests.ensemble.plans import assert_identical, fork, trained

SUMS = (
    *("--layer-type", "ReRegualizedLinearNAC", "--seed", "0-2", "--workers", "1"),
    *("--checkpoint-interval", "20"),
)
WORDS = (
    *("--layer-type", "GumbelNAC", "--seed", "0-2", "--workers", "1"),
    *("--checkpoint-interval", "10"),
)
PAPER = (
    *("--number-range", "paper", "--head", "final", "--hidden-size", "4"),
    *("--layer-type", "NALU", "--seed", "0-2", "--workers", "1", "--checkpoint-interval", "10"),
)
WORLD = (
    *("--layer-type", "NAC", "--seed", "0-2", "--workers", "1", "--checkpoint-interval", "5"),
    *("--episodes-per-update", "4", "--hidden-size", "4", "--log-interval", "5"),
    *("--eval-stimuli", "[5,6]", "--eval-episodes", "4", "--eval-interval", "10"),
)
DIGITS = (
    *("--cnn", "mlp8", "--extrapolation-lengths", "[1,20]", "--test-repeats", "1"),
    *("--workers", "1", "--checkpoint-interval", "3"),
)
COUNTED = (*DIGITS, "--seed", "0-2")
ADDED = (
    *DIGITS,
    "--seed",
    "1-2",
    "--task",
    "sum",
    "--layer-type",
    "LSTM",
    "--sequence-loss",
    "all",
)
DROPPED = (
    *("--cnn", "small", "--cnn-dropout", "0.5", "--extrapolation-lengths", "[1]"),
    *("--test-repeats", "1", "--batch-size", "4", "--seed", "0-1", "--workers", "1"),
    *("--interpolation-length", "30", "--checkpoint-interval", "1"),
)
"""Masks of dropout come from generators that a checkpoint has to hold, too."""
EVEN_DIGITS = (
    *("--image-size", "40", "--max-digits", "2", "--min-distance", "5", "--batch-size", "4"),
    *("--valid-images", "9", "--test-images", "9", "--seed", "0-1", "--workers", "1"),
    *("--layer-type", "NAC", "--log-interval", "20", "--checkpoint-interval", "10"),
)
SHOWN_AGAIN = (*EVEN_DIGITS, "--train-images", "6")
STACKED = (*EVEN_DIGITS, "--ensemble-size", "2")
ON_DIGITS = ("mnist_counting", "even_digit_count")
DIGITS_LIBRARY = "sklearn.datasets"
KILLS = (
    Kill(signal.SIGTERM, "log"),
    Kill(signal.SIGKILL, "checkpoint", times=2),
    Kill(signal.SIGTERM, "checkpoint"),
    Kill(signal.SIGKILL, "checkpoint", seconds=0.1),
)


def results(root):
    """What scripts write besides logs and models, if they do."""
    return [file.read_text(encoding="utf-8") for file in (root / "results").glob("*")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "words", "flag", "kills", "least", "runs"),
    [
        ("simple_function_recurrent", SUMS, "--max-iterations", KILLS, 50, 3),
        ("number_translation", WORDS, "--max-epochs", KILLS, 50, 3),
        ("number_translation", PAPER, "--max-epochs", KILLS[:3], 50, 3),
        ("gridworld_time", WORLD, "--max-iterations", KILLS[:3], 20, 3),
        ("mnist_counting", COUNTED, "--max-epochs", KILLS[:1], 20, 3),
        ("mnist_counting", ADDED, "--max-epochs", KILLS[1:2], 20, 2),
        ("mnist_counting", DROPPED, "--max-epochs", KILLS[1:2], 3, 2),
        ("even_digit_count", EVEN_DIGITS, "--max-iterations", KILLS[1:2], 50, 2),
        ("even_digit_count", SHOWN_AGAIN, "--max-iterations", KILLS[:1], 50, 2),
        ("even_digit_count", STACKED, "--max-iterations", KILLS[3:], 50, 2),
    ],
)
def test_kills(script, words, flag, kills, least, runs, tmp_path):
    endless = (flag, "100000000")
    imports = DIGITS_LIBRARY if script in ON_DIGITS else ""
    length = disturb(tmp_path / "disturbed", words, kills, least, script, endless, imports=imports)
    for name, more in (("disturbed", ("--resume",)), ("undisturbed", ())):
        with fork(tmp_path / name, script, *words, *length, *more, imports=imports) as process:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
    found = trained(tmp_path / "disturbed")
    assert len(found) == runs
    assert_identical(found, trained(tmp_path / "undisturbed"))
    told = results(tmp_path / "disturbed")
    silent = ("mnist_counting", "even_digit_count", "gridworld_time")
    assert len(told) == (script not in silent)
    assert told == results(tmp_path / "undisturbed")
