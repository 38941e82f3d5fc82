"""Whole commands: how they begin, what surrounds their iterations, and how they share two cores."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from stable_nalu.base.files import CHECKOUT

from .engine import Iterations
from .iterations import NMU, OF_225, RANGES
from .table import Measurement, Row

SCRIPT = "experiments/single_layer.py"


class Costs:
    """CPU time (of a command and its children) and time by the clock, in seconds."""

    def __init__(self, words: Sequence[str], folder: Path, cache: Path | None = None):
        environment = {"TENSORBOARD_DIR": str(folder / "logs"), "SAVE_DIR": str(folder / "save")}
        if cache is not None:
            environment["XDG_CACHE_HOME"] = str(cache)
        before, began = _children(), time.perf_counter()
        subprocess.run(
            words,
            cwd=CHECKOUT,
            env=os.environ | environment,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.clock, self.cpu = time.perf_counter() - began, _children() - before


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _trained(words: Sequence[str], cache: Path | None = None) -> Costs:
    with tempfile.TemporaryDirectory() as folder:
        return Costs([sys.executable, SCRIPT, *words], Path(folder), cache)


def _runs_225(share: float) -> Sequence[str]:
    """Return the words of 225 runs, or of nine in a miniature."""
    return f"{NMU} {RANGES} --seed {'0-24' if share >= 1 else '0'} --no-cuda".split()


def _start(share: float) -> tuple[float, float]:
    """Return the CPU time of a command of one iteration, without and with what is kept."""
    words = [*_runs_225(share), "--no-save", "--max-iterations", "1"]
    costs: tuple[list[float], list[float]] = ([], [])
    for _ in range(max(1, int(3 * share))):
        with tempfile.TemporaryDirectory() as cache:
            for kept in costs:
                kept.append(_trained(words, Path(cache)).cpu)
    return min(costs[0]), min(costs[1])


def _first(share: float) -> Row:
    title = "225 NMUs, the whole command of one iteration, nothing kept / kept"
    cold, warm = _start(share)
    met = cold <= 6 and warm <= 4
    return Row("start", title, f"{cold:.2g} s / {warm:.2g} s CPU", "6 s / 4 s", met)


def _demo(share: float) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        words = [
            "make",
            *(["--dry-run"] if share < 1 else []),
            "demo",
            f"RUN={sys.executable}",
            "INSTALLED=",
            f"DEMO={folder}/demo",
        ]
        cost = Costs(words, Path(folder))
    engine = f"{cost.clock:.3g} s ({cost.cpu:.3g} s CPU)"
    return Row("demo", "`make demo` after set-up", engine, "15 s", cost.clock <= 15)


def _alone(share: float) -> Row:
    last = str(int(50_000 * share))
    words = [*NMU.split(), "--no-cuda", "--interpolation-range", "[1,2]"]
    words += ["--extrapolation-range", "[2,6]", "--max-iterations", last]
    costs = [_trained(words) for _ in range(max(1, int(3 * share)))]
    title, cpu = "one NMU alone, 50,000 iterations, the whole command", min(c.cpu for c in costs)
    return Row("alone", title, f"{cpu:.3g} s CPU", "2 s", cpu <= 2)


def _around(share: float) -> Row:
    """Compare log points, evaluations and saving to the iterations that they surround."""
    last = int(50_000 * share)
    words = [*_runs_225(share), "--max-iterations", str(last)]
    every, none = [], []
    for _ in range(max(1, int(3 * share))):
        every.append(_trained(words).cpu)
        none.append(_trained([*words, "--no-save", "--log-interval", str(last)]).cpu)
    engine = Iterations("single_layer", [f"{NMU} {OF_225}"])
    iterating = min(engine.turn(max(4, last // 10)) for _ in range(3)) * last * engine.runs / 1e6
    extra = min(every) - min(none)
    title = "225 NMUs, 50,000 iterations: log, evaluation and saving / iterating"
    told = f"{extra / iterating:.2f} ({extra:.2g} s / {iterating:.2g} s CPU)"
    return Row("around", title, told, "0.15", extra <= 0.15 * iterating)


def _workers(share: float) -> Row:
    """Compare the iterations of a second by the clock, without what commands do once."""
    took = {}
    words = [*_runs_225(share), "--no-save", "--log-interval", "1000000000"]
    for workers in ("1", "2"):
        short, long = (
            _trained(
                [*words, "--workers", workers, "--max-iterations", str(int(iterations * share))]
            ).clock
            for iterations in (50_000, 450_000)
        )
        took[workers] = long - short
    ratio = took["1"] / took["2"]
    title = "225 NMUs: iterations of `--workers 2` / `--workers 1`, by the clock"
    # Two processes cannot gain more: then others computed in between.
    goal = "1.8 to 2.1; more is noise"
    return Row("workers", title, f"{ratio:.2f}", goal, 1.8 <= ratio <= 2.1)


def _figure(share: float) -> Row:
    words = [sys.executable, "experiments/reproduce.py", "nips-sltr-in2"]
    if share < 1:
        words += ["--max-iterations", "1000", "--seeds", "0", "--model", "nmru"]
    with tempfile.TemporaryDirectory() as folder:
        cost = Costs([*words, "--out", f"{folder}/out"], Path(folder), Path(folder) / "cache")
    title = "Figure 3 of the division study, 900 runs, nothing kept, by the clock"
    engine = f"{cost.clock:.3g} s ({cost.cpu:.3g} s CPU)"
    return Row("figure", title, engine, "40 s", cost.clock <= 40)


MEASUREMENTS = [
    Measurement("start", _first),
    Measurement("demo", _demo),
    Measurement("alone", _alone),
    Measurement("around", _around),
    Measurement("workers", _workers),
    Measurement("figure", _figure, slow=True),
]
