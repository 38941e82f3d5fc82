"""Layers that are not of this package: files, their classes, keys and options.

Torch modules that know nothing of runs: stacked, initialised and observed as layers.
"""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from stable_nalu.abstract import stack_models
from stable_nalu.base.errors import OptionError
from stable_nalu.layer import GeneralizedCell, GeneralizedLayer, entries
from stable_nalu.layer import own_layers as own
from stable_nalu.layer.own_layers import plain_layer

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


def taking(parameters: str) -> str:
    """A file whose class takes these sizes."""
    return REGISTERED.format("").replace("in_features, out_features, *, factor=2.0", parameters)


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
        (
            "class Odd(Exception):\n    def __str__(self): return 1 / 0\nraise Odd",
            "line 3 of .*: Odd; fix the file",
        ),
        ("import nowhere_to_be_found", "No module named"),
        (PLAIN.replace("class Scaled", "class NALU"), "NALU is a layer of this package too"),
        (REGISTERED.format("key='a b'"), "'a b' cannot be a key"),
        (REGISTERED.format("label='\\ud800'"), "the label of Scaled, .*, is not text"),
        (
            taking("size"),
            r"does not take \(in_features, out_features\) and options; it takes \(size\)",
        ),
        (taking("in_features"), "it lacks out_features"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(file, text, says):
    before = set(entries())
    with pytest.raises(OptionError, match=says) as raised:
        own.load_layer_file(file(text))
    assert raised.value.flag == "--layer-file"
    assert "\n" not in str(raised.value)
    assert set(entries()) == before


@pytest.mark.parametrize("name", ["m.so", "m.pyc", "m", "nowhere.py", "."])
def test_what_is_no_python_file_is_refused(name, file, tmp_path):
    says = "cannot read"
    if name.startswith("m"):
        file("x = 1", name)
        says = "is not a Python file; its name must end in .py"
    with pytest.raises(OptionError, match=says):
        own.load_layer_file(str(tmp_path / name))


def test_two_files_of_one_name_are_refused(file):
    own.load_layer_file(file(PLAIN))
    with pytest.raises(OptionError, match="Scaled is a layer of .*mine.py too"):
        own.load_layer_file(file(PLAIN, "other.py"))


def test_layers_of_installed_packages(monkeypatch, capsys):
    class Good(torch.nn.Module):
        def __init__(self, in_features, out_features):
            super().__init__()

    def load_bad():
        raise ImportError("no such thing")

    points = [
        SimpleNamespace(name="GoodOne", value="a_package:Good", load=lambda: Good),
        SimpleNamespace(name="bad", value="b_package:Bad", load=load_bad),
    ]
    monkeypatch.setattr(own, "installed_layers", lambda: points)
    own.load_installed_layers.cache_clear()
    own.load_installed_layers()
    own.load_installed_layers.cache_clear()
    assert entries()["GoodOne"].origin == "the package a_package"
    assert capsys.readouterr().err == (
        "warning: the layers of b_package:Bad are left out: ImportError: no such thing\n"
    )


class Affine(torch.nn.Module):
    """An affine map whose bias is a buffer."""

    def __init__(self, in_features, out_features, bias=0.5, *, dtype=None):
        super().__init__()
        self.W = torch.nn.Parameter(torch.randn(out_features, in_features))
        self.register_buffer("bias", torch.full((out_features,), bias))

    def forward(self, x):
        return x @ self.W.T + self.bias


AffineLayer = plain_layer(Affine)


def test_sparsity_is_the_modules_own_or_that_of_its_weight():
    class Largest(Affine):
        def sparsity_error(self):
            return self.W.abs().max().item()

    class Gain(torch.nn.Module):
        def __init__(self, in_features, out_features):
            super().__init__()
            self.gain = torch.nn.Parameter(torch.rand(out_features, in_features))

    assert plain_layer(Gain)(2, 1).observations() == []
    (error,) = (o for o in AffineLayer(4, 2).observations() if o.kind == "scalar")
    assert error.name == "W/sparsity_error"
    layers = [plain_layer(Largest)(4, 2) for _ in range(2)]
    expected = torch.tensor([layer.module.sparsity_error() for layer in layers])
    (alone,) = layers[0].observations()
    assert alone.value() == expected[0]
    (stacked,) = stack_models(layers).observations()
    assert (alone.name, stacked.name) == ("W/sparsity_error",) * 2
    torch.testing.assert_close(stacked.value(), expected)


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
