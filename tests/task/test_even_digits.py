"""Counting even digits: names, bad input, what is logged and exported, resuming and learning."""

import os

import numpy as np
import pandas as pd
import pytest
import torch

from stable_nalu.result.exporters import any_runs
from stable_nalu.task.even_digit_count import accuracy, rmse, table
from tests.experiments.scripts import read, run, run_names, saved

SCRIPT = "even_digit_count"
SMALL = (
    *("--image-size", "40", "--max-digits", "2", "--min-distance", "5", "--batch-size", "4"),
    *("--valid-images", "9", "--test-images", "17", "--log-interval", "2", "--workers", "1"),
)
MNIST = os.environ.get("STABLE_NALU_MNIST")


def test_measures_of_a_confusion():
    """Numbers 0 and 1 are right, two of four 2s are taken for 0, one for 1."""
    confusion = torch.tensor([[3.0, 0, 0], [0, 3, 0], [2, 1, 1]])
    assert accuracy(confusion) == pytest.approx(0.7)
    assert rmse(confusion) == pytest.approx((9 / 10) ** 0.5)
    assert table(confusion[:2, :2].long()) == (
        "| even digits \\ answer | 0 | 1 |\n|---|---|---|\n| 0 | 3 | 0 |\n| 1 | 0 | 3 |"
    )


def test_what_is_logged_when(tmp_path, capsys):
    words = (*SMALL, "--max-iterations", "5", "--seed", "0-1", "--layer-type", "NAC")
    assert run(SCRIPT, *words) == 0
    for name in run_names(SCRIPT, *words):
        log = read(name)
        assert sorted(log.series("metric/valid/acc")) == [0, 2, 4, 5]
        assert sorted(log.series("metric/test/acc")) == [5]
        assert sorted(log.series("metric/test/rmse")) == [5]
        (text,) = log.series("metric/test/confusion/text_summary").values()
        counts = [list(map(int, row.split("|")[2:-1])) for row in text.decode().split("\n")[2:]]
        assert np.sum(counts) == 17
        assert np.trace(counts) == pytest.approx(17 * log.series("metric/test/acc")[5])
    out = tmp_path / "runs.csv"
    folder = ("--tensorboard-dir", str(tmp_path / "tensorboard" / "t"))
    assert any_runs((*folder, "--csv-out", str(out))) == 0
    capsys.readouterr()
    runs = pd.read_csv(out).set_index(["seed", "step"])
    assert len(runs) == 2 * 4
    assert runs["metric.test.acc"].notna().sum() == 2
    assert {"metric.valid.acc", "metric.test.rmse", "digit.source", "no.head.bias"} <= set(runs)
    assert set(runs["layer.type"]) == {"NAC"}


def test_heads_of_a_seed_start_alike():
    words = (*SMALL, "--max-iterations", "0")
    states = {}
    for unit in ("linear", "tanh"):
        more = ("--layer-type", unit, "--learning-rate", "1e-30", "--seed", "0-1")
        assert run(SCRIPT, *words, *more) == 0
        names = run_names(SCRIPT, *words, *more)
        states[unit] = [saved(name)["model_state_dict"] for name in names]
    for one, other in zip(*states.values(), strict=True):
        for name, value in one.items():
            # Biases of zero have made a step of the rate.
            torch.testing.assert_close(value, other[name], rtol=0, atol=1e-25)
    # Those of another seed start elsewhere.
    assert not torch.equal(states["tanh"][0]["first.W"], states["tanh"][1]["first.W"])


@pytest.mark.skipif(MNIST is None, reason="STABLE_NALU_MNIST names no folder of MNIST")
def test_mnist_is_read_where_it_is():
    words = (*SMALL, "--max-iterations", "1", "--digit-source", "mnist", "--data-dir", str(MNIST))
    assert run(SCRIPT, *words) == 0


@pytest.mark.slow
@pytest.mark.parametrize("head", ["linear", "NAC"])
def test_even_digits_are_learned(head):
    """Up to two digits of 56 x 56 pixels, where answering 0 is right in 58 of 100 pictures."""
    words = ("--image-size", "56", "--max-digits", "2", "--min-distance", "20", "--no-save")
    words += ("--max-iterations", "1500", "--log-interval", "500", "--test-images", "1000")
    assert run(SCRIPT, *words, "--layer-type", head, "--valid-images", "100") == 0
    (name,) = run_names(SCRIPT, *words, "--layer-type", head, "--valid-images", "100")
    assert read(name).series("metric/test/acc")[1500] > 0.75
