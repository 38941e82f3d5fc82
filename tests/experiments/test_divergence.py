"""A loss that is not a number: logged, reported, exit code 3, and no harm to other runs."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

import stable_nalu as sn
from stable_nalu.result.export import any_runs
from tests.experiments.scripts import assert_same_run, read, run, run_names

SGD = "--operation add --layer-type linear --optimizer sgd"
EXPLODES = f"{SGD} --learning-rate 1e30"


@pytest.mark.parametrize("log_interval", ["4", "1000"])
def test_a_run_that_diverges(log_interval, capsys):
    words = f"{EXPLODES} --max-iterations 10 --log-interval {log_interval}"
    assert run("single_layer", words) == 3
    out = capsys.readouterr().out
    (name,) = run_names("single_layer", words)
    assert re.search(rf"^diverged by iteration \d+: {re.escape(name)}$", out, re.MULTILINE)
    (text,) = read(name).series("/diverged/text_summary").values()
    assert b"not a number" in text


def test_its_log_ends_where_it_diverged():
    words = f"{EXPLODES} --max-iterations 20 --log-interval 1"
    assert run("single_layer", words) == 3
    record = read(run_names("single_layer", words)[0])
    ((end, _),) = record.series("/diverged/text_summary").items()
    assert 0 < end < 10
    assert list(record.series("loss/train/total")) == list(range(end))


@pytest.mark.parametrize("engine", ["lanes", "torch"])
def test_weights_that_the_last_iteration_breaks(engine, capsys):
    # A gradient step to infinity: the next one leads nowhere, and there is no later iteration.
    words = f"{SGD} --learning-rate 1e38 --max-iterations 1 --log-interval 1000"
    assert run("single_layer", words, f"--engine {engine}") == 3
    assert "diverged: a weight is not a number at iteration 1\n" in capsys.readouterr().out


def test_a_loss_that_overflows_with_finite_weights(capsys):
    words = "--operation add --layer-type linear --max-iterations 0"
    huge = "--interpolation-range [1e20,2e20] --extrapolation-range [2e20,6e20]"
    assert run("single_layer", words, huge) == 3
    out = capsys.readouterr().out
    assert "diverged: " in out
    assert "loss_train: inf" in out


def test_a_run_that_has_diverged_stays_so_when_it_is_resumed(capsys):
    words = f"{SGD} --log-interval 2 --learning-rate 0.001 1e30"
    assert run("single_layer", words, "--max-iterations 6") == 3
    names = run_names("single_layer", words)
    before = read(names[1])
    assert run("single_layer", words, "--max-iterations 12 --load-checkpoint") == 3
    assert list(read(names[0]).series("loss/train/total")) == [0, 2, 4, 6, 8, 10, 12]
    assert repr(read(names[1]).values) == repr(before.values)


def test_an_evaluation_that_is_undefined_is_no_divergence():
    # At exactly zero weight the NRU is undefined in evaluation only for inputs of zero.
    words = "--operation div --layer-type NAC --max-iterations 2"
    test = "--extrapolation-range [1e20,6e20]"
    assert run("single_layer", words, test) == 0


def test_a_run_that_diverges_leaves_its_neighbours_alone():
    found = []
    for prefix, rate, code in (("calm", "0.002", 0), ("wild", "1e30", 3)):
        rates = f"--learning-rate 0.001 {rate} 0.003 --name-prefix {prefix}"
        words = f"{SGD} --max-iterations 24 --log-interval 6 {rates}"
        assert run("single_layer", words) == code
        found.append(run_names("single_layer", words))
    calm, wild = found
    for place in (0, 2):
        assert_same_run(calm[place], wild[place])
    assert "/diverged/text_summary" in read(wild[1]).tags


class Breaking(torch.nn.Module):
    """Its outputs are no numbers once its weights have come near their goal."""

    def __init__(self, in_features, out_features, *, breaks=True):
        super().__init__()
        self.breaks = breaks
        self.W = torch.nn.Parameter(torch.full((out_features, in_features), 0.5))

    def forward(self, x):
        y = x @ self.W.mT
        return torch.where(self.W.mean() > 0.9, y / 0 - y / 0, y) if self.breaks else y


SHORT = {"operation": "add", "learning_rate": 0.01, "log_interval": 10, "max_iterations": 90}
TWO = {"layer_option": {"breaks": [True, False]}}


def test_a_run_that_diverges_in_python_is_warned_of_and_has_no_finite_error():
    with pytest.warns(UserWarning, match="1 of 2 runs diverged, such as at step [1-9]0: "):
        runs = sn.train("single_layer", layer=Breaking, **SHORT, **TWO)
    ends = runs.outcomes
    assert list(ends["diverged"]) == [True, False]
    assert (list(ends["test_error"])[0], bool(ends["solved"][0])) == (np.inf, False)
    assert runs[0].table["metric.test.extrapolation"].notna().all(), "good rows are kept"
    assert ends["diverged_at"][0] == runs[0].table["step"].max() + 10
    assert np.isnan(ends["diverged_at"][1])
    assert np.isfinite(ends["test_error"][1])
    assert runs.best.place == 1


def test_summaries_and_files_take_no_good_row_of_a_run_that_diverged(tmp_path):
    with pytest.warns(UserWarning, match="diverged"):
        runs = sn.train("single_layer", layer=Breaking, out=tmp_path, **SHORT, **TWO)
    lenient = {"threshold": 1e3}
    both = sn.summarize(runs, by="layer_option", **lenient)
    assert list(both["success_rate"]) == [1, 0]
    assert sn.compare(runs[:1], runs[1:], **lenient).pairs == 1
    frame = pd.read_csv(written(runs, tmp_path))
    assert list(sn.summarize(frame, by="layer_option", **lenient)["success_rate"]) == [1, 0]


def written(runs, folder):
    """The table that `export/runs.py` makes of runs."""
    out = folder / "runs.csv"
    words = ["--tensorboard-dir", str(runs[0].folder.parent), "--csv-out", str(out)]
    assert any_runs(words) == 0
    return out


@pytest.mark.parametrize("script", ["single_layer", "simple_function_static"])
def test_a_run_without_a_number_from_the_start_is_in_the_outcomes(script):
    how = {"operation": "add", "interpolation_range": [1e30, 2e30], "max_iterations": 20}
    with pytest.warns(UserWarning, match="1 of 1 run diverged"):
        runs = sn.train(script, layer="linear", optimizer="sgd", learning_rate=1e30, **how)
    assert list(runs.outcomes["diverged"]) == [True]
    assert list(runs.outcomes["test_error"]) == [np.inf]
