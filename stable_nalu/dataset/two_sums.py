"""Inputs and two sums of them, drawn as by the code of the iNALU paper.

NumPy draws data from the seed: 64,000 rows of training, then rows of interpolation and of
extrapolation, all values of a matrix shuffled; then come initial weights. Two inputs are one sum
each. Of a hundred, each is in the first sum, in the second, in none (probabilities 1/2, 1/4, 1/4);
there the paper draws data before it sets its seed, and tests here have 10,000 rows.
"""

from weakref import WeakValueDictionary

import numpy as np

from .distribution import Elementwise, Exponential, Interval, TruncatedNormal, Uniform

ROWS, FEW, OF_DATA = 64_000, 10_000, 2**31
Law = tuple[Elementwise | Exponential, Interval]


def _exponential(scale: float) -> Law:
    return Exponential(scale), (0, 1)


def _uniform(low: float, high: float) -> Law:
    return Uniform(), (low, high)


def _normal(low: float, high: float) -> Law:
    """Return a normal law that is cut at three deviations."""
    return TruncatedNormal((low + high) / 2, (high - low) / 6), (low, high)


DISTRIBUTIONS: dict[str, tuple[int, Law, Law]] = {
    "exponential-0.2": (2, _exponential(0.2), _exponential(0.5)),
    "exponential-0.8": (2, _exponential(0.8), _exponential(0.5)),
    "normal-centred": (2, _normal(-3, 3), _normal(8, 10)),
    "normal-above": (2, _normal(-2, 4), _normal(8, 10)),
    "normal-below": (2, _normal(-4, 2), _normal(8, 10)),
    "uniform-1": (2, _uniform(-1, 1), _uniform(-10, -5)),
    "uniform-5": (2, _uniform(-5, 5), _uniform(-10, -5)),
    "many-uniform": (100, _uniform(-3, 3), _uniform(-5, -3)),
    "many-normal": (100, _normal(-3, 3), _normal(3, 4)),
    "many-start": (100, (TruncatedNormal(0, 1), (-2, 2)), (TruncatedNormal(10, 1), (2, 18))),
}
"""Name -> inputs, the law of training and interpolation, the law of extrapolation."""


class TwoSums:
    """Rows of a distribution and a seed: inputs, and both sums, of training and of each test.

    random: draws the initial weights next.
    """

    def __init__(self, name: str, seed: int):
        inputs, *laws = DISTRIBUTIONS[name]
        many = inputs > 2
        random = np.random.RandomState((seed + OF_DATA * many) % 2**32)
        chosen = np.round(random.uniform(0, 2, inputs)) - 1 if many else np.arange(2)
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []
        for law in (laws[0], *laws):
            x = _drawn(random, law, (FEW if many and self.parts else ROWS, inputs))
            sums = [x[:, chosen == k].sum(-1) for k in range(2)]
            self.parts.append((x.astype(np.float32), np.stack(sums)))
        self.random = np.random.RandomState(seed) if many else random


def _drawn(random: np.random.RandomState, law: Law, shape: tuple[int, int]) -> np.ndarray:
    """Draw values of a law, and shuffle all of them."""
    family, interval = law
    if isinstance(family, Exponential):
        x = random.exponential(family.parameters[0], shape)
    else:
        x = random.random_sample(shape)
        family.scale(x, interval, out=x)
    random.shuffle(x.reshape(-1))
    return x


_LIVE: WeakValueDictionary[tuple[str, int], TwoSums] = WeakValueDictionary()


def two_sums(name: str, seed: int) -> TwoSums:
    """Return rows; runs that are trained at the same time share them in memory."""
    rows = _LIVE.get((name, seed))
    if rows is None:
        rows = _LIVE[name, seed] = TwoSums(name, seed)
    return rows
