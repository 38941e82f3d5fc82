"""Runs in Python: read, summarised and drawn as the scripts in `export/` do it."""

import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import stable_nalu as sn
from stable_nalu.base.errors import UsageError
from stable_nalu.statistics.setups import SHIPPED
from stable_nalu.statistics.table import write_frame
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.checkpoint import plain
from stable_nalu.writer import RunRecord, RunWriter
from tests.exported import EXPORTED, main_of

ROOT = Path(__file__).resolve().parents[2]
VALID, TEST = "metric/valid/interpolation", "metric/test/extrapolation"
SPARSITY = "network/layer_1/mnac/W/sparsity_error"
COMMAND = "--operation mul --layer-type ReRegualizedLinearMNAC --nac-mul mnac --learning-rate 1e-6"
RANGES = "--interpolation-range [1,2] [-2,2] --extrapolation-range [2,6] [[-6,-2],[2,6]] --seed 0-3"


def write_runs(folder, script="single_layer_benchmark", command=f"{COMMAND} {RANGES}", record=True):
    """Log every run of a command, whose odd seeds solve their task at step 1000."""
    spec = SCRIPTS[script]
    for config in spec.plan(command.split()).configs:
        path = folder / spec.leaf(config)
        writer = RunWriter(path)
        for step in (0, 1000, 2000):
            error = 1e-9 if config.seed % 2 and step else 0.5
            writer.scalar(VALID, error)
            writer.scalar(TEST, 2 * error)
            writer.scalar(SPARSITY, 0.01)
            writer.commit(step)
        writer.close()
        if record:
            RunRecord.create(script, plain(config.as_dict()), "").write(path)
    return folder


