"""Fifty runs in stacks and groups, killed again and again, end as if nothing had happened."""

import random
import signal

import pytest

from tests.ensemble.kills import Kill, disturb
from tests.ensemble.plans import assert_identical, fork, trained

RANGES = (
    *("--interpolation-range", "[1,2]", "[-2,2]", "[[-2,-1],[1,2]]"),
    *("--extrapolation-range", "[2,6]"),
)
"""Of a seed, the first two are drawn together, and the last one by itself."""
WORDS = (
    *("--layer-type", "ReRegualizedLinearMNAC", "--operation", "mul", "--nmu-noise"),
    *("--batch-size", "16", "--clip-grad-norm", "1"),
    *("--regualizer-scaling-start", "250", "--regualizer-scaling-end", "1000"),
    *("--log-interval", "50", "--checkpoint-interval", "100"),
)
FIFTY = (*WORDS, *RANGES, "--seed", "0-16")
GROUPED = (
    *("--seed", "0-8", "--noise-range", "[1,5]", "[1,2]", "--ensemble-size", "14"),
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
LEAST = 1300
"""Iterations, past the ramp of the penalty."""


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


def assert_nothing_is_lost(root, words, count, runs, script="single_layer", **keywords):
    """Train with and without kills, and compare every event and checkpoint."""
    length = disturb(root / "disturbed", words, kills(count), LEAST, script, **keywords)
    for name, more in (("disturbed", ("--resume",)), ("undisturbed", ())):
        with fork(root / name, script, *words, *length, *more, **keywords) as process:
            _, errors = process.communicate()
            assert (process.returncode, errors) == (0, "")
    found = trained(root / "disturbed")
    assert len(found) == runs
    assert_identical(found, trained(root / "undisturbed"))


@pytest.mark.slow
def test_ten_kills(tmp_path):
    assert_nothing_is_lost(tmp_path, (*WORDS, *RANGES, *GROUPED), 10, 54)


@pytest.mark.slow
def test_three_kills_of_one_process(tmp_path):
    assert_nothing_is_lost(tmp_path, (*FIFTY, "--workers", "1"), 3, 51)


@pytest.mark.slow
def test_ten_kills_of_a_group_with_many_inputs(tmp_path):
    assert_nothing_is_lost(tmp_path, WIDE, 10, 6, "simple_function_static")
