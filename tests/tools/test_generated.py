"""Generated tables are what the code makes now."""

from functools import partial

import pytest

from stable_nalu.base.files import CHECKOUT
from stable_nalu.layer import entries
from stable_nalu.options.layer_options import option_words
from stable_nalu.task.table import SCRIPTS
from tools import generated
from tools.doc_tables import layer_table, refreshed

BEGIN = "<!-- Generated from stable_nalu/layer; rewrite with `make generated`. -->"
END = "<!-- End of the generated table. -->"
LAYERS = CHECKOUT / "docs" / "layers.md"
FLAGS = [flag for spec in SCRIPTS.values() for flag in spec.flags]


def test_nothing_is_stale():
    found = [path.name for path in generated.stale()]
    assert found == [], "make generated"


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


def test_every_key_and_variant_of_the_package_is_listed():
    text = layer_table()
    rows = {row.split(" | ")[1]: row for row in text.splitlines() if row.startswith("| ")}
    for entry in entries().values():
        assert f"`{entry.key}`" in (rows if entry.tier == "core" else text)
        for variant in entry.variants:
            words = " ".join([entry.key, *option_words(FLAGS, variant.options)])
            assert rows[f"`{words}`"].startswith(f"| {variant.label} |")
    assert {row.count(" | ") for row in rows.values()} == {4}


def test_option_words():
    options = {"nmu_noise": True, "noise_range": [1, 0], "nalu_mul": "mnac"}
    words = ["--nmu-noise", "--noise-range", "[1,0]", "--nalu-mul", "mnac"]
    others = ["--layer-option", "eps=1e-07", "operands=add"]
    assert option_words(FLAGS, options | {"eps": 1e-7, "operands": "add"}) == words + others
