"""Metrics of two digits by hand."""

import numpy as np
import pytest
import torch

from stable_nalu.figure.curves import accuracies
from stable_nalu.task.pairs import class_counts, pair_metrics

TRUE = torch.tensor([[6.0, 2.0, 3.0], [8.0, 2.0, 4.0], [63.0, 9.0, 7.0], [0.5, 1.0, 2.0]])
PREDICTED = torch.tensor([[6.0, 2.4, 3.0], [8.5, 2.5, 4.0], [60.0, 9.0, 6.5], [0.500004, 1.0, 1.5]])


def test_values_and_their_order():
    found = dict(pair_metrics(PREDICTED, TRUE, loss="mse", decimals=True))
    assert list(found) == [
        "output/mse",
        "label1/mse",
        "label2/mse",
        "output/acc",
        "label1/acc",
        "label2/acc",
        "output_rounded/acc",
        "label1_rounded/acc",
        "label2_rounded/acc",
        "output_rounded_4dp/acc",
        "output_rounded_5dp/acc",
    ]
    assert found["output/mse"] == pytest.approx((0.25 + 9 + 16e-12) / 4)
    assert found["label1/mse"] == pytest.approx((0.16 + 0.25) / 4)
    assert (found["output/acc"], found["label1/acc"], found["label2/acc"]) == (25, 50, 50)
    # 8.5 rounds to 8, 2.5 to 2, 6.5 to 6: halves to even numbers. A quotient of 0.5 is not rounded.
    assert found["output_rounded/acc"] == 50
    assert found["label1_rounded/acc"] == 100
    assert found["label2_rounded/acc"] == 75
    assert found["output_rounded_4dp/acc"] == 50
    assert found["output_rounded_5dp/acc"] == 50


def test_a_rounded_quotient_is_compared_with_the_quotient_itself():
    true = torch.tensor([[1.5, 3.0, 2.0], [2.0, 4.0, 2.0], [0.25, 1.0, 4.0]])
    found = dict(pair_metrics(true + 0.1, true, loss="mse", decimals=True))
    assert found["output_rounded/acc"] == pytest.approx(100 / 3)
    assert found["label1_rounded/acc"] == found["label2_rounded/acc"] == 100


def test_classes_cut_off_and_rounded():
    digits = np.array([[2.9999, 8.99], [0.4, 9.0]])
    true = np.array([[3, 9], [0, 9]])
    cut, rounded = (class_counts(digits, true, rounded=r) for r in (False, True))
    assert (cut[3, 2], cut[9, 8], cut[9, 9], cut[0, 0]) == (1, 1, 1, 1)
    assert (rounded[3, 3], rounded[9, 9], rounded[0, 0]) == (1, 2, 1)
    assert cut.sum() == rounded.sum() == 4
    shares = accuracies(cut)["accuracy"].to_numpy()
    assert (shares[0], shares[3], shares[9]) == (1, 0, 0.5)
    assert np.isnan(shares[5])
