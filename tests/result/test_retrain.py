"""Kept outcomes are what training gives: a row of every fourth key is trained again, by the week.

In the environment, RETRAIN=12 chooses keys and rows of turn 12, and RETRAIN=all trains a row of
every key, long runs, too.
"""

import os
import time

import pytest

from stable_nalu.files import cells_of
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import command, stored

RETRAIN = os.environ.get("RETRAIN", "")
TURN = int(RETRAIN) if RETRAIN.isdecimal() else int(time.time() // (7 * 24 * 3600))
KEYS = stored.kept_keys(measured=False)
WEEKS = 4
"""In so many a row of every key is trained."""
LONG = 200_000
"""Iterations above which runs take minutes."""

BY_TORCH = {"function_task_static", *(f"nips-divBy0-{n}" for n in ("easy", "medium", "hard"))}
"""Keys whose kept rows depend on rounding: they were trained by torch, which takes minutes."""


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_the_same_outcome(key, tmp_path, monkeypatch):
    """Whether, and at which logged step, a run is solved; `--verify` itself compares all digits."""
    if RETRAIN != "all" and (KEYS.index(key) + TURN) % WEEKS:
        pytest.skip("its turn is in another week: RETRAIN=all")
    iterations = min(stored.read(key)["iterations"])
    if RETRAIN != "all" and (iterations > LONG or key in BY_TORCH):
        pytest.skip(f"runs of {iterations:,} iterations, or of plain torch: RETRAIN=all")
    for name in ("TENSORBOARD_DIR", "SAVE_DIR"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    if key in BY_TORCH:
        monkeypatch.setenv("STABLE_NALU_ENGINE", "torch")
    words = ["--verify", key, "--rows", "1", "--verify-seed", str(TURN), "--jobs", "1"]
    assert command.main([*words, "--out", str(tmp_path)]) in (0, 1)
    path = tmp_path / "verify" / f"{EXPERIMENTS[key].stem}.csv"
    again = {row["column"]: row for row in cells_of(path)}
    assert again["solved"]["equal"] == "1", again
    assert again["extrapolation.step.solved"]["equal"] == "1", again
