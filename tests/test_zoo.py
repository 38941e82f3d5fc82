"""Layers by their names in papers, and a card for each, which what is stored bears out."""

import subprocess
import sys

import pytest
import torch

import stable_nalu as sn
from stable_nalu.errors import UsageError
from stable_nalu.layer import NAC, NAU, NMRU, NMU, NRU, entries, iNALU
from stable_nalu.layer import registry as table
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import stored
from stable_nalu.zoo import _stated, card


def test_a_row_for_every_layer_and_cell():
    layers = sn.layers().set_index("key")
    of_cards = ["given", "learned", "parameters", "expresses", "rates", "tuned"]
    assert list(layers) == ["name", "class", "formula", "paper", "tasks", *of_cards]
    assert layers.loc["DMU", "learned"] == "operands; one gate"
    assert set(layers.index) == {k for k, e in table.entries().items() if e.layer or e.cell}
    assert layers.loc["SignNMRU", "name"] == "NMRU"
    formula = "y_o = prod_i (W_oi x_i + 1 - W_oi), W_oi in [0, 1]"
    assert layers.loc["ReRegualizedLinearMNAC", "formula"] == formula
    assert "arXiv:2001.05016" in layers.loc["ReRegualizedLinearMNAC", "paper"]
    assert "single_layer_benchmark" in layers.loc["NPU", "tasks"].split(", ")
    assert "single_layer_benchmark" not in layers.loc["LSTM", "tasks"].split(", ")


@pytest.mark.parametrize(
    ("name", "built"),
    [
        ("NMRU", NMRU),  # not that of the key NMRU
        ("SignNMRU", NMRU),
        ("NMU", NMU),
        ("ReRegualizedLinearMNAC", NMU),
        ("real npu", table.entries()["RealNPU"].layer),
    ],
)
def test_a_layer_by_its_name_in_papers_or_its_key(name, built):
    assert sn.layer(name) is built
    assert sn.layer(name)(2, 1)(torch.ones(3, 2)).shape == (3, 1)


def test_classes_have_their_names_in_papers():
    named = {"NAC": NAC, "NAU": NAU, "NRU": NRU, "iNALU": iNALU}
    assert all(table.named(name).layer is layer for name, layer in named.items())
    assert sn.layer("Linear")(2, 1)(torch.ones(3, 2)).shape == (3, 1)


def test_a_layer_of_the_program_has_a_name_too():
    class Gain(torch.nn.Bilinear):
        def __init__(self, in_features, out_features):
            super().__init__(in_features, in_features, out_features)

    sn.register(Gain)
    assert sn.layer("Gain") is Gain


@pytest.mark.parametrize(("name", "meant"), [("NMUU", "NMU"), ("NMRRU", "NMRU"), ("NALUU", "NALU")])
def test_a_slip(name, meant):
    with pytest.raises(UsageError, match=f"no layer '{name}'; did you mean {meant}\\?"):
        sn.layer(name)
    with pytest.raises(ImportError):
        exec(f"from stable_nalu.layer import {name}")


def test_layers_are_a_function_before_they_are_imported():
    code = "import stable_nalu as sn, sys; print(sn.layer('NMU').__name__)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True
    )
    assert done.stdout == "NMULayer\n", done.stderr


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
