"""Setup files: what the generators write, and that the shipped files are what they write."""

import pytest

from stable_nalu.base.files import cells_of as rows
from tests.exported import ROOT, main_of

FLOAT32_TOLERANCE = 1e-4
SIMULATED_TOLERANCE = 0.03


generate = main_of("export/generate_exp_setups.py")
small_divisors = main_of("export/single_layer_task/generate_divBy0_extrap_thresholds.py")


def assert_same_table(found, expected):
    """Equal texts; thresholds within what float32 functions, or simulation, differ by."""
    assert len(found) == len(expected)
    for new, old in zip(found, expected, strict=True):
        tolerance = 1e-12
        if old["parameter"].startswith("zero.range"):
            tolerance = FLOAT32_TOLERANCE
        elif old["operation"] in ("op-div", "op-root") and old["input.size"] == "100":
            tolerance = SIMULATED_TOLERANCE
        for column in old:
            if column in ("epsilon", "threshold"):
                assert float(new[column]) == pytest.approx(float(old[column]), rel=tolerance)
            else:
                assert new[column] == old[column]


def test_the_shipped_setups_are_what_the_generator_writes(tmp_path):
    assert generate(["--csv-out", str(tmp_path / "new.csv")]) == 0
    assert_same_table(rows(tmp_path / "new.csv"), rows(ROOT / "exp_setups.csv"))


def test_the_shipped_arithmetic_cases_are_what_the_generator_writes(tmp_path):
    argv = ["--tables", "arithmetic-cases", "--samples", "20000"]
    assert generate([*argv, "--csv-out", str(tmp_path / "new.csv")]) == 0
    shipped = rows(ROOT / "function_task_static_mse_expectation.csv")
    assert_same_table(rows(tmp_path / "new.csv"), shipped)
    simulated = {r["operation"]: float(r["threshold"]) for r in shipped[:6]}
    assert simulated["op-div"] == pytest.approx(4.957e-12, rel=5e-3)
    assert simulated["op-root"] == pytest.approx(8.951e-09, rel=1e-3)


def test_the_shipped_setups_hold_the_published_rows():
    table = rows(ROOT / "exp_setups.csv")
    benchmark = [r for r in table if r["parameter"] == "benchmark"]
    published = [r for r in table if r["parameter"] != "benchmark"]
    assert len(benchmark) == 9 * 4 + 9 * 4
    single = [r for r in published if r["input.size"] != "100"]
    # 4 operations x 9 ranges, 2 more for division, 45 small divisors, 4 more distributions.
    assert len(single) == 36 + 2 + 45 + 4
    assert len(published) == len(single) + 9
    assert {r["threshold"] for r in single if r["parameter"] == "extrapolation.range"} == {"1e-05"}
    keys = [
        (r["operation"], r["parameter"], r["input.size"], r["extrapolation.range"]) for r in table
    ]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize(
    ("table", "count"),
    [
        ("single-layer", 38),
        ("division-by-zero", 45),
        ("distributions", 5),
        ("arithmetic", 9),
        ("benchmark", 72),
        ("sequential", 18),
    ],
)
def test_single_tables(tmp_path, table, count):
    assert generate(["--tables", table, "--csv-out", str(tmp_path / "t.csv")]) == 0
    assert len(rows(tmp_path / "t.csv")) == count


def test_division_on_the_arithmetic_data_set(tmp_path, capsys):
    argv = ["--tables", "arithmetic-division", "--epsilon", "1e-3", "--samples", "20000"]
    assert generate([*argv, "--csv-out", str(tmp_path / "t.csv")]) == 0
    found = {r["extrapolation.range"]: float(r["threshold"]) for r in rows(tmp_path / "t.csv")}
    assert found["U[1.2,6]"] == pytest.approx(9.05876304995491e-08, rel=0.05)
    assert found["U[-6,-2] ∪ U[2,6]"] == 6108197.64101774
    assert "8 rows" in capsys.readouterr().err


def test_small_divisors_with_and_without_epsilon(tmp_path, capsys):
    plain, added = tmp_path / "plain.csv", tmp_path / "added.csv"
    assert small_divisors(["--csv-out", str(plain)]) == 0
    assert small_divisors(["--csv-out", str(added), "--add-eps"]) == 0
    assert capsys.readouterr().out.count("\n") == 216
    first, second = rows(plain), rows(added)
    assert list(first[0]) == ["module", "parameter", "test.mse", "range"]
    assert len(first) == len(second) == 108
    hard = next(
        i
        for i, r in enumerate(first)
        if (r["module"], r["parameter"], r["range"]) == ("NRU", "hard", "U[0,1e-4)")
    )
    assert float(first[hard]["test.mse"]) < 1e-10
    assert float(second[hard]["test.mse"]) == pytest.approx(1.1921875398002157e-07, rel=1e-4)
