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
