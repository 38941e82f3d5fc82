"""Stacked runs against the same runs alone: every logged scalar."""

import re

import pytest

from stable_nalu.training.compiled import policy
from tests.ensemble.plans import CORE, ROOT, furthest, six_runs, train, trained

WORDS = ("--no-save", "--workers", "1")
LONG = (
    *("--max-iterations", "2000", "--log-interval", "100"),
    *("--regualizer-scaling-start", "500", "--regualizer-scaling-end", "1500"),
)
"""Deviations have time to grow."""


def fast(penalties_from=200):
    """As far as `LONG` gets. Promised bits are equal from one iteration to the next."""
    return (
        *("--max-iterations", "800", "--log-interval", "40", "--learning-rate", "2.5e-3"),
        *("--regualizer-scaling-start", str(penalties_from), "--regualizer-scaling-end", "600"),
    )


def tolerances() -> dict[str, float]:
    """What docs/performance.md promises of compiled stacks, by layer key."""
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`[\w-]+`(?:, )?)+) \| ([\d.e-]+) \|", text, re.MULTILINE)
    return {key: float(limit) for keys, limit in rows for key in re.findall(r"`([\w-]+)`", keys)}


def test_the_promise_covers_every_core_layer():
    assert set(tolerances()) == set(CORE)
    assert set(tolerances().values()) == {0, 1e-4}


def furthest_of_any_run(alone, stacked):
    """By tag, the largest deviation."""
    assert len(alone) == 6
    assert alone.keys() == stacked.keys()
    worst: dict[str, float] = {}
    for name, run in alone.items():
        for tag, deviation in furthest(run, stacked[name]).items():
            worst[tag] = max(worst.get(tag, 0.0), deviation)
    assert "metric/test/extrapolation" in worst
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("layer", CORE)
def test_stacks_and_compiled_stacks(layer, tmp_path, monkeypatch):
    """The former are equal bit for bit, the latter as close as promised."""
    monkeypatch.setattr(policy, "WORK_WORTH_COMPILING", 0)
    runs = {}
    promised = tolerances()[layer]
    length = LONG if promised else fast()
    ways = {"alone": ("--ensemble-size", "1"), "stacked": ("--no-compile",), "compiled": ()}
    for way, words in ways.items():
        words = (*six_runs(layer), *WORDS, *length, *words)
        assert train(tmp_path / way, "single_layer", *words) == 0
        runs[way] = trained(tmp_path / way)
    for way, limit in (("stacked", 0), ("compiled", promised)):
        worst = furthest_of_any_run(runs["alone"], runs[way])
        assert {tag: value for tag, value in worst.items() if value > limit} == {}


def test_stacks_of_two_layers_on_the_four_input_task(tmp_path):
    """Units without a sigmoid are equal, bit for bit; docs/performance.md says why not all are."""
    words = ("--simple", "--operation", "mul", "--layer-type", "ReRegualizedLinearNAC")
    words += ("--nac-mul", "mnac", "--seed", "0-12", "--no-save", "--workers", "1", "--no-compile")
    words += ("--max-iterations", "200", "--log-interval", "50", "--regualizer-scaling-start", "50")
    runs = {}
    for way, size in {"alone": "1", "stacked": "13"}.items():
        more = ("--ensemble-size", size)
        assert train(tmp_path / way, "simple_function_static", *words, *more) == 0
        runs[way] = trained(tmp_path / way)
    assert len(runs["alone"]) == 13
    for name, run in runs["alone"].items():
        assert set(furthest(run, runs["stacked"][name]).values()) == {0}


TEN_INPUTS = ("--input-size", "10", "--subset-ratio", "0.1")
PENALISED = ("NRU", "SignNMRU")
"""Have penalties in force from the start: then one piece of code has to be compiled, not two."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "layer", ["ReRegualizedLinearMNAC", "RealNPU", "NPU", "NALU", "NRU", "SignNMRU"]
)
def test_compiled_stacks_of_ten_inputs(layer, tmp_path, monkeypatch):
    """Equal to plain stacks, bit for bit: sums over the inputs follow torch's order."""
    monkeypatch.setattr(policy, "WORK_WORTH_COMPILING", 0)
    runs = {}
    length = fast(penalties_from=0) if layer in PENALISED else fast()
    for way, words in {"stacked": ("--no-compile",), "compiled": ()}.items():
        words = (*six_runs(layer), *TEN_INPUTS, *WORDS, *length, *words)
        assert train(tmp_path / way, "single_layer", *words) == 0
        runs[way] = trained(tmp_path / way)
    assert set(furthest_of_any_run(runs["stacked"], runs["compiled"]).values()) == {0}
