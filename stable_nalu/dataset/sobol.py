"""Points of the Sobol sequence."""

import numpy as np


class SobolPoints:
    """The Sobol sequence without the origin, as unit numbers."""

    def __init__(self, inputs: int):
        self._inputs, self._of, self._at = inputs, None, 0

    def __call__(self, first: int, count: int) -> np.ndarray:
        """Return so many points from a place on."""
        from scipy.stats.qmc import Sobol

        if self._of is None or first < self._at:
            self._of, self._at = Sobol(self._inputs, scramble=False), 0
        if first > self._at:
            self._of.fast_forward(first - self._at)
        self._at = first + count
        return self._of.random(count)
