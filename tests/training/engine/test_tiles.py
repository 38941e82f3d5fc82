"""Compiled libraries, which run is in which lane, and samples of lanes, bit for bit."""

import os
import random
import re

import numpy as np
import pytest
import torch

from stable_nalu.task.table import TASKS
from stable_nalu.training.engine_stack import drawn_by_cpp, programs_for
from tests.forks import Fork
from tests.training.engine.harness import planned, training
from torchlanes.emit import MOST_ON_STACK
from torchlanes.tiles import arranged, library

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

text = "// exp_(" * (MOST_INLINED + 1) + sys.argv[1]
memory = aligned((8, 4, 16), float)
memory[...] = 1
addresses = [ctypes.c_void_p(part.ctypes.data) for part in memory]
library(source(text, double=True)).choose(*addresses, 0, 1_000_000)
"""


def test_calls_in_a_loop_leave_the_stack_as_it_was(tmp_path):
    """In a process of its own, as it would crash."""
    (tmp_path / "choose.py").write_text(CHOOSE)
    with Fork(str(tmp_path / "choose.py"), [CHOICES], os.environ, "", "") as process:
        _, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")


def test_large_arrays_are_not_on_the_stack():
    unit = ("--layer-type", "ReRegualizedLinearMNAC", "--hidden-size", "200")
    (config,) = planned("identity_autoencoder", *unit)
    (program,) = programs_for(TASKS["identity_autoencoder"], config, {}).values()
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
@pytest.mark.parametrize("seed", range(8))
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
