"""The scalar autoencoder: its data, networks, names and what it measures."""

import pandas as pd
import pytest
import torch

from stable_nalu.network.dense import ACTIVATIONS, Dense
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
