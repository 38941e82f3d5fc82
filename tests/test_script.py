"""Exit codes and one-line errors of scripts."""

import subprocess
import sys
from pathlib import Path

import pytest

from stable_nalu.errors import UsageError
from stable_nalu.script import ScriptParser, exit_code

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(("result", "code"), [(None, 0), (0, 0), (3, 3)])
def test_the_exit_code_is_that_of_the_body(result, code):
    assert exit_code("a.py", lambda: result) == code


def test_a_refused_request_is_one_line(capsys):
    def refuse():
        raise UsageError("too much")

    assert exit_code("a.py", refuse) == 2
    assert capsys.readouterr().err == "a.py: error: too much\n"


def test_ctrl_c_is_one_line(capsys):
    def wait():
        raise KeyboardInterrupt

    assert exit_code("a.py", wait) == 130
    assert capsys.readouterr().err == "a.py: interrupted\n"


def test_other_errors_are_not_hidden():
    def fail():
        raise KeyError("a")

    with pytest.raises(KeyError):
        exit_code("a.py", fail)


def test_a_wrong_flag_is_one_line(capsys):
    with pytest.raises(SystemExit) as end:
        ScriptParser(prog="a.py").parse_args(["--what"])
    assert end.value.code == 2
    assert capsys.readouterr().err == (
        "a.py: error: argument --what: there is no such flag; see --help for the flags of this "
        "script\n"
    )


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    rows = "".join(f"run{k},0,1,1,0\n" for k in range(20_000))
    header = "name,step,metric.valid.interpolation,metric.test.extrapolation,sparse.error.max\n"
    (tmp_path / "a.csv").write_text(header + rows)
    command = [sys.executable, "export/verdict.py", "--csv", str(tmp_path / "a.csv")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as process:
        assert "run0" in process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 141
