"""Where the CPU time of a figure goes, from the first compilation to the picture."""

from __future__ import annotations

import functools
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

from stable_nalu.training.compiled.errors import CompiledErrors
from stable_nalu.training.compiled.step import CompiledStep

from stable_nalu import native
from stable_nalu.batch.work import train_shards
from stable_nalu.catalogue.index import find
from stable_nalu.machine import TORCHS_CACHES, code_cache
from stable_nalu.reproduction import pipeline
from stable_nalu.reproduction.tables import Workspace
from stable_nalu.training.arithmetic.data import Feed
from stable_nalu.training.arithmetic.trainer import ArithmeticTraining
from stable_nalu.training.logging.recorder import Recorder
from stable_nalu.training.stack import StackTraining

from .clock import Cost
from .table import Row

KEY = "nips-sltr-in2"
"""Figure 3 of the division paper: 900 runs of 50,000 iterations."""
WORK = ("draw", "iterate")
AIM = "3/10"
"""The share of all that neither draws nor iterates."""
PLACES: dict[str, tuple[tuple[object, str], ...]] = {
    "compile": (
        (native, "load"),
        (CompiledStep, "_prepared"),
        (CompiledErrors, "_prepare"),
    ),
    "draw": ((Feed, "next"),),
    "iterate": ((ArithmeticTraining, "iterate"),),
    "evaluate": ((ArithmeticTraining, "_evaluate"),),
    "log": ((Recorder, "write"), (Recorder, "commit"), (Recorder, "flush")),
    "save": ((StackTraining, "save"),),
    "export": ((pipeline, "export"),),
    "statistics": ((pipeline, "_judge"),),
    "picture": ((pipeline, "_draw"),),
}
REST = "the rest"


class Shares:
    """CPU time by what the functions of `PLACES` are for; one that calls another is not charged."""

    def __init__(self):
        self.seconds: dict[str, float] = defaultdict(float)
        self._names = [REST]
        self._since = Cost.now().cpu

    def charge(self) -> None:
        """Charge the time since the last call to the function that runs."""
        now = Cost.now().cpu
        self.seconds[self._names[-1]] += now - self._since
        self._since = now

    def watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is charged to a name."""

        @functools.wraps(function)
        def run(*arguments: Any, **keywords: Any) -> Any:
            self.charge()
            self._names.append(name)
            try:
                return function(*arguments, **keywords)
            finally:
                self.charge()
                self._names.pop()

        return run


def rows() -> Iterator[Row]:
    """Train, export, summarise and draw a figure in this process, a stage a row."""
    started = time.perf_counter()
    shares = Shares()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stack.enter_context(redirect_stdout(StringIO()))
        for name, places in PLACES.items():
            for owner, function in places:
                watched = shares.watched(name, getattr(owner, function))
                stack.enter_context(mock.patch.object(owner, function, watched))
        code_cache.cache_clear()
        stack.callback(code_cache.cache_clear)
        # Work of other processes could not be told apart.
        caches = {variable: str(Path(folder, name)) for variable, name in TORCHS_CACHES.items()}
        settings = {"SLURM_CPUS_PER_TASK": "1", "XDG_CACHE_HOME": folder, **caches}
        stack.enter_context(mock.patch.dict(os.environ, settings))
        _reproduce(Path(folder))
    shares.charge()
    total = sum(shares.seconds.values())
    title = f"{KEY}, nothing compiled before"
    for name in (*PLACES, REST):
        spent = shares.seconds[name]
        yield Row(
            f"{title}: {name} / all", spent / total, "1", f"{spent:.3g} s", _per_cent(spent / total)
        )
    other = 1 - sum(shares.seconds[name] for name in WORK) / total
    wall = time.perf_counter() - started
    yield Row(
        f"{title}: all but drawing and iterating / all",
        other,
        AIM,
        _per_cent(other),
        f"{total:.3g} s ({wall:.3g})",
    )


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _reproduce(folder: Path) -> None:
    experiment = find(KEY)
    space = Workspace(folder)
    space.use()
    models = list(experiment.models)
    request = pipeline.Request(experiment, models, space, list(models[0].seeds), 1, ["png"])
    for shard in request.shards().values():
        train_shards([shard])
    pipeline.report(request)