def script(name):
    """Return `main` of a script below `export/`."""
    return main_of(f"export/{name}.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_runs(tmp_path_factory.mktemp("written") / "runs")


@pytest.fixture(scope="module")
def found(folder):
    return sn.read_runs(folder)


@pytest.fixture
def runs(found):
    return found.table.copy()


def test_a_row_per_run_and_logged_step(runs):
    """Its learning rate is that of the record: the name says 0.00000."""
    assert len(runs) == 8 * 3
    assert tuple(runs.columns[:6]) == EXPORTED
    for column, expected in {
        "step": {0, 1000, 2000},
        "seed": {0, 1, 2, 3},
        "interpolation.range": {"U[1,2]", "U[-2,2]"},
        "extrapolation.range": {"U[2,6]", "U[-6,-2] ∪ U[2,6]"},
        "learning.rate": {1e-6},
        "layer.type": {"ReRegualizedLinearMNAC"},
    }.items():
        assert set(runs[column]) == expected
    solved = runs.loc[(runs["seed"] == 3) & (runs["step"] == 2000), "metric.test.extrapolation"]
    np.testing.assert_allclose(solved, 2e-9)


def test_runs_that_are_asked_for_by_name(runs, folder):
    names = list(runs["name"].unique()[[5, 2]])
    some = sn.read_runs(folder, names=names).table
    expected = runs.loc[runs["name"].isin(names)].reset_index(drop=True)
    pd.testing.assert_frame_equal(some, expected)
    with pytest.raises(UsageError, match="there is no run another in"):
        sn.read_runs(folder, names=[names[0], "another"])


def test_scripts_write_the_same_table_with_the_old_columns_first(runs, folder, tmp_path):
    for name, exporter, *flags in (
        ("runs", "runs"),
        ("plain", "simple_function_static"),
        ("whole", "simple_function_static", "--with-config"),
    ):
        words = ["--tensorboard-dir", str(folder), "--csv-out", str(tmp_path / name), *flags]
        assert script(exporter)(words) == 0
        expected = runs.iloc[:, :6] if name == "plain" else runs
        assert (tmp_path / name).read_text(encoding="utf-8") == expected.to_csv(index=False)


def test_runs_of_every_script_in_one_folder(tmp_path):
    folder = write_runs(tmp_path, command=COMMAND)
    logged = {
        "sequential_mnist": ("metric/train/mse", "metric/test/extrapolation/2/mse"),
        "two_digit_mnist": ("metric/train/output/mse", "metric/test/output/acc"),
        "simple_function_recurrent": ("loss/valid/interpolation", "loss/valid/extrapolation"),
        "number_translation": ("loss/valid",),
    }
    for name, tags in logged.items():
        config = SCRIPTS[name].plan([]).configs[0]
        writer = RunWriter(folder / name)
        for tag in (*tags, "loss/train/total"):
            writer.scalar(tag, 0.25)
        writer.commit(1)
        writer.close()
        RunRecord.create(name, plain(config.as_dict()), "").write(folder / name)
    runs = sn.read_runs(folder).table
    assert "loss.train.total" not in runs
    for name, tags in logged.items():
        (row,) = runs.loc[runs["name"] == name].to_dict("records")
        assert [row[tag.replace("/", ".")] for tag in tags] == [0.25] * len(tags)
        assert row["step"] == (0 if "mnist" in name else 1)
        assert row["seed"] == SCRIPTS[name].defaults["seed"]
    assert len(runs) == 3 + len(logged)


def test_rewards_below_zero_are_outcomes(tmp_path):
    short = {"max_iterations": 2, "eval_interval": 1, "episodes_per_update": 4, "eval_episodes": 4}
    runs = sn.train("gridworld_time", **short, out=tmp_path)
    assert (runs["metric.test.extrapolation"] < 0).any()
    assert set(runs.outcomes["test_error"]) <= set(runs["metric.test.extrapolation"])
    assert not runs.solved.any()


@pytest.mark.parametrize("limit", [None, 1e-5])
def test_a_summary_is_that_of_the_script(runs, folder, limit, tmp_path):
    exported, out = tmp_path / "exported.csv", tmp_path / "summary.csv"
    words = ["--tensorboard-dir", str(folder), "--csv-out", str(exported)]
    assert script("simple_function_static")(words) == 0
    how = ["--threshold", str(limit)] if limit else []
    assert script("summarize")(["--csv", str(exported), "--csv-out", str(out), *how]) == 0
    table = sn.summarize(runs, threshold=limit, technical=True)
    write_frame(tmp_path / "own.csv", table)
    assert (tmp_path / "own.csv").read_text() == out.read_text()
    assert list(table["success.rate.mean"]) == [0.5, 0.5]
    assert list(table["converged.at.mean"]) == [1000, 1000]


def test_runs_differ_by_options_that_their_names_lack(tmp_path):
    for seeds, length in (("0-1", 2000), ("2-3", 3000)):
        command = f"--seed {seeds} --max-iterations {length}"
        folder = write_runs(tmp_path, "simple_function_static", command)
    table = sn.summarize(sn.read_runs(folder))
    assert list(table["max_iterations"]) == [2000, 3000]
    assert list(table["n"]) == [2, 2]


def test_a_program_keeps_its_backend_and_its_figures(runs, tmp_path):
    mine, settings = plt.figure(), dict(matplotlib.rcParams)
    figure = sn.plot(runs)
    assert figure._repr_png_().startswith(b"\x89PNG")
    figure.savefig(tmp_path / "runs.pdf")
    assert plt.get_fignums() == [mine.number]
    assert dict(matplotlib.rcParams) == settings
    plt.close(mine)


def test_runs_without_a_row_in_a_table_of_the_user_are_warned_of(runs):
    nothing = runs.assign(**{"extrapolation.range": "U[3,4]"})
    with pytest.warns(UserWarning, match="no threshold for mul"), pytest.raises(UsageError):
        sn.summarize(nothing, exp_setups=SHIPPED[0])
    assert list(sn.summarize(nothing)["threshold"]) == [1e-5, 1e-5]


def test_runs_one_by_one_and_how_they_ended(found, folder):
    assert (len(found), len(found[2:5]), len(list(found))) == (8, 3, 8)
    run = found[-1]
    assert run.folder == folder / run.name
    assert (run.seed, run.config["seed"], len(run.table)) == (3, 3, 3)
    assert run.record is not None
    assert run.record.script == "single_layer_benchmark"
    assert list(found.solved) == [bool(one.seed % 2) for one in found]
    assert run.outcome["solved_at"] == 1000
    assert found.best.outcome["test_error"] == found.outcomes["test_error"].min()
    assert list(found.outcomes)[:2] == ["seed", "interpolation_range"]
    assert list(found["learning_rate"]) == list(found["learning.rate"])
    curve = found.curve()
    assert (list(curve.index), list(curve)) == ([0, 1000, 2000], list(range(8)))
    np.testing.assert_allclose(curve[7], [1, 2e-9, 2e-9])
    assert repr(found).startswith("8 runs, 4 solved\n")
    assert found._repr_html_().count("<tr") == 10
    with pytest.raises(IndexError, match="there is no run 8, only 8 run"):
        found[8]
    with pytest.raises(AttributeError, match="have no 'slved'"):
        _ = found.slved
    with pytest.raises(UsageError, match="column: there is no column 'nope'; one of metric"):
        found.curve("nope")


def test_a_table_for_a_paper(found):
    lines = sn.summarize(found).to_latex().splitlines()
    assert lines[0] == r"\begin{tabular}{lllrrrr}"
    heads = "Model & Interpolation range & Extrapolation range & $n$ & Success rate"
    assert lines[2] == rf"{heads} & Solved at & Sparsity error \\"
    row = r"NMU & U[-2,2] & U[-6,-2] \& U[2,6] & 4 & 50\,\% [15\,\%, 85\,\%]"
    assert any(line.startswith(row) for line in lines)
    assert r"1\,000 [1\,000, 1\,000]" in lines[4]


def test_two_models_are_compared_on_the_same_tasks_and_seeds(found, tmp_path):
    command = f"--operation mul --layer-type NAC {RANGES.replace('0-3', '1-5')}"
    other = sn.read_runs(write_runs(tmp_path / "other", command=command))
    never = other.table.assign(**{TEST.replace("/", "."): 1.0})
    test = sn.compare(found, never)
    # Seeds 1, 2 and 3 on two pairs of ranges; odd ones are solved.
    assert (test.pairs, test.both, test.won, test.lost) == (6, 0, 4, 0)
    # Of three seeds two gain.
    assert test.p == 0.5
    assert test.verdict == "no significant difference"
    assert repr(test).startswith("NMU against NAC_+: no significant difference\n")
    same = sn.compare(found, other)
    assert (same.both, same.won, same.lost, same.p) == (4, 0, 0, 1.0)
    with pytest.raises(UsageError, match="no run of the first has the task and the seed"):
        sn.compare(found, never.assign(seed=never["seed"] + 10))


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda runs, folder: sn.read_runs(folder / "none"), "^folder: cannot read .*none"),
        (lambda runs, folder: sn.read_runs(Path(__file__).parent), "no run has data"),
        (lambda runs, folder: sn.load(runs), r"run: give one run, such as runs\[0\]"),
        (lambda runs, folder: sn.plot(runs, "rnage"), "did you mean range"),
        (lambda runs, folder: sn.plot(runs, "table"), "not a drawing"),
        (lambda runs, folder: sn.summarize(runs, by=["size"]), "by: there is no option 'size'"),
        (lambda runs, folder: sn.summarize(runs[["name"]]), "has no column"),
        (lambda runs, folder: sn.summarize(runs, by="learning_rte"), "did you mean learning_rate"),
        (lambda runs, folder: sn.summarize(pd.concat([runs, runs])), "has step 0 twice"),
        (lambda runs, folder: sn.summarize(runs, threshold=-1.0), "threshold: -1.0 is"),
        (lambda runs, folder: sn.summarize(runs, best_range=0), "best_range: 0 is no"),
        (lambda runs, folder: sn.plot(runs, palette="nope"), "palette: 'nope' is not one of"),
        (lambda runs, folder: sn.plot(runs, kind=3), "no kind 3; kinds are range"),
        (lambda runs, folder: sn.plot("runs.csv"), "runs: str is not a table; give what train"),
        (lambda runs, folder: sn.plot({3: runs}), "label of a model: 3 is not text"),
        (lambda runs, folder: sn.plot({"\ud800": runs}), "label of a model: .* not text"),
        (lambda runs, folder: sn.plot(runs, "sweep", column=3), "column: 3 is not a name"),
        (lambda runs, folder: sn.plot(runs, "sweep", column="name"), "no place on an"),
        (lambda runs, folder: sn.plot(runs, threshold=-1), "threshold: -1 is not a number"),
        (lambda runs, folder: sn.plot(runs, exp_setups=3), "exp_setups: 3 is not a path"),
        (lambda runs, folder: sn.plot(runs, estimators="x"), "estimators: 'x' is none"),
        (lambda runs, folder: sn.summarize({"a": runs}), "runs: dict is not a table"),
        (lambda runs, folder: sn.summarize(runs["name"]), "runs: Series is not a table"),
        (lambda runs, folder: sn.summarize(runs, exp_setups=None), "exp_setups: None is"),
        (lambda runs, folder: sn.summarize(runs, by=3), "by: 3 is not a list of columns"),
        (lambda runs, folder: sn.summarize(runs, by=[3]), "no option 3; one of model"),
        (lambda runs, folder: sn.summarize(runs, estimators=3), "estimators: 3 is none"),
        (
            lambda runs, folder: sn.summarize(pd.concat([runs, runs[["step"]]], axis=1)),
            "it has column step twice",
        ),
        (lambda runs, folder: sn.read_runs(3), "folder: 3 is not a path"),
        (lambda runs, folder: sn.read_runs("a\ud800"), r"folder: 'a\\ud800' is not a path"),
        (lambda runs, folder: sn.read_runs(folder, names=3), "names: 3 is no"),
        (lambda runs, folder: sn.read_runs(folder, processes="2"), "processes: '2' is no"),
    ],
)
def test_mistakes_are_usage_errors(act, message, runs, folder):
    with pytest.raises(UsageError, match=message):
        act(runs, folder)


