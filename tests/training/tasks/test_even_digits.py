"""Counting even digits: names, bad input, what is logged and exported, resuming and learning."""

import os

import numpy as np
import pandas as pd
import pytest
import torch

from stable_nalu.options import OptionError
from stable_nalu.result.exporters import any_runs
from stable_nalu.task import SCRIPTS
from stable_nalu.training.tasks.even_digits import _accuracy, _rmse, _table
from tests.experiments.scripts import read, run, run_names, saved
from tests.training.tasks.resuming import assert_an_interruption_changes_nothing

SCRIPT = "even_digit_count"
SMALL = (
    *("--image-size", "40", "--max-digits", "2", "--min-distance", "5", "--batch-size", "4"),
    *("--valid-images", "9", "--test-images", "17", "--log-interval", "2", "--workers", "1"),
)
MNIST = os.environ.get("STABLE_NALU_MNIST")


def plan(words: str):
    return SCRIPTS[SCRIPT].plan(words.split())


@pytest.mark.parametrize(
    ("words", "leaf"),
    [
        ("", "linear_b32_s0_lr-adam-0.00100"),
        ("--head-weight nac --no-head-bias --seed 2", "nac_b-0_b32_s2_lr-adam-0.00100"),
        ("--layer-type NAC --head-bias", "nac_b32_s0_lr-adam-0.00100"),
        ("--head-weight tanh --batch-size 8", "tanh_b8_s0_lr-adam-0.00100"),
        (
            "--layer-type nalu --max-digits 3 --min-distance 14 --image-size 60",
            "nalu_n3_d14_i60_b32_s0_lr-adam-0.00100",
        ),
        (
            "--train-images 6000 --data-source mnist --valid-images 7 --test-images 7",
            "linear_t6000_mnist_b32_s0_lr-adam-0.00100",
        ),
    ],
)
def test_names(words, leaf):
    (config,) = plan(words).configs
    assert SCRIPTS[SCRIPT].leaf(config) == leaf


@pytest.mark.parametrize(
    ("words", "flag", "problem"),
    [
        ("--min-distance 60", "--min-distance", "5 digits 60 pixels apart find no room"),
        ("--max-digits 9", "--min-distance", "9 digits 28 pixels apart find no room"),
        ("--image-size 50", "--min-distance", "in pictures of 50 x 50"),
        ("--image-size 28", "--image-size", "no larger than a digit"),
        ("--head-bias --no-head-bias", "--head-bias", "contradicts"),
        ("--head-weight Tanh", "--layer-type", "Tanh"),
        ("--max-digits 0", "--max-digits", "smallest value is 1"),
        ("--min-distance -1", "--min-distance", "smallest value is 0"),
        ("--train-images -1", "--train-images", "smallest value is 0"),
        ("--digit-source svhn", "--digit-source", "svhn"),
    ],
)
def test_bad_input(words, flag, problem):
    with pytest.raises(OptionError, match=problem) as refused:
        plan(words)
    assert refused.value.flag == flag


def test_measures_of_a_confusion():
    """Numbers 0 and 1 are right, two of four 2s are taken for 0, one for 1."""
    confusion = torch.tensor([[3.0, 0, 0], [0, 3, 0], [2, 1, 1]])
    assert _accuracy(confusion) == pytest.approx(0.7)
    assert _rmse(confusion) == pytest.approx((9 / 10) ** 0.5)
    assert _table(confusion[:2, :2].long()) == (
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
        (table,) = log.series("metric/test/confusion/text_summary").values()
        counts = [list(map(int, row.split("|")[2:-1])) for row in table.decode().split("\n")[2:]]
        assert np.sum(counts) == 17
        assert np.trace(counts) == pytest.approx(17 * log.series("metric/test/acc")[5])
    out = tmp_path / "runs.csv"
    folder = ("--tensorboard-dir", str(tmp_path / "tensorboard" / "t"))
    assert any_runs((*folder, "--csv-out", str(out))) == 0
    capsys.readouterr()
    table = pd.read_csv(out).set_index(["seed", "step"])
    assert len(table) == 2 * 4
    assert table["metric.test.acc"].notna().sum() == 2
    assert {"metric.valid.acc", "metric.test.rmse", "digit.source", "no.head.bias"} <= set(table)
    assert set(table["layer.type"]) == {"NAC"}


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


@pytest.mark.parametrize("train_images", ["0", "6"])
def test_an_interrupted_run_ends_as_if_nothing_had_happened(train_images, monkeypatch):
    words = (*SMALL, "--train-images", train_images, "--max-iterations", "7")
    assert_an_interruption_changes_nothing(monkeypatch, SCRIPT, words, 5)


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
    accuracy = read(name).series("metric/test/acc")[1500]
    assert accuracy > 0.75
