"""Measured experiments: from training to a page, and what is said of numbers given elsewhere."""

import math
import statistics
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from stable_nalu.base.files import cells_of
from stable_nalu.figure.runs import last_rows
from stable_nalu.paper.experiment import Measure
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import batch, judged, reproduce, stored
from stable_nalu.result.judged import measured_points, summed_up
from stable_nalu.statistics.intervals import Pairs
from tests.result.made_up import SESSION
from tests.result.tiny import KEY, TEST, TINY, VALID, in_this_process, tiny  # noqa: F401
from tools import kept_runs

pytestmark = pytest.mark.usefixtures("tiny")
STEM = "tiny-measured"


def made_up(iterations=20, seeds=range(3)):
    """Kept rows: the NAC is at half the error of the linear layer, its addition at ten times."""
    rows = []
    for model, factor in (("nac", 0.5), ("linear", 1.0)):
        for operation, size in (("add", 10.0), ("sub", 1.0)):
            for seed in seeds:
                error = factor * size * (1 + seed)
                row = {"model": model, "operation": operation, "seed": seed}
                row |= {"iterations": iterations, VALID: error, TEST: 4 * error, "diverged": 0}
                rows.append(row | {f"{TEST}@0": 9 * error, f"{TEST}@10": 6 * error})
    return pd.DataFrame(rows)


def points(runs):
    return {(p.model, p.point, p.column): p for p in measured_points(TINY, runs)}


