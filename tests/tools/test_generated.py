"""Generated tables are what the code makes now."""

import pytest

from stable_nalu.layer import entries
from tools import generated
from tools.flag_tables import (
    LAYERS,
    MARKS,
    option_words,
    refreshed_layers,
    render_layer_table,
)

BEGIN, END = MARKS[LAYERS]


def test_nothing_is_stale():
    found = [path.name for path in generated.stale()]
    assert found == [], "make generated"


@pytest.fixture
def stale_file(tmp_path, monkeypatch):
    path = tmp_path / "README.md"
    path.write_text(f"before\n{BEGIN}\nyesterday\n{END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(generated, "GENERATED", {path: refreshed_layers})
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


def test_every_key_and_variant_of_the_package_is_listed():
    text = render_layer_table()
    rows = {row.split(" | ")[1]: row for row in text.splitlines() if row.startswith("| ")}
    for entry in entries().values():
        assert f"`{entry.key}`" in (rows if entry.tier == "core" else text)
        for variant in entry.variants:
            words = " ".join([entry.key, *option_words(variant.options)])
            assert rows[f"`{words}`"].startswith(f"| {variant.label} |")
    assert {row.count(" | ") for row in rows.values()} == {4}


def test_option_words():
    options = {"nmu_noise": True, "noise_range": [1, 0], "nalu_mul": "mnac"}
    words = ["--nmu-noise", "--noise-range", "[1,0]", "--nalu-mul", "mnac"]
    assert option_words(options) == words
    with pytest.raises(KeyError):
        option_words({"eps": 1e-7})
