"""What the machine and its user grant: folders, processor cores, memory, installed layers.

Compiled code is kept by what it was made of, and checked before anyone loads it: a library that is
cut off or damaged would end the process that calls it, or stay useless for ever. So the name of
each file holds a digest of its content, and one that has another is made anew.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from .errors import UsageError
from .files import atomic_path, locked, remove_abandoned

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


CHECKOUT = Path(__file__).resolve().parents[1]
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

WRITABLE_FOR_OTHERS = 0o022

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
def installed_layers() -> tuple[EntryPoint, ...]:
    """Return the entry points of installed packages that bring layers, without loading any."""
    from importlib import metadata

    return tuple(metadata.entry_points(group=LAYERS))


@cache
def code_cache() -> Path:
    """Return the folder where compiled code is kept, which nobody else can write to.

    Code that is loaded from it runs as the user. It lies below `XDG_CACHE_HOME` or `~/.cache`. When
    it belongs to another user or others can write to it, it is refused with a warning; then, and
    where no folder can be made, compiled code is kept in a private folder until the process ends.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME") or "")
    try:
        folder = (named if named.is_absolute() else Path.home() / ".cache") / "stable-nalu"
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.stat()
        if status.st_uid == os.geteuid() and not status.st_mode & WRITABLE_FOR_OTHERS:
            tempfile.TemporaryFile(dir=folder).close()
            return folder
        warnings.warn(
            f"{folder} belongs to another user or others can write to it, so compiled code is kept "
            "until the process ends only",
            stacklevel=2,
        )
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        pass
    private = tempfile.mkdtemp(prefix="stable-nalu-")
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return Path(private)


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


_SHOWN = 32
"""Characters of a digest in a name."""


LONG_SOURCE = 500_000
"""Characters of C++ that compile for more than a minute."""


class CompileError(Exception):
    """Why nothing can be compiled, kept or loaded here, in a line."""

    def __init__(self, problem: str, reason: str):
        self.reason = " ".join(reason.split())
        super().__init__(f"{problem}: {self.reason}")


EXTRA_FLAGS = "STABLE_NALU_CXXFLAGS"
"""Further flags of the compiler, such as -mno-avx512f: they change no bit of any number."""


def library_of(source: str, flags: Sequence[str], *, extended: bool = False) -> Path:
    """Return a shared library of C++, compiled unless that was done before.

    source: the whole text. flags: those of the compiler, which `CXX` names, else g++. extended:
    whether the user may add some. Raises CompileError where there is no library, and UsageError for
    environment variables that the user must change.
    """
    extra = _words_of(EXTRA_FLAGS) if extended else []
    command = (*(_words_of("CXX") or ["g++"]), *flags)
    try:
        version = described((*command, *extra))
    except CompileError as error:
        if extra:
            described(command)
            raise UsageError(f"{EXTRA_FLAGS} is {shlex.join(extra)}: {error.reason}") from None
        raise
    code = source.encode()

    def make(path: Path) -> None:
        if len(code) > LONG_SOURCE:
            sys.stderr.write("a large network is compiled, which may take a minute, once\n")
        words = [*command, *extra, "-x", "c++", "-", "-o", str(path)]
        run_compiler(words, "the generated C++ does not compile", code)

    return kept("libraries", [version, code], make)


def _words_of(variable: str) -> list[str]:
    """Return the words of an environment variable."""
    text = os.environ.get(variable, "")
    try:
        return shlex.split(text)
    except ValueError:
        raise UsageError(f"{variable} is {text}; close its quote or backslash") from None


@cache
def described(command: tuple[str, ...]) -> bytes:
    """Return the compiler that a command starts, and the processor that is `native`, as text."""
    return run_compiler([*command, "-x", "c++", "-", "-o", "-", "-S", "-###"]).stderr


def run_compiler(
    words: Sequence[str], problem: str = "no C++ compiler works", code: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a compiler; raise CompileError with a problem and the first error that it prints."""
    try:
        return subprocess.run(
            words,
            input=code,
            capture_output=True,
            check=True,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError as error:
        raise CompileError(problem, f"{words[0]}: {error.strerror}") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").splitlines()
        errors = [line for line in lines if "error:" in line] or lines
        reason = next(iter(errors), f"{words[0]} ends with exit code {error.returncode}")
        if any(os.strerror(errno.ENOSPC) in line for line in lines):
            problem = "there is no room for compiled code"
        raise CompileError(problem, reason) from None


def kept(room: str, parts: Iterable[bytes], make: Callable[[Path], object]) -> Path:
    """Return a file that was made before of the same parts, and is whole, or make it.

    room: the folder below `machine.code_cache`. make: writes the file at a path. Raises
    CompileError where no file can be written.
    """
    folder = code_cache() / room
    name = hashlib.sha256(b"\0".join(parts)).hexdigest()[:_SHOWN]
    unnamed = folder / f"{name}.so"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = _whole(folder, name)
        if found is None:
            with locked(unnamed):
                # Meanwhile another process may have made it.
                found = _whole(folder, name) or _made(unnamed, make)
    except (OSError, UsageError) as error:
        reason = str(error) if isinstance(error, UsageError) else f"{folder}: {error.strerror}"
        raise CompileError("compiled code cannot be kept", reason) from None
    return found


def _made(unnamed: Path, make: Callable[[Path], object]) -> Path:
    """Make a file that is locked, with its digest in its name; sweep up after killed processes."""
    _remove(unnamed)
    remove_abandoned(unnamed)
    with atomic_path(unnamed, durable=True) as temporary:
        make(temporary)
    found = unnamed.with_name(f"{unnamed.stem}-{_digest(unnamed)}.so")
    unnamed.replace(found)
    return found


def _whole(folder: Path, name: str) -> Path | None:
    """Return the file of a name whose content is what its digest says; remove those that differ."""
    for path in sorted(folder.glob(f"{name}-*.so")):
        if path.is_file() and path.stem == f"{name}-{_digest(path)}":
            return path
        _remove(path)
    return None


def _remove(path: Path) -> None:
    """Remove what has the name of a file: also a folder, a pipe or a link that leads nowhere."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_SHOWN]
