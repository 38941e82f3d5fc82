"""Memory that one iteration gives back is kept for the next."""

from __future__ import annotations

import ctypes
from functools import cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Of glibc's `mallopt`."""
LARGEST_MMAP_THRESHOLD = 32 << 20
"""What glibc takes at most on 64-bit systems."""
KEPT = 512 << 20


@cache
def keep_freed_memory() -> None:
    """Let the process keep up to 512 MiB of freed memory.

    By default the megabytes that each iteration of a large stack needs go back to the system and
    come again page by page, which can take as long as the arithmetic. Does nothing where the C
    library has no such setting.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(M_MMAP_THRESHOLD, LARGEST_MMAP_THRESHOLD)
    mallopt(M_TRIM_THRESHOLD, KEPT)
