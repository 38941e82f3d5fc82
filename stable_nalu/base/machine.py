"""What the machine and its user grant: folders, processor cores, memory, installed layers."""

import ctypes
import hashlib
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from torchlanes.kept import SETTINGS

from .errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


CHECKOUT = Path(__file__).resolve().parents[2]
"""Where the package lies: the root of a checkout, or a folder of installed packages."""

VERSION = "1.0.0"
"""The version of the package."""

COPIES = CHECKOUT / "stable_nalu" / "copies"
"""Where an installed package has the files of the checkout that its commands read."""

CSV_FOLDER = Path("results", "csv")
"""Where exported tables are written and read unless a command line says otherwise."""

GRANTS = ("LSB_DJOB_NUMPROC", "SLURM_CPUS_PER_TASK")
"""Environment variables in which batch systems state the cores of a job."""

LAYERS = "stable_nalu.layers"
"""The entry points by which installed packages bring layers: each names a class or a module."""

EXTRA_FLAGS = "STABLE_NALU_CXXFLAGS"
"""Further flags of the compiler, such as -mno-avx512f: they change no bit of any number."""
SETTINGS.folder, SETTINGS.extra_flags = "stable-nalu", EXTRA_FLAGS
SETTINGS.refusal, SETTINGS.without_gpu = UsageError, "add --no-cuda"

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Settings of glibc's `mallopt`."""
LARGEST_MMAP_THRESHOLD = 32 << 20
"""The largest threshold that glibc accepts on 64-bit systems."""
KEPT_BYTES = 512 << 20

_LONGEST_NAME = 255


def is_checkout() -> bool:
    """Return whether the package lies in a checkout, with the scripts beside it."""
    return (CHECKOUT / "setup.py").is_file() and (CHECKOUT / "experiments").is_dir()


def data_file(name: str) -> Path:
    """Return a file or folder of the checkout, or the copy that an installed package has of it."""
    return (CHECKOUT if is_checkout() else COPIES) / name


def tool(name: str) -> ModuleType:
    """Return a module of the folder `tools`, which no part of the package imports.

    It writes what is made of results that are kept already, such as the page of `--report`.
    """
    sys.path.insert(0, str(data_file("tools").parent))
    try:
        return import_module(f"tools.{name}")
    finally:
        sys.path.pop(0)


def at_home(path: Path) -> Path:
    """Return a path with the home folder in place of `~`."""
    try:
        return path.expanduser()
    except RuntimeError:
        raise UsageError(f"there is no home folder for {path}; write it out") from None


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


def model_file(root: Path, name: str, suffix: str = ".pth") -> Path:
    """Return the file of a run below `root`.

    Of a name that is too long for a file, the end becomes a digest.
    """
    path = root / f"{name}{suffix}"
    if len(path.name.encode()) <= _LONGEST_NAME:
        return path
    digest = hashlib.sha256(path.name.encode()).hexdigest()[:16]
    return path.with_name(f"{path.name[: _LONGEST_NAME - 32]}~{digest}{suffix}")


def results_root() -> Path:
    """Return where results are collected: `RESULTS_DIR`, else `results`."""
    return _root("RESULTS_DIR", "results")


def image_root() -> Path:
    """Return where data sets of images are read from and downloaded to by default."""
    if os.environ.get("IMAGE_DIR"):
        return Path(os.environ["IMAGE_DIR"])
    return CHECKOUT / "stable_nalu" / "dataset" / "data" if is_checkout() else Path.cwd() / "data"


def _root(variable: str, name: str) -> Path:
    return Path(os.environ.get(variable) or working_root() / name)


@cache
def installed_layers() -> "tuple[EntryPoint, ...]":
    """Return the entry points of installed packages that bring layers, without loading any."""
    from importlib import metadata

    return tuple(metadata.entry_points(group=LAYERS))


def processor() -> str:
    """Return the name of the processor, as the system gives it."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return " ".join(value.split())
    return platform.processor() or platform.machine()


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
