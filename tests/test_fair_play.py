"""Cards of units: every unit has one, counted here and borne out by what is stored."""

import pytest

from stable_nalu.fair_play import _stated, card
from stable_nalu.layer import entries
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import stored

CORE = [entry for entry in entries().values() if entry.tier == "core"]
NAMES = {label for e in CORE for label in (e.label, *(v.label for v in e.variants))}


@pytest.mark.parametrize("entry", CORE, ids=lambda e: e.key)
def test_every_unit_of_papers_has_a_card(entry):
    found = card(entry)
    assert all(found[name] for name in ("given", "learned", "expresses", "parameters", "tuned"))


def test_no_card_is_of_an_unknown_unit():
    assert set(_stated()) <= NAMES


@pytest.mark.parametrize(
    ("key", "variant", "parameters"),
    [
        ("DMU", None, 4),
        ("DMU", "DMU add", 2),
        ("NSR", None, 61),
        ("ProductUnit", None, 2),
        ("NALU", "NALU2M", 10),
        ("NALU", "NALUIG", 5),
        ("NALU", "NALU2MIG", 9),
        ("ReRegualizedLinearMNAC", None, 2),
    ],
)
def test_free_parameters(key, variant, parameters):
    entry = entries()[key]
    chosen = next((v for v in entry.variants if v.label == variant), None)
    assert card(entry, chosen)["parameters"] == parameters


@pytest.mark.parametrize("operation", ["add", "sub", "mul", "div"])
def test_what_stored_runs_have_solved_is_expressed(operation):
    key = f"benchmark_sltr_{operation}"
    runs = stored.read(key)
    for name in runs.loc[runs["solved"] == 1, "model"].unique():
        (layer,) = EXPERIMENTS[key].model(name).flags["--layer-type"]
        assert operation in card(entries()[layer])["expresses"], name


def test_rates_are_those_of_experiments():
    assert card(entries()["DMU"])["rates"] == "0.1"
    assert "0.005" in card(entries()["RealNPU"])["rates"].split(", ")
