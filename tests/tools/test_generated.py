"""Generated tables are what the code makes now."""

import pytest

from stable_nalu.layer import entries
from tools import generated
from tools.flag_tables import (
    LAYERS,
    MARKS,
    NAMES,
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
    names = "\nyesterday\n".join(NAMES)
    path.write_text(f"before\n{names}\n{BEGIN}\nyesterday\n{END}\nafter\n", encoding="utf-8")
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
    assert text.startswith(f"before\n{NAMES[0]}\n\n| in the papers |")
    assert f"{NAMES[1]}\n{BEGIN}\n\n| name |" in text
    assert text.endswith(f"\n\n{END}\nafter\n")
    assert "yesterday" not in text
    assert capsys.readouterr().out == f"rewritten: {stale_file}\n"
    assert generated.main(["--check"]) == 0


def test_every_entry_and_variant_has_its_row():
    table = render_layer_table()
    for entry in entries().values():
        assert f"| {entry.label} | `{entry.key}` |" in table
        for variant in entry.variants:
            words = " ".join([entry.key, *option_words(variant.options)])
            assert f"| {variant.label} | `{words}` |" in table


def test_rows_are_whole():
    rows = render_layer_table().splitlines()
    assert {row.count(" | ") for row in rows if not row.startswith("|---")} == {4}
    assert len(rows) == 2 + sum(1 + len(entry.variants) for entry in entries().values())


def test_option_words():
    options = {"nmu_noise": True, "noise_range": [1, 0], "nalu_mul": "mnac"}
    words = ["--nmu-noise", "--noise-range", "[1,0]", "--nalu-mul", "mnac"]
    assert option_words(options) == words
    with pytest.raises(KeyError):
        option_words({"eps": 1e-7})
