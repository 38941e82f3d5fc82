"""Recurrent scripts that are killed again and again end as if nothing had happened."""

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
PAPER = (
    *("--number-range", "paper", "--head", "final", "--hidden-size", "4"),
    *("--layer-type", "NALU", "--seed", "0-2", "--workers", "1", "--checkpoint-interval", "10"),
)
WORLD = (
    *("--layer-type", "NAC", "--seed", "0-2", "--workers", "1", "--checkpoint-interval", "5"),
    *("--episodes-per-update", "4", "--hidden-size", "4", "--log-interval", "5"),
    *("--eval-stimuli", "[5,6]", "--eval-episodes", "4", "--eval-interval", "10"),
)
KILLS = (
    Kill(signal.SIGTERM, "log"),
    Kill(signal.SIGKILL, "checkpoint", times=2),
    Kill(signal.SIGTERM, "checkpoint"),
    Kill(signal.SIGKILL, "checkpoint", seconds=0.1),
)


def results(root):
    files = (root / "results").glob("*")
    return [file.read_text(encoding="utf-8") for file in files]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "words", "flag", "kills", "least"),
    [
        ("simple_function_recurrent", SUMS, "--max-iterations", KILLS, 50),
        ("number_translation", WORDS, "--max-epochs", KILLS, 50),
        ("number_translation", PAPER, "--max-epochs", KILLS[:3], 50),
        ("gridworld_time", WORLD, "--max-iterations", KILLS[:3], 20),
    ],
)
def test_kills(script, words, flag, kills, least, tmp_path):
    endless = (flag, "100000000")
    length = disturb(tmp_path / "disturbed", words, kills, least, script, endless)
    for name, more in (("disturbed", ("--resume",)), ("undisturbed", ())):
        with start(tmp_path / name, script, *words, *length, *more) as process:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
    found = trained(tmp_path / "disturbed")
    assert len(found) == 3
    assert_identical(found, trained(tmp_path / "undisturbed"))
    assert results(tmp_path / "disturbed") == results(tmp_path / "undisturbed")
