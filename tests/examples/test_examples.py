"""Every file of examples/ runs, and does what it says."""

import re
import shutil
import sys
from pathlib import Path

import matplotlib
import nbformat
import pytest
from nbclient import NotebookClient

from stable_nalu.task.table import SCRIPTS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run a program, whose training is made short; return what it prints."""

    def run(name, *words):
        text = (EXAMPLES / name).read_text(encoding="utf-8")
        text, count = re.subn(r"^STEPS = \d+$", "STEPS = 20", text, flags=re.MULTILINE)
        assert count == 1
        monkeypatch.setattr(sys, "argv", [name, *words])
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
        return capsys.readouterr().out

    return run


def test_there_is_a_test_for_each():
    tested = {"my_layer.py", "my_layer_with_penalty.py", "own_model.py", "extrapolation.py"}
    tested |= {"prune.py", "log_to_wandb.py", "log_to_mlflow.py", "my_task.py", "law.csv"}
    tested |= {"srbench.py"}
    assert {path.name for path in EXAMPLES.iterdir() if path.is_file()} == {
        *tested,
        "notebook.ipynb",
    }


@pytest.mark.parametrize("name", ["my_layer.py", "my_layer_with_penalty.py"])
def test_a_layer_file_trains_by_the_command_that_it_shows(name):
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    command = re.search(r"python3 experiments/(\w+)\.py ((?:.*\\\n)*.*)\n", text)
    assert command is not None
    words = command[2].replace("\\\n", " ").split()
    assert len(SCRIPTS[command[1]].plan(words)) == 25


def test_a_task_file_and_a_table_train_by_the_script():
    own = ["--task-file", str(EXAMPLES / "my_task.py"), "--seed", "0-9"]
    assert len(SCRIPTS["own_task"].plan(own)) == 10
    table = ["--data", str(EXAMPLES / "law.csv"), "--target", "F", "--test", "r > 3"]
    assert len(SCRIPTS["own_task"].plan([*table, "--seed", "0-4"])) == 5


def test_own_model_trains_its_layers(run):
    said = run("own_model.py")
    assert "mean squared error" in said
    assert "m1" in said


def test_extrapolation_draws_its_picture(run, tmp_path):
    picture = tmp_path / "picture.png"
    said = run("extrapolation.py", str(picture))
    assert "NMU, two weights" in said
    assert picture.stat().st_size > 10_000


def test_optuna_prunes_trials_and_goes_on(run, tmp_path):
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    states = [line.split()[1] for line in run("prune.py").splitlines()]
    assert set(states) == {"PRUNED", "COMPLETE"}
    assert states[:2] == ["COMPLETE"] * 2
    models = {path.parent.name for path in (tmp_path / "save").rglob("*.pth")}
    assert models == {f"trial-{number}" for number in range(8)}


@pytest.mark.slow
def test_runs_are_logged_to_wandb(run, tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_SILENT", "true")
    assert "2 runs" in run("log_to_wandb.py")
    wandb.teardown()
    logs = list(tmp_path.glob("wandb/offline-run-*/run-*.wandb"))
    assert len(logs) == 2
    assert all(b"metric/test/extrapolation" in log.read_bytes() for log in logs)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_runs_are_logged_to_mlflow(run, tmp_path, monkeypatch):
    tracking = pytest.importorskip("mlflow.tracking")
    monkeypatch.chdir(tmp_path)
    assert "2 runs" in run("log_to_mlflow.py")
    client = tracking.MlflowClient("sqlite:///mlflow.db")
    (experiment,) = client.search_experiments(filter_string="name = 'units'")
    runs = client.search_runs([experiment.experiment_id])
    assert [one.info.status for one in runs] == ["FINISHED"] * 2
    for one in runs:
        found = client.get_metric_history(one.info.run_id, "metric/test/extrapolation")
        assert [metric.step for metric in found] == [0, 10, 20]


@pytest.fixture
def executed(tmp_path, monkeypatch):
    """Run the notebook as Jupyter does, and then a cell that a user has added.

    Return its cells of code, and what they print.
    """
    monkeypatch.delenv("MPLBACKEND", raising=False)
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    # Else it looks at every font again.
    shutil.copytree(matplotlib.get_cachedir(), tmp_path / "mplconfigdir")

    def execute(theirs, folder, package=ROOT):
        monkeypatch.setenv("PYTHONPATH", str(package))
        notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
        notebook.cells.append(nbformat.v4.new_code_cell(theirs))
        resources = {"metadata": {"path": str(folder)}}
        done = NotebookClient(notebook, timeout=300, resources=resources).execute()
        cells = [cell for cell in done.cells if cell.cell_type == "code"]
        return cells, [o for cell in cells for o in cell.outputs if o.output_type == "stream"]

    return execute


def test_the_notebook_shows_its_picture_and_those_of_the_user(executed, tmp_path):
    cells, streams = executed("import matplotlib.pyplot as plt\nplt.plot([1, 2]);", tmp_path)
    *_, ours, theirs = cells
    assert ours.source.endswith("\nfigure")
    for cell in (ours, theirs):
        assert len([o for o in cell.outputs if "image/png" in o.get("data", {})]) == 1
    actual = [o.text for o in streams if o.name == "stderr" and not o.text.startswith("\r")]
    assert actual == [], "besides the bar"
    assert (tmp_path / "unit.json").is_file()
    assert any(r"\bottomrule" in o.text for o in streams)
