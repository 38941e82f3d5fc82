"""State dictionaries of published code, and layers over its base class in the scripts here."""

import pytest
import torch

import stable_nalu as sn
from stable_nalu.layer.registry import drop
from tests.experiments.scripts import read, run, run_names

RENAMED = {
    "SimpleFunctionRecurrentNetwork": (
        "LSTM",
        {"zero_state.h_t0": "h_t0", "zero_state.c_t0": "c_t0"},
    ),
    "NumberTranslationNetwork": (
        "NALU",
        {
            "embedding.weight": "embedding",
            **{
                f"lstm_cell.{kind}_{of}": f"lstm_cell.cell.{kind}_{of}"
                for kind in ("weight", "bias")
                for of in ("ih", "hh")
            },
        },
    ),
}


@pytest.mark.parametrize("network", RENAMED)
def test_published_names_of_parameters_are_loaded(network):
    unit, names = RENAMED[network]
    make = getattr(sn.network, network)
    saved = make(unit).state_dict()
    for published, own in names.items():
        saved[published] = saved.pop(own)
    loaded = make(unit)
    loaded.load_state_dict(saved)
    for published, own in names.items():
        assert torch.equal(loaded.state_dict()[own], saved[published])


def test_the_container_of_the_robustness_study_is_loaded():
    options = {"hidden_size": 3, "mlp_depth": 1}
    saved = sn.network.SingleLayerNetwork("ReLU", 2, 1, **options).state_dict()
    names = {"layer_1.": "layer_1.0.", "layer_01.": "layer_1.1.", "layer_2.": "layer_2."}
    published = {
        theirs + name.removeprefix(own): value
        for own, theirs in names.items()
        for name, value in saved.items()
        if name.startswith(own)
    }
    loaded = sn.network.SingleLayerNetwork("ReLU", 2, 1, **options)
    loaded.load_state_dict(published)
    for name, value in loaded.state_dict().items():
        assert torch.equal(value, saved[name])


@pytest.mark.parametrize("unit", ["SoftmaxNAC", "GumbelNAC", "GradientBanditNAC"])
def test_constant_buffers_of_published_layers_are_dropped(unit):
    layer = sn.layer.GeneralizedLayer(2, 1, unit)
    saved = layer.state_dict() | {"layer.target_weights": torch.tensor([1.0, -1.0, 0.0])}
    sn.layer.GeneralizedLayer(2, 1, unit).load_state_dict(saved)


NMU = """
import torch
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.functional import Regualizer, mnac

class PublishedNMU(ExtendedTorchModule):
    def __init__(self, in_features, out_features, **kwargs):
        super().__init__("nac", **kwargs)
        self.W = torch.nn.Parameter(torch.empty(out_features, in_features))
        self.penalty = Regualizer(support="mnac", type="bias", shape="linear")

    def reset_parameters(self):
        torch.nn.init.uniform_(self.W, 0.25, 0.75)

    def regualizer(self):
        return super().regualizer({"W": self.penalty(self.W), "z": 0})

    def optimize(self, loss):
        self.W.data.clamp_(0, 1)

    def forward(self, x):
        return mnac(x, self.W)
"""


def test_a_layer_over_the_published_base_trains_as_the_layer_here(tmp_path):
    """Penalties and bounds are its own overrides; the numbers are those of the NMU."""
    file = tmp_path / "nmu.py"
    file.write_text(NMU)
    words = "--operation mul --max-iterations 400 --log-interval 100 --engine torch --seed 1"
    words += " --verbose --learning-rate 0.01"
    words += " --regualizer-scaling-start 100 --regualizer-scaling-end 200"
    own = f"{words} --layer-file {file} --layer-type PublishedNMU"
    known = f"{words} --layer-type ReRegualizedLinearMNAC"
    script = "single_layer_benchmark"
    try:
        assert run(script, own) == run(script, known) == 0
        one, other = (read(run_names(script, line)[0]) for line in (own, known))
    finally:
        drop("PublishedNMU")
    for tag in ("loss/train/critation", "loss/train/regualizer", "metric/test/extrapolation"):
        expected = other.series(tag)
        assert {*range(0, 401, 100)} <= {*expected}
        assert one.series(tag) == pytest.approx(expected, rel=1e-5, abs=1e-7), tag
