"""Compiled libraries of C++ that the engine wrote."""

from __future__ import annotations

import ctypes
import os
import shlex
import subprocess
from functools import cache
from pathlib import Path

from stable_nalu.compiled_files import library_of

HERE = Path(__file__).parent
FLAGS = (
    *("-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-w"),
    *("-shared", "-fPIC"),
)
EXTRA_FLAGS = "STABLE_NALU_CXXFLAGS"
"""Further flags of the compiler, such as -mno-avx512f: they change no bit of any number."""


class NoCompilerError(Exception):
    """Why nothing can be compiled here, in a line."""


@cache
def header(name: str) -> str:
    """Return the text of a file beside this module."""
    return (HERE / name).read_text()


def source(text: str, *, double: bool, functions: bool = True) -> str:
    """Return a whole C++ file: types, elementary functions and a text that uses them."""
    kinds = "#define DOUBLE\n" if double else ""
    parts = [header("prelude.h"), *([header("functions.h")] if functions else []), text]
    return kinds + "\n".join(parts)


@cache
def library(text: str) -> ctypes.CDLL:
    """Return a library, compiled unless that was done for this compiler and processor before."""
    try:
        flags = (*FLAGS, *shlex.split(os.environ.get(EXTRA_FLAGS, "")))
        return ctypes.CDLL(str(library_of(text, flags)))
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").splitlines() if error.stderr else []
        raise NoCompilerError(said[0] if said else f"exit code {error.returncode}") from None
    except OSError as error:
        raise NoCompilerError(error.strerror or str(error)) from None


@cache
def no_compiler(text: str) -> str | None:
    """Return why a text cannot be compiled here, in a line, or None where it was."""
    try:
        library(text)
    except NoCompilerError as error:
        return f"no C++ compiler works: {error}"
    return None
