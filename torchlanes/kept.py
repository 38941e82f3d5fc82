"""Files that are made once and kept: compiled code, and what was found out about it.

They are kept by what they were made of, and checked before anyone loads them: a library that is cut
off or damaged would end the process that calls it, or stay useless for ever. So the name of each
file holds a digest of its content, and one that has another is made again.
"""

import atexit
import errno
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from . import SETTINGS

WRITABLE_FOR_OTHERS = 0o022
NO_LOCKS_HERE = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK}
"""Errors of a file system that has no locks."""


class CompileError(Exception):
    """Why nothing can be compiled, kept or loaded here, in a line."""

    def __init__(self, problem: str, reason: str):
        self.reason = " ".join(reason.split())
        super().__init__(f"{problem}: {self.reason}")


@cache
def code_cache() -> Path:
    """Return the folder where compiled code is kept, which nobody else can write to.

    Code that is loaded from it runs as the user. It lies below `XDG_CACHE_HOME` or `~/.cache`. When
    it belongs to another user or others can write to it, it is refused with a warning; then, and
    where no folder can be made, compiled code is kept in a private folder until the process ends.
    """
    named = Path(os.environ.get("XDG_CACHE_HOME") or "")
    try:
        folder = (named if named.is_absolute() else Path.home() / ".cache") / SETTINGS.folder
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
    private = tempfile.mkdtemp(prefix=f"{SETTINGS.folder}-")
    atexit.register(shutil.rmtree, private, ignore_errors=True)
    return Path(private)


def lock_of(path: Path) -> Path:
    target = path.resolve()
    return target.with_name(f".{target.name[-40:]}.lock")


def opened(lock: Path) -> IO[bytes]:
    """Open the file of a lock; unlike for writing alone, nobody waits at a pipe of that name."""
    return os.fdopen(os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_CREAT, 0o666), "r+b", 0)


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Let no other process into a block that is locked with the same file, which need not be there.

    Yields whether the file system has locks; without, nobody waits. Raises OSError where there can
    be no file, and BlockingIOError where another process has it and this one is not to wait.
    """
    lock = lock_of(path)
    lock.parent.mkdir(parents=True, exist_ok=True)
    while True:
        file, works = opened(lock), True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError as error:
            works = error.errno not in NO_LOCKS_HERE
            if works:
                file.close()
                raise
        # Whoever had it before has removed it: others would lock a new file of its name.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), lock.stat()):
                break
        file.close()
    try:
        yield works
    finally:
        lock.unlink(missing_ok=True)
        file.close()


def kept(room: str, parts: Iterable[bytes], make: Callable[[Path], object]) -> Path:
    """Return a file that was made before of the same parts, and is whole, or make it.

    room: the folder below `code_cache`. make: writes the file at a path. Raises CompileError where
    no file can be written.
    """
    folder = code_cache() / room
    name = _digest(b"\0".join(parts))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (file := _whole(folder, name)) is not None:
            return file
        with locked(folder / f"{name}.so") as works:
            if works:
                _sweep(folder, name)
            # Meanwhile another process may have made it.
            return _whole(folder, name) or _made(folder, name, make)
    except OSError as error:
        said = f"{error.filename or folder}: {error.strerror}"
        raise CompileError("compiled code cannot be kept", said) from None


def _made(folder: Path, name: str, make: Callable[[Path], object]) -> Path:
    """Make a file, and put a digest of its content into its name once it is on the disk."""
    temporary = folder / f".{name}.so.{uuid.uuid4().hex}"
    try:
        make(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        return temporary.replace(folder / f"{name}-{_digest(temporary.read_bytes())}.so")
    finally:
        temporary.unlink(missing_ok=True)


def _sweep(folder: Path, name: str) -> None:
    """Remove what killed processes left of files; this one has locked the file of a name."""
    for entry in folder.glob(".*.so.*"):
        other = entry.name[1:].partition(".so.")[0]
        if other != name:
            with suppress(OSError), locked(folder / f"{other}.so", wait=False):
                entry.unlink(missing_ok=True)
        elif entry != lock_of(folder / f"{name}.so"):
            _remove(entry)


def _whole(folder: Path, name: str) -> Path | None:
    """Return the file of a name whose content matches its digest, and remove any that differ."""
    for path in sorted(folder.glob(f"{name}-*.so")):
        if path.is_file() and path.stem == f"{name}-{_digest(path.read_bytes())}":
            return path
        _remove(path)
    return None


def _remove(path: Path) -> None:
    """Remove what has the name of a file: also a folder, a pipe or a link that leads nowhere."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


LONG_SOURCE = 500_000
"""Characters of C++ that compile for more than a minute."""


def library_of(source: str, flags: Sequence[str], *, extended: bool = False) -> Path:
    """Return a shared library of C++, compiled unless that was done before.

    source: the whole text. flags: for the compiler, which `CXX` names, else g++. extended: whether
    the user may add some. Raises CompileError if compilation fails, and `SETTINGS.refusal` for
    environment variables that the user must change.
    """
    extra = _words_of(SETTINGS.extra_flags) if extended else []
    command = (*(_words_of("CXX") or ["g++"]), *flags)
    try:
        version = described((*command, *extra))
    except CompileError as error:
        if extra:
            described(command)
            said = f"{SETTINGS.extra_flags} is {shlex.join(extra)}: {error.reason}"
            raise SETTINGS.refusal(said) from None
        raise
    code = source.encode()

    def make(path: Path) -> None:
        if len(code) > LONG_SOURCE:
            sys.stderr.write("a large network is compiled, which may take a minute, once\n")
        words = [*command, *extra, "-x", "c++", "-", "-o", str(path)]
        run_compiler(words, "the generated C++ does not compile", code)

    return kept("libraries", [version, code], make)


def _words_of(variable: str) -> list[str]:
    text = os.environ.get(variable, "")
    try:
        return shlex.split(text)
    except ValueError:
        raise SETTINGS.refusal(f"{variable} is {text}; close its quote or backslash") from None


@cache
def described(command: tuple[str, ...]) -> bytes:
    """Return the compiler that a command starts, and the processor that is `native`, as text."""
    return run_compiler([*command, "-x", "c++", "-", "-o", "-", "-S", "-###"]).stderr


def run_compiler(
    words: Sequence[str], problem: str = "no C++ compiler works", code: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a compiler; raise CompileError with a problem and the first error that it prints."""
    env = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.run(words, input=code, capture_output=True, check=True, env=env)
    except OSError as error:
        raise CompileError(problem, f"{words[0]}: {error.strerror}") from None
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").splitlines()
        errors = [line for line in lines if "error:" in line] or lines
        reason = next(iter(errors), f"{words[0]} ends with exit code {error.returncode}")
        if any(os.strerror(errno.ENOSPC) in line for line in lines):
            problem = "there is no room for compiled code"
        raise CompileError(problem, reason) from None
