import csv

import pytest

from tests.exported import EXPORTED, main_of

main = main_of("export/verdict.py")


@pytest.fixture
def verdicts(tmp_path, capsys):
    def run(rows, *arguments):
        path = tmp_path / "runs.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(EXPORTED)
            writer.writerows(rows)
        assert main(["--csv", str(path), *arguments]) == 0
        return capsys.readouterr().out.splitlines()

    return run


def row(step, validation, test, sparsity=0.0, name="a"):
    return [name, validation, step, 0, test, sparsity]


def test_solved(verdicts):
    rows = [row(0, 1, 9), row(10, 0.1, 1e-6), row(20, 0.01, 1e-8, 0.25)]
    assert verdicts(rows) == [
        "success: solved at step 10 "
        "(extrapolation error 1e-08, threshold 1e-05, sparsity error 0.25)"
    ]


def test_the_row_of_lowest_validation_error_decides(verdicts):
    rows = [row(0, 1, 9), row(10, 0.1, 3), row(20, 0.2, 1e-8)]
    assert verdicts(rows) == [
        "not solved in 20 steps (extrapolation error 3, threshold 1e-05, sparsity error 0)"
    ]


def test_only_the_last_rows_are_considered(verdicts):
    rows = [row(0, 0.0, 9), row(1, 1, 1e-8), *(row(2 + k, 2, 9) for k in range(4999))]
    assert verdicts(rows)[0].startswith("success: solved at step 1 ")


def test_missing_values(verdicts):
    assert verdicts([row(0, "", "", "")]) == [
        "not solved in 0 steps (extrapolation error nan, threshold 1e-05, sparsity error nan)"
    ]
    assert verdicts([row(0, 1, 1e-8), row(10, "", 9)])[0].startswith("success: solved at step 0 ")