def test_the_package_is_imported_fast():
    code = "import sys, stable_nalu, json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, cwd=ROOT)
    loaded = json.loads(done.stdout)
    assert not {"torch", "pandas", "numpy", "stable_nalu.api.runs"} & set(loaded)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = sn.nothing


def test_a_run_by_torch_imports_few_modules(tmp_path):
    words = "experiments/simple_function_static.py --engine torch --max-iterations 2"
    where = {"TENSORBOARD_DIR": str(tmp_path / "logs"), "SAVE_DIR": str(tmp_path / "models")}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *words.split()],
        **{"env": os.environ | where, "cwd": ROOT, "capture_output": True, "text": True},
    )
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    ours = {name for name in names if name.partition(".")[0] in ("stable_nalu", "torchlanes")}
    assert done.returncode == 0
    assert len(ours) <= 47, sorted(ours)


@pytest.mark.parametrize(
    ("script", "how", "task", "threshold"),
    [
        ("depth", {"layer": "iNALU", "log_interval": 10}, "add,mul", 1e-5),
        ("comparison", {"log_interval": 10}, "gt", math.nan),
    ],
)
def test_runs_of_any_script_are_judged_from_their_records(tmp_path, script, how, task, threshold):
    runs = sn.train(script, seed=range(2), max_iterations=20, out=tmp_path, **how)
    assert runs.outcomes["threshold"].tolist() == pytest.approx([threshold] * 2, nan_ok=True)
    best = runs.table.sort_values("metric.valid.interpolation").drop_duplicates("name")
    errors = best.set_index("name")["metric.test.extrapolation"][runs.names]
    assert runs.outcomes["test_error"].tolist() == errors.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if math.isnan(threshold) else "error")
        summary = sn.summarize(runs)
        assert sn.compare(runs, runs).pairs == 2
        assert sn.plot(runs, kind="success").axes
    assert (summary["operation"].tolist(), summary["n"].tolist()) == ([task], [2])
