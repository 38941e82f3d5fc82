"""The ensemble against other ways to train many runs at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from stable_nalu.machine import CHECKOUT
from stable_nalu.script import Interruption

from .clock import Cost, median
from .ensemble import CASES, REPEATS
from .stopwatch import Stopwatch, train
from .table import Row, compared, microseconds

CHECK = "import sys, importlib.util as u; sys.exit(u.find_spec('jax') is None)"


def rows() -> Iterator[Row]:
    """Measure the NMU case against JAX; yield nothing where JAX is not installed.

    BENCH_JAX_PYTHON names another interpreter that has it.
    """
    python = os.environ.get("BENCH_JAX_PYTHON", sys.executable)
    if subprocess.run([python, "-c", CHECK], check=False).returncode:
        sys.stdout.write("| against JAX: not measured, it is not installed |\n")
        return
    case = CASES["in2"][0]
    with subprocess.Popen(
        [python, "-m", "benchmarks.jax_loop"],
        cwd=CHECKOUT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        ask, answer = process.stdin, process.stdout

        def turn() -> Cost:
            ask.write("go\n")
            ask.flush()
            return Cost(*map(float, answer.readline().split()))

        interruption = Interruption()
        watch = Stopwatch(case.iterations, REPEATS, {"jax": turn}, interruption)
        train(case.script, case.words, watch, interruption)
        ask.close()
    costs = median(watch.own) / case.runs, median(watch.others["jax"])
    yield compared("NMU: 225 runs / the same in JAX", costs, "1", microseconds)
