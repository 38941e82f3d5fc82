"""The page for users of the published packages: its code runs, as it stands."""

import re

from tests.exported import ROOT


def test_the_code_of_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path / "tensorboard"))
    monkeypatch.setenv("SAVE_DIR", str(tmp_path / "save"))
    page = (ROOT / "docs" / "migration.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)
