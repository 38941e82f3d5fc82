"""The scalar autoencoder: its data, networks, names and what it measures."""

import pandas as pd
import pytest
import torch

from stable_nalu.network.dense import ACTIVATIONS, Dense, IdentityNetwork
from stable_nalu.result.export import RunTable
from stable_nalu.result.exporters import CURVES, any_runs
from stable_nalu.task.identity_autoencoder import IdentityTask
from tests.experiments.scripts import exported, run
from tests.training.configurations import built

SCRIPT = "identity_autoencoder"


def batch(words: str, task: IdentityTask | None = None):
    return next((task or built(SCRIPT, words)).batches())[0]


def test_the_grid_is_the_whole_numbers_of_the_range():
    assert batch("").flatten().tolist() == list(range(-5, 6))
    assert batch("--train-range [-1.5,2.5]").flatten().tolist() == [-1, 0, 1, 2]


def test_uniform_batches_are_fresh_within_the_range_and_of_their_seed():
    words = "--train-sampling uniform --batch-size 1000 --seed"
    task = built(SCRIPT, f"{words} 1")
    first = batch("", task)
    assert first.shape == (1000, 1)
    assert -5 <= first.min() < -4.9 < 4.9 < first.max() < 5
    assert torch.equal(first, batch(f"{words} 1"))
    assert not torch.equal(first, batch("", task))
    assert not torch.equal(first, batch(f"{words} 2"))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_are_torchs_modules(name):
    z = torch.linspace(-7, 7, 57)[:, None]
    layer = Dense(1, 1, name)
    with torch.no_grad():
        layer.W.fill_(1)
        layer.bias.zero_()
    named = {"linear": torch.nn.Identity(), "Threshold": torch.nn.Threshold(1, 0)}
    module = named.get(name) or getattr(torch.nn, name)()
    assert torch.equal(layer(z), module(z))


def test_start_weights_are_bounded_as_torchs_are():
    layer = Dense(16, 500)
    assert layer.W.abs().max().item() == pytest.approx(0.25, abs=0.001)
    assert layer.bias.abs().max().item() == pytest.approx(0.25, abs=0.01)


def test_there_is_no_activation_behind_the_last_layer():
    model = IdentityNetwork("Sigmoid", 8, 3)
    assert [layer.activation for layer in model.layers] == ["Sigmoid"] * 3 + ["linear"]
    assert [tuple(layer.W.shape) for layer in model.layers] == [(8, 1), (8, 8), (8, 8), (1, 8)]


def test_the_curve_is_exported_beside_the_measures(tmp_path):
    words = ("--layer-type", "Tanh", "--seed", "0-1", "--max-iterations", "3", "--workers", "1")
    assert run(SCRIPT, *words, "--test-range", "[-7,7]") == 0
    curves = tmp_path / "curves.csv"
    table, long = exported("--curve-out", str(curves)), pd.read_csv(curves)
    assert list(long) == ["name", "activation", "seed", "x", "abs.error"]
    assert len(long) == 2 * 15
    end = table.loc[(table["step"] == 3) & (table["seed"] == 1)].iloc[0]
    own = long.loc[long["seed"] == 1].set_index("x")["abs.error"]
    outside = [own[x] for x in (-7, -6, 6, 7)]
    assert end["metric.test.extrapolation"] == pytest.approx(sum(outside) / 4, rel=1e-6)
    assert end["abs.error.-7"] == own[-7]
    assert table["abs.error.-7"].isna().sum() == 2


def test_a_curve_without_its_first_point_stays(tmp_path):
    out, none, rows = tmp_path / "curves.csv", float("nan"), []
    for seed, (name, *errors) in enumerate([("a", 1, 2), ("b", none, 3), ("c", none, none)]):
        columns = {"step": [3], "abs.error.-7": errors[:1], "abs.error.7": errors[1:]}
        rows += CURVES.points(RunTable(name, columns, {"layer.type": "Tanh", "seed": seed}))
    CURVES.write(rows, "--curve-out", str(out))
    long = pd.read_csv(out).set_index(["name", "x"])["abs.error"]
    assert list(long.index) == [("a", -7), ("a", 7), ("b", -7), ("b", 7)]
    assert (long["a", -7], long["b", 7]) == (1, 3)


@pytest.mark.parametrize("flag", ["--curve-out", "--stimuli-out"])
def test_tables_of_what_was_never_logged(flag, tmp_path, capsys):
    assert run("single_layer", "--max-iterations", "0") == 0
    out = tmp_path / "runs.csv"
    words = ("--tensorboard-dir", str(tmp_path / "tensorboard" / "t"), "--csv-out", str(out))
    assert any_runs((*words, flag, str(tmp_path / "long.csv"))) == 2
    assert f"{flag}: no run has" in capsys.readouterr().err
