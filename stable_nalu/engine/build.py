"""Compiled libraries of C++ that the engine wrote, kept by what they are made of."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import subprocess
from functools import cache
from pathlib import Path

from stable_nalu.files import atomic_path
from stable_nalu.machine import code_cache

HERE = Path(__file__).parent
FLAGS = ("-std=c++17", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-w")
LINKED = ("-shared", "-fPIC")


class NoCompiler(Exception):
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


def library(text: str, extra: tuple[str, ...] = ()) -> ctypes.CDLL:
    """Return a library, compiled unless that was done for this compiler and processor before."""
    command = [*shlex.split(os.environ.get("CXX") or "c++"), *FLAGS, *LINKED, *extra]
    digest = hashlib.sha256("\0".join([_described(tuple(command)), text]).encode()).hexdigest()
    path = code_cache() / "engine" / f"{digest[:32]}.so"
    if not path.exists():
        with atomic_path(path) as temporary:
            _compile(command, text, temporary)
    return ctypes.CDLL(str(path))


def _compile(command: list[str], text: str, path: Path) -> None:
    done = subprocess.run(
        [*command, "-x", "c++", "-", "-o", str(path)], input=text, capture_output=True, text=True
    )
    if done.returncode:
        raise NoCompiler(f"{command[0]} fails: {(done.stderr.splitlines() or ['no reason'])[0]}")


@cache
def _described(command: tuple[str, ...]) -> str:
    """Return what tells compiler and processor apart: the commands that would be run."""
    try:
        shown = subprocess.run(
            [*command, "-x", "c++", os.devnull, "-o", os.devnull, "-###"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoCompiler(f"{command[0]}: {error.__class__.__name__}") from None
    return shown.stderr


@cache
def no_compiler() -> str | None:
    """Return why nothing can be compiled here, in a line, or None where something was."""
    try:
        library('extern "C" int works() { return 1; }')
    except (NoCompiler, OSError) as error:
        return f"no C++ compiler works: {error}"
    return None
