"""Layers that are not of this package: files, their classes, keys and options.

Torch modules that know nothing of runs: stacked, initialised and observed as layers.
"""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import pytest
import torch

from stable_nalu.abstract import stack_models
from stable_nalu.base.errors import OptionError
from stable_nalu.layer import GeneralizedCell, GeneralizedLayer, entries
from stable_nalu.layer import own_layers as own
from stable_nalu.layer.own_layers import options_of, plain_layer
from stable_nalu.statistics.names import model_label

PLAIN = """
import torch

class Scaled(torch.nn.Module):
    '''Sum, scaled.'''
    def __init__(self, in_features, out_features, *, factor=2.0):
        super().__init__()
        self.factor = factor
        self.weight = torch.nn.Parameter(torch.rand(out_features, in_features))

    def forward(self, x):
        return self.factor * (x @ self.weight.T)
"""


REGISTERED = PLAIN + "\nimport stable_nalu\nstable_nalu.register(Scaled, {})\n"


@pytest.fixture
def file(tmp_path: Path):
    def write(text: str, name: str = "mine.py") -> str:
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


def test_a_plain_module_becomes_a_layer_and_a_cell(file):
    own.load_layer_file(file(PLAIN))
    entry = entries()["Scaled"]
    assert entry.options == {"factor"}
    assert entry.label == "Scaled"
    assert entry.is_plain
    layer = GeneralizedLayer(3, 2, "Scaled", own_options={"factor": 3.0})
    x = torch.rand(5, 3)
    torch.testing.assert_close(layer(x), 3 * (x @ layer.layer.module.weight.T))
    assert GeneralizedCell(3, 2, "Scaled")(x, torch.zeros(5, 2)).shape == (5, 2)


def test_flags_of_other_layers_do_not_reach_a_plain_module(file):
    """What a stranger calls `bias` is not what --mlp-bias means."""
    own.load_layer_file(file(PLAIN.replace("factor=2.0", "factor=2.0, bias=True")))
    layer = GeneralizedLayer(3, 2, "Scaled", bias=False, eps=1e-7)
    assert layer.layer.module.factor == 2.0


def test_register_gives_labels_and_a_key(file):
    words = "key='SC', label='scaled sum', latex='S', cites='Me 2026'"
    own.load_layer_file(file(REGISTERED.format(words)))
    assert "Scaled" not in entries()
    entry = entries()["SC"]
    assert (entry.label, entry.shown) == ("scaled sum", "$S$")
    assert model_label("sc") == "$S$"
    assert "Me 2026" in entry.cites.citation


def test_parts_of_layers_are_no_layers(file):
    text = PLAIN + "\nclass Part(torch.nn.Module):\n    def __init__(self):\n        pass\n"
    own.load_layer_file(file(text + "\nclass _Hidden(Scaled):\n    pass\n"))
    assert {e.key for e in entries().values() if e.origin} == {"Scaled"}


