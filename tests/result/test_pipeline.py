"""From a key to exported, judged, drawn and compared results; of every key some runs."""

from contextlib import ExitStack

import pytest

from stable_nalu.base.files import cells_of, shared_lock, tensorboard_root
from stable_nalu.paper.experiment import JUDGED
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import reproduce
from stable_nalu.result.judged import runs_of
from stable_nalu.result.reproduce import listing
from stable_nalu.result.stored import sessions_of
from stable_nalu.task.table import SCRIPTS as SPECS
from stable_nalu.training.shell import ENGINE, TORCH
from stable_nalu.writer.event_file import LOCK_NAME, RunRecord, claimed
from tests.result.tiny import in_this_process  # noqa: F401
from tests.training.engine.harness import training
from tests.turn import weekly

WORDS = ["nips-sltr-in10", "--model", "sign-nmru", "--seeds", "0-1", "--max-iterations", "20"]


def test_dry_run_prints_every_command(tmp_path, capsys):
    assert reproduce.main([*WORDS, "--out", str(tmp_path), "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"export TENSORBOARD_DIR={tmp_path}/iterations-20/tensorboard"
    assert said[2].startswith("python3 experiments/single_layer.py --operation div --input-size 10")
    assert "--seed 0-1 --name-prefix sltr-in10/sign-nmru" in said[2]
    assert said[3].startswith("python3 export/simple_function_static.py")
    assert not any(tmp_path.iterdir())


def test_runs_that_a_killed_command_left_in_training_are_waited_for(tmp_path, capsys):
    words = ["nips-sltr-in2", "--model", "nru", "--seeds", "0", "--max-iterations", "20"]
    request = (*words, "--out", str(tmp_path))
    assert reproduce.main([*request, "--dry-run"]) == 0
    (model,) = [m for m in EXPERIMENTS["nips-sltr-in2"].models if m.key == "nru"]
    with ExitStack() as stack:
        for run in runs_of(model, [0], 20):
            record = RunRecord.create("single_layer", {}, "")
            stack.enter_context(claimed(tensorboard_root() / run.name, record))
        capsys.readouterr()
        assert reproduce.main([*request]) == 2
    said = capsys.readouterr()
    assert "another process trains 9 of these runs; repeat the command" in said.err
    assert "all runs are trained" not in said.out


def test_no_verdict_while_another_command_trains_the_same_runs(tmp_path, monkeypatch, capsys):
    words = ["nips-sltr-in2", "--model", "nru", "--seeds", "0", "--max-iterations", "20"]
    another = ExitStack()

    def run_shards(words, left, logs, *, processes):
        another.enter_context(shared_lock(logs / LOCK_NAME))
        return 1  # their folders were in use; now it trains others

    monkeypatch.setattr(reproduce, "run_shards", run_shards)
    with another:
        assert reproduce.main([*words, "--out", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert "another process trains 9 of these runs; repeat the command" in said.err
    assert "judging" not in said.out


@pytest.mark.slow
def test_train_export_summarise_compare_and_resume(tmp_path, capsys):
    kept = tmp_path / "kept"
    words = [*WORDS, "--out", str(tmp_path), "--jobs", "1", "--keep", "--data", str(kept)]
    assert reproduce.main(words) == 0
    space = tmp_path / "iterations-20"
    rows = cells_of(space / "csv" / "sltr-in10" / "sign-nmru.csv")
    assert len({row["name"] for row in rows}) == 18
    assert {int(row["step"]) for row in rows} == set(range(21))
    summary = cells_of(space / "summary" / "nips-sltr-in10.csv")
    assert len(summary) == 9
    assert {row["runs"] for row in summary} == {"2"}
    comparison = cells_of(space / "summary" / "nips-sltr-in10_comparison.csv")
    assert [(r["model"], r["published.runs"], r["runs"]) for r in comparison] == [
        ("sign-nmru", "225", "18")
    ]
    assert comparison[0]["verdict"] == "not comparable: 20 of 100,000 iterations"
    said = capsys.readouterr().out
    assert "solved  sign-nmru 0 of 18 [0–18 %]" in said
    assert "0 of 0 comparable points equal the published ones; 1 not comparable" in said
    capsys.readouterr()
    assert reproduce.main(words) == 0
    assert "all runs are trained" in capsys.readouterr().out
    (session,) = sessions_of(WORDS[0], kept)
    assert session.cpu_seconds > 0


def test_every_experiment_is_listed():
    said = listing(2)
    for key, experiment in EXPERIMENTS.items():
        assert f"\n  {key}\n" in said
        for number in experiment.numbers:
            assert number in said


def test_when_nothing_can_be_trained_the_reason_is_said(tmp_path, capsys):
    (tmp_path / "iterations-20").mkdir()
    (tmp_path / "iterations-20/save").write_text("")
    assert reproduce.main([*WORDS, "--out", str(tmp_path), "--jobs", "1"]) == 2
    said = capsys.readouterr()
    assert "exit code 2, see " in said.out
    assert "task-0.err: stable-nalu batch: error: " in said.out
    logs = tmp_path / "iterations-20/logs"
    assert f"no run of sign-nmru was trained; files in {logs} say why" in said.err


ITERATIONS = {"simple_function_static": 8, "single_layer": 100, "single_layer_benchmark": 100}
KEYS = [key for key, e in EXPERIMENTS.items() if any(m.script in ITERATIONS for m in e.models)]
WITHOUT_TRAINING = ("divBy0_gold_test_errors", "loss_landscape")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One folder for all, as figures may share runs."""
    return tmp_path_factory.mktemp("results")


def one_of_each_kind():
    """The shortest of those that are judged alike with one script; others are in test_measured."""
    alike = {}
    for key in KEYS:
        experiment = EXPERIMENTS[key]
        kind = (experiment.criterion.partition(".")[0], experiment.models[0].script)
        if not experiment.is_measured:
            alike.setdefault(kind, []).append((sum(m.runs for m in experiment.models), key))
    return [min(keys)[1] for keys in alike.values()]


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=weekly(place)) for place, key in enumerate(KEYS)]
)
def test_every_model_begins_to_train(key):
    for model in EXPERIMENTS[key].models:
        for words in model.commands(model.seeds[:1]):
            config = SPECS[model.script].plan(words.words).configs[0]
            made = training(model.script, [config], engine=False)
            steps = made.train()
            next(steps), next(steps)
            assert made.recorder.written


@pytest.mark.slow
@pytest.mark.parametrize(
    "key", [pytest.param(k, marks=weekly(place)) for place, k in enumerate(one_of_each_kind())]
)
def test_end_to_end(key, results, in_this_process, monkeypatch, capsys):  # noqa: F811
    (script,) = {model.script for model in EXPERIMENTS[key].models}
    if script == "simple_function_static":  # Every run has a size of its own, which is compiled.
        monkeypatch.setenv(ENGINE, TORCH)
    length = ITERATIONS[script]
    words = [key, "--out", str(results), "--seeds", "0", "--max-iterations", str(length)]
    words += ["--format", "png"]
    assert reproduce.main(words) == 0, capsys.readouterr()
    assert_reported(EXPERIMENTS[key], results / f"iterations-{length}", capsys.readouterr().out)
    assert reproduce.main([*words, "--dry-run"]) == 0
    assert "python3 experiments/" not in capsys.readouterr().out, "not finished"


def assert_reported(experiment, folder, said):
    """Tables and a summary are there, and figures where the paper has one."""
    for model in experiment.models:
        assert (folder / "csv" / f"{model.csv}.csv").stat().st_size > 0
    if experiment.criterion.startswith(JUDGED):
        assert (folder / "summary" / f"{experiment.key}.csv").exists()
    if experiment.paper:
        assert f"figure  {folder / 'figures'}" in said


@pytest.mark.parametrize("key", WITHOUT_TRAINING)
def test_without_training(key, tmp_path, capsys):
    assert reproduce.main([key, "--out", str(tmp_path)]) == 0
    assert f"figure  {tmp_path / 'figures'}" in capsys.readouterr().out


def test_figures_that_lack_their_data(tmp_path, capsys):
    assert reproduce.main(["static-mnist-appendix", "--out", str(tmp_path)]) == 1
    assert "figure confusion_matrix not drawn" in capsys.readouterr().out
