"""Callbacks and loggers of `sn.train`: what they see, what they stop, and what they leave alone."""

import re

import numpy as np
import pandas as pd
import pytest
import torch

import stable_nalu as sn
from stable_nalu.callbacks import EarlyStop, Optuna, Print
from stable_nalu.errors import UsageError

HOW = {"operation": "mul", "max_iterations": 200, "log_interval": 20}
TEST = "metric/test/extrapolation"
ENGINES = pytest.mark.parametrize("engine", ["lanes", "torch"])


class Seen:
    """Keeps all that it is shown, and stops one seed at a step."""

    def __init__(self, seed=None, step=0):
        self.own, self.step, self.rows, self.ends = f" s{seed}", step, [], {}

    def on_log(self, run, step, metrics):
        self.rows.append((run, step, metrics[TEST]))
        torch.rand(3), np.random.rand(3)  # which must change no run
        return self.own in run and step >= self.step

    log = on_log

    def on_end(self, run, outcome):
        assert run not in self.ends
        self.ends[run] = outcome


def train(out, *callbacks, **more):
    how = {"layer": "NAC", "seed": range(3), "out": out, "callbacks": callbacks} | HOW | more
    return sn.train("single_layer", **how)


def assert_same(runs, table):
    one, two = (frame.drop(columns="wall.time") for frame in (runs.table, table))
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def assert_weights_equal(run, other):
    one, two = (sn.load(run).state_dict() for run in (run, other))
    assert all(torch.equal(one[name], two[name]) for name in one)


@ENGINES
def test_a_stopped_run_ends_alone(tmp_path, engine):
    whole, seen = train(tmp_path / "whole", engine=engine), Seen(1, 60)
    runs = train(tmp_path / "stopped", seen, engine=engine)
    kept = (whole["name"] != whole.names[1]) | (whole["step"] <= 60)
    assert_same(runs, whole.table.loc[kept].reset_index(drop=True))
    assert not runs.outcomes["diverged"].any()
    ends = [seen.ends[name] for name in runs.names]
    assert [(end.stopped, end.step) for end in ends] == [(False, 200), (True, 60), (False, 200)]
    short = train(tmp_path / "short", seed=1, engine=engine, max_iterations=60)
    for run, other in zip(runs, (whole[0], short[0], whole[2]), strict=True):
        assert_weights_equal(run, other)
    again = Seen()
    assert_same(train(tmp_path / "stopped", again, engine=engine), runs.table)
    assert again.rows == []


@ENGINES
def test_a_killed_call_goes_on_to_the_same_rows(tmp_path, engine):
    """Callbacks, too, go on from what they were: without its state, one would stop no run."""
    how = {"engine": engine, "checkpoint_interval": 50}

    def callbacks():
        return EarlyStop("loss/train/regualizer", patience=8), Seen(0, 40)

    def kill(run, step, metrics):
        if step == 120 and run.endswith(" s2"):
            raise KeyboardInterrupt  # which saves nothing, unlike a signal

    whole = train(tmp_path / "whole", *callbacks(), **how)
    assert list(whole.groupby("name", sort=False)["step"].max()) == [40, 160, 160]
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "killed", *callbacks(), kill, **how)
    patient, seen = callbacks()
    resumed = train(tmp_path / "killed", patient, seen, lambda *_: None, **how)
    assert_same(resumed, whole.table)
    assert [step for run, step, _ in seen.rows if run.endswith(" s2")] == [100, 120, 140, 160]


def test_a_callback_that_fails_is_named_and_everything_is_saved(tmp_path):
    class Fails:
        def on_log(self, run, step, metrics):
            return step >= 60 and 1 / 0

    said = r"callbacks: .*Fails.on_log failed for NAC mul s0 at step 60: ZeroDivisionError: .*saved"
    with pytest.raises(UsageError, match=said):
        train(tmp_path, lambda run, step, metrics: 1 if step else None, Fails())
    seen = Seen()
    runs = train(tmp_path, seen)
    assert {step for _, step, _ in seen.rows} == set(range(80, 201, 20))
    assert_same(train(tmp_path / "whole"), runs.table)


