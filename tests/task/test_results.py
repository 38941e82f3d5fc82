import json
import math

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.training.result_file import ResultFile


def test_records_are_appended_one_a_line(tmp_path, monkeypatch):
    monkeypatch.setenv("RESULTS_DIR", str(tmp_path / "a" / "b"))
    ResultFile("runs").append({"seed": 0, "loss": 0.1, "name": "é\n"})
    ResultFile("runs").append({"seed": 1, "loss": math.inf, "other": math.nan})
    lines = (tmp_path / "a" / "b" / "runs.ndjson").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"seed": 0, "loss": 0.1, "name": "é\n"},
        {"seed": 1, "loss": None, "other": None},
    ]


def test_a_root_that_cannot_be_written_is_refused_at_once(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("RESULTS_DIR", str(tmp_path / "file"))
    with pytest.raises(UsageError, match=r"cannot write .*runs\.ndjson: .*RESULTS_DIR"):
        ResultFile("runs")
