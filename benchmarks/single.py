"""One run alone, and the time until a script says how it is used."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from stable_nalu.machine import CHECKOUT
from stable_nalu.training.script import run_script

from . import bare
from .clock import Cost, in_turn, spent
from .table import Row, compared, microseconds, seconds

REPEATS = 7
ITERATIONS = 3000
WARM_UP = 300


def rows() -> Iterator[Row]:
    """Measure the iteration of a single run, and --help."""
    loop = bare.BareLoop(bare.NMU(2), bare.multiply)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TENSORBOARD_DIR"] = folder
        iterations = in_turn(
            _iteration_of_a_run,
            lambda: spent(lambda: loop.run(ITERATIONS)) / ITERATIONS,
            REPEATS,
        )
    yield compared("NMU: single run / bare loop", iterations, "1.3", microseconds)
    starts = in_turn(
        lambda: spent(lambda: process("experiments/single_layer.py", "--help")),
        lambda: spent(lambda: process("-c", "import torch")),
        REPEATS,
    )
    yield compared("--help / import torch", starts, "1.5", seconds)


def _iteration_of_a_run() -> Cost:
    """Measure a long run less a short one, which leaves out what each run costs once."""
    short = spent(lambda: _train(WARM_UP))
    return (spent(lambda: _train(WARM_UP + ITERATIONS)) - short) / ITERATIONS


def _train(iterations: int) -> None:
    """Train by the script, logging at the first iteration only."""
    words = f"--operation mul --layer-type ReRegualizedLinearMNAC --max-iterations {iterations - 1}"
    words += f" --log-interval {iterations} --remove-existing-data --no-save --no-cuda"
    quietly("single_layer", words)


def process(*words: str) -> None:
    """Run Python with these words, from the root of the project."""
    subprocess.run([sys.executable, *words], cwd=CHECKOUT, stdout=subprocess.DEVNULL, check=True)


def quietly(script: str, words: str) -> None:
    """Train in this process, without a word."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        run_script(script, words.split())