def test_end_to_end(tmp_path, in_this_process, capsys):  # noqa: F811
    data = tmp_path / "data"
    words = ["--out", str(tmp_path), "--keep", "--data", str(data), "--seeds"]
    assert reproduce.main([KEY, "--out", str(tmp_path), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert said.count("python3 export/runs.py --tensorboard-dir") == 2
    assert reproduce.main([KEY, *words, "0"]) == 0
    assert reproduce.main([STEM, *words, "0-1"]) == 0
    said = capsys.readouterr().out
    assert f"kept 8 runs in {data / STEM}.csv" in said
    assert "4 numbers given elsewhere: " in said
    rows = cells_of(data / f"{STEM}.csv")
    assert list(rows[0])[:5] == ["model", "operation", "seed", "iterations", VALID]
    assert list(rows[0])[5:] == [TEST, f"{TEST}@0", f"{TEST}@10", "sparse.error.max", "diverged"]
    assert [row["seed"] for row in rows] == ["0", "1"] * 4
    exported = cells_of(tmp_path / "csv" / STEM / "nac.csv")
    last = [row for row in exported if row["step"] == "20" and row["operation"] == "add"]
    assert [f"{float(row[VALID]):.7g}" for row in last] == [row[VALID] for row in rows[:2]]
    summary = cells_of(tmp_path / "summary" / f"{STEM}.csv")
    assert {row["runs"] for row in summary} == {"2"}
    found = cells_of(tmp_path / "summary" / f"{STEM}_comparison.csv")
    assert [row["which is"] for row in found if row["given"] == "3"] == ["stated in the notes"]
    assert [(s.runs, s.run_iterations) for s in stored.sessions_of(KEY, data)] == [(4, 80)] * 2
    capsys.readouterr()
    assert batch.main([KEY, "--status", "--seeds", "0-1"]) == 0
    assert f"{STEM}: 8 done" in capsys.readouterr().out


def test_kept_rows_are_tables_as_exported(tmp_path, in_this_process):  # noqa: F811
    data = tmp_path / "data"
    words = ["--out", str(tmp_path), "--keep", "--data", str(data), "--seeds", "0"]
    assert reproduce.main([KEY, *words]) == 0
    exported = pd.read_csv(tmp_path / "csv" / STEM / "nac.csv")
    again = kept_runs.as_exported(KEY, f"{STEM}/nac", data)
    # Of a run that diverged only that is kept, not the step.
    kept = set(exported) - {VALID, TEST, "wall.time", "sparse.error.max", "diverged.at"}
    for column in kept:
        assert list(map(judged.text_of, again[column])) == list(
            map(judged.text_of, exported[column])
        ), column
    assert list(again[TEST]) == pytest.approx(list(exported[TEST]), rel=1e-3)
    ends = exported["step"] == 20
    assert list(again[VALID][ends]) == pytest.approx(list(exported[VALID][ends]), rel=1e-6)
    assert again[VALID][~ends].isna().all()


def test_runs_are_summed_up():
    values = np.array([4.0, 1.0, math.nan, math.inf, 2.0])
    assert summed_up(values, Measure("a", "a", below=3)) == {
        **{"runs": 5, "median": 4, "best": 1, "mean": math.inf},
        **{"limit": 3, "share below": 0.4, "not finite": 2},
    }
    rare = summed_up(values, Measure("a", "a", optional=True))
    assert (rare["runs"], rare["median"], rare["not finite"]) == (4, 3, 1)
    rising = summed_up(np.array([1.0, math.nan, 3.0]), Measure("a", "a", lower=False))
    assert (rising["median"], rising["best"], rising["mean"]) == (1, 3, -math.inf)


def test_numbers_are_judged_by_what_stands_behind_them():
    found = points(made_up())
    near = found["nac", "add", VALID]
    assert (near.ours, near.difference, near.verdict) == (10, 8.5, "within tolerance")
    assert near.published.standing == "read off the figure (±1e+09)"
    assert found["nac", "sub", VALID].verdict == "differs"
    loose = found["nac", "add", f"{TEST}@10"]
    assert (loose.ours, loose.published.number) == (30, 3)
    assert loose.published.standing == "stated in the notes"
    assert (loose.verdict, loose.differs, loose.as_good) == ("not judged", False, 0)
    assert near.as_good == 3
    assert loose.name == "error outside, step 10"
    # Neither published nor plain: steps and families that no number was given for.
    assert {column for _, _, column in found} == {VALID, TEST, f"{TEST}@10"}


@pytest.mark.parametrize(
    ("seeds", "verdict"), [(3, "inconclusive"), (5, "inconclusive"), (6, "does not hold")]
)
def test_a_claim_about_two_models_is_tested_on_the_same_seeds(seeds, verdict):
    claim = points(made_up(seeds=range(seeds)))["linear", "add", VALID]
    assert (claim.pairs.less, claim.pairs.more, claim.pairs.same) == (0, seeds, 0)
    assert (claim.verdict, claim.differs) == (verdict, seeds == 6)


@pytest.mark.parametrize(
    ("less", "more", "same", "verdict"),
    [(26, 24, 0, "inconclusive"), (42, 8, 0, "holds"), (1, 0, 20, "inconclusive")],
)
def test_claims_are_written_with_interval_and_p(less, more, same, verdict):
    pairs = Pairs([(0, 1)] * less + [(1, 0)] * more + [(1, 1)] * same)
    claim = points(made_up())["linear", "add", VALID]
    claim.pairs = pairs
    assert claim.verdict == verdict
    assert pairs.claim.startswith(f"{less} of {less + more + same} runs of the same seed [")
    assert "26 of 50" not in pairs.claim or pairs.claim.endswith(" [39–65 %], p = 0.89")


def test_a_run_without_a_number_is_worse_than_any():
    runs = made_up(seeds=range(6))
    # Nothing is known of the runs of the rival: the claim is that ours are below.
    runs.loc[runs["model"] == "nac", VALID] = math.nan
    assert points(runs)["linear", "add", VALID].verdict == "holds"


def test_shortened_runs_are_not_compared():
    verdicts = {p.verdict for p in points(made_up(iterations=10)).values() if p.published}
    assert verdicts == {"not comparable: 10 of 20 iterations"}


def test_infinite_results_are_kept(tmp_path):
    runs = made_up()
    runs.loc[0, VALID] = math.inf
    runs.loc[1, VALID] = math.nan
    stored.add(TINY, runs, [SESSION], tmp_path)
    again = stored.read(KEY, tmp_path)
    assert again[VALID][0] == math.inf
    assert math.isnan(again[VALID][1])
    assert len(stored.add(TINY, runs.head(2), [SESSION], tmp_path)) == 12
    assert stored.kept_keys(tmp_path, measured=True) == [KEY]
    assert stored.kept_keys(tmp_path, measured=False) == []


def judged_table(experiment, lines, warn, runs=None):
    model = runs[0].model if runs else TINY.models[0]
    expected = runs or judged.runs_of(model, [0, 1], None)
    table = pd.DataFrame(lines, columns=["name", "step", VALID, TEST, "sparse.error.max"])
    return judged.judged_runs(experiment, {model.csv: table}, expected, warn)


def test_errors_that_a_run_had_before_it_diverged_do_not_count():
    runs = made_up()
    runs.loc[0, "diverged"] = 1
    found = points(runs)["nac", "add", VALID].numbers
    assert (found["runs"], found["not finite"], found["best"]) == (3, 1, 10)
    logged = pd.DataFrame({"name": ["a", "a", "b"], "step": [0, 10, 0], VALID: [3.0, 1.0, 2.0]})
    ends = last_rows(logged.assign(**{"diverged.at": [math.nan, math.nan, 5.0]}))
    assert dict(zip(ends["name"], ends[VALID].fillna(math.inf), strict=True)) == {
        "a": 1,
        "b": math.inf,
    }


def test_a_run_that_ends_early_diverged():
    lines = []
    names = [run.leaf for run in judged.runs_of(TINY.models[0], [0, 1], None)]
    for place, name in enumerate(names):
        steps = (0, 10) if place == 1 else (0, 10, 20)
        lines += [(name, step, step + place, 2, 3) for step in steps]
    actual = []
    runs = judged_table(TINY, lines, actual.append)
    assert sorted(runs["diverged"]) == [0, 0, 0, 1]
    assert runs.loc[runs["diverged"] == 1, VALID].item() == 11
    assert actual == []


def test_a_run_is_kept_where_a_measure_was_lowest():
    lines = []
    names = [run.leaf for run in judged.runs_of(TINY.models[0], [0, 1], None)]
    for place, name in enumerate(names):
        last = math.nan if place == 1 else 20
        lines += [(name, 0, 9, 1, 1), (name, 10, place, 2, 2), (name, 20, last, 3, 3)]
    runs = judged_table(replace(TINY, selected_by=VALID), lines, print)
    assert runs[TEST].tolist() == [2.0] * 4
    assert runs[VALID].tolist() == [0, 1, 2, 3]
    assert runs["diverged"].tolist() == [0] * 4


@pytest.mark.parametrize("key", stored.kept_keys(measured=True))
def test_the_table_in_the_checkout_follows_from_the_kept_runs(key):
    """The median, best or mean of every line, recomputed from the file."""
    experiment, kept = EXPERIMENTS[key], cells_of(stored.path_of(key))
    lines = cells_of(stored.DATA.parent / "tables" / "results.csv")
    own = [line for line in lines if line["key"] == key]
    points = judged.point_columns(key)
    of_labels = {
        judged.label_of(experiment, measure, column): column
        for column in kept[0]
        if (measure := judged.measure_of(experiment, column)) is not None
    }
    assert own
    for line in own:
        cells, (name, typical) = line["point"].split(", "), line["measure"].rsplit(", ", 1)
        runs = [r for r in kept if r["model"] == line["model"]]
        if cells != [""]:
            runs = [r for r in runs if set(cells) <= {short(r[column]) for column in points}]
        column = of_labels[name]
        measure = judged.measure_of(experiment, column)
        lost = measure.lower and "@" not in column
        ends = ["" if lost and r["diverged"] == "1" else r[column] for r in runs]
        found = [float(end or "nan") for end in ends]
        worst = math.inf if measure.lower else -math.inf
        values = [worst if v != v else v for v in found if v == v or not measure.optional]
        assert len(values) == int(line["n"])
        best = min(values) if measure.lower else max(values)
        expected = {"median": statistics.median(values), "best": best, "mean": mean(values)}
        assert float(line["ours"]) == pytest.approx(expected[typical], rel=1e-5)


def short(cell):
    """A cell as the page has it: numbers in six digits."""
    try:
        return f"{float(cell):g}"
    except ValueError:
        return cell


def mean(values):
    return math.inf if math.inf in values else sum(values) / len(values)


def test_a_run_that_ends_early_is_not_solved_by_its_last_good_row():
    experiment = EXPERIMENTS["benchmark_sltr_mul"]
    model = experiment.models[0]
    runs = judged.runs_of(model, [0, 1], None)[:2]
    lines = []
    for place, run in enumerate(runs):
        whole = judged.iterations_of(run) // run.config.log_interval + 1
        lines += [(run.leaf, k, 1e-12, 1e-12, 0) for k in range(whole - place)]
    found = judged_table(experiment, lines, print, runs).sort_values("diverged")
    assert found[["solved", "diverged"]].to_numpy().tolist() == [[True, 0], [False, 1]]
    assert found["extrapolation.last"].tolist() == [1e-12, math.inf]
