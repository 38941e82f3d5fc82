"""Every file of examples/ runs, and does what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from stable_nalu.task import SCRIPTS

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def run(name: str, *words: str, steps: int | None = None) -> str:
    """What a program prints; `steps` shortens its training."""
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    if steps is not None:
        text, count = re.subn(r"^STEPS = \d+$", f"STEPS = {steps}", text, flags=re.MULTILINE)
        assert count == 1
    command = [sys.executable, "-c", text, *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_there_is_a_test_for_each():
    tested = {"my_layer.py", "my_layer_with_penalty.py", "own_model.py", "extrapolation.py"}
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


def test_own_model_trains_its_layers():
    said = run("own_model.py", steps=20)
    assert "relative error on 10 to 20" in said
    assert said.count("Layer [[") == 2


def test_extrapolation_draws_its_picture(tmp_path):
    picture = tmp_path / "picture.png"
    said = run("extrapolation.py", str(picture), steps=20)
    assert "NMU, two weights" in said
    assert picture.stat().st_size > 10_000


@pytest.fixture
def executed(tmp_path, monkeypatch) -> nbformat.NotebookNode:
    """The notebook, run by a kernel as Jupyter does, with a picture of the user's at its end."""
    monkeypatch.delenv("MPLBACKEND", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    notebook = nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4)
    theirs = "import matplotlib.pyplot as plt\nplt.plot([1, 2]);"
    notebook.cells.append(nbformat.v4.new_code_cell(theirs))
    client = NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    return client.execute()


def test_the_notebook_shows_its_picture_and_those_of_the_user(executed, tmp_path):
    *_, ours, theirs = [cell for cell in executed.cells if cell.cell_type == "code"]
    assert ours.source.endswith("\nfigure")
    for cell in (ours, theirs):
        assert len([o for o in cell.outputs if "image/png" in o.get("data", {})]) == 1
    streams = [
        o for cell in executed.cells for o in cell.get("outputs", ()) if o.output_type == "stream"
    ]
    told = [o.text for o in streams if o.name == "stderr" and not o.text.startswith("\r")]
    assert told == [], "besides the bar"
    assert (tmp_path / "unit.json").is_file()
    assert any(r"\bottomrule" in o.text for o in streams)
