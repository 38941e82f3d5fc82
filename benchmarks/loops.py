"""Loops outside of this package: the hand-written ones in C++, and one in JAX."""

import importlib.util
import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from stable_nalu.base.files import CHECKOUT, EXTRA_FLAGS
from torchlanes.tiles import FLAGS

HERE = Path(__file__).parent
ALONE = {"-shared", "-fPIC"}


@cache
def _compiled(name: str, defined: tuple[str, ...]) -> Path:
    """Compile a file as the engine compiles its own, and return the program."""
    program = Path(mkdtemp()) / name
    words = [*shlex.split(os.environ.get("CXX") or "c++")]
    words += [flag for flag in FLAGS if flag not in ALONE]
    words += shlex.split(os.environ.get(EXTRA_FLAGS, ""))
    source = str(HERE / f"{name}.cpp")
    subprocess.run([*words, "-Wno-psabi", *defined, source, "-o", str(program)], check=True)
    return program


def hand_written(name: str, defined: tuple[str, ...], iterations: int) -> float:
    """Return the microseconds of CPU time of a run and iteration of a loop written by hand."""
    done = subprocess.run(
        [str(_compiled(name, defined)), str(iterations)],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout.split()[0])


def jax(turns: int) -> list[float] | None:
    """Return the microseconds of 225 NMUs in JAX, or None where that is not installed."""
    if importlib.util.find_spec("jax") is None:
        return None
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.jax_loop"],
        cwd=CHECKOUT,
        input="go\n" * turns,
        check=True,
        capture_output=True,
        text=True,
    )
    return list(map(float, done.stdout.split()))
