"""What a stranger's layer hides from a recording is found before its first iteration.

Each of these layers gave other numbers than in PyTorch, without a line, or would by step 60.
"""

import itertools
import random
import re
import time

import numpy as np
import pytest
import torch

from stable_nalu.layer import own_layers, registry
from stable_nalu.layer.user_code import PythonState
from stable_nalu.task.table import SCRIPTS, TASKS
from stable_nalu.training import engine_stack as stack
from stable_nalu.training.shell import PlannedRun, with_engine
from tests.training.engine.harness import planned, words_of
from torchlanes.lower import FORMULAS

COUNT = [0]
STEPS = 0


class Sum(torch.nn.Module):
    """What the layers below have in common."""

    calls = 0

    def __init__(self, in_features, out_features):
        super().__init__()
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features).uniform_(0.3, 1.2))
        self.prepare()

    def prepare(self):
        """Make what a layer has besides."""

    def forward(self, x):
        return self.changed(x @ self.W.T)

    def changed(self, y):
        return y


def layer(name, changed=None, **body):
    """A layer whose forward pass changes a sum, by the name of its class."""
    return type(name, (Sum,), body | ({} if changed is None else {"changed": changed}))


def late(count):
    return 2.0 if count > 60 else 1.0


def counted(get):
    """What doubles the output once a counter has passed 60."""
    return lambda self, y: y * late(get(self))


def in_a_list(self):
    self.seen.append(1)
    return len(self.seen)


def in_a_dictionary(self):
    self.seen["n"] += 1
    return self.seen["n"]


def in_a_global(self):
    global STEPS
    STEPS += 1
    return STEPS


def in_a_global_list(self):
    COUNT[0] += 1
    return COUNT[0]


def in_a_base_class(self):
    Sum.calls += 1
    return Sum.calls


def in_a_default(self, seen=[0]):  # noqa: B006
    seen[0] += 1
    return seen[0]


def in_a_closure():
    seen = [0]

    def count(self):
        seen[0] += 1
        return seen[0]

    return count


def generator():
    yield from range(1000)


def gives(**values):
    """Make attributes, by what is called for each."""

    def prepare(self):
        for name, make in values.items():
            setattr(self, name, make())

    return prepare


REFUSED = {
    "a list": (layer("A", counted(in_a_list), prepare=gives(seen=list)), r"changes .*\.seen\[0\]"),
    "a dictionary": (
        layer("B", counted(in_a_dictionary), prepare=gives(seen=lambda: {"n": 0})),
        r"changes .*\.seen\['n'\]",
    ),
    "an iterator": (
        layer("C", counted(lambda self: next(self.it)), prepare=gives(it=itertools.count)),
        r"changes .*\.it",
    ),
    "a generator": (
        layer("D", counted(lambda self: next(self.it)), prepare=gives(it=generator)),
        r"\.it is opaque",
    ),
    "a global": (layer("E", counted(in_a_global)), "changes STEPS of test_proof.py"),
    "a global list": (
        layer("F", counted(in_a_global_list)),
        r"changes COUNT of test_proof.py\[0\]",
    ),
    "a base class": (layer("G", counted(in_a_base_class)), "changes Sum.calls"),
    "a default": (layer("H", counted(in_a_default)), r"changes .*defaults\[0\]\[0\]"),
    "a closure": (layer("I", counted(in_a_closure())), r"changes seen of count\[0\]"),
    "a clock": (layer("J", lambda self, y: y + 0 * time.time()), "that reads time"),
    "chance": (layer("K", lambda self, y: y + 0 * random.random()), "that reads random"),
    "chance of NumPy": (
        layer("L", lambda self, y: y + 0 * np.random.rand()),
        "that reads numpy.random",
    ),
    "rows": (layer("M", lambda self, y: y + 0.001 * len(y)), "gives another error in evaluation"),
    "its own numbers": (
        layer("N", lambda self, y: y * float(self.W.detach().numpy().sum())),
        "Cannot access data pointer",
    ),
    "a hook": (
        layer(
            "O",
            prepare=lambda self: (
                setattr(self, "seen", []),
                self.register_forward_hook(lambda m, i, o: o * late(in_a_list(m))),
            ),
        ),
        r"changes .*\.seen\[0\]",
    ),
    "a branch": (layer("P", lambda self, y: y if y.sum() > 0 else 2 * y), "control flow"),
}
TRAINED = {
    "plain": layer("Q", lambda self, y: 3 * torch.tanh(y)),
    "constants": layer("R", lambda self, y: y * self.k[0], prepare=gives(k=lambda: [0.5])),
}


