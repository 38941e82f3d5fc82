"""Callbacks and loggers of `sn.train`: what they see, what they stop, and what they change not."""

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


class Seen:
    """Keeps all that it is shown, and stops one seed at a step."""

    def __init__(self, seed=None, step=0):
        self.own, self.step, self.rows, self.ends = f"_s{seed}_", step, [], {}

    def on_log(self, run, step, metrics):
        self.rows.append((run, step, metrics[TEST]))
        torch.rand(3), np.random.rand(3)  # which must change no run
        return self.own in run and step >= self.step

    log = on_log

    def on_end(self, run, outcome):
        assert run not in self.ends
        self.ends[run] = outcome


def train(out, *callbacks, script="single_layer", seed=range(3), **more):
    how = {"layer": "NAC", "seed": seed, "out": out, "callbacks": callbacks} | HOW | more
    return sn.train(script, **how)


def weights(run):
    return torch.cat([value.ravel() for value in sn.load(run).state_dict().values()])


def rows(runs):
    return runs.table.drop(columns=["max.iterations", "time"], errors="ignore")


@pytest.mark.parametrize("engine", ["lanes", "torch"])
def test_a_stopped_run_ends_alone(tmp_path, engine):
    whole = train(tmp_path / "whole", engine=engine)
    seen = Seen(seed=1, step=60)
    runs = train(tmp_path / "stopped", seen, engine=engine)
    own = whole.table["name"] == whole.names[1]
    expected = whole.table.loc[~own | (whole.table["step"] <= 60)].reset_index(drop=True)
    pd.testing.assert_frame_equal(rows(runs), rows(expected_runs := type(runs)(expected, {})))
    assert len(expected_runs.table) == 2 * 11 + 4
    assert not runs.outcomes["diverged"].any()
    assert [(end.stopped, end.step) for end in seen.ends.values()] == (
        [(True, 60), (False, 200), (False, 200)]
        if engine == "lanes"
        else [(False, 200), (True, 60), (False, 200)]
    )
    short = train(tmp_path / "short", seed=1, engine=engine, max_iterations=60)
    for run, like in zip(runs, (whole[0], short[0], whole[2]), strict=True):
        assert torch.equal(weights(run), weights(like))
    again = Seen()
    pd.testing.assert_frame_equal(
        train(tmp_path / "stopped", again, engine=engine).table, runs.table
    )
    assert again.rows == []


@pytest.mark.parametrize("engine", ["lanes", "torch"])
def test_a_killed_call_goes_on_to_the_same_rows(tmp_path, engine):
    """Callbacks, too, go on from what they were: eight log points are more than are left."""
    tag, how = "loss/train/regualizer", {"engine": engine, "checkpoint_interval": 50}
    seed_2 = "_s2_"

    def patient():
        stop = EarlyStop(tag, patience=8)
        stop.on_log = lambda run, *rest: seed_2 not in run and EarlyStop.on_log(stop, run, *rest)
        return stop

    def kill(run, step, metrics):
        if step == 130 - 130 % 20 and seed_2 in run:
            raise KeyboardInterrupt  # which saves nothing, unlike a signal

    whole = train(tmp_path / "whole", patient(), Seen(0, 40), **how)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "killed", patient(), Seen(0, 40), kill, **how)
    seen = Seen(0, 40)
    runs = train(tmp_path / "killed", patient(), seen, lambda *_: None, **how)
    pd.testing.assert_frame_equal(runs.table, whole.table)
    assert list(runs.table.groupby("name", sort=False)["step"].max()) == [40, 160, 200]
    assert min(step for _, step, _ in seen.rows) == (100 if engine == "lanes" else 100)


