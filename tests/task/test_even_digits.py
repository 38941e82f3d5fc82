"""Counting even digits: names, bad input, what is logged and exported, resuming and learning."""

import numpy as np
import pytest
import torch

from stable_nalu.task.even_digit_count import accuracy, rmse
from stable_nalu.task.shared import table
from tests.digit_images import MNIST, needs_mnist
from tests.experiments.scripts import exported, read, run, run_names
from tests.turn import weekly

SCRIPT = "even_digit_count"
SMALL = (
    *("--image-size", "40", "--max-digits", "2", "--min-distance", "5", "--batch-size", "4"),
    *("--valid-images", "9", "--test-images", "17", "--log-interval", "2", "--workers", "1"),
)


def test_measures_of_a_confusion():
    """Numbers 0 and 1 are right, two of four 2s are taken for 0, one for 1."""
    confusion = torch.tensor([[3.0, 0, 0], [0, 3, 0], [2, 1, 1]])
    assert accuracy(confusion) == pytest.approx(0.7)
    assert rmse(confusion) == pytest.approx((9 / 10) ** 0.5)
    assert table(("x", 0), [(1, 3)]) == "| x | 0 |\n|---|---|\n| 1 | 3 |"


def test_the_logged_values_of_the_test():
    words = (*SMALL, "--max-iterations", "5", "--seed", "0-1", "--layer-type", "NAC")
    assert run(SCRIPT, *words) == 0
    for name in run_names(SCRIPT, *words):
        log = read(name)
        (text,) = log.series("metric/test/confusion/text_summary").values()
        counts = [list(map(int, row.split("|")[2:-1])) for row in text.decode().split("\n")[2:]]
        assert np.sum(counts) == 17
        assert np.trace(counts) == pytest.approx(17 * log.series("metric/test/acc")[5])
    runs = exported().set_index(["seed", "step"])
    assert len(runs) == 2 * 4
    assert runs["metric.test.acc"].notna().sum() == 2
    assert {"metric.valid.acc", "metric.test.rmse", "digit.source", "no.head.bias"} <= set(runs)
    assert set(runs["layer.type"]) == {"NAC"}


@needs_mnist
def test_mnist_is_read_where_it_is():
    words = (*SMALL, "--max-iterations", "1", "--digit-source", "mnist", "--data-dir", str(MNIST))
    assert run(SCRIPT, *words) == 0


@pytest.mark.slow
@weekly(1)
def test_even_digits_are_learned():
    """Up to two digits of 56 x 56 pixels, where answering 0 is right in 58 of 100 pictures."""
    words = ("--image-size", "56", "--max-digits", "2", "--min-distance", "20", "--no-save")
    words += ("--max-iterations", "1500", "--log-interval", "500", "--test-images", "1000")
    assert run(SCRIPT, *words, "--layer-type", "NAC", "--valid-images", "100") == 0
    (name,) = run_names(SCRIPT, *words, "--layer-type", "NAC", "--valid-images", "100")
    assert read(name).series("metric/test/acc")[1500] > 0.75
