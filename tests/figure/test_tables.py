"""LaTeX tables: cells, bold means, rows."""

import pandas as pd
import pytest

from stable_nalu.figure.entries import entry_of_files
from stable_nalu.figure.entry import Context
from stable_nalu.figure.source import Source
from stable_nalu.figure.tables import Table, best_cells, cell, latex, percent, scientific
from stable_nalu.paper.drawing import Runs, Threshold
from tests.figure.drawing import FAILED, FAST, metrics, run_name, solved_at

PART = Table("t", Runs("operation", Threshold()), "some-label", "Words.")


def summary(**changes):
    row = {
        "model": "NMU",
        "operation": "mul",
        "success.rate.mean": 0.31,
        "success.rate.lower": 0.23,
        "success.rate.upper": 0.41,
        "converged.at.median": 2_800_000.0,
        "converged.at.mean": 2_800_000.0,
        "converged.at.lower": float("nan"),
        "converged.at.upper": float("nan"),
        "sparse.error.mean": float("nan"),
        "sparse.error.lower": float("nan"),
        "sparse.error.upper": float("nan"),
    }
    return row | changes


def test_numbers():
    assert percent(0.314) == "31\\%"
    assert scientific(2_800_000) == "2.8 \\cdot 10^{6}"
    assert scientific(0.00042) == "4.2 \\cdot 10^{-4}"


def test_cells():
    row = pd.Series(summary())
    assert cell(row, "success.rate.mean", False) == "$31\\% {~}^{+10\\%}_{-8\\%}$"
    assert cell(row, "converged.at.mean", True) == "$\\mathbf{2.8 \\cdot 10^{6}}$"
    assert cell(row, "sparse.error.mean", False) == "---"


def test_best_values_are_bold_with_ties():
    rows = pd.DataFrame(
        [
            summary(),
            summary(model="NALU"),
            summary(model="NAU", **{"success.rate.mean": 0.1, "converged.at.mean": 5.0}),
        ]
    )
    best = best_cells(rows, PART, (("success.rate.mean", "", ""), ("converged.at.mean", "", "")))
    assert best == {
        (0, "success.rate.mean"),
        (1, "success.rate.mean"),
        (2, "converged.at.mean"),
    }


@pytest.mark.parametrize(("long", "environment"), [(False, "table"), (True, "longtable")])
def test_the_whole_table(long, environment):
    rows = pd.DataFrame([summary(), summary(model="NALU"), summary(operation="add")])
    part = Table("t", Runs("operation", Threshold()), "some-label", "Words.", long=long)
    text = latex(rows, part)
    assert text.startswith(f"\\begin{{{environment}}}")
    assert text.count("\\multirow{2}{*}{$\\bm{\\times}$}") == 1
    assert text.count("\\\\*") == 1  # no page break inside an operation
    assert "{crllll}" in text
    assert "\\label{tab:some-label}" in text
    assert text.count("{") == text.count("}")


def test_a_table_by_a_number(tmp_path):
    """Rows ascend by it, runs without it are left out, and its column has its name."""
    fast = {run_name(seed=s).replace("adam-0.00100", "adam-0.01000"): FAILED for s in range(2)}
    metrics(tmp_path / "a.csv", fast | {run_name(): solved_at(0)})
    entry = entry_of_files("table", [tmp_path / "a.csv"], ["x"], "mine", "learning.rate")
    source = Source(tmp_path)
    text = entry.parts[0].render(Context("mine", entry.series, source, estimators=FAST)).text
    assert "learning.rate" in text
    assert "Range" not in text
    assert text.index("0.001 ") < text.index("0.01 ")
