"""Layers by their names in papers, and a card for each, which what is stored bears out."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import stable_nalu as sn
from stable_nalu.api.zoo import card
from stable_nalu.base.errors import UsageError
from stable_nalu.layer import NAC, NAU, NMRU, NMU, NRU, SNMU, RealNPU, entries, iNALU
from stable_nalu.layer import registry as table
from stable_nalu.layer.nau_nmu import NMULayer, ReRegualizedLinearMNACLayer
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result import stored
from stable_nalu.task.table import SCRIPTS


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
        *[("SignNMRU", NMRU), ("NMU", NMU), ("ReRegualizedLinearMNAC", NMU), ("NAU", NAU)],
        *[("real npu", RealNPU), ("sNMU", SNMU), ("NAC", NAC), ("NAC-add", NAC), ("NRU", NRU)],
        ("iNALU", iNALU),
    ],
)
def test_a_layer_by_its_name_in_papers_or_its_key(name, built):
    assert sn.layer(name) is built
    assert sn.layer(name)(2, 1)(torch.ones(3, 2)).shape == (3, 1)


_ROW = re.compile(r"^\| ([^|]+?)(?: \((`[^|]*)\))? \| `?([^|`]*)", re.MULTILINE)


def documented_names():
    page = (Path(__file__).parents[2] / "docs" / "layers.md").read_text()
    page = page[page.index("<!-- Generated") : page.index("<!-- End")]
    for name, also, flags in _ROW.findall(page[page.index("|---") :]):
        yield name
        yield from re.findall("`([^`]+)`", also)
        yield from flags.split()[:1] if flags[:1].isalpha() else ()
    yield from re.findall(r"`(\w+)`(?! \([^`]*layer 2 only)", page[page.index("Keys of further") :])


def test_every_documented_name_gives_a_class_that_works():
    x, h = torch.linspace(1, 2, 6).reshape(3, 2), torch.ones(3, 1)
    for name in set(documented_names()):
        built = sn.layer(name)(2, 1)
        state = (h, h) if name == "LSTM" else h
        out = built(x, *[state][: hasattr(built, "input_size")])
        assert (out[0] if isinstance(out, tuple) else out).shape == (3, 1), name
        assert pickle.loads(pickle.dumps(built)).state_dict().keys() == built.state_dict().keys()


def test_a_name_sets_the_options_of_its_unit():
    assert sn.layer("G-NALU")(2, 1).nalu_gate == "golden-ratio"
    assert sn.layer("batch sNMU")(2, 1, nmu_noise=False).noise_range == [1, 0]
    product = sn.layer("NAC•")(2, 1)
    product.W_hat.data.fill_(20.0)
    product.M_hat.data.fill_(20.0)
    assert product(torch.tensor([3.0, -4.0])).item() == pytest.approx(12, rel=1e-5)


@pytest.mark.parametrize("name", ["NMU", "NAU", "NRU", "NMRU", "sNMU", "PosNAU", "Gated NAU/NMU"])
def test_names_of_papers_keep_weights_in_range(name):
    safe = sn.layer(name)(2, 1)
    for layer in safe.modules():
        if hasattr(layer, "W"):
            layer.W.data.fill_(3.0)
    safe.optimize(torch.tensor(0.0))
    assert all(m.W.eq(1).all() for m in safe.modules() if hasattr(m, "W"))


def test_published_classes_and_scripts_keep_published_defaults():
    published = NMULayer(2, 1)
    published.W.data.fill_(3.0)
    published.optimize(torch.tensor(0.0))
    assert published.W.eq(3).all()
    assert type(published) is ReRegualizedLinearMNACLayer
    assert SCRIPTS["single_layer"].defaults["oob_mode"] == "clip"
    unit = RealNPU(2, 1)
    unit.g.data.fill_(-2.0)
    unit.W_real.data.fill_(3.0)
    unit.optimize(torch.tensor(0.0))
    assert (unit.g.tolist(), unit.W_real.tolist()) == ([0, 0], [[3], [3]])


@pytest.mark.parametrize(("name", "meant"), [("NMUU", "NMU"), ("NMRRU", "NMRU"), ("NALUU", "NALU")])
def test_a_slip(name, meant):
    with pytest.raises(UsageError, match=f"no layer '{name}'; did you mean {meant}\\?"):
        sn.layer(name)
    with pytest.raises(ImportError):
        exec(f"from stable_nalu.layer import {name}")


def test_a_layer_of_the_program_has_a_name_too():
    class Gain(torch.nn.Bilinear):
        def __init__(self, in_features, out_features):
            super().__init__(in_features, in_features, out_features)

    sn.register(Gain)
    assert sn.layer("Gain") is Gain


def test_layers_are_a_function_before_they_are_imported():
    code = "import stable_nalu as sn, sys; print(sn.layer('NMU').__name__)"
    words = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "NMU\n", done.stderr


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


def test_dir_shows_public_names_and_no_helpers():
    assert [name for name in dir(sn) if name not in sn.__all__] == [
        *("__version__", "abstract", "callbacks", "dataset", "errors", "functional", "network"),
        *("reader", "writer"),
    ]
    assert dir(sn.callbacks) == ["EarlyStop", "Optuna", "Print"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_table_of_layers_fits_the_terminal(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    layers = sn.layers()
    lines = repr(layers).splitlines()
    assert max(map(len, lines)) <= width
    assert all(re.search(rf"^{re.escape(name)}", repr(layers), re.M) for name in ("NMU", "iNALU"))
    assert f"\n{len(layers)} layers, with more columns: key" in repr(layers)
    assert layers.loc[0, "tasks"] in layers.head(1)._repr_html_()
