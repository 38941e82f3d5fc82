"""Runs of all units end with the same bits on every machine and with every set of flags."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from stable_nalu.engine import VERSION
from tests.engine.harness import UNITS, digest, left_behind, planned, words_of
from tests.experiments.scripts import ROOT

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
FLAGS = (
    "-O1",
    "-mno-avx512f",
    "-mno-avx512f -mno-avx2",
    "-march=x86-64-v2",
    "-mno-avx512f -DLANES=4",
)
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


@pytest.mark.slow
@pytest.mark.parametrize("flags", FLAGS)
def test_flags_of_the_compiler_change_no_bit(flags):
    code = (
        "import json, sys, torch; torch.set_num_threads(1); "
        "from tests.engine.test_digests import SOME, found; "
        "json.dump({case: found(case) for case in SOME}, sys.stdout)"
    )
    env = {**os.environ, "STABLE_NALU_CXXFLAGS": flags, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == {case: KEPT["runs"][case] for case in SOME}


if __name__ == "__main__":
    # What is kept: written anew after VERSION was raised, where that was meant.
    KEPT = {
        "version": VERSION,
        "checked on": KEPT.get("checked on", {}),
        "runs": {case: found(case) for case in CASES},
    }
    PATH.write_text(json.dumps(KEPT, indent=1) + "\n", encoding="utf-8")
