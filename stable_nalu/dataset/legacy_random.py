"""A private MT19937 generator: the numbers of `numpy.random.RandomState`, with cheaper calls.

One bit generator is read through two front ends. `Generator.random` gives the same doubles as
`RandomState.random_sample` and can fill a buffer; the integer routines differ between the two, so
those are the legacy ones.
"""

from __future__ import annotations

import ctypes

import numpy as np

STATE_WORDS = 624
"""Words of 32 bits in the state of a generator, besides the position among them."""


class LegacyRandom:
    """The stream of 32-bit words of `RandomState(seed)`.

    A double takes two words: ((w1 >> 5) * 2**26 + (w2 >> 6)) / 2**53.
    """

    def __init__(self, seed: int | None):
        self._bits = np.random.MT19937(0)
        self._legacy = np.random.RandomState(self._bits)
        self._legacy.seed(seed)
        self._random = np.random.Generator(self._bits).random

    def doubles(self, shape: tuple[int, ...]) -> np.ndarray:
        """Draw uniform doubles in [0, 1), of two words each."""
        doubles = np.empty(shape)
        self.doubles_into(doubles)
        return doubles

    def doubles_into(self, out: np.ndarray) -> None:
        """Fill a contiguous float64 array with uniform doubles."""
        self._random(out=out)

    def words(self, count: int) -> np.ndarray:
        """Draw the next raw 32-bit words, as uint64."""
        return self._bits.random_raw(count)

    def exponential(self, scale: float, shape: tuple[int, ...]) -> np.ndarray:
        """Draw -scale * ln(1 - D), of two words each; numpy's vectorised log rounds otherwise."""
        return self._legacy.exponential(scale, shape)

    def integers(self, low: int, high: int | np.ndarray, shape: tuple[int, ...] | None = None):
        """Draw integers in [low, high) by masked rejection, which takes a random number of words.

        high: one bound, or one for each integer.
        """
        return self._legacy.randint(low, high, size=shape, dtype=np.int64)

    def permutation(self, count: int) -> np.ndarray:
        """Draw a random order of 0 .. count - 1."""
        return self._legacy.permutation(count)

    @property
    def bit_generator(self) -> np.random.MT19937:
        """Return what makes the words."""
        return self._bits

    @property
    def state(self) -> np.ndarray:
        """Return the words of the state and the position among them, uint32 (625,), to be changed.

        It is the memory of this generator: NumPy's own property copies it word by word.
        """
        memory = (ctypes.c_uint32 * (STATE_WORDS + 1)).from_address(self._bits.ctypes.state_address)
        return np.ctypeslib.as_array(memory)

    def position(self) -> bytes:
        """Return a hashable that two generators share exactly when they continue alike."""
        return self.state.tobytes()
