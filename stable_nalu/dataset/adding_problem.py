"""Sequences of numbers, some of which are marked, and the sums of these.

Sequence j has a generator of its own, NumPy's `RandomState((seed + j) mod 2^32)`, which draws the
numbers and then the marked steps among all but the last. The second input is 1 at these, -1 at the
last step, else 0. Numbers are float32, and the target is the sum of the marked ones.

Where the number of marked steps varies, it is drawn from `RandomState(seed)`, one for each sequence
beforehand: the published code draws it from a generator without a seed.
"""

from functools import cache
from typing import NamedTuple

import numpy as np


class Setting(NamedTuple):
    """Length of sequences, largest number, and fewest and most marked steps."""

    length: int = 100
    largest: float = 0.5
    fewest: int = 2
    most: int = 2


TESTS = {
    "reference": Setting(),
    "length": Setting(length=1000),
    "range": Setting(largest=5.0),
    "terms": Setting(most=20),
    "combination": Setting(500, 2.5, 2, 10),
}


@cache
def sequences(setting: Setting, seed: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers and marks, `(rows, length, 2)`, and sums, `(rows, 1)`, in float32."""
    x = np.zeros((rows, setting.length, 2), np.float32)
    sums = np.empty((rows, 1), np.float32)
    counts = np.random.RandomState(seed).randint(setting.fewest, setting.most + 1, rows)
    for j, count in enumerate(counts):
        random = np.random.RandomState((seed + j) % 2**32)
        x[j, :, 0] = random.uniform(0, setting.largest, setting.length)
        marked = random.choice(setting.length - 1, count, replace=False)
        x[j, marked, 1] = 1
        sums[j] = x[j, marked, 0].sum()
    x[:, -1, 1] = -1
    return x, sums