def test_early_stopping_ends_runs_once_they_are_solved(tmp_path, capsys):
    how = {"layer": "NMU", "learning_rate": 0.05, "seed": range(2), "out": tmp_path, **HOW}
    runs = sn.train("single_layer", callbacks=[EarlyStop(), Print(every=2)], **how)
    assert runs.solved.all()
    steps = runs.groupby("name")["step"].max()
    assert steps.max() < 200
    assert list(steps) == list(runs.outcomes["solved_at"])
    assert capsys.readouterr().out.count(TEST) == 2
    low = train(tmp_path / "low", EarlyStop(TEST, below=float("inf")))
    assert set(low["step"]) == {0}


@pytest.mark.parametrize("script", ["number_translation", "mystery_arithmetic"])
def test_other_loops_end_where_they_are_stopped(tmp_path, script):
    steps = []

    def stop(run, step, metrics):
        steps.extend([step] * any(tag.startswith(("metric", "loss/valid")) for tag in metrics))
        return len(steps) == 2

    runs = sn.train(script, out=tmp_path, callbacks=stop, max_epochs=120)
    assert list(runs["step"]) == steps
    assert len(steps) == 2


def test_loggers_get_what_the_table_has(tmp_path):
    log, how = Seen(), {"max_iterations": 190}
    runs = train(tmp_path / "own", logger=log, **how)
    rows = zip(runs["name"], runs["step"], runs["metric.test.extrapolation"], strict=True)
    assert sorted(log.rows) == sorted(rows)
    assert list(log.ends) == runs.names
    for logger in ("csv", None, "tensorboard"):
        assert_same(train(tmp_path / f"{logger}", logger=logger, **how), runs.table)
    tables = map(pd.read_csv, sorted(tmp_path.glob("csv/save/**/*.csv")))
    columns = ["name", "step", "metric.test.extrapolation"]
    assert pd.concat(tables, ignore_index=True)[columns].equals(runs[columns])
    boards = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob(".events*")}
    assert boards == {"tensorboard"}


def test_no_callbacks_are_none(tmp_path):
    assert len(train(tmp_path, max_iterations=2, callbacks=None)) == 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: EarlyStop(patience="a"), "patience: 'a' is no number of log points; give 1 or"),
        (lambda: EarlyStop(patience=0), "patience: 0 is no number of log points"),
        (lambda: EarlyStop(below="low"), "below: 'low' is not a number; write such as 1e-5"),
        (lambda: Print(every=0), "Print: every: 0 is no number of log points; give 1 or more"),
    ],
)
def test_a_callback_refuses_its_arguments_at_once(make, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        make()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"callbacks": EarlyStop}, "callbacks: EarlyStop is a class; write EarlyStop()"),
        ({"callbacks": [3]}, "callbacks: 3 has neither on_log nor on_end, and is no function"),
        ({"callbacks": [Print()], "workers": 2}, "workers: other processes cannot call the call"),
        (
            {"callbacks": [EarlyStop("metric/tset")]},
            "nothing is logged under 'metric/tset'; one of",
        ),
        ({"callbacks": [Optuna(None)]}, "'NoneType' object has no attribute 'report'"),
        ({"logger": "tensorbord"}, 'logger: \'tensorbord\' is not one of "tensorboard", "csv"'),
        ({"logger": object()}, "or an object with log(run, step, metrics)"),
    ],
)
def test_what_is_no_callback_is_refused_in_one_line(tmp_path, given, said):
    with pytest.raises(UsageError, match=rf"\A(?s:.)*{re.escape(said)}.*\Z"):
        sn.train("single_layer", layer="NAC", out=tmp_path, **HOW, **given)
