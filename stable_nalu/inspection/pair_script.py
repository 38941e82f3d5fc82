"""The two scripts on pairs of digits: train, or look at a model that is trained."""

from __future__ import annotations

from functools import partial

from stable_nalu.training.epochs import pairs
from stable_nalu.training.epochs.script import EpochScript

from .pair_report import report

ISOLATED = EpochScript("two_digit_mnist", pairs.ISOLATED.run, partial(report, pairs.ISOLATED))
SCATTERED = EpochScript("ST_mnist_labels", pairs.SCATTERED.run, partial(report, pairs.SCATTERED))
