"""Readers of programs: bars of digits and traces, and what stands beside them."""

import numpy as np
import pandas as pd
import pytest

from stable_nalu.dataset.programs import evaluated, shown, words
from stable_nalu.errors import UsageError
from stable_nalu.figure.answers import DigitBars, ProgramTraces
from stable_nalu.figure.entry import Context
from stable_nalu.figure.source import Source
from stable_nalu.figure.style import drawing
from stable_nalu.paper.drawing import Series

RANGES = ((0, 100), (100, 1000), (1000, 10_000))


def write(folder, name, shares, kind="addition"):
    """Runs of these shares of digits at 2 digits, half as many at 3 and a quarter at 4."""
    programs = evaluated(kind, {"addition": 1, "programs": 2}[kind], RANGES[0], RANGES[1:])
    rows = []
    for seed, share in enumerate(shares):
        for step in (0, 1000):
            row = {
                "name": f"run{seed}",
                "step": step,
                "seed": seed,
                "program": kind,
                "nesting": None,
                "train.range": "0 100",
                "test.ranges": "[100, 1000] [1000, 10000]",
            }
            columns = ("metric.valid", "metric.test.100-1000", "metric.test.1000-10000")
            for size, column in zip((1, 2, 4), columns, strict=True):
                row[f"{column}.digits"] = share / size if step else 0.0
            for (low, high), table in zip(RANGES, programs, strict=True):
                for at in range(table.lengths[shown(table)]):
                    row[f"metric.trace.{low}-{high}.{at}"] = 10.0 * at + seed
            rows.append(row)
    pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)


def drawn(part, folder, *names):
    series = tuple(Series((name,), name.upper()) for name in names)
    with drawing():
        figure, side = part.drawn(Context("mine", series, Source(folder)))
    return figure, next(iter(side.values()))


def test_bars_are_means_of_last_rows_with_one_deviation(tmp_path):
    write(tmp_path, "one", [0.4, 0.8])
    write(tmp_path, "two", [1.0, float("nan")])
    figure, side = drawn(DigitBars("{key}"), tmp_path, "one", "two")
    table = side.set_index(["model", "range"])
    assert table.loc[("ONE", "0-100"), "mean"] == pytest.approx(0.6)
    assert table.loc[("ONE", "0-100"), "deviation"] == pytest.approx(0.4 / 2**0.5)
    assert table.loc[("ONE", "1000-10000"), "mean"] == pytest.approx(0.15)
    # A run that is not a number has nothing right.
    assert table.loc[("TWO", "100-1000"), "mean"] == pytest.approx(0.25)
    (axes,) = figure.axes
    bars = [patch.get_height() for container in axes.containers[1::2] for patch in container]
    assert bars == pytest.approx([0.6, 0.3, 0.15, 0.5, 0.25, 0.125])
    ticks = [text.get_text() for text in axes.get_xticklabels()]
    assert ticks == ["2 digits\n(as in training)", "3 digits", "4 digits"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ONE", "TWO"]
    assert "Mean of 2 seeds, plus and minus one standard deviation." in figure.texts[0].get_text()


@pytest.mark.parametrize("kind", ["addition", "programs"])
def test_traces_stand_above_the_words_of_a_program(kind, tmp_path):
    write(tmp_path, "one", [0.5, 0.6], kind)
    figure, side = drawn(ProgramTraces("{key}", seed=1), tmp_path, "one")
    programs = evaluated(kind, {"addition": 1, "programs": 2}[kind], RANGES[0], RANGES[1:])
    for axes, table in zip(figure.axes, programs, strict=True):
        row = shown(table)
        text = words(table, row)
        assert [tick.get_text() for tick in axes.get_xticklabels()] == text
        result, answers = (np.asarray(line.get_ydata()) for line in axes.lines)
        assert set(result) == {table.results[row]}
        assert axes.get_title().endswith(f"digits, result {table.results[row]}")
        assert answers.tolist() == [10.0 * at + 1 for at in range(len(text))]
        low, high = axes.get_ylim()
        assert low < min(0, table.results[row]) <= max(0, table.results[row]) < high
    assert set(side["model"]) == {"ONE"}
    assert len(side) == sum(int(table.lengths[shown(table)]) for table in programs)


def test_nothing_to_draw_is_an_error(tmp_path):
    with pytest.raises(UsageError, match="nothing to draw"):
        drawn(DigitBars("{key}"), tmp_path, "none")
