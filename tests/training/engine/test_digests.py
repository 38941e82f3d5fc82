"""Runs of all units end with the same bits on every machine and with every set of flags."""

import json
from pathlib import Path

import pytest

from stable_nalu.base.files import EXTRA_FLAGS
from stable_nalu.training import engine_stack as stack
from tests.training.engine.harness import UNITS, digest, left_behind, planned, words_of
from torchlanes import VERSION, emit

PATH = Path(__file__).with_name("digests.json")
KEPT = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {"runs": {}}

TWO_LAYERS = {
    *("ReRegualizedLinearNAC", "ReRegualizedLinearMNAC", "NALU", "NRU", "MCFC", "NAC", "MNAC"),
    *("Tanh", "ReLU", "iNALU", "PosNAC", "GumbelNAC", "MulMCFC", "SignNMRU", "EQLDiv", "EML"),
}
CASES = {
    **{
        f"{script} {key}": (script, *words_of(script, key))
        for script, key in UNITS
        if script == "single_layer" or key in TWO_LAYERS
    },
    "noise": ("single_layer", *words_of("single_layer", "ReRegualizedLinearMNAC"), "--nmu-noise"),
    "float64": ("single_layer", *words_of("single_layer", "NALU"), "--pytorch-precision", "64"),
    "ten inputs": ("single_layer", *words_of("single_layer", "RealNPU"), "--input-size", "10"),
    "pcc": (
        *("single_layer", *words_of("single_layer", "ReRegualizedLinearMNAC")),
        *("--train-criterion", "pcc"),
    ),
}
FAST = ("single_layer ReRegualizedLinearMNAC", "simple_function_static NALU")
FLAGS = ("", "-mno-avx512f", "-march=x86-64-v2", "-mno-avx512f -DLANES=4")
"""Of the compiler; the others are compiled with -Og."""
SOME = (*FAST, "single_layer GumbelNAC", "single_layer NPU", "float64", "pcc")


def found(case):
    script, *words = CASES[case]
    (left,) = left_behind(script, planned(script, *words, iterations=12, log_interval=8))
    return digest(left)


def test_every_unit_is_kept_for_this_version():
    assert KEPT["version"] == VERSION
    assert set(KEPT["runs"]) == set(CASES)


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=[] if c in FAST else pytest.mark.slow) for c in CASES]
)
def test_bits_are_those_that_are_kept(case):
    assert found(case) == KEPT["runs"][case]


def test_functions_in_pieces_change_no_bit(monkeypatch):
    monkeypatch.setattr(emit, "PIECE", 24)
    monkeypatch.setattr(emit, "WHOLE", 30)
    monkeypatch.setattr(stack, "_PROGRAMS", {})
    for case in FAST:
        assert found(case) == KEPT["runs"][case]
    programs = [p for found in stack._PROGRAMS.values() for p in found.values()]
    assert len(programs) == 2
    assert all(p.text.count("PIECE(run_") > 3 for p in programs)


@pytest.mark.slow
@pytest.mark.parametrize("flags", FLAGS)
def test_flags_of_the_compiler_change_no_bit(flags, monkeypatch):
    monkeypatch.setenv(EXTRA_FLAGS, flags)
    for case in SOME:
        assert found(case) == KEPT["runs"][case], case


if __name__ == "__main__":
    # What is kept: written anew after VERSION was raised, where that was meant.
    KEPT = {
        "version": VERSION,
        "checked on": KEPT.get("checked on", {}),
        "runs": {case: found(case) for case in CASES},
    }
    PATH.write_text(json.dumps(KEPT, indent=1) + "\n", encoding="utf-8")
