"""Points of the Sobol sequence."""

import numpy as np


class SobolPoints:
    """The Sobol sequence without the origin, as unit numbers."""

    def __init__(self, inputs: int):
        self._inputs, self._of, self._at = inputs, None, 0
        self._last = range(0), np.empty(0)

    def __call__(self, first: int, count: int) -> np.ndarray:
        """Return so many points from a place on; the last ones are stored."""
        from scipy.stats.qmc import Sobol

        if self._last[0] == range(first, first + count):
            return self._last[1]

        if self._of is None or first < self._at:
            self._of, self._at = Sobol(self._inputs, scramble=False), 0
        if first > self._at:
            self._of.fast_forward(first - self._at)
        self._at = first + count
        self._last = range(first, self._at), self._of.random(count)
        return self._last[1]
