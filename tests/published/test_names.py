"""Every public name of the published package, where it was, with its parameters and defaults."""

import importlib
import inspect
import subprocess
import sys

import pytest
import torch

import stable_nalu as sn
from stable_nalu.abstract import ExtendedTorchModule

STREAM = "use_cuda=False, max_size=4294967295"
SLICES = "subset_ratio=0.25, overlap_ratio=0.5, num_subsets=2, simple=False, seed=None"
DIGITS = "num_workers=1, {0}_digits=0123456789, seed=None, use_cuda=False"
IMAGES = "model_simplification=none, nac_mul=none, eps=1e-07"
SIGNATURES = {
    "dataset.SimpleFunctionStaticDataset": f"operation, input_size=100, {SLICES}, {STREAM}",
    "dataset.SimpleFunctionStaticDataset.fork": "sample_range=[1, 2], seed=None, "
    "use_extrapolation=False",
    "dataset.SimpleFunctionRecurrentDataset": "operation, vector_size=10, seed=None",
    "dataset.SingleLayerStaticDataset": "operation, input_size=2, subset_ratio=1, overlap_ratio=0, "
    f"num_subsets=1, simple=False, seed=None, {STREAM}",
    "dataset.SingleLayerStaticDataset.fork": "sample_range=[1, 2], seed=None",
    "dataset.SequentialMnistDataset": f"operation, {DIGITS.format('mnist')}",
    "dataset.SequentialMnistDataset.fork": "seq_length=10, subset=train, seed=None",
    "dataset.SequentialSvhnDataset": f"operation, {DIGITS.format('svhn')}",
    "dataset.NumberTranslationDataset": "num_workers=1, seed=None, use_cuda=False",
    "dataset.NumberTranslationDataset.fork": "subset=train",
    "dataset.NumberTranslationDataset.encode": "number, as_strings=False",
    "functional.gated_choice": "g, a, m, mode=normal",
    "functional.nac_weight": "w_hat, m_hat, mode=normal",
    "functional.sample_gumbel_softmax": "placeholder, logits, tau",
    "functional.sample_gumbel_max": "placeholder, logits",
    "functional.gumbel.sample_gumbel": "placeholder, eps=1e-10, reuse=False",
    "functional.batch_linear": "x, W, b=None",
    "functional.mnac": "x, W, mode=prod, is_training=None",
    "functional.sparsity_error": "W",
    "functional.Regualizer": "support=nac, type=bias, shape=squared, zero=False, zero_epsilon=0",
    "functional.RegualizerNMUZ": "zero=False",
    "functional.RegualizerNAUZ": "zero=False",
    "functional.get_train_criterion": "criterion, mse, pcc, mape, current_iteration, "
    "pcc2mse_iteration",
    "functional.regualizer.l1": "params",
    "functional.regualizer.lp_norm": "params, p",
    "functional.regualizer.huber": "params",
    "abstract.ExtendedTorchModule": "default_name, writer=None, name=None, "
    "use_robustness_exp_logging=False",
    "abstract.ExtendedTorchModule.regualizer": "merge_in=None",
    "abstract.ExtendedTorchModule.optimize": "loss",
    "abstract.ExtendedTorchModule.set_parameter": "name, value",
    "abstract.ExtendedTorchModule.log_gradients_mse_normalised": "residual",
    "layer.GeneralizedLayer": "in_features, out_features, unit_name, writer=None, name=None",
    "layer.GeneralizedCell": "input_size, hidden_size, unit_name, writer=None, name=None",
    "network.SimpleFunctionStaticNetwork": "unit_name, input_size=100, hidden_size=2, writer=None, "
    "first_layer=None, nac_mul=none, eps=1e-07",
    "network.SingleLayerNetwork": "unit_name, input_size=2, output_size=1, writer=None, "
    "nac_mul=none, eps=1e-07",
    "network.SimpleFunctionRecurrentNetwork": "unit_name, input_size=10, writer=None",
    "network.SequentialMnistNetwork": "unit_name, output_size, writer=None, "
    f"mnist_digits=0123456789, softmax_transform=False, mnist_outputs=1, {IMAGES}",
    "network.SequentialSvhnNetwork": "unit_name, output_size, writer=None, svhn_outputs=1, "
    f"resnet=resnet18, {IMAGES}",
    "network.RegressionMnistNetwork": "mnist_digits=0123456789, softmax_transform=False, "
    "mnist_outputs=1",
    "network.NumberTranslationNetwork": "unit_name, embedding_size=2, hidden_size=2, "
    "dictionary_size=30, writer=None",
    "writer.SummaryWriter": "name, remove_existing_data=False",
    "writer.SummaryWriter.every": "interval",
    "writer.SummaryWriter.verbose": "is_verbose",
    "writer.SummaryWriter.namespace": "name",
    "writer.SummaryWriter.set_iteration": "iteration",
    "writer.SummaryWriter.force_logging": "flag",
    "writer.SummaryWriter.add_scalar": "name, value, verbose_only=True",
    "writer.SummaryWriter.add_summary": "name, tensor, verbose_only=True",
    "writer.SummaryWriter.add_tensor": "name, matrix, verbose_only=True",
    "writer.SummaryWriter.add_histogram": "name, tensor, verbose_only=True",
    "writer.SummaryWriter.print": "name, tensor, verbose_only=True",
    "writer.SummaryWriter.add_grad_summary": "name, tensor",
    "writer.SummaryWriter.add_mse_grad_summary": "name, tensor",
    "writer.DummySummaryWriter": "",
    "writer.save_model": "name, model",
    "writer.save_model_checkpoint": "name, epoch, model, optimizer, rng_states",
    "writer.load_model": "name, model, optimizer",
    "writer.save_model_params": "name, model",
    "reader.TensorboardReader": "dirpath, auto_open=True",
    "reader.TensorboardMetricReader": "dirname, metric_matcher, step_start=0, "
    "recursive_weight=False, processes=None, progress_bar=True",
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
