"""Programs: what their text computes, how they are drawn, and in which order they are read."""

import numpy as np
import pytest

from stable_nalu.dataset.programs import TOKENS, draw, evaluated, in_steps, shown, words, write


def programs(kind="programs", count=1000, nesting=2, low=0, high=100, seed=0):
    return write(draw(np.random.default_rng(seed), kind, count, nesting, low, high))


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


def test_operations_places_and_comparators_have_equal_chances():
    table = programs("programs", 30_000, 1)
    shares = [(table.tokens == TOKENS.index(word)).any(1).mean() for word in "+-<>"]
    assert shares == pytest.approx([1 / 3, 1 / 3, 1 / 6, 1 / 6], abs=0.01)
    nested = programs("addition", 30_000, 2)
    opens = (nested.tokens[:, 0] == TOKENS.index("(")).mean()
    assert opens == pytest.approx(1 / 2, abs=0.01)
    values = programs("addition", 30_000, 1).values[:, [0, 2]]
    assert (values.min(), values.max()) == (0, 99)
    assert values.mean() == pytest.approx(49.5, abs=0.5)


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


def test_tested_programs_are_the_same_for_every_run_and_others_by_range():
    one = evaluated("programs", 2, (0, 100), [(100, 1000), (1000, 10_000)])
    assert [int(p.values.max()) for p in one] == pytest.approx([99, 999, 9995], abs=5)
    again = evaluated("programs", 2, (0, 100), [(100, 1000)])
    assert (again[1].results == one[1].results).all()
    assert all(len(p.results) == 1000 for p in one)
    assert not (one[1].tokens[:, :7] == one[2].tokens[:, :7]).all()
    lengths = [int(p.lengths[shown(p)]) for p in one]
    assert lengths == [int(np.median(p.lengths)) for p in one]
