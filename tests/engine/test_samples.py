"""Samples that C++ draws in lanes are those of each run's stream, bit for bit."""

import ctypes

import numpy as np
import pytest
import torch

from stable_nalu.engine.layout import Member
from stable_nalu.engine.samples import OPERATIONS, drawn_by_cpp
from tests.engine.harness import bits, planned, training

MIXED = (
    *("--interpolation-range", "[1,2]", "[0.1,0.2]", "[10,20]", "[1.1,1.2]"),
    *("--extrapolation-range", "[2,6]"),
)
BLOCK = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 8, ctypes.c_int, ctypes.c_int)


class Listening:
    """Keeps the x and t that C++ hands to a model, instead of training it."""

    def __init__(self, script, *words):
        self.configs = planned(script, *words)
        self.made = training(script, self.configs)
        engine = self.made.engine
        (part,) = engine.parts
        self.lanes = engine._load(part, next(iter(part.programs)))
        self.tiles = engine.company._drawn()

    def drawn(self, iterations):
        lanes = self.lanes
        heard = {}

        def block(s, q, w, z, x, t, p, o, first, count):
            size = np.dtype(lanes.dtype).itemsize
            for is_target, address, width in ((False, x, lanes.workspace.inputs), (True, t, 1)):
                raw = ctypes.string_at(address, count * width * lanes.lanes * size)
                own = np.frombuffer(raw, lanes.dtype).reshape(count, width, lanes.lanes)
                heard.setdefault((s, is_target), []).append(own)

        listener, nothing = BLOCK(block), ctypes.CFUNCTYPE(None)(lambda: None)
        functions = [ctypes.cast(f, ctypes.c_void_p) for f in (nothing, listener, nothing)]
        addresses = [row.ctypes.data for row in lanes.s]
        members = [Member(*functions, s=address) for address in addresses]
        self.tiles.iterate({0: members}, iterations, whole=False)
        self.tiles.store(0)
        for run, (member, lane) in enumerate(lanes.layout.place):
            address = addresses[member]
            yield run, *(np.concatenate(heard[address, t])[..., lane] for t in (False, True))


def assert_drawn(script, *words, iterations=3):
    heard = Listening(script, *words)
    alone = training(script, heard.configs).task.feed.streams
    batch = heard.configs[0].batch_size
    for run, x, t in heard.drawn(iterations):
        expected = [alone[run].draw(1, batch) for _ in range(iterations)]
        for own, place in ((x, 0), (t, 1)):
            wanted = torch.cat([both[place].reshape(batch, -1) for both in expected])
            assert np.ascontiguousarray(own).tobytes() == bits(wanted), (run, place)
        after = heard.made.task.feed.streams[run].draw(1, 400)
        assert [bits(v) for v in after] == [bits(v) for v in alone[run].draw(1, 400)]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_two_inputs(operation):
    assert_drawn("single_layer", "--operation", operation, "--seed", "0-8", *MIXED)


@pytest.mark.parametrize("operation", ["mul", "add", "div", "squared", "root"])
def test_slices_that_differ_from_seed_to_seed(operation):
    words = ("--operation", operation, "--seed", "0-4", *MIXED)
    assert_drawn("simple_function_static", *words, "--layer-type", "NAC")


@pytest.mark.parametrize("size", ["3", "11"])
def test_several_inputs_in_portions_that_divide_nothing(size):
    words = ("--operation", "sub", "--seed", "0-2", "--input-size", size, "--batch-size", "33")
    assert_drawn("single_layer", *words, iterations=40)


def test_float64():
    words = ("--operation", "div", "--seed", "0-2", "--pytorch-precision", "64", *MIXED)
    assert_drawn("single_layer", *words)


@pytest.mark.parametrize(
    "words",
    [
        ("--sample-distribution", "truncated-normal", "0", "1", "10", "1"),
        ("--sample-distribution", "exponential", "2"),
        ("--interpolation-range", "[[-2,-1],[1,2]]", "--extrapolation-range", "[2,6]"),
    ],
)
def test_other_samples_are_drawn_by_python(words):
    """And trained on as they are by a run of its own in plain torch."""
    configs = planned("single_layer", "--operation", "add", "--seed", "0-2", *words)
    made = training("single_layer", configs)
    assert not any(drawn_by_cpp(stream) for stream in made.task.feed.streams)
    criterion = made.engine.iterate(0, 1).criterion
    for run, config in enumerate(configs):
        plain = training("single_layer", [config], engine=False)
        expected = plain.step.run(0, *plain.task.feed.next()).criterion
        torch.testing.assert_close(criterion[run], expected, rtol=1e-5, atol=0)
