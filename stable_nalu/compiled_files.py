"""Compiled code that is kept: by what it was made of, and checked before anyone loads it.

A library that is cut off or damaged would end the process that calls it, or stay useless for ever.
So the name of each file holds a digest of its content, and one that has another is made anew.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from .files import atomic_path, locked, remove_temporaries
from .machine import code_cache

_SHOWN = 32
"""Characters of a digest in a name."""


def library_of(source: str, flags: Sequence[str]) -> Path:
    """Return a shared library of C++, compiled unless that was done before.

    source: the whole text. flags: those of the compiler, which `CXX` names, else g++. Raises
    OSError or subprocess.CalledProcessError where it cannot be compiled.
    """
    command = compiler(flags)
    code = source.encode()

    def make(path: Path) -> None:
        words = [*command, "-x", "c++", "-", "-o", str(path)]
        subprocess.run(words, input=code, capture_output=True, check=True)

    return kept("libraries", [described(command), code], make)


def compiler(flags: Iterable[str]) -> tuple[str, ...]:
    """Return the start of the compiler's command."""
    return (*shlex.split(os.environ.get("CXX") or "g++"), *flags)


@cache
def described(command: tuple[str, ...]) -> bytes:
    """Return what a command stands for here: the compiler, and the processor that is `native`."""
    printed = [*command, "-x", "c++", "-", "-o", "-", "-S", "-###"]
    return subprocess.run(printed, capture_output=True, check=True).stderr


def kept(room: str, parts: Iterable[bytes], make: Callable[[Path], object]) -> Path:
    """Return a file that was made before of the same parts, and is whole, or make it.

    room: the folder below `machine.code_cache`. make: writes the file at a path.
    """
    folder = code_cache() / room
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = hashlib.sha256(b"\0".join(parts)).hexdigest()[:_SHOWN]
    found = _whole(folder, name)
    if found is not None:
        return found
    unnamed = folder / f"{name}.so"
    with locked(unnamed):
        # Meanwhile another process may have made it.
        found = _whole(folder, name)
        if found is None:
            remove_temporaries([unnamed])
            with atomic_path(unnamed, durable=True) as temporary:
                make(temporary)
            found = folder / f"{name}-{_digest(unnamed)}.so"
            unnamed.replace(found)
    return found


def _whole(folder: Path, name: str) -> Path | None:
    """Return the file of a name whose content is what its digest says; remove those that differ."""
    for path in sorted(folder.glob(f"{name}-*.so")):
        if path.stem == f"{name}-{_digest(path)}":
            return path
        path.unlink(missing_ok=True)
    return None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:_SHOWN]
