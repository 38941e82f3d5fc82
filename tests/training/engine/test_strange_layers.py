"""Strange layers by a command: the engine's numbers are torch's, or a line says why it is torch."""

import inspect
import os
import subprocess
import sys
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch

import stable_nalu as sn
from stable_nalu.base.files import EXTRA_FLAGS, tensorboard_root
from stable_nalu.layer import registry
from stable_nalu.training import engine_stack as stack
from stable_nalu.training import recorder, step
from tests.experiments.scripts import read, run, run_names, saved
from tests.training.engine import strange_layers
from tests.training.engine.test_alone import engine_of
from tests.turn import weekly

FILE = Path(strange_layers.__file__)
LAYERS = [
    name
    for name, value in vars(strange_layers).items()
    if inspect.isclass(value) and issubclass(value, strange_layers._Sum) and name[0] != "_"
]
FAST = {"Centred", "SumOfTruths", "PlaceOfLateNoNumber", "CountsInNumber", "DrawnNumber"}
CASES = [
    pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow, weekly(place)])
    for place, name in enumerate(LAYERS)
]
ITERATIONS = 100
OF_ONE_ITERATION = 1e-6
"""Of the largest number of a tag: what float32 rounds, some ten times."""
ROWS = 500
TORCH = "trained one run at a time by plain torch: "


@pytest.fixture(autouse=True)
def _layers_of_the_file():
    yield
    registry.drop(origin=str(FILE))


def trained(name, engine):
    """The names of two runs that a command has trained."""
    script, how = "single_layer", f"--operation mul --log-interval 20 --max-iterations {ITERATIONS}"
    if name.endswith("Cell"):
        script, how = "simple_function_recurrent", "--operation add --max-iterations 3"
    words = f"{how} --layer-file {FILE} --layer-type {name} --seed 0-1 --engine {engine}"
    words += f" --name-prefix {engine}"
    with mock.patch.object(recorder, "EVALUATION_ROWS", ROWS):
        assert run(script, words) == 0
    return run_names(script, words)


def logged(names):
    """The numbers that runs logged, by tag and step."""
    return {
        (number, tag, at): float(values[0])
        for number, name in enumerate(names)
        for (at, tag), values in read(name).values.items()
        if isinstance(values[0], float)
    }


def apart(found, expected):
    """The tags whose numbers differ by more than float32 rounds in so many iterations."""
    assert found.keys() == expected.keys()
    sizes: dict[str, float] = {}
    for (_, tag, _), value in expected.items():
        sizes[tag] = max(sizes.get(tag, 1.0), abs(np.nan_to_num(value, posinf=0, neginf=0)))
    bound = ITERATIONS * OF_ONE_ITERATION
    return {
        key: (found[key], value)
        for key, value in expected.items()
        if found[key] != value
        if not (np.isnan(value) and np.isnan(found[key]))
        if not abs(found[key] - value) <= bound * sizes[key[1]]
    }


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_torch_or_a_line_says_why(name, capsys):
    found = logged(trained(name, "lanes"))
    if TORCH not in capsys.readouterr().err:
        assert apart(found, logged(trained(name, "torch"))) == {}


def test_tied_parameters_are_saved_as_one():
    for name in trained("Tied", "lanes"):
        state = saved(name)["model_state_dict"]
        one, other = (v for key, v in state.items() if key[-1] in "WV")
        assert torch.equal(one, other)
        assert sn.load(tensorboard_root() / name).module is not None


class Deciding(step.Adam):
    def apply(self, parameter, gradient, slots, size, correction):
        if size < -0.1:
            parameter.add_(gradient, alpha=size)


class Doubling(step.Adam):
    def apply(self, parameter, gradient, slots, size, correction):
        parameter.add_(gradient, alpha=2 * size)


REFUSED = {
    Deciding: "a step that depends on a scheduled number",
    Doubling: "an optimiser that computes with its scheduled numbers",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_optimiser_that_cannot_be_recorded_trains_in_torch(kind, monkeypatch):
    monkeypatch.setitem(step.OPTIMIZERS, "adam", kind)
    monkeypatch.setattr(stack, "_PROGRAMS", {})
    assert engine_of("single_layer", "NALU") == f"torch: {REFUSED[kind]}"


@pytest.mark.slow
def test_no_memory_is_overwritten():
    """Layers by code that looks at the bounds of all memory that it reads or writes."""
    found = [
        subprocess.check_output(["c++", f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libstdc++.so.6")
    ]
    if not all(map(os.path.isabs, found)):
        pytest.skip("the compiler has no AddressSanitizer")
    flags = {EXTRA_FLAGS: "-O0 -fsanitize=address", "ASAN_OPTIONS": "detect_leaks=0"}
    tests = [FILE.with_name(name) for name in ("test_random_layers.py", "test_tiles.py")]
    chosen = ["-m", "", "-k", "20_more or other_samples"]
    end = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-s", *chosen, *map(str, tests)],
        env=os.environ | flags | {"LD_PRELOAD": " ".join(found)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert end.returncode == 0, end.stdout[-2000:] + end.stderr[:2000]
