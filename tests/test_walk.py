"""A researcher's first hour: the wheel, installed, and the example notebook run with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.slow


def pip(*words: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def installed(tmp_path) -> Path:
    """The package without its checkout, beside what this environment has installed."""
    source = tmp_path / "source"
    files = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True
    )
    for name in filter(None, files.stdout.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path / "wheel", source)
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    pip("install", "--no-deps", "--target", tmp_path / "installed", wheel)
    return tmp_path / "installed"


def test_the_notebook_with_the_installed_wheel(installed, tmp_path, monkeypatch):
    for name in ("MPLBACKEND", "TENSORBOARD_DIR", "SAVE_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", str(installed))
    work = tmp_path / "work"
    work.mkdir()
    before = sorted(installed.rglob("*.*"))
    notebook = nbformat.read(ROOT / "examples" / "notebook.ipynb", as_version=4)
    where = "import stable_nalu\nprint(stable_nalu.__file__)"
    notebook.cells.append(nbformat.v4.new_code_cell(where))
    resources = {"metadata": {"path": str(work)}}
    done = NotebookClient(notebook, timeout=300, resources=resources).execute()
    outputs = [o for cell in done.cells for o in cell.get("outputs", ())]
    streams = [o for o in outputs if o.output_type == "stream"]
    assert streams[-1].text.startswith(str(installed)), "another package was imported"
    assert not any("arning" in o.text for o in streams)
    assert any("image/png" in o.get("data", {}) for o in outputs)
    assert {path.name for path in work.iterdir()} == {
        *("tensorboard", "save", "unit.safetensors", "unit.json")
    }
    written = set(installed.rglob("*.*")) - set(before)
    assert {path.suffix for path in written} <= {".pyc"}, "nothing beside the package"
