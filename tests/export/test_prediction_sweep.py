"""`export/single_layer_task/benchmark/pretrained_model_prediction_sweep.py`, in process."""

import numpy as np
import pandas as pd
import pytest
import torch

from stable_nalu.network import SingleLayerNetwork
from tests.exported import main_of

SWEEP = "export/single_layer_task/benchmark/pretrained_model_prediction_sweep.py"


@pytest.fixture
def sweep(tmp_path):
    main = main_of(SWEEP)
    return lambda *argv: main([*argv, "--csv-save-folder", str(tmp_path / "csv")])


def saved(path, layer, **options):
    """A checkpoint of a new model, and the model."""
    torch.manual_seed(3)
    model = SingleLayerNetwork(layer, 2, 1, **options)
    torch.save({"model_state_dict": model.state_dict(), "args": None}, path)
    return model.eval()


def test_exact_answers(sweep, tmp_path):
    assert sweep("--gold-outputs") == 0
    tables = {name: pd.read_csv(tmp_path / f"csv/{name}_gold.csv") for name in ("mul", "div")}
    for table in tables.values():
        assert list(table) == ["x1", "x2", "pred"]
        assert len(table) == 121**2
        assert table["x1"].is_monotonic_increasing
    mul = tables["mul"]
    np.testing.assert_allclose(mul["pred"], mul["x1"] * mul["x2"], rtol=1e-6, atol=1e-6)
    assert sorted(p.stem for p in (tmp_path / "csv").iterdir()) == [
        f"{name}_gold" for name in ("add", "div", "mul", "sub")
    ]


def test_division_by_zero_is_written_as_it_comes_out(sweep, tmp_path):
    assert sweep("--gold-outputs", "--lower-bound=-1", "--upper-bound=1", "--step-size=1") == 0
    lines = (tmp_path / "csv/div_gold.csv").read_text().splitlines()
    assert lines[2] == "-1.0,0.0,-inf"
    assert lines[5] == "0.0,0.0,"
    assert lines[8] == "1.0,0.0,inf"


@pytest.mark.parametrize(
    ("layer", "flags", "options"),
    [
        ("ReRegualizedLinearMNAC", (), {}),
        ("ReLU", ("--hidden-size", "7"), {"hidden_size": 7, "bias": False}),
        ("ReLU", ("--mlp-depth", "2", "--mlp-bias"), {"mlp_depth": 2, "bias": True}),
        ("MNAC", (), {}),
    ],
)
def test_predictions_of_a_checkpoint(sweep, tmp_path, layer, flags, options):
    model = saved(tmp_path / "m.pth", layer, **options)
    argv = ("--layer-type", layer, "--model-filepath", str(tmp_path / "m.pth"), *flags)
    assert sweep(*argv, "--csv-save-filename", "mine", "--step-size", "2") == 0
    table = pd.read_csv(tmp_path / "csv/mine.csv")
    assert table["x1"].tolist() == [float(x) for x in range(-6, 7, 2) for _ in range(7)]
    with torch.no_grad():
        wanted = model(torch.tensor(table[["x1", "x2"]].to_numpy(), dtype=torch.float32))
    np.testing.assert_allclose(table["pred"], wanted[:, 0], rtol=1e-6)


def refused(sweep, capsys, *argv):
    try:
        code = sweep(*argv)
    except SystemExit as left:
        code = left.code
    assert code == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_refusals(sweep, tmp_path, capsys):
    path = tmp_path / "m.pth"
    torch.save({"a": 1}, path)
    model = ("--model-filepath", str(path))
    assert "--csv-save-filename: is missing" in refused(sweep, capsys, *model)
    named = (*model, "--csv-save-filename", "x")
    assert "over two inputs" in refused(sweep, capsys, *named, "--input-size", "3")
    assert "lacks model_state_dict" in refused(sweep, capsys, *named)
    turned = ("--gold-outputs", "--lower-bound", "3", "--upper-bound", "3")
    assert "not above --lower-bound 3" in refused(sweep, capsys, *turned)
