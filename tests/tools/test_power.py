"""Counts of more seeds: what they say of a published count, and of the order of units."""

import pandas as pd
import pytest
from scipy.stats import binomtest

from stable_nalu.paper.published import published
from tools import power
from tools.power import Count

KEY = "nips-sltr-in10"
MODELS = ("realnpu_baseline", "realnpu_modified", "sign-nmru")


def count(model, *points, runs=112):
    at = " ".join(map(str, points))
    return Count(KEY, model, "div", "0-111", runs * len(points), sum(points), at, "", "")


def test_one_point_is_a_binomial_test():
    known = next(p for p in published(KEY) if p.model == MODELS[0] and not p.point)
    (one,) = [count(MODELS[0], 700, runs=1000)]
    wanted = binomtest(known.solved, known.runs, 700.5 / 1001).pvalue
    assert one.p == pytest.approx(wanted, rel=1e-9)


def test_points_have_their_own_rates():
    """Counts that are sure at most points vary less than as many drawn at one rate."""
    sure = count(MODELS[0], *([112] * 6), *([0] * 3))
    mixed = count(MODELS[0], *([75] * 6), *([74] * 3))
    assert sure.solved == mixed.solved
    assert sure.p < 0.01 < mixed.p


def test_ranks_of_ties_are_equal():
    counts = [count(MODELS[0], *[70] * 9), count(MODELS[1], *[90] * 9), count(MODELS[2], *[91] * 9)]
    runs = pd.DataFrame({"model": MODELS, "solved": 1})
    rows = power.rows_of(counts, {KEY: runs})
    assert [row["rank"] for row in rows] == ["1", "1", "3"]
    assert rows[0]["more seeds"].startswith("81.2 % (819/1008) [")
    assert power.rows_of(counts, {}) == []


def test_counts_of_kept_runs_are_added_and_replaced(tmp_path, monkeypatch, capsys):
    stored = tmp_path / "stored"
    stored.mkdir()
    monkeypatch.setattr(power.stored, "DATA", stored)
    source = pd.read_csv("docs/reproduction/data/benchmark_sltr_mul_mcfc.csv")
    folder = tmp_path / "more"
    folder.mkdir()
    source.to_csv(folder / "benchmark_sltr_mul_mcfc.csv", index=False)
    cost = pd.read_csv("docs/reproduction/data/cost/benchmark_sltr_mul_mcfc.csv")
    (folder / "cost").mkdir()
    cost.to_csv(folder / "cost" / "benchmark_sltr_mul_mcfc.csv", index=False)
    assert power.main([str(folder)]) == 0
    assert power.main([str(folder)]) == 0
    counts = power.read(stored)
    assert [one.model for one in counts] == list(dict.fromkeys(source["model"]))
    for one in counts:
        own = source[source["model"] == one.model]
        assert (one.runs, one.solved) == (len(own), own["solved"].sum())
        assert sum(one.solved_at) == one.solved
        assert (len(one.solved_at), one.seeds) == (9, "0-24")
        assert (one.versions, one.git_revision) == tuple(cost.iloc[-1, -2:])
    assert power.main([str(tmp_path)]) == 2
    assert "tools.power: error: FOLDER: no kept runs in" in capsys.readouterr().err
