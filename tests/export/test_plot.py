"""`export/plot.py`, in process."""

import pytest

from stable_nalu.statistics.thresholds import write_residuals
from tests.exported import main_of
from tests.figure.drawing import FAILED, metrics, run_name, solved_at

plot = main_of("export/plot.py")


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.csv"
    metrics(path, {run_name(seed=s): FAILED if s == 3 else solved_at(1000 + s) for s in range(4)})
    return path


def refused(capsys, *argv):
    assert plot(list(argv)) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("plot.py: error: ")
    return lines[0]


def test_own_results(mine, tmp_path):
    out = tmp_path / "out"
    argv = ["--csv", str(mine), "--label", "My layer", "--out-dir", str(out)]
    assert plot([*argv, "--format", "pdf", "png", "--sparsity-fit", "scaled"]) == 0
    assert {path.suffix for path in out.iterdir()} == {".pdf", ".png", ".csv"}
    lines = (out / "figure_plot_data.csv").read_text().splitlines()
    assert lines[0].startswith('"","model","operation","parameter","key","mean.value"')
    assert lines[1].startswith('"1","My layer","div","U[1,2]","success.rate",0.75')


def test_a_key_with_most_files_missing(mine, tmp_path, capsys):
    (tmp_path / "csv/sltr-in2").mkdir(parents=True)
    (tmp_path / "csv/sltr-in2/nru.csv").write_bytes(mine.read_bytes())
    argv = ["nips-sltr-in2", "--csv-dir", str(tmp_path / "csv"), "--out-dir", str(tmp_path / "o")]
    assert plot([*argv, "--format", "png"]) == 0
    actual = capsys.readouterr().err
    for label in ("Real NPU (baseline)", "Real NPU (modified)", "NMRU"):
        assert label in actual
    assert (tmp_path / "o/nips-sltr-in2_op-div.png").is_file()


def test_the_errors_of_exact_weights_are_drawn_from_where_they_are_written(
    tmp_path, monkeypatch, capsys
):
    """Figure 5 of the division study: two commands without a path."""
    monkeypatch.chdir(tmp_path)
    assert write_residuals([]) == 0
    said = capsys.readouterr().out
    for task in ("[a] to 1/a", "[a,b] to 1/a", "[a,b] to a/b"):
        assert said.count(f": {task}, ") == 4 * 9
    assert plot(["divBy0_gold_test_errors", "--format", "png"]) == 0
    assert (tmp_path / "results/plots/divBy0_gold_test_errors.png").is_file()


@pytest.mark.parametrize(
    ("header", "row", "column", "drawn"),
    [
        ("name,step,epoch,label2out.w0,label2out.w1", "{i},{i},0.{i},0.5", None, "label2out"),
        (
            "name,step,epoch,label2out.w0,label2out.w1",
            "{i},{i},0.{i},0.5",
            "label2out",
            "label2out",
        ),
        ("name,step,weights.w0,weights.w1,gate.g0,gate.g1", "{i},0.{i},1,1,1", "gate", "gate"),
        ("name,param.W.0,param.W.1,param.W.2,step", "0.{i},1,1,{i}", "param.W", "param.W"),
    ],
)
def test_a_path_is_drawn_of_the_weights_that_an_export_has(tmp_path, header, row, column, drawn):
    """Of a last layer over digits, of gates alone, of an export of all weights."""
    rows = ["1_f0_op-mul_nalmT_learnLT_s0_digits," + row.format(i=i) for i in (1, 2, 3)]
    (tmp_path / "x.csv").write_text("\n".join([header, *rows]) + "\n")
    words = ["--csv", str(tmp_path / "x.csv"), "--kind", "path", "--out-dir", str(tmp_path / "o")]
    assert plot([*words, *(["--column", column] if column else [])]) == 0
    written = (tmp_path / "o/figure_plot_data.csv").read_text().splitlines()
    assert ("epoch" if "epoch" in header else "step") in written[0]
    assert written[0].count(drawn) == 2
    assert len(written) == 4


def test_weights_that_an_export_lacks(tmp_path, capsys):
    path = tmp_path / "x.csv"
    path.write_text("name,epoch,label2out.w0,label2out.w1\n1_f0_op-mul_nalmT_learnLF_s0,0,,\n")
    words = ["--csv", str(path), "--kind", "path"]
    assert "--learn-labels2out" in refused(capsys, *words)
    actual = refused(capsys, *words, "--column", "label2ou")
    assert "argument --column: " in actual
    assert "did you mean label2out" in actual
    assert "one file" in refused(capsys, "--csv", str(path), str(path), "--kind", "path")


def test_refusals(mine, tmp_path, capsys):
    assert "did you mean" in refused(capsys, "nips-sltr-in22")
    assert "--list" in refused(capsys)
    nowhere = str(tmp_path / "nowhere")
    assert "no file" in refused(capsys, "nips-sltr-in2", "--csv-dir", nowhere)
    assert "did you mean range" in refused(capsys, "--csv", str(mine), "--kind", "rang")
    two = ("--csv", str(mine), "--label", "a", "b")
    assert "2 labels are given for 1 files" in refused(capsys, *two)
    odd = ("--csv", str(mine), "--label", "a\udcff")
    assert r"label 'a\udcff' is not text; write it in UTF-8" in refused(capsys, *odd)
