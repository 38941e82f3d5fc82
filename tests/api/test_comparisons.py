"""Runs taken together and chosen, compared pair by pair, ranked and drawn; loops of others."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import stable_nalu as sn
from stable_nalu.base.errors import UsageError
from tests.api.test_runs import COMMAND, write_runs

NAC = "--operation mul --layer-type NAC --seed 0-3 --interpolation-range [1,2] [-2,2]"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    write_runs(folder / "a" / "deep", command=f"{COMMAND} --seed 0-3")
    write_runs(folder / "b", command=NAC + " --extrapolation-range [2,6] [[-6,-2],[2,6]]")
    write_runs(folder / "c", "comparison", "--seed 0-1")
    return folder


@pytest.fixture(scope="module")
def runs(folder):
    return sn.read_runs(folder)


R = range(10)


def tidy(models=3, tasks=("mul", "F = m a"), seeds=9):
    """Runs of another loop: model m solves a task at a random step, or never."""
    rng = np.random.default_rng(0)
    ends = {
        (f"model_{m}", task, seed): rng.integers(1, 4 + 9 * m)
        for m, task, seed in itertools.product(range(models), tasks, range(seeds))
    }
    rows = [(*key, step, 1.0 if step < end else 1e-9) for key, end in ends.items() for step in R]
    return pd.DataFrame(rows, columns=["model", "task", "seed", "step", "error"]), ends


def test_every_run_below_a_folder_is_read(runs, folder):
    assert len(runs) == 4 + 8 + 2
    assert {run.record.script for run in runs} == {"single_layer_benchmark", "comparison"}
    assert {run.folder.parent for run in runs} == {folder / "a/deep", folder / "b", folder / "c"}
    assert len(sn.read_runs(folder / "b")) == 8
    assert sn.read_runs(folder, names=[runs.names[0]]).names == [runs.names[0]]
    with pytest.raises(UsageError, match="there is no run nothing in"):
        sn.read_runs(folder, names=["nothing"])


def test_runs_are_added_and_a_run_is_kept_once(folder, runs, tmp_path):
    parts = [sn.read_runs(folder / name) for name in ("c", "a", "b", "a")]
    whole = parts[0] + parts[1] + parts[2] + parts[3]
    assert sorted(run.folder for run in whole) == sorted(run.folder for run in runs)
    one = whole.outcomes.set_index(["script", "model", "seed", "interpolation_range"]).sort_index()
    other = runs.outcomes.set_index(one.index.names).sort_index()
    pd.testing.assert_frame_equal(one[list(other)], other, check_dtype=False)
    copy = sn.read_runs(write_runs(tmp_path / "a", command=f"{COMMAND} --seed 0-3"))
    twice = parts[1] + copy
    assert len(twice) == len(set(twice.names)) == 8
    assert list(twice.solved) == [False, True] * 4
    with pytest.raises(UsageError, match="runs: DataFrame is not added to runs"):
        _ = runs + runs.table


def test_runs_are_chosen_by_fields_layers_and_masks(runs):
    assert set(runs.where(layer="NMU").outcomes["seed"]) == {0, 1, 2, 3}
    assert len(runs.where(layer="ReRegualizedLinearMNAC")) == len(runs.where(layer="nmu")) == 4
    assert len(runs.where(layer=["NMU", "NAC+"], seed=range(2))) == 2 + 4
    assert len(runs.where(layer=sn.layer("NMU"))) == 4
    assert len(runs.where(interpolation_range=[1, 2])) == 4 + 4
    assert len(runs.where(interpolation_range="U[-2,2]", seed=3)) == 1
    assert len(runs.where(learning_rate=1e-6)) == 4
    assert len(runs.where(layer="NALU")) == len(runs.where(seed=99).where(seed=0)) == 0
    solved = runs[runs.solved]
    assert len(solved) == runs.solved.sum() == len(runs.where(solved=True))
    assert list(runs[[True] * 2 + [False] * 12].names) == runs.names[:2]
    assert len(runs[runs["step"] == 1000]) == 14
    with pytest.raises(UsageError, match="where: runs have no field 'layr'; did you mean layer"):
        runs.where(layr="NMU")
    with pytest.raises(UsageError, match="there is no layer 'NMUU'; did you mean NMU"):
        runs.where(layer="NMUU")
    with pytest.raises(UsageError, match="a mask of 3 runs is given for 14"):
        _ = runs[runs.solved[:3]]


def test_outcomes_hold_the_whole_configuration_and_the_cost(tmp_path):
    how = {"seed": range(2), "max_iterations": 20, "out": tmp_path}
    runs = sn.train("single_layer", layer="NMU", **how)
    table = runs.outcomes
    assert set(runs[0].config) <= set(table)
    assert list(table["max_iterations"]) == [20, 20]
    ends = "solved solved_at test_error threshold sparsity diverged diverged_at cpu_seconds"
    assert list(table)[1:9] == ends.split()
    assert (table["cpu_seconds"] > 0).all()
    again = sn.train("single_layer", layer="NMU", **how)
    assert list(again.outcomes["cpu_seconds"]) == list(table["cpu_seconds"])


def test_several_models_are_compared_pair_by_pair(runs):
    frame, ends = tidy()
    table = sn.compare(frame, threshold=1e-5).set_index(["model_a", "model_b"])
    solved = {key: int(end < 10) for key, end in ends.items()}
    p = []
    for (a, b), row in table.iterrows():
        gains = [
            sum(solved[a, t, s] - solved[b, t, s] for t in ("mul", "F = m a")) for s in range(9)
        ]
        signs = np.array(list(itertools.product((1, -1), repeat=9))) @ gains
        p.append(float(np.mean(np.abs(signs) >= abs(sum(gains)))))
        assert (row["pairs"], row["p"]) == (18, pytest.approx(p[-1]))
        assert row["difference"] == pytest.approx(sum(gains) / 18)
    order = np.argsort(p)
    adjusted = np.minimum(1, np.maximum.accumulate([(3 - i) * p[k] for i, k in enumerate(order)]))
    assert table["p_holm"].to_numpy()[order] == pytest.approx(adjusted)
    one = frame[frame["task"] != "mul"]
    parts = {name: part for name, part in one.groupby("model") if name != "model_1"}
    (row,) = sn.compare(parts, threshold=1e-5).to_dict("records")
    mcnemar = stats.binomtest(row["only_a"], row["only_a"] + row["only_b"]).pvalue
    assert (row["pairs"], row["p"], row["p_holm"]) == (9, *[pytest.approx(mcnemar)] * 2)
    nac = runs.where(layer="NAC+")
    test = sn.compare(runs.where(layer="NMU"), nac)
    assert (test.pairs, test.labels[0]) == (4, "NMU")
    assert r"NMU & $\mathrm{NAC}_{+}$ & 4 & 2 / 2 & " in test.to_latex(label="tab:a")
    with pytest.raises(UsageError, match="runs_a: 1 model is given; two are compared"):
        sn.compare({"A": nac})
    with pytest.raises(UsageError, match="no run of A has the task and the seed of one of B"):
        sn.compare({"A": nac, "B": runs.where(layer="NMU").table.assign(seed=9)})


def test_ranks_and_profiles_are_drawn_from_the_steps_of_solution():
    frame, ends = tidy()
    figure = sn.plot(frame, kind="critical-difference", threshold=1e-5)
    steps = pd.Series(ends).where(lambda end: end < 10, np.inf).unstack(0)
    means = stats.rankdata(steps, axis=1).mean(axis=0)
    texts = {text.get_text().strip() for text in figure.axes[0].texts}
    ranks = dict(zip(steps, means, strict=True))
    assert all({f"{name} {rank:.2f}", f"{rank:.2f} {name}"} & texts for name, rank in ranks.items())
    axes = sn.plot(frame, kind="profile", threshold=1e-5).axes[0]
    for line, name in zip(axes.lines, steps, strict=True):
        x, y = line.get_data()
        assert y[np.searchsorted(x, 4.5) - 1] == pytest.approx((steps[name] < 4.5).mean())
    with pytest.raises(UsageError, match="needs two models"):
        sn.plot(frame[frame["model"] == "model_0"], kind="critical-difference", threshold=1)


def test_tables_of_other_loops_are_summarised_and_written_for_a_paper():
    frame, ends = tidy()
    table = sn.summarize(frame, threshold=1e-5)
    rates = pd.Series(ends).lt(10).groupby(level=[0, 1]).mean()
    assert table.set_index(["model", "operation"])["success_rate"].to_dict() == rates.to_dict()
    text = table.to_latex(caption="Mine", label="tab:mine")
    assert text.startswith("\\begin{table}\n\\centering\n\\caption{Mine}\n\\label{tab:mine}\n")
    assert r"model\_0 & " in text
    for table, message in (
        (frame.drop(columns="task"), "it has no column task"),
        (frame.assign(error="x"), "column error holds 'x', no number"),
        (frame.assign(seed=np.nan), "column seed holds an empty cell, no seed"),
        (pd.concat([frame, frame]), "has step 0 twice"),
    ):
        with pytest.raises(UsageError, match=message):
            sn.summarize(table, threshold=1e-5)
    with pytest.raises(UsageError, match="threshold: this table has none"):
        sn.summarize(frame)
    with pytest.raises(UsageError, match="caption: 3 is not text"):
        sn.summarize(frame, threshold=1.0).to_latex(caption=3)


def test_layers_of_ones_own_are_labelled_as_registered(tmp_path):
    import torch

    class Labelled(torch.nn.Linear):
        pass

    sn.register(Labelled, label="My unit", latex=r"\mathrm{MU}_x")
    runs = sn.train("single_layer", layer=Labelled, max_iterations=5, out=tmp_path)
    assert r"$\mathrm{MU}_x$ & 1" in sn.summarize(runs).to_latex()
    assert len(runs.where(layer="My unit")) == len(runs.where(layer=Labelled)) == 1
