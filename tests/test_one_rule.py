"""When a run is solved: one rule for console, HParams, summary, drawing, verdict and challenge."""

import re

import numpy as np
import pytest

import stable_nalu
from stable_nalu.base.files import tensorboard_root
from stable_nalu.base.papers import FLAT
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.statistics.setups import SHIPPED, limit_of
from stable_nalu.statistics.summary import verdict
from tests.experiments.scripts import read, run, run_names

TEST = "metric.test.extrapolation"
COMMAND = (
    *("single_layer_benchmark", "--operation", "add", "--layer-type", "ReRegualizedLinearNAC"),
    *("--learning-rate", "0.02", "0.03", "--seed", "0-2", "--log-interval", "10"),
    *("--interpolation-range", "[-20,-10]", "[1,2]", "--extrapolation-range", "[-40,-20]", "[2,6]"),
    *("--max-iterations", "170"),
)


def test_all_programs_count_the_same_runs_as_solved(tmp_path, capsys):
    assert run(*COMMAND) == 0
    (*_, (solved, below)) = re.findall(r"solved (\d+)/12 (.*?), median", capsys.readouterr().out)
    runs = stable_nalu.read_runs(tensorboard_root() / "t", progress_bar=False)
    last = runs.groupby("name")[TEST].last()
    count = sum(limit_of(name).met(error) for name, error in last.items())
    assert 0 < count < int((last.to_numpy() < FLAT).sum()), (
        "one threshold for all would count others"
    )
    assert (int(solved), below) == (count, "below 6.7e-09 to 3.7e-07")
    actual = [read(name).series("hparam/solved")[170] for name in run_names(*COMMAND)]
    assert sum(actual) == count
    table = stable_nalu.summarize(runs, technical=True)
    assert sorted(set(table["threshold"])) == pytest.approx([6.666667e-9, 3.666667e-7])
    path = tmp_path / "runs.csv"
    runs.to_csv(path, index=False)
    assert verdict(["--csv", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("success") for line in lines) == count
    assert sum("threshold 6.66667e-09" in line for line in lines) == 6
    assert_drawn_and_summarised(runs, count)


def test_figures_of_the_benchmark_are_judged_task_by_task():
    """Which is how a challenger and its rivals are, too."""
    assert EXPERIMENTS["benchmark_sltr_add"].judgement.threshold is None
    assert EXPERIMENTS["nips-sltr-in2"].judgement.threshold == FLAT


def assert_drawn_and_summarised(runs, solved):
    """Whatever is asked for: one threshold goes before tables, and these before the usual ones."""
    by_rate = {f"{rate:g}": table for rate, table in runs.groupby("learning.rate")}
    tables = {"exp_setups": SHIPPED[:1]}
    asked = [({}, solved), (tables, solved), (tables | {"threshold": 1e9}, 12)]
    for options, count in asked:
        axes = stable_nalu.plot(by_rate, "success", **options).axes[0]
        rates = [r for line in axes.lines for r in np.ravel(line.get_ydata()) if not np.isnan(r)]
        assert sum(3 * rate for rate in rates) == pytest.approx(count)
        summary = stable_nalu.summarize(runs, technical=True, **options)
        actual = summary["success.rate.mean"].to_numpy() @ summary["runs"].to_numpy()
        assert actual == pytest.approx(count)
