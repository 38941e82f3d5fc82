"""What C++ does several times faster than NumPy and torch, for work that is worth compiling it.

Drawing samples is half of what training a small module costs. `load` compiles `native.cpp`, once,
with the compiler and the cache that torch has for its own code; until then, and wherever that fails
or does not give NumPy's numbers, NumPy and torch do it.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_suffix(".cpp")
CHECKED = (1, 311, 312, 313, 5000)
"""Lengths of the draws compared with NumPy's: around the length of the generator's state, too."""
LONGEST_SUM = 128
"""NumPy adds more numbers than these in halves."""

_library: ctypes.CDLL | None = None


def load() -> bool:
    """Draw in C++ from now on, where that gives NumPy's numbers; whether it does."""
    global _library
    _library = _checked_library()
    return _library is not None


def library() -> ctypes.CDLL | None:
    """The compiled functions, once `load` has found them to give NumPy's numbers."""
    return _library


def fill(generator: int, doubles: np.ndarray) -> bool:
    """Fill a contiguous float64 array with uniform doubles, unless that is left to NumPy.

    generator: the address of its state.
    """
    if _library is None:
        return False
    _library.draw_doubles(generator, doubles.ctypes.data, doubles.size)
    return True


@cache
def _checked_library() -> ctypes.CDLL | None:
    try:
        # Imported late: it takes longer than most short runs.
        from torch._inductor.codecache import CppCodeCache

        library = CppCodeCache.load(SOURCE.read_text(encoding="utf-8"))
    except Exception:  # whatever keeps torch from compiling here, NumPy draws the same numbers
        return None
    pointer, number = ctypes.c_void_p, ctypes.c_int64
    library.draw_doubles.argtypes = [pointer, pointer, number]
    library.sum_inputs.argtypes = [pointer, *[number] * 4, pointer]
    library.draw_samples.argtypes = [pointer] * 9
    library.turn_matrices.argtypes = [pointer, pointer, *[number] * 3]
    for name in ("draw_doubles", "sum_inputs", "draw_samples", "turn_matrices"):
        getattr(library, name).restype = None
    return library if _draws_as_numpy(library) and _adds_as_numpy(library) else None


def _draws_as_numpy(library: ctypes.CDLL) -> bool:
    theirs, ours = (np.random.MT19937(0) for _ in range(2))
    for count in CHECKED:
        expected = np.random.Generator(theirs).random(count)
        found = np.empty(count)
        library.draw_doubles(ours.ctypes.state_address, found.ctypes.data, count)
        if not np.array_equal(expected, found) or _position(theirs) != _position(ours):
            return False
    return True


def _adds_as_numpy(library: ctypes.CDLL) -> bool:
    values = np.random.RandomState(0).random_sample((2, 40, LONGEST_SUM + 3))
    samples = values.shape[0] * values.shape[1]
    for length in range(1, LONGEST_SUM + 1):
        sums = np.empty(samples)
        ends = 2, 2 + length
        library.sum_inputs(values.ctypes.data, samples, values.shape[2], *ends, sums.ctypes.data)
        if not np.array_equal(sums, values[..., slice(*ends)].sum(axis=2).ravel()):
            return False
    return True


def _position(bits: np.random.MT19937) -> tuple[bytes, int]:
    state = bits.state["state"]
    return state["key"].tobytes(), int(state["pos"])
