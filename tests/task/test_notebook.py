"""The notebook's addition: its data, start, loss, names, tags, export and what it learns."""

import numpy as np
import pytest
import torch

from stable_nalu.task.notebook_addition import NotebookNetwork
from tests.experiments.scripts import read, run, run_names, saved
from tests.training.configurations import built

SCRIPT = "notebook_addition"
LOSS, TEST = "loss/train/half-sum-squares", "metric/test/half-sum-squares"
SMALL = ("--train-size", "50", "--log-interval", "4", "--workers", "1")


def rows(size: int, seed: int):
    """The training and the test rows of a seed."""
    task = built(SCRIPT, f"--train-size {size} --seed {seed}")
    return task.data[0], task.test_rows[0]


def test_rows_are_sums_of_two_sums_of_ten_numbers():
    train, test = rows(2000, 3)
    for (x, t), high in ((train, 10), (test, 100)):
        assert x.shape == (2000, 10)
        assert 0 <= x.min() < 0.01 * high < 0.99 * high < x.max() < high
        a, b = x[:, :4].sum(1, keepdim=True), x[:, 4:].sum(1, keepdim=True)
        torch.testing.assert_close(t, a + b)
    assert torch.equal(train[0], rows(2000, 3)[0][0])
    assert not torch.equal(train[0], rows(2000, 4)[0][0])


def notebook_loss(x, t, parameters, eps=1e-7):
    """The loss as the notebook writes it, in float64."""
    for G, W_hat, M_hat in (parameters[:3], parameters[3:]):
        W = np.tanh(W_hat) / (1 + np.exp(-M_hat))
        g = 1 / (1 + np.exp(-x @ G.T))
        x = g * (x @ W.T) + (1 - g) * np.exp(np.log(np.abs(x) + eps) @ W.T)
    return ((x - t) ** 2).sum() / 2


def test_the_loss_and_its_start():
    """At the start predictions are small: half the sum of y^2, 1.29e7 for 10,000 rows."""
    assert run(SCRIPT, "--max-iterations", "0") == 0
    (name,) = run_names(SCRIPT, "--max-iterations", "0")
    log = read(name)
    (loss,) = log.series(LOSS).values()
    assert loss == pytest.approx(1.29e7, rel=0.03)
    assert log.series("loss/train/critation") == {0: loss}
    assert log.series("loss/train/mse") == {0: pytest.approx(loss * 2 / 10_000, rel=1e-6)}
    (test,) = log.series(TEST).values()
    assert test == pytest.approx(1.29e9, rel=0.03)
    assert log.series("metric/test/mse") == {0: pytest.approx(test * 2 / 10_000, rel=1e-6)}
    torch.manual_seed(0)
    model = NotebookNetwork("NALU", nalu_init="truncated")
    model.reset_parameters()
    start = [p.detach().double().numpy() for p in model.parameters()]
    assert max(np.abs(p).max() for p in start) <= 0.04
    x, t = rows(10_000, 0)[0]
    assert loss == pytest.approx(notebook_loss(x.numpy(), t.numpy(), start), rel=1e-4)
    assert saved(name)["epoch"] == 1


def test_the_notebooks_slip_is_one_update_on_the_test_rows(capsys):
    """Up to there nothing changes: the test error that the notebook prints is that before it."""
    words = (*SMALL, "--seed", "0-1", "--max-iterations", "9", "--pytorch-precision", "64")
    slip = (*words, "--train-on-test")
    assert run(SCRIPT, *words) == 0
    assert run(SCRIPT, *slip) == 0
    logs = [[read(name) for name in run_names(SCRIPT, *w)] for w in (words, slip)]
    for seed, (log, other) in enumerate(zip(*logs, strict=True)):
        assert other.series(TEST) == log.series(TEST)
        losses = other.series(LOSS)
        assert losses == log.series(LOSS) | {9: pytest.approx(log.series(TEST)[9], rel=1e-6)}
        assert f"{TEST}/after" not in log.tags
        (after,) = other.series(f"{TEST}/after").items()
        model = NotebookNetwork("NALU", nalu_init="truncated").double()
        model.load_state_dict(saved(run_names(SCRIPT, *slip)[seed])["model_state_dict"])
        x, t = (part.double() for part in rows(50, seed)[1])
        assert after == (9, pytest.approx(((model(x) - t) ** 2).sum().item() / 2, rel=1e-6))
        assert after[1] != losses[9]
    capsys.readouterr()
    longer = [word if word != "9" else "12" for word in slip]
    assert run(SCRIPT, *longer, "--resume") == 2
    assert "argument --train-on-test: the last update of this run" in capsys.readouterr().err