def engine_of(kind, seed=0):
    own_layers.register(kind)
    try:
        words = [*words_of("single_layer", kind.__name__), "--seed", str(seed)]
        (config,) = planned("single_layer", *words)
        run = PlannedRun.of(SCRIPTS["single_layer"], config)
        return with_engine(TASKS["single_layer"], run).engine
    finally:
        registry.drop(kind.__name__)


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_recording_does_not_see_is_trained_by_torch(what):
    """And nothing of what the search for it has changed in Python is left."""
    kind, says = REFUSED[what]
    before = STEPS, list(COUNT), Sum.calls
    engine = engine_of(kind)
    assert engine.startswith("torch: ")
    assert re.search(says, engine), engine
    assert (STEPS, COUNT, Sum.calls) == before


@pytest.mark.parametrize("what", TRAINED)
def test_what_computes_the_same_is_trained_by_the_engine(what):
    assert engine_of(TRAINED[what]) == "lanes"


def test_a_number_that_one_seed_draws_sends_that_run_to_torch():
    kind = layer(
        "Rare",
        lambda self, y: y * self.k,
        prepare=lambda self: setattr(self, "k", 1.0 + (torch.initial_seed() == 7)),
    )
    engines = [engine_of(kind, seed) for seed in (0, 7, 8)]
    assert engines[0] == engines[2] == "lanes"
    assert re.fullmatch(r"torch: a layer whose .*\.k is drawn", engines[1])


def test_a_number_that_every_seed_draws_sends_all_runs_to_torch():
    kind = layer(
        "Drawn",
        lambda self, y: y + 0 * self.k,
        prepare=lambda self: setattr(self, "k", torch.rand(1).item()),
    )
    assert "k is drawn" in engine_of(kind)


def test_another_class_of_the_same_name_is_recorded_again():
    assert engine_of(layer("Same")) == "lanes"
    assert engine_of(REFUSED["a clock"][0]).startswith("torch")
    assert engine_of(layer("Same", REFUSED["a clock"][0].changed)).startswith("torch")


def test_an_outcome_is_kept_with_compiled_code(monkeypatch):
    kind = layer("Kept", lambda self, y: torch.sin(y))
    assert engine_of(kind) == "lanes"
    monkeypatch.setattr(stack._Comparison, "difference", lambda self: "not asked")
    monkeypatch.setattr(stack, "_PROGRAMS", {})
    assert engine_of(kind) == "lanes"
    other = layer("Kept", lambda self, y: torch.cos(y))
    assert engine_of(other) == "torch: not asked"


def test_a_rule_that_computes_something_else_is_found(monkeypatch):
    """In whatever rule: the engine's numbers are compared, not its text."""
    monkeypatch.setitem(FORMULAS, "reciprocal", lambda a: 1.001 / a)
    kind = layer("Wrong", lambda self, y: torch.reciprocal(y))
    assert re.fullmatch(r"torch: the engine gives another .*\.W than PyTorch", engine_of(kind))


def test_python_state_is_put_back_in_place():
    module = layer("State", prepare=gives(a=lambda: [1, {"b": {2}}], it=itertools.count))(2, 1)
    held, inner = module.a, module.a[1]
    state = PythonState(module)
    next(module.it)
    inner["b"].add(3)
    module.a.append(4)
    module.new = 5
    assert state.difference(PythonState(module)) == ".a[1]['b']"
    state.put_back()
    assert module.a is held
    assert held == [1, {"b": {2}}]
    assert held[1] is inner
    assert not hasattr(module, "new")
    assert next(module.it) == 0
