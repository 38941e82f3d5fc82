"""Compiled code: a library of C++ that is made once for each compiler and processor, and kept."""

import errno
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from .kept import SETTINGS, CompileError, kept

LONG_SOURCE = 500_000
"""Characters of C++ that compile for more than a minute."""


def library_of(source: str, flags: Sequence[str], *, extended: bool = False) -> Path:
    """Return a shared library of C++, compiled unless that was done before.

    source: the whole text. flags: those of the compiler, which `CXX` names, else g++. extended:
    whether the user may add some. Raises CompileError where there is no library, and
    `SETTINGS.refusal` for environment variables that the user must change.
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
    """Return the words of an environment variable."""
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
