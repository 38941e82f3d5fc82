"""Whole runs against stored figures: names, tags, series and the exported CSV."""

from dataclasses import replace

import pytest

from tests.golden.golden_runs import (
    FILES,
    FIXTURES,
    PREFIX,
    disagreements,
    load_golden,
    load_script,
    read_run,
    row_disagreements,
    train,
)

# Every kind of layer once, both networks, noise, restarts, another distribution, float64.
REPRESENTATIVE = (
    "sl_realnpumod_s0_[1,2]",
    "sl_nru_s0_[1,2]",
    "sl_nmru_s0_[-2,2]",
    "sl_npu",
    "sl_nmru_nosign",
    "sl_verbose_nmru",
    "dist_benford_s0",
    "bm_snmu_s0_m",
    "bm_mnac_s0_a",
    "bm_inalu_s0_a",
    "bm_gnalu_s0_a",
    "bm_relu_s0_a",
    "bm_nau_s0_m",
    "bmm_mcfc_add",
    "bmm_mcfc_mul",
    "fs_nmu_s0",
    "fs_posnac_s0",
    "fs_nalu2_s0",
    "fs_gumbel_s0",
    "fs_softmax_s0",
    "fs_simple",
    "fs_sgd64",
)


CASES = [
    pytest.param(name, marks=() if name in REPRESENTATIVE else pytest.mark.slow)
    for name in load_golden()
]


def test_representative_names_exist():
    assert set(REPRESENTATIVE) <= set(load_golden())
    assert len(load_golden()) == 74
    assert {path.stem for path in FIXTURES.glob("*.json")} == set(FILES)


@pytest.mark.parametrize("name", CASES)
def test_run(name, tmp_path):
    golden = load_golden()[name]
    assert train(golden) == 0
    (folder,) = (tmp_path / "tensorboard" / PREFIX).iterdir()
    assert golden.run_name in (folder.name, None)
    series, others = read_run(folder)
    assert sorted(series) == sorted(golden.scalar_tags)
    assert sorted(others) == sorted(golden.other_tags)
    assert disagreements(golden, series) == []

    export = load_script("export/simple_function_static.py")
    out = tmp_path / "out.csv"
    folders = ["--tensorboard-dir", str(folder.parent), "--csv-out", str(out)]
    assert export.main([*folders, "--strict"]) == 0
    header, *rows = out.read_text().splitlines()
    assert header == golden.csv_header
    assert len(rows) == golden.csv_n
    assert row_disagreements(golden, header, rows) == []


IN_A_STACK = ("sl_realnpumod_s0_[1,2]", "sl_nru_s0_[1,2]", "sl_nmru_s0_[-2,2]", "bm_snmu_s0_m")


@pytest.mark.parametrize("name", IN_A_STACK)
def test_run_in_a_stack(name, tmp_path):
    check_in_a_stack(name, tmp_path)


def check_in_a_stack(name, tmp_path):
    """Trained together with other seeds, it has the stored figures."""
    golden = load_golden()[name]
    assert train(replace(golden, argv=with_more_seeds(golden.argv))) == 0
    series, _ = read_run(tmp_path / "tensorboard" / PREFIX / golden.run_name)
    assert sorted(series) == sorted(golden.scalar_tags)
    assert disagreements(golden, series) == []


def with_more_seeds(argv):
    """The command line with two more seeds."""
    at = argv.index("--seed") + 1
    return [*argv[:at], f"{argv[at]},91-92", *argv[at + 1 :]]
