"""Folders, and files that are written whole or not at all."""

import csv
import errno
import fcntl
import hashlib
import json
import os
import shutil
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from functools import cache
from importlib import import_module
from itertools import combinations
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

from torchlanes import SETTINGS

from .errors import OptionError, UsageError

CHECKOUT = Path(__file__).resolve().parents[2]
"""Where the package lies: the root of a checkout, or a folder of installed packages."""

VERSION = "1.0.0"
"""The version of the package."""

CSV_FOLDER = Path("results", "csv")
"""Where exported tables are written and read unless a command line says otherwise."""

EXTRA_FLAGS = "STABLE_NALU_CXXFLAGS"
"""Further flags of the compiler, such as -mno-avx512f: they change no bit of any number."""
SETTINGS.folder, SETTINGS.extra_flags = "stable-nalu", EXTRA_FLAGS
SETTINGS.refusal, SETTINGS.without_gpu = UsageError, "add --no-cuda"

_LONGEST_NAME = 255


def is_checkout() -> bool:
    """Return whether the package is in a checkout, next to the scripts."""
    return (CHECKOUT / "setup.py").is_file() and (CHECKOUT / "experiments").is_dir()


def data_file(name: str) -> Path:
    """Return a file or folder of the checkout, or the copy that an installed package has of it."""
    return (CHECKOUT if is_checkout() else CHECKOUT / "stable_nalu" / "copies") / name


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
    return _root("TENSORBOARD_DIR", "tensorboard")


def save_root() -> Path:
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
    return _root("RESULTS_DIR", "results")


def image_root() -> Path:
    """Return where data sets of images are read from and downloaded to by default."""
    if os.environ.get("IMAGE_DIR"):
        return Path(os.environ["IMAGE_DIR"])
    return CHECKOUT / "stable_nalu" / "dataset" / "data" if is_checkout() else Path.cwd() / "data"


def _root(variable: str, name: str) -> Path:
    return Path(os.environ.get(variable) or working_root() / name)


@cache
def installed_layers() -> tuple[Any, ...]:
    """Return the entry points of installed packages that bring layers, without loading any.

    Each names a class or a module.
    """
    from importlib import metadata

    return tuple(metadata.entry_points(group="stable_nalu.layers"))


STREAMS = ("-", "/dev/stdout")
"""Names of standard output, which is written to as it is."""

SAFETENSORS = ".safetensors"
"""How files of tensors end that hold no code."""

EVENT_FILE = ".tfevents."
"""What the name of every event file holds, whoever wrote it."""


