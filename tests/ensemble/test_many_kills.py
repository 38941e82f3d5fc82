"""An ensemble of fifty runs, killed again and again, ends as if nothing had happened."""

import random
import signal

import pytest

from tests.ensemble.kills import Kill, disturb
from tests.ensemble.plans import assert_identical, start, trained

FIFTY = (
    *("--layer-type", "ReRegualizedLinearMNAC", "--operation", "mul", "--nmu-noise"),
    *("--seed", "0-24", "--batch-size", "16", "--clip-grad-norm", "1"),
    *("--interpolation-range", "[1,2]", "[[-2,-1],[1,2]]", "--extrapolation-range", "[2,6]"),
    *("--regualizer-scaling-start", "500", "--regualizer-scaling-end", "2500"),
    *("--log-interval", "50", "--checkpoint-interval", "100"),
)
LEAST = 3000
"""Iterations, past the ramp of the penalty."""
COMPILE_ALL = (
    "from stable_nalu.training.compiled import policy as s; "
    "s.WORK_WORTH_COMPILING = s.ELEMENTS_WORTH_COMPILING = 0"
)


def kills(count):
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


def assert_nothing_is_lost(root, words, count, before=""):
    """Train with and without kills, and compare every event and checkpoint."""
    length = disturb(root / "disturbed", words, kills(count), LEAST, before=before)
    for name, more in (("disturbed", ("--resume",)), ("undisturbed", ())):
        with start(root / name, "single_layer", *words, *length, *more, before=before) as process:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
    found = trained(root / "disturbed")
    assert len(found) == 50
    assert_identical(found, trained(root / "undisturbed"))


@pytest.mark.slow
def test_ten_kills(tmp_path):
    assert_nothing_is_lost(tmp_path, (*FIFTY, "--workers", "2", "--no-compile"), 10)


@pytest.mark.slow
def test_kills_of_compiled_training(tmp_path):
    assert_nothing_is_lost(tmp_path, (*FIFTY, "--workers", "1"), 3, COMPILE_ALL)
