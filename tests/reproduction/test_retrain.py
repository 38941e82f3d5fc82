"""Kept verdicts are what training gives: some runs of every experiment are trained again.

Within a budget of steps; RETRAIN=all in the environment lifts it.
"""

import os

import pytest

from stable_nalu.reproduction import command, stored
from tests.reproduction.made_up import write
from tests.reproduction.retrain import candidates, other_verdicts, retrain, samples

BUDGET = 300_000 if os.environ.get("RETRAIN") != "all" else float("inf")
"""Steps of all trainings together: about four minutes on two cores."""

SHORT = ["nips-sltr-in10", "--model", "sign-nmru", "--max-iterations", "20", "--seeds", "0-1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("again")


@pytest.fixture(autouse=True)
def _folders_of_this_test(monkeypatch):
    """Put back what training sets in the environment."""
    for name in ("TENSORBOARD_DIR", "SAVE_DIR"):
        monkeypatch.setenv(name, os.environ.get(name, ""))


@pytest.fixture(scope="module")
def chosen():
    return samples(stored.stored_keys(), stored.DATA, BUDGET)


@pytest.mark.slow
@pytest.mark.parametrize("key", stored.stored_keys())
def test_the_same_verdicts(key, chosen, folder):
    sample = chosen[key]
    if sample is None:
        pytest.skip(f"{min(s.steps for s in candidates(key, stored.DATA))} steps: RETRAIN=all")
    again = retrain(sample, folder)
    differing, compared = other_verdicts(sample, again, stored.DATA)
    assert compared == len(again) > 0
    assert differing.empty, differing.to_string()


@pytest.mark.slow
def test_another_verdict_is_found(tmp_path, folder):
    data = tmp_path / "data"
    words = ["--out", str(tmp_path), "--jobs", "1", "--keep", "--data", str(data)]
    assert command.main([*SHORT, *words]) == 0
    (sample,) = samples(["nips-sltr-in10"], data, 20).values()
    again = retrain(sample, folder)
    assert other_verdicts(sample, again, data)[0].empty
    kept = stored.read("nips-sltr-in10", data)
    kept.loc[7, "solved"] = 1 - kept.loc[7, "solved"]
    stored.add(sample.experiment, kept, [], data)
    differing, compared = other_verdicts(sample, again, data)
    assert (len(differing), compared) == (1, 18)


def test_shared_runs_are_trained_once_and_the_budget_holds(tmp_path):
    keys = ["nips-realnpu-L1", "nips-realnpu-clipping", "nips-sltr-in10", "simple_mul"]
    for key in keys:
        write(key, tmp_path, range(3))
    chosen = samples(keys, tmp_path, 150_000)
    assert chosen["simple_mul"] is None
    assert chosen["nips-realnpu-L1"].training == chosen["nips-realnpu-clipping"].training
    assert chosen["nips-sltr-in10"].steps == 100_000
    assert chosen["nips-sltr-in10"].seeds == (0, 1)
    assert chosen["nips-sltr-in10"].max_iterations is None