@contextmanager
def atomic_path(path: Path, *, durable: bool = False, named: bool = False) -> Iterator[Path]:
    """Yield a temporary path in the same folder to write to. On success it replaces `path`.

    When the block raises, `path` keeps its old content and the new file is removed. A symbolic
    link stays one, and the file behind it is written. Raises OSError for a device, a folder, the
    event file of a run and a link in a circle.

    Args:
        path: the file to write; its folder is made.
        durable: whether the content must be on the disk before the old file is given up.
        named: whether a user chose the name. Then only a file of the same kind is replaced.
    """
    try:
        target = path.resolve()
    except RuntimeError:  # Python raises it for links in a circle.
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path)) from None
    if EVENT_FILE in target.name and target.exists():
        raise OSError(errno.EINVAL, "it is the event file of a run", str(path))
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "a device"
        raise OSError(errno.EINVAL, f"it is {kind}, not a file", str(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{_start_of_temporaries(target)}{uuid.uuid4().hex}")
    try:
        yield temporary
        if durable:
            with temporary.open("rb") as file:
                os.fsync(file.fileno())
        if named and target.exists() and not _are_of_one_kind(target, temporary):
            raise OSError(errno.EEXIST, "it holds something else", str(path))
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _are_of_one_kind(old: Path, new: Path) -> bool:
    """Return whether a file is empty, or begins like another, or has a column of its table."""
    with old.open("rb") as old_file, new.open("rb") as new_file:
        starts = first, second = [file.readline(1 << 16) for file in (old_file, new_file)]
    # A file of safetensors begins with eight bytes that give a length.
    if not first or first[:4] == second[:4] or first[8:16] == second[8:16] != b"":
        return True
    columns = [{cell.strip(b'" \r\n') for cell in start.split(b",")} for start in starts]
    return not columns[0].isdisjoint(columns[1] - {b""})


def _start_of_temporaries(target: Path) -> str:
    digest = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:16]
    return f".{target.name[-40:]}.{digest}."


def remove_temporaries(paths: Iterable[Path]) -> None:
    """Remove what processes left behind that were killed while they wrote files by `atomic_path`.

    No other process may write one of the files meanwhile.
    """
    starts: dict[Path, set[str]] = {}
    for path in paths:
        starts.setdefault(path.parent, set()).add(_start_of_temporaries(path))
    for folder, own in starts.items():
        if folder.is_dir():
            for entry in folder.iterdir():
                if entry.name[: -len(uuid.uuid4().hex)] in own:
                    entry.unlink(missing_ok=True)


@contextmanager
def atomic_text_file(path: Path, *, named: bool = False) -> Iterator[TextIO]:
    """Open a text file that takes the place of `path` on success, as `atomic_path` does.

    Line ends are written as given. `-` and `/dev/stdout` are standard output.
    """
    if str(path) in STREAMS:
        yield sys.stdout
        sys.stdout.flush()
        return
    with (
        atomic_path(path, named=named) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as file,
    ):
        yield file


@contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """Let no other process into a block that is locked with the same file, which need not be there.

    A file that is read in the block and written again loses nothing that another one adds. Where
    the file system has no locks, nobody waits.

    busy: raise UsageError with this instead of waiting for another process.
    """
    from torchlanes import kept

    with ExitStack() as held:
        try:
            held.enter_context(kept.locked(path, wait=busy is None))
        except OSError as error:
            said = busy if isinstance(error, BlockingIOError) else None
            said = said or f"cannot write {path}: {error.strerror or error}"
            raise UsageError(said) from None
        yield


@contextmanager
def shared_lock(path: Path) -> Iterator[None]:
    """Take a lock that others share; `is_locked(path, LOCK_EX)` says whether any process has it."""
    from torchlanes import kept

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = kept.opened(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    with file:
        with suppress(OSError):  # No locks here.
            fcntl.flock(file, fcntl.LOCK_SH)
        yield


def is_locked(path: Path, wanted: int = fcntl.LOCK_SH) -> bool:
    """Return whether a process holds a lock of a file that keeps others from the wanted one."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # also of a pipe
        try:
            fcntl.flock(descriptor, wanted | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
    except OSError as error:
        return isinstance(error, BlockingIOError)
    return False


def visible_entries(folder: Path) -> list[Path]:
    """Return what a folder holds apart from hidden files, sorted by name."""
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def json_of(path: Path) -> Any:
    """Return what a JSON file holds; raise OSError or ValueError where that cannot be had."""
    if not path.is_file() and path.exists():  # A pipe would be waited for.
        raise OSError(errno.EINVAL, "it is not a file", str(path))
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path} is nested too deeply") from None


def table_rows(path: Path, lines: Iterable[str] | None = None) -> Iterator[list[str]]:
    """Yield the cells of a CSV file in UTF-8, header first, as text; empty lines are left out.

    Raises UsageError for a file that cannot be read, a row whose length is not the header's, an
    open quote and a null byte. Rows are counted from 1 below the header.

    lines: the lines of the file, if they were read before.
    """
    number, width = 0, 0
    try:
        opened = path.open(encoding="utf-8-sig", newline="") if lines is None else None
        with opened or nullcontext(lines or ()) as file:
            for row in csv.reader(file, strict=True):
                if not row:
                    continue
                if number and len(row) != width:
                    raise ValueError(f"it has {len(row)} cells, the header {width}")
                if any("\0" in cell for cell in row):
                    raise ValueError("it holds a null byte")
                yield row
                width = width or len(row)
                number += 1
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, csv.Error) as error:
        where = f"row {number}" if number else "the header"
        raise UsageError(f"{path} is not a CSV table: {where}: {error}") from None


def cells_of(path: Path, lines: Iterable[str] | None = None) -> list[dict[str, str]]:
    """Return all rows of a CSV file, as they stand there: every digit."""
    rows = table_rows(path, lines)
    header = next(rows, [])
    return [dict(zip(header, row, strict=True)) for row in rows]


def refuse_inputs(outputs: Iterable[Path], inputs: Sequence[Path]) -> None:
    """Raise UsageError when a file that is to be written is one that is read."""
    for path in outputs:
        if any(_same(path, one) for one in inputs):
            raise UsageError(f"{path} is read; write to another file")


def refuse_one_file(outputs: Mapping[str, Path]) -> None:
    """Raise OptionError when two of the files that are to be written, by flag, are one."""
    for (flag, path), (other, chosen) in combinations(outputs.items(), 2):
        if path.absolute() == chosen.absolute() or _same(path, chosen):
            raise OptionError(other, f"{chosen} is the file of {flag}", "write to another file")


def _same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # Also of a name that is too long, which whoever opens it reports.
        return False