def test_a_callback_that_fails_is_named_and_everything_is_saved(tmp_path):
    class Fails:
        def on_log(self, run, step, metrics):
            return step >= 60 and 1 / 0

    said = r"callbacks: .*Fails.on_log failed for nac_\S+ at step 60: ZeroDivisionError: .*saved"
    with pytest.raises(UsageError, match=said) as raised:
        train(tmp_path, lambda run, step, metrics: 1 if step else None, Fails())
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    seen = Seen()
    runs = train(tmp_path, seen)
    assert {step for _, step, _ in seen.rows} == set(range(80, 201, 20))
    pd.testing.assert_frame_equal(runs.table, train(tmp_path / "whole").table)


def test_early_stopping_ends_runs_once_they_are_solved(tmp_path, capsys):
    how = {"layer": "NMU", "learning_rate": 0.05, "seed": range(2), "out": tmp_path, **HOW}
    runs = sn.train("single_layer", callbacks=[EarlyStop(), Print(every=2)], **how)
    assert runs.solved.all()
    steps = runs.table.groupby("name")["step"].max()
    assert (steps.to_numpy() == runs.outcomes["solved_at"].to_numpy()).all()
    assert steps.max() < 200
    assert capsys.readouterr().out.count(TEST) == 2
    low = train(tmp_path / "low", EarlyStop(TEST, below=float("inf")))
    assert set(low.table["step"]) == {0}


@pytest.mark.parametrize("script", ["number_translation", "mystery_arithmetic"])
def test_loops_of_all_kinds_end_where_they_are_stopped(tmp_path, script):
    steps = []

    def stop(run, step, metrics):
        assert all(isinstance(value, float) for value in metrics.values())
        steps.extend([step] * any(tag.startswith(("metric", "loss/valid")) for tag in metrics))
        return len(steps) == 2

    spec = sn.api.program.SCRIPTS[script]
    length = "max_epochs" if "max_epochs" in spec.defaults else "max_iterations"
    runs = sn.train(script, out=tmp_path, callbacks=stop, **{length: 120})
    assert len(steps) == 2
    assert list(runs.table["step"]) == steps


def test_loggers_get_what_the_table_has(tmp_path):
    log = Seen()
    runs = train(tmp_path / "own", logger=log)
    for name, table in runs.table.groupby("name", sort=False):
        own = [(step, value) for run, step, value in log.rows if run == name]
        assert own == list(zip(table["step"], table["metric.test.extrapolation"], strict=True))
    assert len(log.ends) == 3
    plain = train(tmp_path / "csv", logger="csv")
    pd.testing.assert_frame_equal(plain.table, runs.table)
    written = pd.concat(map(pd.read_csv, sorted((tmp_path / "csv" / "save").rglob("*.csv"))))
    columns = ["step", "metric.test.extrapolation"]
    assert np.array_equal(written[columns], plain.table[columns])
    pd.testing.assert_frame_equal(train(tmp_path / "none", logger=None).table, runs.table)
    boards = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob(".events*")}
    train(tmp_path / "usual")
    assert boards == set()
    assert list((tmp_path / "usual").rglob(".events*"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"callbacks": EarlyStop}, "callbacks: EarlyStop is a class; write EarlyStop()"),
        ({"callbacks": [3]}, "callbacks: 3 has neither on_log nor on_end, and is no function"),
        ({"callbacks": [Print()], "workers": 2}, "workers: other processes cannot call the call"),
        (
            {"callbacks": [EarlyStop("metric/tset")]},
            "nothing is logged under 'metric/tset'; one of metric/valid/",
        ),
        ({"callbacks": [Optuna(None)]}, "'NoneType' object has no attribute 'report'"),
        ({"logger": "tensorbord"}, 'logger: \'tensorbord\' is not one of "tensorboard", "csv"'),
        ({"logger": object()}, "or an object with log(run, step, metrics)"),
    ],
)
def test_what_is_no_callback_is_refused_in_one_line(tmp_path, given, said):
    with pytest.raises(UsageError, match=re.escape(said)) as raised:
        sn.train("single_layer", layer="NAC", out=tmp_path, **HOW, **given)
    assert "\n" not in str(raised.value)
