"""Drawing samples in C++: the numbers of NumPy, several times faster, for work that is worth it.

Drawing is most of what training a small module costs. `load` compiles `native.cpp`, once, with the
compiler and the cache that torch has for its own code; until then, and wherever that fails or does
not give NumPy's numbers, NumPy draws.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_suffix(".cpp")
CHECKED = (1, 311, 312, 313, 5000)
"""Lengths of the draws compared with NumPy's: around the length of the generator's state, too."""

_library: ctypes.CDLL | None = None


def load() -> bool:
    """Draw in C++ from now on, where that gives NumPy's numbers; whether it does."""
    global _library
    _library = _checked_library()
    return _library is not None


def fill(bits: np.random.MT19937, doubles: np.ndarray) -> bool:
    """Fill a contiguous float64 array with uniform doubles, unless that is left to NumPy."""
    if _library is None:
        return False
    _library.draw_doubles(bits.ctypes.state_address, doubles.ctypes.data, doubles.size)
    return True


@cache
def _checked_library() -> ctypes.CDLL | None:
    try:
        # Imported late: it takes longer than most short runs.
        from torch._inductor.codecache import CppCodeCache

        library = CppCodeCache.load(SOURCE.read_text(encoding="utf-8"))
    except Exception:  # whatever keeps torch from compiling here, NumPy draws the same numbers
        return None
    library.draw_doubles.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
    library.draw_doubles.restype = None
    return library if _draws_as_numpy(library) else None


def _draws_as_numpy(library: ctypes.CDLL) -> bool:
    theirs, ours = (np.random.MT19937(0) for _ in range(2))
    for count in CHECKED:
        expected = np.random.Generator(theirs).random(count)
        found = np.empty(count)
        library.draw_doubles(ours.ctypes.state_address, found.ctypes.data, count)
        if not np.array_equal(expected, found) or _position(theirs) != _position(ours):
            return False
    return True


def _position(bits: np.random.MT19937) -> tuple[bytes, int]:
    state = bits.state["state"]
    return state["key"].tobytes(), int(state["pos"])
