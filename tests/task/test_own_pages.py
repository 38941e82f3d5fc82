"""The pages about tasks and data of one's own, run from top to bottom."""

import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["own-task", "own-data"])
def test_a_page_runs_from_top_to_bottom(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    scope = {"__name__": "__main__"}
    for block in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE):
        exec(compile(block, name, "exec"), scope)
    out = capsys.readouterr().out
    assert {"own-task": "learned: x1 + x2", "own-data": "tensor"}[name] in out
    assert (tmp_path / "runs" / "tensorboard" / "own_task").is_dir()
