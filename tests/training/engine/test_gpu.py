"""A GPU leaves behind every bit that a processor does.

Where there is none, its programs are compiled for a processor that acts as one: as_gpu.h.
"""

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import torch

from stable_nalu.options import Config
from stable_nalu.training import engine_stack as stack
from tests.training.engine import harness
from tests.training.engine.harness import UNITS, left_together, planned, words_of
from torchlanes import gpu
from torchlanes.kept import kept, library_of

HEADER = Path(__file__).with_name("as_gpu.h")
FLAGS = ("-std=c++17", "-O1", "-ffp-contract=off", "-w", "-shared", "-fPIC", "-pthread")
NMU = "--layer-type ReRegualizedLinearMNAC"
CHOSEN = {
    "two inputs": ("single_layer", f"--operation mul {NMU}"),
    "sums of slices": ("simple_function_static", "--operation sub --layer-type NALU"),
    "no power of two": (
        "single_layer",
        "--operation div --layer-type NMRU --input-size 10 --batch-size 300",
    ),
    "few samples": ("single_layer", f"--operation mul {NMU} --batch-size 36"),
    "float64": ("single_layer", f"--operation mul {NMU} --pytorch-precision 64"),
    "noise": ("single_layer", "--operation add --layer-type GumbelNAC"),
    "one operand": ("single_layer", "--operation squared --layer-type NPU"),
    "samples from Python": (
        "single_layer",
        "--operation mul --layer-type NALU --interpolation-range [[-2,-1],[1,2]] "
        "--extrapolation-range [2,6]",
    ),
    "all that is logged": (
        "single_layer",
        f"--operation mul {NMU} --optimizer sgd --clip-grad-norm 1 --verbose",
    ),
    "add": ("single_layer", "--operation add --layer-type NAC"),
    "refused": ("simple_function_static", "--operation mul --layer-type EQL"),
}


class Gpu:
    """Whether runs may use it, and why programs were refused."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.on, self.refused = False, []
        monkeypatch.setattr(stack, "has_gpu", lambda config: self.on)
        monkeypatch.setattr(gpu, "not_for_gpu", partial(self._noted, gpu.not_for_gpu))
        monkeypatch.setattr(gpu, "FEW", 1)

    def _noted(self, plain, programs) -> str | None:
        self.refused.append(plain(programs))
        return self.refused[-1]

    def differences(self, *stacks: tuple[str, list[Config]], pace: int = 4096) -> list[str]:
        """What differs between runs of a processor and those of the GPU."""
        here = left_together(stacks, pace)
        self.on = True
        there = left_together(stacks, pace)
        self.on = False
        return [
            name
            for own, others in zip(here, there, strict=True)
            for one, other in zip(own, others, strict=True)
            for name in one
            if one[name] != other[name]
        ]


@pytest.fixture
def real(monkeypatch) -> Gpu:
    """The GPU."""
    return Gpu(monkeypatch)


@pytest.fixture
def acted(monkeypatch) -> Iterator[Gpu]:
    """A processor that acts as a GPU."""
    header = HEADER.read_text()
    monkeypatch.setattr(gpu, "library", lambda text: _acting(header + text))
    monkeypatch.setattr(gpu, "device", lambda: torch.device("cpu"))
    monkeypatch.setattr(gpu, "fast_bytes", lambda: 227 << 10)
    with _forgotten():
        yield Gpu(monkeypatch)


def _acting(text: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(library_of(text, FLAGS)))


@contextmanager
def _forgotten() -> Iterator[None]:
    """Let programs be compiled anew, and again afterwards."""
    gpu.draws_library.cache_clear()
    gpu.warp_program.cache_clear()
    yield
    gpu.draws_library.cache_clear()
    gpu.warp_program.cache_clear()


def _runs(name: str, *more: str, seeds: str = "0-1", iterations: int = 5) -> tuple[str, list]:
    script, words = CHOSEN[name]
    given = (*words.split(), *more, "--seed", seeds)
    return script, planned(script, *given, iterations=iterations, log_interval=3)


@pytest.mark.parametrize("name", [n for n in CHOSEN if n != "refused"])
def test_equal_bits(acted, name):
    assert acted.differences(_runs(name)) == []
    assert acted.refused == [None]


def test_stacks_share_samples(acted):
    """Of the same generators: two ranges, two operations, cut into several calls."""
    ranges = [("[1,2]", "[2,6]"), ("[-2,2]", "[2,6]")]
    words = [("--interpolation-range", a, "--extrapolation-range", b) for a, b in ranges]
    stacks = [
        ("single_layer", [c for own in words for c in _runs(name, *own)[1]])
        for name in ("two inputs", "add")
    ]
    assert acted.differences(*stacks, pace=2) == []


def test_samples_in_portions_and_slow_memory(acted, monkeypatch):
    """What does not fit is done in parts, or lies elsewhere: no number changes."""
    monkeypatch.setattr(gpu, "MADE_AT_ONCE", 8 * 101 * 30)
    monkeypatch.setattr(gpu, "fast_bytes", lambda: 1024)
    monkeypatch.setattr(gpu, "SLICE", 128)
    monkeypatch.setattr(harness, "ROWS", 300)
    monkeypatch.setattr(gpu, "SAMPLE_BYTES", 1)
    assert acted.differences(_runs("sums of slices")) == []


def test_what_a_gpu_cannot_do_is_left_to_the_processor(acted):
    assert acted.differences(_runs("refused")) == []
    assert acted.refused == ["sums side by side over what is no sample"]


def test_few_runs_are_left_to_the_processor(acted, monkeypatch):
    monkeypatch.setattr(gpu, "FEW", 3)
    assert acted.differences(_runs("two inputs")) == []
    assert acted.refused == []


@pytest.mark.skipif(not shutil.which("nvcc"), reason="needs nvcc")
@pytest.mark.parametrize("name", ["sums of slices", "float64"])
def test_compiles_without_contractions(acted, monkeypatch, name):
    """A GPU's own compiler takes the text, and puts no product and sum together.

    What it makes is kept, as compiled libraries are.
    """
    texts = []
    monkeypatch.setattr(
        gpu, "library", lambda text: texts.append(text) or _acting(HEADER.read_text() + text)
    )
    acted.differences(_runs(name, iterations=1))
    words = ["nvcc", *gpu.FLAGS[:5], "-w", "-arch=sm_90", "-ptx", "-", "-o"]
    known = [subprocess.check_output(["nvcc", "--version"]), " ".join(words).encode()]
    for text in map(str.encode, texts):
        made = kept("ptx", [*known, text], lambda path, text=text: _piped(text, *words, path))
        assert "fma.rn" not in made.read_text()


def _piped(text: bytes, *words: str | Path) -> None:
    subprocess.run(words, input=text, check=True)


@pytest.mark.gpu
@pytest.mark.parametrize(("script", "key"), UNITS)
def test_every_unit_on_a_gpu(real, script, key):
    given = (*words_of(script, key), "--seed", "0-26")
    configs = planned(script, *given, iterations=200, log_interval=100)
    assert real.differences((script, configs)) == []