def test_a_file_is_run_once_and_again_when_it_has_changed(file, tmp_path):
    count = tmp_path / "count"
    count.touch()
    text = PLAIN + (
        f"\nfrom pathlib import Path\ncount = Path({str(count)!r})\n"
        "count.write_text(count.read_text() + 'x')\n"
    )
    path = file(text)
    first = own.load_layer_file(path)
    assert own.load_layer_file(path) == first
    assert count.read_text() == "x"
    file(text.replace("factor=2.0", "other=1"))
    second = own.load_layer_file(path)
    assert second.sha256 != first.sha256
    assert entries()["Scaled"].options == {"other"}
    with pytest.raises(Exception, match="was changed while"):
        own.load_layer_file(path, first.sha256)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1", "defines no layer"),
        ("import torch\n\n1 / 0", "line 3 of .*: ZeroDivisionError"),
        ("class A(:", "line 1 of .*: SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise GeneratorExit('so')", "line 1 of .*: GeneratorExit: so"),
        (
            "class Odd(Exception):\n    def __str__(self): return 1 / 0\nraise Odd",
            "line 3 of .*: Odd; fix the file",
        ),
        ("import nowhere_to_be_found", "No module named"),
        (PLAIN.replace("class Scaled", "class NALU"), "NALU is a layer of this package too"),
        (PLAIN.replace("class Scaled", "class nalu"), "nalu is a layer of this package too"),
        (REGISTERED.format("key='a b'"), "'a b' cannot be a key"),
        (REGISTERED.format("label='\\ud800'"), "the label of Scaled, .*, is not text"),
        (REGISTERED.format("latex=3"), "the latex of Scaled, 3, is not text"),
        (
            "import torch, stable_nalu\n"
            "class One(torch.nn.Module):\n"
            "    def __init__(self, size): pass\n"
            "stable_nalu.register(One)",
            r"does not take \(in_features, out_features\) and options; it takes \(size\)",
        ),
        (
            "import torch, stable_nalu\n"
            "class One(torch.nn.Module):\n"
            "    def __init__(self, in_features): pass\n"
            "stable_nalu.register(One)",
            "it lacks out_features",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(file, text, says):
    before = set(entries())
    with pytest.raises(OptionError, match=says) as raised:
        own.load_layer_file(file(text))
    assert raised.value.flag == "--layer-file"
    assert "\n" not in str(raised.value)
    assert set(entries()) == before


@pytest.mark.parametrize(
    ("name", "says"),
    [
        *(
            (name, "is not a Python file; its name must end in .py")
            for name in ("m.so", "m.pyc", "m")
        ),
        ("nowhere.py", "cannot read"),
        (".", "cannot read"),
    ],
)
def test_what_is_no_python_file_is_refused(name, says, file, tmp_path):
    path = tmp_path / name
    if name.startswith("m"):
        file("x = 1", name)
    with pytest.raises(OptionError, match=says):
        own.load_layer_file(str(path))


def test_two_files_of_one_name_are_refused(file):
    own.load_layer_file(file(PLAIN))
    with pytest.raises(OptionError, match="Scaled is a layer of .*mine.py too"):
        own.load_layer_file(file(PLAIN, "other.py"))


def test_layers_of_installed_packages(monkeypatch, capsys):
    class Good(torch.nn.Module):
        def __init__(self, in_features, out_features):
            super().__init__()

    points = [
        _Point("GoodOne", "a_package:Good", Good),
        _Point("bad", "b_package:Bad", ImportError("no such thing")),
    ]
    monkeypatch.setattr(own, "installed_layers", lambda: points)
    own.load_installed_layers.cache_clear()
    own.load_installed_layers()
    own.load_installed_layers.cache_clear()
    assert entries()["GoodOne"].origin == "the package a_package"
    assert capsys.readouterr().err == (
        "warning: the layers of b_package:Bad are left out: ImportError: no such thing\n"
    )


class _Point:
    """An entry point that loads an object, or raises it."""

    def __init__(self, name, value, found):
        self.name, self.value, self._found = name, value, found

    def load(self):
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


def test_sources_of_what_a_program_registers():
    class Typed(torch.nn.Module):
        def __init__(self, in_features, out_features):
            super().__init__()

    own.register(Typed)
    (source,) = own.sources(["Typed", "NAC", "nothing"])
    assert "class Typed" in source.source
    assert source.path.endswith("Typed")
    assert len(source.sha256) == 64


class Affine(torch.nn.Module):
    """An affine map whose bias is a buffer."""

    def __init__(self, in_features, out_features, bias=0.5, *, dtype=None):
        super().__init__()
        self.W = torch.nn.Parameter(torch.randn(out_features, in_features))
        self.register_buffer("bias", torch.full((out_features,), bias))

    def forward(self, x):
        return x @ self.W.T + self.bias


class Told(Affine):
    """One that tells its own sparsity error."""

    def sparsity_error(self):
        return self.W.abs().max().item()


AffineLayer, ToldLayer = plain_layer(Affine), plain_layer(Told)


def test_options_are_those_behind_the_sizes():
    assert [p.name for p in options_of(Affine)] == ["bias"]
    with pytest.raises(TypeError):
        options_of(torch.nn.ReLU)


def test_stacked_runs_equal_runs_alone():
    x = torch.randn(3, 7, 4)
    alone = [AffineLayer(4, 2, bias=float(k)) for k in range(3)]
    expected = torch.stack([layer(one) for layer, one in zip(alone, x, strict=True)])
    stack = stack_models(copy.deepcopy(alone))
    torch.testing.assert_close(stack(x), expected)
    stack(x).sum().backward()
    for k, layer in enumerate(alone):
        layer(x[k]).sum().backward()
        torch.testing.assert_close(stack.module.W.grad[k], layer.module.W.grad)


def test_initialising_draws_what_the_constructor_draws():
    layer = AffineLayer(4, 2)
    torch.manual_seed(3)
    layer.reset_parameters()
    torch.manual_seed(3)
    assert torch.equal(layer.module.W, Affine(4, 2).W)


def test_sparsity_is_the_modules_own_or_that_of_its_weight():
    (error,) = (o for o in AffineLayer(4, 2).observations() if o.kind == "scalar")
    assert error.name == "W/sparsity_error"
    layers = [ToldLayer(4, 2) for _ in range(2)]
    expected = torch.tensor([layer.module.sparsity_error() for layer in layers])
    (alone,) = layers[0].observations()
    assert alone.value() == expected[0]
    (stacked,) = stack_models(layers).observations()
    assert (alone.name, stacked.name) == ("W/sparsity_error",) * 2
    torch.testing.assert_close(stacked.value(), expected)


def test_a_module_without_a_weight_has_no_sparsity():
    assert plain_layer(_Named)(2, 1).observations() == []


class _Named(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.rand(out_features, in_features))


def test_a_vector_and_a_wrong_size():
    layer = AffineLayer(4, 2)
    assert layer(torch.rand(4)).shape == (2,)
    with pytest.raises(ValueError, match=r"Affine takes inputs \(\.\.\., 4\)"):
        layer(torch.rand(3, 5))


def test_the_module_itself_can_be_pickled():
    module = AffineLayer(4, 2).module
    assert torch.equal(pickle.loads(pickle.dumps(module)).W, module.W)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"label": "a\nb"}, "the label of Affine, 'a.nb', is not text of one line"),
        ({"cites": 3}, "the paper of Affine, 3, is not text of one line"),
        ({"cell": Affine}, "the cell of Affine, .*, is not a class of stable_nalu.layer.Cell"),
        ({"key": "a\nb"}, "cannot be a key"),
    ],
)
def test_what_cannot_be_registered_is_refused_in_one_line(given, says):
    with pytest.raises(ValueError, match=says.replace("'a.nb'", r"'a\\nb'")) as raised:
        own.register(Affine, **given)
    assert "\n" not in str(raised.value)
