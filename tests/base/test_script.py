"""Exit codes and one-line errors of scripts."""

import sys
from pathlib import Path

import pytest

from stable_nalu.base.errors import did_you_mean, in_words
from stable_nalu.base.script import ScriptParser, exit_code, packages
from stable_nalu.options.flag import integer, number

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("No such size.\nIt is 3."), "ValueError: No such size"),
        (RuntimeError("\n  pages follow\nof detail"), "RuntimeError: pages follow"),
        (KeyError("x"), "KeyError: 'x'"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_errors_of_foreign_code_fit_into_a_line(error, said):
    assert in_words(error) == said


def test_other_errors_are_not_hidden():
    def fail():
        raise KeyError("a")

    with pytest.raises(KeyError):
        exit_code("a.py", fail)


PARSER = [
    (["--csv"], "argument --csv: has no value; write --csv PATH"),
    (["--cvs", "a"], "argument --cvs: there is no such flag; did you mean --csv?"),
    (["--cs", "a"], "argument --cs: there is no such flag; did you mean --csv?"),
    ([], "argument --csv: missing; see --help"),
    (["--csv", "a", "b"], "unexpected word 'b'; see --help"),
    (["--csv", "a", "--csv=b"], "argument --csv: given twice; give it once"),
    (["--csv", "a", "--size", "0"], "argument --size: 0 is too small; the smallest value is 1"),
    (["--csv", "a", "--size", "x"], "--size: 'x' is not a whole number; write one such as 10"),
    (["--csv", "a", "--kind", "Tables"], "--kind: 'Tables' is not a choice; did you mean table?"),
    (["--csv", "a", "--kind", "x"], "--kind: 'x' is not a choice; choose one of range, table"),
    (["--csv", "a", "--old", "1"], "argument --old: not accepted; it never had an effect"),
    (["--csv", "a", "--many", "1", "--many", "2"], "--many: given twice; give it once, with all"),
    (["--csv", "a\ud800"], r"argument --csv: 'a\ud800' is not text; write it in UTF-8"),
    (["--csv=\ud800"], r"argument --csv: '--csv=\ud800' is not text; write it in UTF-8"),
    (["--csv", "a\0"], r"'a\x00' is not text; write it in UTF-8"),
    (["--\ud800"], r"'--\ud800' is not text; write it in UTF-8"),
    (["--csv", "a", "--rate", "-inf"], "argument --rate: -inf is not a finite number; write one"),
]


@pytest.mark.parametrize(("words", "message"), PARSER)
def test_every_mistake_is_one_line_that_says_what_is_right(words, message, capsys):
    parser = ScriptParser(prog="a.py", refused={"--old": "it never had an effect"})
    parser.add_argument("--csv", metavar="PATH", required=True)
    parser.add_argument("--size", type=integer(1).one)
    parser.add_argument("--rate", type=number().one)
    parser.add_argument("--kind", choices=("range", "table"))
    parser.add_argument("--many", nargs="+")
    parser.add_argument("--each", action="append")
    with pytest.raises(SystemExit) as end:
        parser.parse_args(words)
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("a.py: error: ")
    assert message in line
    read = parser.parse_args(["--csv", "a", "--each", "1", "--each", "2", "--rate", "-1e-3"])
    assert (read.each, read.rate) == (["1", "2"], -0.001)


def test_help_goes_before_mistakes(capsys):
    with pytest.raises(SystemExit) as end:
        ScriptParser(prog="a.py").parse_args(["--what", "--help"])
    assert not end.value.code
    out, err = capsys.readouterr()
    assert out.startswith("usage: a.py")
    assert err == ""


def test_a_package_that_is_not_installed_is_one_line(capsys):
    def need():
        raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")

    with pytest.raises(SystemExit) as end, packages("/a/b/plot.py"):
        need()
    assert end.value.code == 2
    with pytest.raises(SystemExit):
        exit_code("plot.py", need)
    first, second = capsys.readouterr().err.splitlines()
    assert first == second
    assert first.startswith(f"plot.py: error: {sys.executable} has no package torch; run ")
    assert f" -m pip install --editable {ROOT}" in first


@pytest.mark.parametrize("name", ["stable_nalu.layer.none", "tomllib", None])
def test_a_module_that_no_package_would_bring_is_a_fault(name):
    with pytest.raises(ModuleNotFoundError), packages("plot.py"):
        raise ModuleNotFoundError("none", name=name)


@pytest.mark.parametrize(
    ("word", "most", "remedy"),
    [
        ("slrum", 1, "did you mean slurm?"),
        ("SLURM", 1, "did you mean slurm?"),
        ("locl", 3, "did you mean local?"),
        ("x", 1, "see --help"),
    ],
)
def test_suggestions(word, most, remedy):
    assert did_you_mean(word, ("local", "slurm", "lsf"), "see --help", most) == remedy
