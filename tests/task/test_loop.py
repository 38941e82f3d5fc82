"""The loop that all tasks share: what is logged when, stacks, interruption and resumption."""

import numpy as np
import pytest
import torch

from stable_nalu.network.dense import IdentityNetwork
from tests.experiments.scripts import read, run, run_names, saved

SCRIPT = "identity_autoencoder"
UNIFORM = ("--layer-type", "Tanh", "--train-sampling", "uniform", "--log-interval", "4")


def test_a_row_measures_what_the_updates_before_it_have_made():
    """The first row is of the start weights; the last one is logged, whatever the interval is."""
    assert run(SCRIPT, *UNIFORM, "--max-iterations", "6") == 0
    (name,) = run_names(SCRIPT, *UNIFORM, "--max-iterations", "6")
    log = read(name)
    errors = log.series("metric/valid/interpolation")
    assert sorted(errors) == [0, 4, 6]
    assert run(SCRIPT, *UNIFORM, "--max-iterations", "0", "--id", "1") == 0
    (short,) = run_names(SCRIPT, *UNIFORM, "--max-iterations", "0", "--id", "1")
    assert read(short).series("metric/valid/interpolation") == {0: errors[0]}
    assert sorted(log.series("loss/train/critation")) == [0, 4, 6]


def test_a_run_that_diverges_is_recorded_and_leaves_the_others_alone():
    words = ("--layer-type", "linear", "--log-interval", "2", "--max-iterations", "8")
    words = (*words, "--optimizer", "sgd", "--workers", "1", "--learning-rate")
    assert run(SCRIPT, *words, "1e10", "--seed", "0-1") != 0
    (name, _) = run_names(SCRIPT, *words, "1e10", "--seed", "0-1")
    log = read(name)
    assert ("/diverged/text_summary") in log.tags
    assert len(log.series("loss/train/total")) < 5
    assert saved(name)["progress"]["diverged_at"] is not None


@pytest.mark.parametrize("name", ["adam", "rmsprop", "sgd"])
def test_optimisers_are_those_of_torch(name):
    """The first updates of the scalar autoencoder against a loop written with torch.optim."""
    words = ("--layer-type", "Tanh", "--optimizer", name, "--max-iterations", "5")
    assert run(SCRIPT, *words) == 0
    (last,) = run_names(SCRIPT, *words)
    torch.manual_seed(0)
    start = IdentityNetwork("Tanh")
    start.reset_parameters()
    model = torch.nn.Sequential(
        *(layer for size in (1, 8, 8) for layer in (torch.nn.Linear(size, 8), torch.nn.Tanh())),
        torch.nn.Linear(8, 1),
    )
    optimizers = {
        "adam": torch.optim.Adam,
        "rmsprop": torch.optim.RMSprop,
        "sgd": torch.optim.SGD,
    }
    optimizer = optimizers[name](model.parameters(), lr=1e-2)
    x = torch.arange(-5.0, 6.0)[:, None]
    torch.nn.utils.vector_to_parameters(
        torch.nn.utils.parameters_to_vector(start.parameters()), model.parameters()
    )
    for _ in range(6):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), x).backward()
        optimizer.step()
    ours = saved(last)["model_state_dict"].values()
    for own, theirs in zip(ours, model.parameters(), strict=True):
        np.testing.assert_allclose(own, theirs.detach(), rtol=2e-5, atol=1e-6)
