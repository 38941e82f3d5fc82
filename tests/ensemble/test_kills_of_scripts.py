"""Recurrent scripts, and those of digit images, that are killed end as if nothing had happened."""

import signal

import pytest

from tests.ensemble.kills import Kill, disturb
from tests.ensemble.plans import assert_identical, start, trained

SUMS = (
    *("--layer-type", "ReRegualizedLinearNAC", "--seed", "0-2", "--workers", "1"),
    *("--checkpoint-interval", "20"),
)
WORDS = (
    *("--layer-type", "GumbelNAC", "--seed", "0-2", "--workers", "1"),
    *("--checkpoint-interval", "10"),
)
KILLS = (
    Kill(signal.SIGTERM, "log"),
    Kill(signal.SIGKILL, "checkpoint", times=2),
    Kill(signal.SIGTERM, "checkpoint"),
    Kill(signal.SIGKILL, "checkpoint", seconds=0.1),
)
EVEN_DIGITS = (
    *("--image-size", "40", "--max-digits", "2", "--min-distance", "5", "--batch-size", "4"),
    *("--valid-images", "9", "--test-images", "9", "--seed", "0-1", "--workers", "1"),
    *("--layer-type", "NAC", "--log-interval", "20", "--checkpoint-interval", "10"),
)


def results(root):
    (file,) = (root / "results").iterdir()
    return file.read_text(encoding="utf-8")


def assert_nothing_is_lost(root, script, words, kills, least, flag="--max-iterations"):
    """Train with and without kills, and compare every event and checkpoint; return the runs."""
    length = disturb(root / "disturbed", words, kills, least, script, (flag, "100000000"))
    for name, more in (("disturbed", ("--resume",)), ("undisturbed", ())):
        with start(root / name, script, *words, *length, *more) as process:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
    found = trained(root / "disturbed")
    assert_identical(found, trained(root / "undisturbed"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "words", "flag"),
    [
        ("simple_function_recurrent", SUMS, "--max-iterations"),
        ("number_translation", WORDS, "--max-epochs"),
    ],
)
def test_kills(script, words, flag, tmp_path):
    assert len(assert_nothing_is_lost(tmp_path, script, words, KILLS, 50, flag)) == 3
    assert results(tmp_path / "disturbed") == results(tmp_path / "undisturbed")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kill", "more"),
    [
        (Kill(signal.SIGKILL, "checkpoint", times=2), ()),
        (Kill(signal.SIGTERM, "log"), ("--train-images", "6")),
        (Kill(signal.SIGKILL, "checkpoint", seconds=0.1), ("--ensemble-size", "2")),
    ],
)
def test_kills_of_counting(kill, more, tmp_path):
    words = (*EVEN_DIGITS, *more)
    assert len(assert_nothing_is_lost(tmp_path, "even_digit_count", words, [kill], 50)) == 2
