"""The scripts of the robustness study, in process."""

import numpy as np
import pandas as pd
import pytest

from tests.exported import main_of

FOLDER = "export/single_layer_task/robustness"
NAME = (
    "{code}_op-mul_oob-c_rs-linear-linear_eps-0_rl-50000-75000_r-10-0-1_i-1-2_e-2-6_z-10-0.1-0.0_"
    "b128_s{seed}_h2_z2_lr-adam-0.00100-0.0_D-u_n-1-5_L1F_rb-1e-09-1e-07-10000-10_"
    "rWnpu-{penalty}-W_rg-0_rM_clip-n_WrI-xu_nM{noise}_gn-F_TB-1000_mse"
)


def script(name):
    return main_of(f"{FOLDER}/{name}.py")


def exported(path, code="reregualizedlinearmnac", noise="F", penalty=0, steps=(0, 100_000)):
    """Exact weights at the last step, for three seeds."""
    rows = []
    for seed in range(3):
        name = NAME.format(code=code, seed=seed, noise=noise, penalty=penalty)
        first = np.random.RandomState(seed).randint(0, 9)
        exact = np.isin(np.arange(10), (first, first + 1)).astype(float)
        rows += [[name, *(exact if step else exact * 0.5), step] for step in steps]
    columns = ["name", *(f"param.W.{place}" for place in range(10)), "step"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)


def test_indexes_of_the_relevant_inputs(tmp_path):
    out = tmp_path / "new" / "indexes.csv"
    assert script("generate_dataset_solution_indexes")(["--csv-out", str(out)]) == 0
    table = pd.read_csv(out)
    assert list(table) == ["seed", "index.1", "index.2"]
    assert table["seed"].tolist() == list(range(25))
    assert (table["index.2"] == table["index.1"] + 1).all()
    assert table["index.1"].tolist() == [np.random.RandomState(s).randint(0, 9) for s in range(25)]


@pytest.mark.parametrize(
    ("code", "noise", "penalty", "label"),
    [
        ("reregualizedlinearmnac", "F", 0, "NMU"),
        ("reregualizedlinearmnac", "T", 0, "sNMU"),
        ("signnmru", "T", 0, "Sign sNMRU"),
        ("realnpu", "F", 1, "Real NPU (mod)"),
        ("realnpu", "F", 0, "Real NPU"),
    ],
)
def test_the_last_step_is_cut_out(tmp_path, code, noise, penalty, label):
    exported(tmp_path / "uniform-1-2.csv", code, noise, penalty)
    assert script("expand_weights")(["--csv", str(tmp_path / "uniform-1-2.csv")]) == 0
    table = pd.read_csv(tmp_path / "uniform-1-2_expanded_100K_step.csv")
    assert table.columns[0].startswith("Unnamed")
    assert table["step"].tolist() == [100_000] * 3
    assert table["model"].tolist() == [label] * 3
    assert table["seed"].tolist() == [0, 1, 2]
    assert table["regualizer.beta.start"].tolist() == [1e-9] * 3


def test_an_export_without_the_last_step(tmp_path, capsys):
    path = tmp_path / "a.csv"
    exported(path, steps=(0,))
    assert script("expand_weights")(["--csv", str(path)]) == 2
    assert "no row of step 100000" in capsys.readouterr().err
