"""Generated tables are what the code makes now."""

import re

import pytest

from stable_nalu.layer import entries
from stable_nalu.options.layer_options import option_words
from stable_nalu.task import SCRIPTS
from tools import generated
from tools.flag_tables import (
    CARD_MARKS,
    EMPTY,
    LAYERS,
    MARKS,
    refreshed_layers,
    render_flag_tables,
    render_layer_table,
    task_page,
)

BEGIN, END = MARKS[LAYERS]
FLAGS = [flag for spec in SCRIPTS.values() for flag in spec.flags]


def test_nothing_is_stale():
    found = [path.name for path in generated.stale()]
    assert found == [], "make generated"


@pytest.fixture
def stale_file(tmp_path, monkeypatch):
    path = tmp_path / "README.md"
    cards = "\n".join(CARD_MARKS)
    text = f"before\n{BEGIN}\nyesterday\n{END}\nbetween\n{cards}\nafter\n"
    path.write_text(text, encoding="utf-8")
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
    assert f"\n\n{END}\nbetween\n{CARD_MARKS[0]}\n\n| name |" in text
    assert text.endswith(f"\n\n{CARD_MARKS[1]}\nafter\n")
    assert "yesterday" not in text
    assert capsys.readouterr().out == f"rewritten: {stale_file}\n"
    assert generated.main(["--check"]) == 0


def test_every_key_and_variant_of_the_package_is_listed():
    text = render_layer_table()
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


def cell_of(script, cell, sets):
    """The value that a cell has for a script: the first, unless another is said to be its own."""
    most, *others = re.split(r"; (?=[^`]+: `)", cell)
    own = [other.split(": ", 1) for other in others]
    return next((value for names, value in own if script in spelled(names, sets)), most)


def spelled(names, sets):
    return [short for name in names.split() for short in sets.get(name, [name])]


@pytest.mark.parametrize("script", SCRIPTS)
def test_flags_md_has_every_flag_with_its_default_and_whether_run_names_hold_it(script):
    spec, text = SCRIPTS[script], render_flag_tables()
    sets = {
        name: members.split(", ") for name, members in re.findall(r"\*(\w)\* means ([^;.]+)", text)
    }
    sets["all"] = [other.short for other in SCRIPTS.values()]
    shared, own = text.split("## Flags of one to three scripts")
    own = own.partition("\n## ")[0]
    lines = [line for line in own.splitlines() if spec.short in line.split(" | ")[0].split()]
    alone = dict(re.findall(r"`(--[-\w]+)`[°]? (.*?)(?=, `--| \|$)", "\n".join(lines), re.M))
    unmarked = set(re.findall(r"`(--[-\w]+)` `", own))
    rows = [line.split(" | ") for line in shared.splitlines()]
    rows = {row[0].strip("| ").strip("`°").split()[0]: row for row in rows if "`--" in row[0]}
    helps = {}
    for flag in (flag for other in SCRIPTS.values() for flag in other.flags):
        helps.setdefault(flag.name, set()).add(flag.help)
    for flag in spec.flags:
        holds = flag.dest in spec.fully_named | {*spec.partly_named}
        if flag.name in alone:
            assert cell_of(spec.short, alone[flag.name], sets) == f"`{flag.default_text or EMPTY}`"
            assert not holds or flag.name in unmarked
            continue
        head, default, scripts, meaning = rows[flag.name]
        assert any(help in meaning for help in helps[flag.name])
        (swept,) = re.findall(r"\*Sweep\*(?:: ([^.]+))?\.", meaning) or [None]
        assert flag.sweep == (swept == "" or spec.short in spelled(swept or "", sets))
        assert all(f"`{a}`" in meaning for a in flag.aliases if "--regularizer" not in a)
        choices = flag.choices if isinstance(flag.choices, tuple) else ()
        assert all(f"`{choice}`" in meaning for choice in choices)
        assert cell_of(spec.short, default, sets) == f"`{flag.default_text}`"
        named, _, unnamed = scripts.rstrip(")").partition(" (")
        assert spec.short in spelled(f"{named} {unnamed}", sets)
        assert holds == (spec.short in spelled(named, sets) and head.endswith("`"))
    assert {*alone, *rows} >= {flag.name for flag in spec.flags}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_page_of_a_script_says_what_each_of_its_flags_means_there(script):
    spec = SCRIPTS[script]
    rows = dict(re.findall(r"^\| `(--[-\w]+).*?` \| (.*) \|$", task_page(spec), re.M))
    assert [*rows] == [*(flag.name for flag in spec.flags), *spec.refused]
    assert all(rows[name] == why for name, why in spec.refused.items())
    for flag in spec.flags:
        wanted = (
            f"`{flag.default_text or EMPTY}` | ",
            flag.help,
            f"Here: {flag.note}." if flag.note else "",
        )
        assert all(part in rows[flag.name] for part in wanted)
