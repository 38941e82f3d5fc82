"""The summary script, from exported metrics and from a table of judged runs."""

import csv
from pathlib import Path

import pytest

from stable_nalu.base.files import cells_of
from tests.exported import EXPORTED, ROOT, main_of

JUDGED = ROOT / "tests" / "statistics" / "fixtures" / "stats-in.csv"


main = main_of("export/summarize.py")


def rows(path):
    return cells_of(Path(path))


def leaf(model, seed, ranges="i-1-2_e-2-6", tail=""):
    return (
        f"{model}_op-mul_oob-c_rs-linear-linear_eps-0_rl-20000-35000_r-10-0-1_{ranges}"
        f"_z-2-0.5-0.0_b128_s{seed}_h2_z2_lr-adam-0.00100-0.0{tail}"
    )


def write(path, runs):
    """runs: name -> test error of each logged row; validation error is a tenth of it."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(EXPORTED)
        for name, errors in runs.items():
            for i, error in enumerate(errors):
                writer.writerow([name, error / 10, 1000 * i, 1.5, error, 0.01 * (i + 1)])
    return str(path)


@pytest.fixture
def exported(tmp_path):
    runs = {leaf("reregualizedlinearmnac", s): [1, 1e-6, 1e-9] for s in range(3)}
    runs[leaf("reregualizedlinearmnac", 3)] = [1, 0.5, 0.2]
    runs |= {leaf("nalu", s): [1, 1, 1] for s in range(4)}
    mirrored = "i--2-2_e-[-6, -2]-[2, 6]"
    runs |= {leaf("nalu", s, mirrored): [1, 1e-6, 2] for s in range(2)}
    return write(tmp_path / "x.csv", runs)


def test_success_rates_of_exported_runs(exported, tmp_path):
    out, seeds = str(tmp_path / "out.csv"), str(tmp_path / "seeds.csv")
    assert main(["--csv", exported, "--csv-out", out, "--seeds-csv-out", seeds]) == 0
    table = rows(out)
    groups = [(r["model"], r["interpolation.range"], r["runs"]) for r in table]
    assert groups == [("NALU", "U[-2,2]", "2"), ("NALU", "U[1,2]", "4"), ("NMU", "U[1,2]", "4")]
    assert [r["success.rate.mean"] for r in table] == ["1", "0", "0.75"]
    assert table[0]["extrapolation.range"] == "U[-6,-2] & U[2,6]"
    assert table[2]["converged.at.mean"] == "1000"
    assert float(table[2]["sparse.error.mean"]) == pytest.approx(0.03)
    assert table[1]["converged.at.mean"] == "NA"
    judged = rows(seeds)
    assert len(judged) == 10
    assert {r["threshold"] for r in judged} == {"1e-05"}
    assert [r["solved"] for r in judged if r["model"] == "NMU"].count("TRUE") == 3


def test_runs_of_one_name_in_two_files_need_labels(tmp_path, capsys):
    name = leaf("reregualizedlinearmnac", 0)
    files = [write(tmp_path / f"{i}.csv", {name: [10.0**-i]}) for i in (1, 9)]
    out = str(tmp_path / "out.csv")
    assert main(["--csv", *files, "--csv-out", out]) == 2
    assert "--models" in capsys.readouterr().err
    assert main(["--csv", *files, "--csv-out", out, "--models", "NMU", "sNMU"]) == 0
    assert [(r["model"], r["success.rate.mean"]) for r in rows(out)] == [
        ("NMU", "0"),
        ("sNMU", "1"),
    ]


def test_runs_without_a_row_in_tables_of_the_user_are_named(tmp_path, capsys):
    runs = {leaf("nalu", 0): [1e-9], leaf("nalu", 0, "i-1-2_e-3-9"): [1e-9]}
    out = str(tmp_path / "out.csv")
    words = ["--csv", write(tmp_path / "x.csv", runs), "--csv-out", out]
    assert main([*words, "--exp-setups", str(ROOT / "exp_setups.csv")]) == 0
    assert "U[3,9]: 1 runs left out" in capsys.readouterr().err
    assert len(rows(out)) == 1
    assert main(words) == 0
    assert [r["threshold"] for r in rows(out)] == ["1e-05", "1e-05"]


def test_the_summary_tells_the_threshold_of_every_group(tmp_path):
    """Runs of the benchmark have that of their range; a group of several ranges has none."""
    tail = "_L1F_gn-F_gv-F_rF-10-5000_mse"
    ranges = ("i-1-2_e-2-6", "i-0.1-0.2_e-0.2-2")
    runs = {leaf("nmu", 0, r, tail): [1e-8] for r in ranges}
    path, out = write(tmp_path / "x.csv", runs), str(tmp_path / "out.csv")
    assert main(["--csv", path, "--csv-out", out]) == 0
    found = {r["extrapolation.range"]: (r["threshold"], r["success.rate.mean"]) for r in rows(out)}
    assert found == {
        "U[2,6]": ("1.2017657600181112e-07", "1"),
        "U[0.2,2]": ("8.761512384132045e-10", "0"),
    }
    assert main(["--csv", path, "--csv-out", out, "--by", "model"]) == 0
    assert [(r["runs"], r["threshold"]) for r in rows(out)] == [("2", "NA")]


def test_a_table_of_judged_runs(tmp_path):
    out = str(tmp_path / "out.csv")
    assert main(["--solved-csv", str(JUDGED), "--csv-out", out]) == 0
    expected = rows(JUDGED.with_name("stats-out.csv"))
    found = rows(out)
    assert list(found[0]) == list(expected[0])
    assert [r["group"] for r in found] == list("abcdefg")
    for new, old in zip(found, expected, strict=True):
        assert [c for c in new if new[c] == "NA"] == [c for c in old if old[c] == "NA"]
    assert found[5]["sparse.error.v"] == "Inf"


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["--csv", "{exported}", "--parameter", "zero.range.hard"], "no run has a threshold"),
        (["--solved-csv", str(JUDGED), "--by", "model"], "--csv only"),
    ],
)
def test_what_cannot_be_summarised_is_said_in_one_line(exported, tmp_path, capsys, argv, named):
    out = tmp_path / "out.csv"
    argv = [word.format(exported=exported) for word in argv]
    assert main([*argv, "--csv-out", str(out)]) == 2
    assert named in capsys.readouterr().err.splitlines()[-1]
    assert not out.exists()


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        (140, ["NMU    U[1,2]               U[2,6]               4     75 % (30–95 %)"]),
        (80, [f"NMU    U[1,2]         {'U[2,6]':19}4     75 %", " " * 47 + "30–95 %"]),
        (30, ["model: NMU", "success rate: 75 % (30–95 %)"]),
    ],
)
def test_without_a_file_the_summary_is_shown_as_wide_as_the_terminal(
    exported, capsys, monkeypatch, columns, lines
):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["--csv", exported]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "operation: ×"
    for line in lines:
        assert any(one.startswith(line) for one in shown), "\n".join(shown)
    assert columns < 80 or max(map(len, shown)) <= columns
    assert shown[-1] == "With 95 % intervals; '-': no run is solved."


@pytest.mark.parametrize(
    ("column", "cell", "says"),
    [
        ("metric.test.extrapolation", -0.5, "holds '-0.5', an error below 0"),
        ("metric.valid.interpolation", -1e-9, "holds '-1e-09', an error below 0"),
        ("sparse.error.max", -1, "holds '-1.0', an error below 0"),
        ("step", -1, "holds '-1', no whole number from 0 on"),
        ("step", 0.5, "holds '0.5', no whole number from 0 on"),
        ("step", "", "holds an empty cell, no step"),
        ("seed", "first", "holds 'first', no number"),
        ("seed", -3, "holds '-3.0', no whole number from 0 on"),
    ],
)
def test_wrong_cells_are_refused_with_row_and_column(column, cell, says, exported, capsys):
    table = [row | {"seed": ""} for row in rows(exported)]
    table[4][column] = str(cell)
    with Path(exported).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    assert main(["--csv", exported]) == 2
    assert f"x.csv: row 5: column {column} {says}\n" in capsys.readouterr().err


def test_a_summary_replaces_an_earlier_one_and_no_other_file(exported, tmp_path, capsys):
    words = ["--csv", exported, "--csv-out", str(tmp_path / "out.csv")]
    assert main(words) == main([*words, "--by", "model"]) == 0
    notes = tmp_path / "notes.txt"
    notes.write_text("To do: measure again")
    assert main(["--csv", exported, "--csv-out", str(notes)]) == 2
    assert "notes.txt: it holds something else\n" in capsys.readouterr().err
    assert notes.read_text() == "To do: measure again"
