"""Counts of more seeds: what they say of a published count, and of the order of units."""

import pandas as pd
import pytest
from scipy.stats import fisher_exact

from tools import power
from tools.power import Count

KEY = "nips-sltr-in10"
MODELS = ("realnpu_baseline", "realnpu_modified", "sign-nmru")


def count(model, *points, runs=112):
    at = " ".join(map(str, points))
    return Count(KEY, model, "div", "0-111", runs * len(points), sum(points), at, "", "")


def stored_runs(*solved):
    """Nine runs of each seed, of which so many are solved."""
    rows = [(seed, place < k) for seed, k in enumerate(solved) for place in range(9)]
    return pd.DataFrame(rows, columns=["seed", "solved"]).assign(model=MODELS[0])


def test_one_point_is_fishers_test_against_the_other_seeds():
    """NAC• of Table 1: 13 of the first 100, 231 of 900 others."""
    one = Count("simple_mul", "nac-mul", "mul", "0-999", 1000, 244, "244", "", "")
    runs = pd.DataFrame({"model": "nac-mul", "seed": range(100), "solved": [1] * 13 + [0] * 87})
    assert one.p(runs) == pytest.approx(fisher_exact([[13, 87], [231, 669]]).pvalue)
    assert one.p(runs) == pytest.approx(0.0045, abs=5e-5)


def test_several_points_have_the_variance_of_whole_seeds():
    """Seeds that solve all or nothing tell less than seeds that solve alike."""
    one = count(MODELS[0], *[83] * 9)
    varied, alike = stored_runs(*[9] * 17, *[0] * 8), stored_runs(*[6] * 12, *[7] * 13)
    assert one.p(varied) > 0.5 > 0.01 > one.p(alike)
    assert one.rate(varied).upper - one.rate(alike).upper > 0.05


def test_ranks_of_ties_are_equal():
    counts = [count(MODELS[0], *[70] * 9), count(MODELS[1], *[90] * 9), count(MODELS[2], *[91] * 9)]
    runs = pd.DataFrame({"model": MODELS, "solved": 1, "seed": 0})
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
