"""Random layers: iterations and evaluations of the engine are torch's, or a line says why not."""

import os
import re
from types import SimpleNamespace

import pytest
import torch

from stable_nalu.layer import own_layers, registry
from stable_nalu.task.table import SCRIPTS, TASKS
from stable_nalu.training import engine_stack as stack
from tests.training.engine.harness import TYPES, planned
from tests.training.engine.random_layers import RandomLayer
from tests.training.engine.test_step import AS_TORCH, EXACT, SINGLE, Iterations, errors, over
from torchlanes import tiles
from torchlanes.tiles import library, source
from torchlanes.values import NotLoweredError

BATCHES = (2, 3, 7, 128, 1000)
SCRIPT = "single_layer"
NAMES = re.compile(r"\b(?=(run|log|eval|prepare)_(begin|block|update))")
FINER = 2.0**-29
"""How much finer float64 rounds than float32."""


def words(number):
    return [
        *("--operation", "add", "--layer-type", "RandomLayer"),
        *("--layer-option", f"number={number}", "--batch-size", str(BATCHES[number % 5])),
        *("--input-size", str(2 + number % 9)),
    ]


def precision(number):
    return 32 if number % 2 else 64


def lowered(number):
    """The program of a layer, or None where a line says why there is none."""
    (config,) = planned(SCRIPT, *words(number), "--pytorch-precision", str(precision(number)))
    torch.set_default_dtype(TYPES[precision(number)])
    options = SCRIPTS[SCRIPT].layer_options(config)
    try:
        (found,) = stack.programs_for(TASKS[SCRIPT], config, options).values()
    except NotLoweredError:
        return None
    return found


def compiled_together(programs):
    """The library of each program's source, all of which are one: one compilation for all."""
    found = {}
    for double in (False, True):
        some = {k: p for k, p in programs.items() if (p.dtype == torch.float64) is double}
        parts = [f"namespace n{k} {{\n{NAMES.sub(rf'n{k}_', p.text)}\n}}" for k, p in some.items()]
        made = library(source("\n".join(parts), double=double))
        runtime = tiles.runtime_text(double=double)
        found[runtime] = library(runtime)
        for k, p in some.items():
            names = [f"{part}_{f}" for part in p.sources for f in ("begin", "block", "update")]
            own = {name: made[f"n{k}_{name}"] for name in names}
            found[source(p.text, double=double)] = SimpleNamespace(**own)
    return found


def apart(number):
    """What differs from torch by more than torch itself from exact numbers, if that is more."""
    found = Iterations(SCRIPT, *words(number), precision=precision(number), last=2)
    bound = SINGLE if precision(number) == 32 else EXACT
    wrong = over(errors(found.engine, found.plain), bound)
    if not wrong:
        return {}
    finer = 1.0
    if precision(number) == 64:
        finer = FINER
        found = Iterations(SCRIPT, *words(number), precision=32, last=2, engine=False)
    of_torch = errors(found.plain, found.exact)
    return {name: e for name, e in wrong.items() if not e <= AS_TORCH * finer * of_torch[name]}


def assert_alike(numbers, monkeypatch):
    # Else each is proved first, by the same comparison.
    monkeypatch.setattr(stack, "foreign_modules", lambda model: [])
    own_layers.register(RandomLayer)
    try:
        programs = {k: program for k in numbers if (program := lowered(k)) is not None}
        libraries = compiled_together(programs)
        monkeypatch.setattr(tiles, "library", libraries.__getitem__)
        wrong = {k: bad for k in programs if (bad := apart(k))}
        assert wrong == {}
        assert len(programs) > len(numbers) / 2
    finally:
        registry.drop("RandomLayer")


def test_20_layers(monkeypatch):
    assert_alike(range(20), monkeypatch)


@pytest.mark.slow
def test_20_more(monkeypatch):
    """Others where all memory is watched: see test_no_memory_is_overwritten."""
    first = 40 if "ASAN_OPTIONS" in os.environ else 20
    assert_alike(range(first, first + 20), monkeypatch)
