"""The recipes of CONTRIBUTING, performed in a copy of the tree: a layer, a flag, a task, a figure.

Each recipe changes as many places as CONTRIBUTING names, and no other; all are performed in one.
"""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from stable_nalu.base.files import EXTRA_FLAGS, cells_of

ROOT = Path(__file__).resolve().parents[1]
RECIPES = tomllib.loads((ROOT / "tests" / "recipes.toml").read_text("utf-8"))
pytestmark = pytest.mark.slow


class Tree:
    """A tree of which single files are copies, and all others are links."""

    def __init__(self, folder: Path):
        self.folder = folder
        self._link(ROOT, folder)

    def _link(self, source: Path, target: Path) -> None:
        target.mkdir(exist_ok=True)
        for path in source.iterdir():
            if path.name not in (".git", "__pycache__"):
                (target / path.name).symlink_to(path)

    def _own(self, name: str) -> Path:
        """Return a file that may be written: its folders become folders of the copy."""
        path = self.folder
        for part in Path(name).parts[:-1]:
            path /= part
            if path.is_symlink():
                source = path.resolve()
                path.unlink()
                self._link(source, path)
        return path / Path(name).name

    def add(self, name: str, text: str, behind: str | None = None) -> None:
        """Put text behind a line of a file, or at its end; make the file if there is none."""
        path = self._own(name)
        before = path.read_text() if path.exists() else ""
        path.unlink(missing_ok=True)
        if behind is None:
            path.write_text(before + text)
        else:
            assert before.count(behind) == 1
            path.write_text(before.replace(behind, behind + text))

    def run(self, codes: dict[str, str]) -> dict[str, str]:
        """Run code in one Python process, as importing torch takes longest; name -> what is said.

        An error is said, too.
        """
        kept = ("PATH", "HOME", "STABLE_NALU_CACHE", EXTRA_FLAGS)
        roots = {"TENSORBOARD_DIR": "tensorboard", "SAVE_DIR": "save"}
        done = subprocess.run(
            [sys.executable, "-c", EACH],
            cwd=self.folder,
            env={k: os.environ[k] for k in kept if k in os.environ}
            | {"PYTHONPATH": str(self.folder)}
            | {name: str(self.folder / root) for name, root in roots.items()},
            input=json.dumps(codes),
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def exported(self, folder: str) -> list[dict[str, str]]:
        """Return the rows of trained runs with their configurations."""
        return cells_of(self.folder / f"{folder}.csv")


EACH = """
import contextlib, io, json, sys, traceback
said = {}
for name, code in json.load(sys.stdin).items():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            exec(code, {})
        except BaseException:
            traceback.print_exc(file=out)
    said[name] = out.getvalue()
json.dump(said, sys.stdout)
"""


def test_a_layer_is_a_class_a_line_and_its_test(tree, said):
    assert "Traceback" not in said["layer"], said["layer"]
    assert {row["layer.type"] for row in tree.exported("layer")} == {"Square"}
    assert " passed" in said["test of the layer"], said["test of the layer"]
    assert "Traceback" not in said["test of the layer"]


def test_a_flag_is_one_entry(tree, said):
    assert said["flag"].split()[:3] == ["None", "0.5", "_sf-0.5"], said["flag"]
    rows = tree.exported("flag")
    assert {row["softness"] for row in rows} == {"0.5"}
    assert rows[0]["name"].endswith("_sf-0.5")


def test_a_task_is_its_file_and_its_script(tree, said):
    assert "Traceback" not in said["task"], said["task"]
    rows = tree.exported("doubling")
    assert [(row["seed"], row["step"]) for row in rows] == [
        (seed, step) for seed in ("0", "1") for step in ("0", "100", "200")
    ]
    assert {row["name"] for row in rows} == {f"linear_n8_s{s}_lr-adam-0.10000" for s in (0, 1)}
    errors = [float(row["metric.test.extrapolation"]) for row in rows[:3]]
    assert errors == sorted(errors, reverse=True)


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Tree:
    """All recipes performed, in a tree."""
    tree = Tree(tmp_path_factory.mktemp("recipes") / "tree")
    for one in RECIPES["added"]:
        tree.add(**one)
    script = (ROOT / "experiments" / "gridworld_time.py").read_text()
    tree.add("experiments/doubling.py", script.replace("gridworld_time", "doubling"))
    return tree


@pytest.fixture(scope="module")
def said(tree) -> dict[str, str]:
    """What is said by what the recipes allow."""
    return tree.run(RECIPES["code"])


def test_a_figure_is_one_declaration(tree, said):
    assert said["figure"].splitlines()[:2] == ["True True", "[9]"], said["figure"]
    written = {path.name for path in (tree.folder / "plots").iterdir()}
    assert "new-figure_op-add.png" in written
    table = (tree.folder / "plots" / "new-figure_op-add_final_metrics.csv").read_text()
    assert len(table.splitlines()) == 10
