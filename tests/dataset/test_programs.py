"""Programs: what their text computes, how they are drawn, and in which order they are read."""

import numpy as np
import pytest

from stable_nalu.task.program_evaluation import draw, in_steps, words


def programs(kind="programs", count=1000, nesting=2, low=0, high=100, seed=0):
    return draw(np.random.default_rng(seed), kind, count, nesting, low, high)


@pytest.mark.parametrize(
    ("kind", "nesting", "low", "high"),
    [
        ("addition", 1, 0, 100),
        ("addition", 3, 10, 1000),
        ("programs", 1, 0, 100),
        ("programs", 2, 0, 100),
        ("programs", 2, 1000, 10_000),
        ("programs", 5, 0, 10),
    ],
)
def test_python_computes_the_same(kind, nesting, low, high):
    table = programs(kind, 300, nesting, low, high)
    for row in range(300):
        text = words(table, row)
        assert eval(" ".join(text)) == table.results[row], " ".join(text)
        numbers = [int(word) for word in text if word.isdigit()]
        assert all(low <= number < high for number in numbers)
        assert sum(word in ("+", "-", "if") for word in text) == nesting
        assert len(text) == table.lengths[row]


def test_steps_are_rows_of_the_table():
    """Three batches: each word is where its step says, and results follow."""
    table = programs(count=15, seed=1)
    for batch, steps in enumerate(in_steps(table, 3)):
        starts = np.cumsum((0, *steps.counts))
        assert len(steps.tokens) == starts[-1]
        assert list(steps.counts) == sorted(steps.counts, reverse=True)
        rows = np.arange(5) + batch * 5
        rows = rows[(-table.lengths[rows]).argsort(kind="stable")]
        assert steps.results.tolist() == table.results[rows].tolist()
        for place, row in enumerate(rows):
            length = table.lengths[row]
            at = starts[:length] + place
            assert steps.tokens[at].tolist() == table.tokens[row, :length].tolist()
            assert steps.values[at].tolist() == table.values[row, :length].tolist()
            assert steps.ends[place] == at[-1]
