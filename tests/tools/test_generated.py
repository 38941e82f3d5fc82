"""Generated tables are what the code makes now."""

from functools import partial

import pytest

from stable_nalu.base.files import CHECKOUT
from tools import generated
from tools.generated import refreshed

BEGIN = "<!-- Generated from stable_nalu/layer; rewrite with `make generated`. -->"
END = "<!-- End of the generated table. -->"
LAYERS = CHECKOUT / "docs" / "layers.md"


def test_nothing_is_stale(capsys):
    assert generated.main(["--check"]) == 0, f"make generated: {capsys.readouterr().out}"


@pytest.fixture
def stale_file(tmp_path, monkeypatch):
    path = tmp_path / "README.md"
    text = f"before\n{BEGIN}\nyesterday\n{END}\nafter\n"
    path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(generated, "GENERATED", {path: partial(refreshed, LAYERS)})
    return path


def test_check_names_a_stale_file_and_changes_nothing(stale_file, capsys):
    before = stale_file.read_text(encoding="utf-8")
    assert generated.main(["--check"]) == 1
    assert capsys.readouterr().out == f"stale: {stale_file}\n"
    assert stale_file.read_text(encoding="utf-8") == before


def test_rewriting_keeps_what_is_written_by_hand(stale_file, capsys):
    assert generated.main([]) == 0
    text = stale_file.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n\n| name |")
    assert text.endswith(f"\n\n{END}\nafter\n")
    assert "yesterday" not in text
    assert capsys.readouterr().out == f"rewritten: {stale_file}\n"
    assert generated.main(["--check"]) == 0
