"""Compiled libraries, which run is in which lane, and samples of lanes, bit for bit."""

import ctypes
import random
import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from stable_nalu.task.table import TASKS
from stable_nalu.training.engine_model import drawn_by_cpp
from tests.exported import ROOT
from tests.training.engine.harness import bits, planned, training
from torchlanes.emit import MOST_ON_STACK
from torchlanes.tiles import OPERATIONS, Member, arranged, library

TEXT = """
#ifndef NUMBER
#define NUMBER 1
#endif
extern "C" int number() { return NUMBER; }
"""


CHOICES = """
MODEL_FUNCTION(choose) {
  for (int i = 0; i < count; i++) {
    const N m = max_(max_(s[0], s[1]), s[2]);
    const N a = exp_(s[0] - m);
    const N b = exp_(s[1] - m);
    const N c = exp_(s[2] - m);
    const N sum = a + b + c;
    const N p = a / sum / z[0];
    const N q_ = b / sum / z[1];
    const N r = c / sum / z[2];
    const M second = q_ > p;
    const N best = second ? q_ : p;
    const N place = second ? V(T(1.0)) : V(T(0.0));
    q[i % 4] = r > best ? V(T(2.0)) : place;
  }
}
"""
CHOOSE = """
import ctypes
import sys
from torchlanes.tiles import MOST_INLINED, aligned, library, source

text = "// exp_(" * (MOST_INLINED + 1) + sys.stdin.read()
memory = aligned((8, 4, 16), float)
memory[...] = 1
addresses = [ctypes.c_void_p(part.ctypes.data) for part in memory]
library(source(text, double=True)).choose(*addresses, 0, 1_000_000)
"""


def test_calls_in_a_loop_leave_the_stack_as_it_was():
    code = [sys.executable, "-c", CHOOSE]
    assert subprocess.run(code, input=CHOICES, text=True, cwd=ROOT, check=False).returncode == 0


def test_large_arrays_are_not_on_the_stack():
    unit = ("--layer-type", "ReRegualizedLinearMNAC", "--hidden-size", "200")
    (config,) = planned("identity_autoencoder", *unit)
    (program,) = TASKS["identity_autoencoder"].programs(config, {}).values()
    for function in program.text.split("MODEL_FUNCTION")[1:]:
        arrays = re.findall(r"^ *[NM] a\d+\[(.*)\];", function, re.MULTILINE)
        sizes = [np.prod([int(n) for n in array.split("][")]) for array in arrays]
        assert sum(sizes) <= MOST_ON_STACK


def test_further_flags_of_the_compiler_make_another_library(cache_home, monkeypatch):
    assert library(TEXT).number() == 1
    monkeypatch.setenv("STABLE_NALU_CXXFLAGS", "-DNUMBER=2 -g0")
    assert library(TEXT).number() == 2
    monkeypatch.delenv("STABLE_NALU_CXXFLAGS")
    assert library(TEXT).number() == 1


@pytest.mark.parametrize("lanes", [1, 4, 16])
@pytest.mark.parametrize("seed", range(30))
def test_every_run_is_in_one_lane_beside_its_like(seed, lanes):
    dice = random.Random(seed)
    runs = dice.randint(1, 60)
    generators = [dice.randrange(dice.choice((1, 5, 60))) for _ in range(runs)]
    kinds = [dice.randrange(dice.choice((1, 3))) for _ in range(runs)]
    work = [dice.choice((0.1, 1, 10)) for _ in range(3)]
    layout = arranged(generators, kinds, lanes, [work[kind] for kind in kinds])
    assert layout.members.shape[1] == lanes
    places = [tuple(place) for place in layout.place.tolist()]
    assert len(set(places)) == runs
    for run, (vector, lane) in enumerate(places):
        assert layout.members[vector][lane] == run
    for vector in layout.members:
        assert len({kinds[run] for run in vector}) == 1
    vectors = [vector for tile in layout.tiles for vector in tile]
    assert vectors == list(range(len(layout.members)))
    for tile in layout.tiles:
        drawn = {}
        for run, (vector, lane) in enumerate(places):
            if vector in tile:
                assert drawn.setdefault(lane, generators[run]) == generators[run]


def test_runs_that_share_generators_share_their_numbers():
    """Nine ranges of sixteen seeds are drawn once, whatever a vector takes."""
    seeds = [seed for _ in range(9) for seed in range(16)]
    layout = arranged(seeds, ["mul"] * 144, 16, [100] * 144)
    assert len(layout.tiles) == 1
    assert len(layout.members) == 9


def test_what_takes_long_fills_all_lanes_beside_what_shares_generators():
    """Nine ranges of twenty-five seeds fill fifteen vectors, or share generators in eighteen."""
    seeds = [*range(25)] * 9 + [*reversed(range(25))] * 9
    work = [1] * 225 + [10] * 225
    assert len(arranged(seeds, ["mul"] * 225 + ["div"] * 225, 16, work).members) == 18 + 15


def test_full_vectors_of_two_kinds_share_generators():
    layout = arranged([*range(25)] * 18, ["mul"] * 225 + ["div"] * 225, 16, [10] * 450)
    assert (len(layout.members), len(layout.tiles)) == (15 + 15, 15)


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
        expected = plain.step.run(*plain.task.feed.next(), plain.step.prepare(0)).criterion
        torch.testing.assert_close(criterion[run], expected, rtol=1e-5, atol=0)
