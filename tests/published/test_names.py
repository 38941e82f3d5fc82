"""Every public name of the published package, where it was, with its parameters and defaults."""

import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import stable_nalu as sn
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.files import cells_of

SIGNATURES = {
    row["name"]: row["parameters"] for row in cells_of(Path(__file__).with_name("signatures.csv"))
}
FAMILIES = (
    *("gumbel", "linear", "softmax", "independent", "hard_softmax", "gradient_bandit"),
    *("regualized_linear", "re_regualized_linear"),
)
MODULES = {
    "writer": ("summary_writer", "save_model"),
    "reader": ("tensorboard_reader", "tensorboard_metric_reader"),
    "functional": (
        *("gated_choice", "nac_weight", "gumbel", "batch_linear", "mnac", "sparsity_error"),
        *("regualizer", "regualizer_nmu_z", "regualizer_nau_z", "train_criterion"),
        "golden_ratio_base",
    ),
    "dataset": (
        *("simple_function_static", "simple_function_recurrent", "single_layer_static"),
        *("sequential_mnist", "sequential_svhn", "number_translation"),
    ),
    "network": (
        *("simple_function_static", "simple_function_recurrent", "single_layer"),
        *("sequential_mnist", "sequential_svhn", "regression_mnist", "number_translation"),
    ),
    "layer": (
        *("basic", "generalized", "nac", "mnac", "nalu", "npu", "npu_real", "inalu", "mcfc"),
        *(f"{family}_{kind}" for family in FAMILIES for kind in ("nac", "nalu")),
        *("gumbel_mnac", "regualized_linear_mnac", "re_regualized_linear_mnac", "mclstm"),
    ),
}


def of(path):
    found = sn
    for part in path.split("."):
        found = getattr(found, part)
    return found


def text_of(value):
    if isinstance(value, range):
        return "".join(map(str, value))
    return str(list(value)) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize("path", SIGNATURES)
def test_parameters_and_defaults(path):
    """Those of the specification come first, in its order and with its defaults."""
    given = {p.name: p for p in inspect.signature(of(path)).parameters.values()}
    for wanted in filter(None, SIGNATURES[path].replace("[1, 2]", "[1; 2]").split(", ")):
        name, _, default = wanted.replace(";", ",").partition("=")
        assert name in given, name
        if default:
            assert text_of(given[name].default) == default, name
    names = [part.partition("=")[0] for part in SIGNATURES[path].split(", ")]
    if path.startswith(("network", "functional", "writer")):
        assert [name for name in given if name in names] == [n for n in names if n in given]


@pytest.mark.parametrize("room", MODULES)
def test_modules_can_be_imported_by_name(room):
    for name in MODULES[room]:
        assert importlib.import_module(f"stable_nalu.{room}.{name}") is not None


def test_attributes_of_functions_are_the_functions():
    for name in ("gated_choice", "nac_weight", "batch_linear", "mnac", "sparsity_error"):
        module = importlib.import_module(f"stable_nalu.functional.{name}")
        assert getattr(sn.functional, name) is getattr(module, name)
        assert callable(getattr(sn.functional, name))


def test_rooms_are_there_after_a_bare_import():
    code = "import stable_nalu as sn; print(sn.dataset, sn.functional, sn.layer, sn.network)"
    code += "; print(sn.reader, sn.writer, sn.abstract)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_layers_and_their_cells():
    for family in ("Basic", "NAC", "NALU", "ReRegualizedLinearNAC", "ReRegualizedLinearNALU"):
        assert issubclass(of(f"layer.{family}Layer"), ExtendedTorchModule)
        assert issubclass(of(f"layer.{family}Cell"), ExtendedTorchModule)
    for name in ("NPULayer", "RealNPULayer", "INALULayer", "MCFullyConnected", "MulMCFC"):
        assert of(f"layer.{name}")(2, 1)(torch.ones(3, 2)).shape == (3, 1)
    module = importlib.import_module("stable_nalu.layer.re_regualized_linear_mnac")
    layer = module.ReRegualizedLinearMNACLayer(2, 1, "clip", "linear", 0.25, True, 0.5)
    options = "nac_oob", "regualizer_shape", "mnac_epsilon", "mnac_normalized", "regualizer_z"
    assert [getattr(layer, name) for name in options] == ["clip", "linear", 0.25, True, 0.5]
    assert of("layer.NACLayer")(2, 1)(torch.ones(3, 2), reuse=True).shape == (3, 1)
    with pytest.raises(TypeError, match="takes its options by name"):
        of("layer.NACLayer")(2, 1, 0.0, "normal", 3)


def test_names_of_units():
    layers, cells = sn.layer.GeneralizedLayer.UNIT_NAMES, sn.layer.GeneralizedCell.UNIT_NAMES
    assert {"NAC", "NALU", "ReRegualizedLinearNAC", "ReLU", "linear"} <= layers
    assert {"GRU", "LSTM", "RNN-tanh", "RNN-ReLU", "RNN-linear", "NALU"} <= cells
    assert "ReLU" in sn.layer.BasicLayer.ACTIVATIONS
    assert sn.network.SimpleFunctionStaticNetwork.UNIT_NAMES == layers
    assert sn.network.SingleLayerNetwork.UNIT_NAMES == layers
    for name in ("SimpleFunctionRecurrent", "SequentialMnist", "SequentialSvhn"):
        assert of(f"network.{name}Network").UNIT_NAMES == cells
    assert sn.network.NumberTranslationNetwork.UNIT_NAMES == cells


def test_the_table_of_units_takes_new_ones():
    from stable_nalu.layer.generalized import unit_name_to_layer_class

    class Scaled(ExtendedTorchModule):
        def __init__(self, in_features, out_features, **kwargs):
            super().__init__("scaled", **kwargs)
            self.W = torch.nn.Parameter(torch.ones(out_features, in_features))

        def forward(self, x):
            return x @ self.W.T

    assert unit_name_to_layer_class["NAC"] is sn.layer.NACLayer
    unit_name_to_layer_class["ScaledUnit"] = Scaled
    assert unit_name_to_layer_class["ScaledUnit"] is Scaled
    assert "ScaledUnit" in sn.layer.GeneralizedLayer.UNIT_NAMES
    y = sn.layer.GeneralizedLayer(3, 1, "ScaledUnit")(torch.ones(2, 3))
    assert y.tolist() == [[3], [3]]
