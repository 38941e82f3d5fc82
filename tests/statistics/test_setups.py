"""Run names expanded, thresholds looked up, names shown, cells printed."""

import math
from pathlib import Path

import numpy as np
import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.statistics.setups import Limit, Thresholds, expand_name, limit_of, read_setups

ROOT = Path(__file__).resolve().parents[2]
TABLE = (
    "operation,parameter,simple,input.size,subset.ratio,overlap.ratio,epsilon,extrapolation.range\n"
)
ROW = 'op-mul,extrapolation.range,FALSE,2,0.5,0,1e-05,"U[-6,-2] u U[2,6]"\n'
SHIPPED = [ROOT / "exp_setups.csv", ROOT / "function_task_static_mse_expectation.csv"]


def leaf(model, operation="mul", ranges="i-1-2_e-2-6", data="z-2-0.5-0.0", seed=0):
    return (
        f"{model}_op-{operation}_oob-c_rs-linear-linear_eps-0_rl-20000-35000_r-10-0-1_{ranges}"
        f"_{data}_b128_s{seed}_h2_z2_lr-adam-0.00100-0.0"
    )


def threshold(name, parameter=None):
    return Thresholds(read_setups(SHIPPED), parameter).of(expand_name(name)).threshold


MIRRORED = "i--2-2_e-[-6, -2]-[2, 6]"
ARITHMETIC = "z-100-0.25-0.5"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (leaf("reregualizedlinearmnac"), 1e-5),
        (leaf("reregualizedlinearmnac", ranges=MIRRORED), 1e-5),
        (leaf("reregualizedlinearmnac", data="z-10-0.1-0.0"), 1e-5),
        (leaf("nru", "div", "i--50-50_e-[-100, -50]-[50, 100]"), 1e-5),
        (leaf("reregualizedlinearnac-nac-m", data=ARITHMETIC), 0.160026),
        (leaf("reregualizedlinearnac-nac-m", ranges=MIRRORED, data=ARITHMETIC), 0.000230333),
        (leaf("reregualizedlinearnac", "add", data=ARITHMETIC), 1.47851e-05),
        (leaf("reregualizedlinearnac", "mul", data="z-simple"), 2.1568e-06),
        (leaf("nac-nac-n", data="z-100-0.25-0.75"), 0.159771),
        (leaf("nac-nac-n", data="z-300-0.25-0.5"), 12.9701),
        (leaf("nac-nac-n", data="z-77-0.25-0.5"), math.nan),
        (leaf("nac-nac-n", ranges="i-1-2_e-3-9", data=ARITHMETIC), math.nan),
    ],
)
def test_a_run_finds_the_threshold_of_its_task(name, expected):
    assert threshold(name) == pytest.approx(expected, rel=1e-5, nan_ok=True)


@pytest.mark.parametrize(
    ("model", "parameter", "expected"),
    [
        ("nru", "zero.range.hard", 1.1924171872124134e-07),
        ("realnpu", "zero.range.hard", 401.33441162109375),
        ("signnmru", "zero.range.hard", 8.967731992015615e-05),
        ("nru", "zero.range.hard.realnpu", 401.33441162109375),
        ("nru", "extrapolation.range", math.nan),
        ("nru", None, 1.1924171872124134e-07),
        ("realnpu", None, 401.33441162109375),
    ],
)
def test_division_by_small_numbers_has_a_threshold_a_module(model, parameter, expected):
    name = leaf(model, "div", "i-0-0.001_e-0-0.001")
    assert threshold(name, parameter) == pytest.approx(expected, rel=1e-4, nan_ok=True)


def test_only_division_by_small_numbers_is_inclusive():
    small = leaf("nru", "div", "i-0-0.001_e-0-0.001")
    assert limit_of(small) == Limit(1.1924171872124134e-07, inclusive=True)
    assert limit_of(leaf("nru", "div")) == Limit(1e-5, inclusive=False)
    errors = np.array([0.4, 0.5, 0.501, 0.503, math.nan])
    assert Limit(0.5).met(errors).tolist() == [True, False, False, False, False]
    assert Limit(0.5, inclusive=True).met(errors).tolist() == [True, True, True, False, False]


@pytest.mark.parametrize(("bound", "text"), [(1e-4, "0.0001"), (1e-3, "0.001"), (1.0, "1")])
def test_exact_weights_count_as_solved_however_functions_round(bound, text):
    x = np.random.RandomState(8689336).uniform(0, bound, size=(10_000, 1))
    target, x = (1 / x).astype(np.float32), x.astype(np.float32)
    logarithms = np.log((x + np.float32(2**-23)).astype(float)).astype(np.float32)
    of_units = {"realnpu": np.exp(-logarithms.astype(float)), "nru": x.astype(float) ** -1.0}
    for unit, exactly in of_units.items():
        error = np.mean((exactly.astype(np.float32) - target).astype(float) ** 2)
        name = leaf(unit, "reciprocal", f"i-0-{text}_e-0-{text}", "z-1-1.0-0.0")
        assert limit_of(name).inclusive
        assert limit_of(name).met(error)


BENCHMARK = "_L1F_gn-F_gv-F_rF-10-5000_mse"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (leaf("nmu") + BENCHMARK, 1.2017657600181112e-07),
        (leaf("nmu", ranges=MIRRORED) + BENCHMARK, 1.2017657600181112e-07),
        (leaf("nau", "add", data="z-100-0.01-0.0") + BENCHMARK, 1.6013333333333338e-05),
        (leaf("nmu", data="z-10-0.1-0.0") + BENCHMARK, 1e-5),
        (leaf("nmu", ranges="i-1-2_e-3-9") + BENCHMARK, 1e-5),
        (f"some/folder/{leaf('nmu')}{BENCHMARK}", 1.2017657600181112e-07),
        (leaf("nmu"), 1e-5),
        (leaf("nmu", ranges="i-1-2_e-3-9"), 1e-5),
        (leaf("nac-nac-n", data="z-77-0.25-0.5"), 1e-5),
        ("no name of an arithmetic script", 1e-5),
    ],
)
def test_every_run_has_a_threshold(name, expected):
    """That of its task where a table has one; runs of the benchmark have rows of their own."""
    assert limit_of(name) == Limit(pytest.approx(expected, rel=1e-12))
    assert limit_of(name, 0.3) == Limit(0.3)


def test_a_table_that_is_none_is_named(tmp_path):
    path = tmp_path / "t.csv"
    cases = {
        "a,b\n1,2\n": "it has no column operation",
        TABLE + ROW.replace("2,", "x,", 1): "row 1: column input.size holds 'x', no number",
    }
    for text, actual in cases.items():
        path.write_text(text)
        with pytest.raises(UsageError, match=actual):
            read_setups([path])


def test_epsilon_stands_in_for_a_missing_threshold_column(tmp_path):
    path = tmp_path / "exp_setups.csv"
    path.write_text(TABLE + ROW)
    run = expand_name(leaf("nru", ranges=MIRRORED))
    assert Thresholds(read_setups([path])).of(run) == Limit(1e-5)


def test_four_inputs_of_the_arithmetic_data_set_have_their_own_threshold():
    """Subsets of one input, as of single modules; but two layers, and a row of the table."""
    assert threshold(leaf("nmu", data="z-4-0.25-0.5")) == pytest.approx(7.125e-8, rel=1e-3)
    assert threshold(leaf("nmu", data="z-4-0.25-0.0")) == threshold(leaf("nmu"))
    assert threshold(leaf("nmu", data="z-10-0.1-0.0")) == threshold(leaf("nmu"))
