"""What the machine and its user grant: folders to read and write, processor cores, memory."""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
"""Where the package lies: the root of a checkout, or a folder of installed packages."""

GRANTS = ("LSB_DJOB_NUMPROC", "SLURM_CPUS_PER_TASK")
"""Environment variables in which batch systems state the cores of a job."""

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Settings of glibc's `mallopt`."""
LARGEST_MMAP_THRESHOLD = 32 << 20
"""The largest threshold that glibc accepts on 64-bit systems."""
KEPT_BYTES = 512 << 20


def is_checkout() -> bool:
    """Return whether the package lies in a checkout, with the scripts beside it."""
    return (CHECKOUT / "setup.py").is_file() and (CHECKOUT / "experiments").is_dir()


def working_root() -> Path:
    """Return the folder below which runs are written by default.

    That is the checkout. An installed package writes below the current folder instead, because
    its own folder is shared with other packages.
    """
    return CHECKOUT if is_checkout() else Path.cwd()


def tensorboard_root() -> Path:
    """Return where runs are logged: `TENSORBOARD_DIR`, else `tensorboard`."""
    return _root("TENSORBOARD_DIR", "tensorboard")


def save_root() -> Path:
    """Return where models are saved: `SAVE_DIR`, else `save`."""
    return _root("SAVE_DIR", "save")


def results_root() -> Path:
    """Return where results are collected: `RESULTS_DIR`, else `results`."""
    return _root("RESULTS_DIR", "results")


def image_root() -> Path:
    """Return where data sets of images are downloaded to by default."""
    return CHECKOUT / "stable_nalu" / "dataset" / "data" if is_checkout() else Path.cwd() / "data"


def _root(variable: str, name: str) -> Path:
    return Path(os.environ.get(variable) or working_root() / name)


def usable_cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def granted_cores() -> int | None:
    """Return the cores that a batch system grants, at most all usable ones; None without one."""
    for variable in GRANTS:
        value = os.environ.get(variable, "")
        if value.isdecimal() and int(value) > 0:
            return min(int(value), usable_cores())
    return None


def cores() -> int:
    """Return the cores to use: those granted, else all usable ones."""
    return granted_cores() or usable_cores()


@cache
def keep_freed_memory() -> None:
    """Let the process keep up to 512 MiB of freed memory.

    By default the megabytes that each iteration of a large stack needs go back to the system and
    come again page by page, which can take as long as the arithmetic. Where the C library has no
    such setting, nothing happens.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(M_MMAP_THRESHOLD, LARGEST_MMAP_THRESHOLD)
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES)
