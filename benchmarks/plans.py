"""What surrounds the iterations of an ensemble: validation and logs, and sharing over processes."""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from stable_nalu.machine import CHECKOUT
from stable_nalu.script import Interruption
from stable_nalu.training.logging.console import StackView

from .clock import Cost
from .ensemble import ARITHMETIC, NMU, REAL_NPU, SINGLE_LAYER_RANGES, ramp
from .stopwatch import train
from .table import Row

LOG_INTERVAL = 1000
LAST = 50_000
WORDS = f"{NMU} {ramp(20000, 35000)} {SINGLE_LAYER_RANGES} --seed 0-24 --no-cuda"
PROGRESS = re.compile(r"train (\d+): .*stack (\d+)$")
SECONDS = 8.0


class LogWatch(StackView):
    """CPU time of log points and of what lies between them."""

    def __init__(self, points: int, interruption: Interruption):
        super().__init__(lambda *message: None, 0, 1)
        self._iteration = -1
        self._last = points * LOG_INTERVAL
        self._interruption = interruption
        self.last = Cost.now()
        self.between: list[float] = []
        self.at_log_points: list[float] = []

    def advance(self, iterations: int) -> None:
        """Count iterations; each stretch ends before or after a log point."""
        self._iteration += iterations
        at_log_point = self._iteration % LOG_INTERVAL == 0
        if not at_log_point and (self._iteration + 1) % LOG_INTERVAL:
            return
        now = Cost.now()
        (self.at_log_points if at_log_point else self.between).append((now - self.last).cpu)
        self.last = now
        if self._iteration >= self._last:
            self._interruption.signal_number = 2


def overhead() -> Iterator[Row]:
    """Measure log points and final checkpoints of 50,000 iterations against the iterations."""
    interruption = Interruption()
    watch = LogWatch(8, interruption)
    train("single_layer", f"{WORDS} --max-iterations {LAST}", watch, interruption)
    saving = (Cost.now() - watch.last).cpu
    # The first point and the stretch after it hold what is done once.
    iterations = statistics.median(watch.between[1:]) / (LOG_INTERVAL - 1)
    extra = statistics.median(watch.at_log_points[1:]) - iterations
    points = LAST // LOG_INTERVAL
    ratio = (extra * points + saving) / (iterations * LAST)
    yield Row(
        "NMU, 225 runs: validation, log, saving / iterations",
        ratio,
        "0.15",
        f"{extra * 1e3:.0f} ms a log point, {saving:.2f} s of saving",
        f"{iterations * 1e3:.2f} ms an iteration",
    )


def workers() -> Iterator[Row]:
    """Measure the throughput of two processes against one, by the wall clock."""
    last = f"--max-iterations {LAST} --log-interval {LOG_INTERVAL}"
    yield _sharing("NMU, 225 runs", "single_layer", 225, f"{WORDS} --no-save {last}")
    words = f"{REAL_NPU} {SINGLE_LAYER_RANGES} --seed 0-24 --no-cuda"
    ten = f"--input-size 10 --subset-ratio 0.1 {ramp(50_000, 75_000)} --no-save {last}"
    yield _sharing("Real NPU, 10 inputs, 225 runs", "single_layer", 225, f"{words} {ten}")
    words = f"{ARITHMETIC} {last}"
    yield _sharing("NAU and NMU, 100 inputs, 50 runs", "simple_function_static", 50, words)


def _sharing(what: str, script: str, runs: int, words: str) -> Row:
    rates = [
        [_throughput(script, runs, words, processes) for processes in (1, 2)] for _ in range(3)
    ]
    one, two = (statistics.median(side) for side in zip(*rates, strict=True))
    return Row(
        f"{what}: --workers 2 / --workers 1, wall time",
        two / one,
        "1.7",
        f"{two / 1e3:.0f} run-iterations a ms",
        f"{one / 1e3:.0f} run-iterations a ms",
        at_least=True,
    )


def _throughput(script: str, runs: int, words: str, processes: int) -> float:
    """Return iterations per second of all runs, from the second progress line of each stack on."""
    seen: dict[str, list[tuple[float, int]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TENSORBOARD_DIR": folder, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(
            [sys.executable, f"experiments/{script}.py", *f"{words} --workers {processes}".split()],
            cwd=CHECKOUT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            for line in process.stdout or ():
                if found := PROGRESS.search(line.strip()):
                    point = (time.perf_counter(), int(found[1]))
                    seen.setdefault(found[2], []).append(point)
                if len(seen) == processes and min(map(_seconds, seen.values())) > SECONDS:
                    process.terminate()
                    break
            else:
                raise RuntimeError(
                    f"{script}.py ended with code {process.wait()} before {SECONDS} s"
                )
    return sum(_rate(points) for points in seen.values()) * runs / processes


def _seconds(points: list[tuple[float, int]]) -> float:
    return points[-1][0] - points[min(1, len(points) - 1)][0]


def _rate(points: list[tuple[float, int]]) -> float:
    (start, first), (end, last) = points[1], points[-1]
    return (last - first) / (end - start)
