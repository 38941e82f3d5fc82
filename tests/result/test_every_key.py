"""Every experiment of the arithmetic scripts, end to end: two seeds, a few iterations."""

import pytest

from stable_nalu.paper.experiment import JUDGED
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import command
from tests.result.tiny import in_this_process  # noqa: F401

ITERATIONS = {"simple_function_static": 8, "single_layer": 100, "single_layer_benchmark": 100}
SCRIPTS = tuple(ITERATIONS)
KEYS = {
    script: [key for key, e in EXPERIMENTS.items() if {m.script for m in e.models} == {script}]
    for script in SCRIPTS
}
WITHOUT_TRAINING = ("divBy0_gold_test_errors", "loss_landscape")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One folder for all: runs that two figures share are trained once."""
    return tmp_path_factory.mktemp("results")


def test_no_experiment_is_forgotten():
    found = {key for keys in KEYS.values() for key in keys}
    trained = {
        key for key, e in EXPERIMENTS.items() if any(model.script in SCRIPTS for model in e.models)
    }
    assert found == trained
    assert len(found) == 60


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS)
def test_end_to_end(script, results, in_this_process, capsys):  # noqa: F811
    length = ITERATIONS[script]
    for key in KEYS[script]:
        words = [key, "--out", str(results), "--seeds", "0-1", "--max-iterations", str(length)]
        words += ["--format", "png"]
        assert command.main(words) == 0, (key, capsys.readouterr())
        assert_reported(EXPERIMENTS[key], results / f"iterations-{length}", capsys.readouterr().out)
        assert command.main([*words, "--dry-run"]) == 0
        assert "python3 experiments/" not in capsys.readouterr().out, f"{key} is not finished"


def assert_reported(experiment, folder, said):
    """Tables and a summary are there, and figures where the paper has one."""
    for model in experiment.models:
        assert (folder / "csv" / f"{model.csv}.csv").stat().st_size > 0
    if experiment.criterion.startswith(JUDGED):
        assert (folder / "summary" / f"{experiment.key}.csv").exists()
    if experiment.shown:
        assert f"figure  {folder / 'figures'}" in said


@pytest.mark.parametrize("key", WITHOUT_TRAINING)
def test_without_training(key, tmp_path, capsys):
    assert command.main([key, "--out", str(tmp_path)]) == 0
    assert f"figure  {tmp_path / 'figures'}" in capsys.readouterr().out


def test_figures_that_lack_their_data(tmp_path, capsys):
    assert command.main(["static-mnist-appendix", "--out", str(tmp_path)]) == 1
    assert "figure confusion_matrix not drawn" in capsys.readouterr().out
