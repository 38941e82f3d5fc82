"""A trained model in Python: loaded with its score, and exported with its card."""

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

import stable_nalu as sn
from stable_nalu.base.errors import UsageError
from tests.experiments.scripts import saved

SCRIPT = "single_layer_benchmark"
SHORT = {"operation": "mul", "max_iterations": 60, "log_interval": 20, "name_prefix": "t"}


class Gain(torch.nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.W = torch.nn.Parameter(torch.rand(out_features, in_features))

    def forward(self, x):
        return (self.W * x.unsqueeze(1)).sum(-1)


@pytest.fixture
def runs():
    return sn.train(SCRIPT, layer=sn.layer("NMU"), seed=range(3), learning_rate=0.05, **SHORT)


def test_a_run_or_its_folder(runs, tmp_path):
    state = torch.get_rng_state()
    for which in (runs[1], runs[1].folder, str(runs[1].folder)):
        model = sn.load(which)
        assert model.config.seed == 1
        assert model.score.test_error == pytest.approx(runs[1].outcome["test_error"], rel=1e-5)
        assert model.score.threshold == runs[1].outcome["threshold"]
        assert model.score.solved == runs[1].outcome["solved"]
        for name, value in saved(f"t/{runs[1].name}")["model_state_dict"].items():
            assert torch.equal(model.module.state_dict()[name], value)
    assert torch.equal(torch.get_rng_state(), state)
    elsewhere = sn.train(SCRIPT, layer=sn.layer("NMU"), out=tmp_path / "mine", **SHORT)
    assert sn.load(elsewhere[0]).config.operation == "mul"
    assert model(torch.tensor([[3.0, 4.0]])).shape == (1, 1)


def test_a_layer_of_the_program_must_be_known():
    runs = sn.train(SCRIPT, layer=Gain, **SHORT)
    assert isinstance(sn.load(runs[0]), torch.nn.Module)
    from stable_nalu.layer.registry import drop

    drop("Gain")
    with pytest.raises(
        UsageError, match=r"Gain is a layer of .* call stable_nalu.register\(Gain\)"
    ):
        sn.load(runs[0])


def test_safetensors_are_a_header_and_values(runs, tmp_path):
    model = sn.load(runs[0])
    path = model.export(tmp_path / "new" / "unit.safetensors")
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, values = json.loads(content[8 : 8 + size]), content[8 + size :]
    card = json.loads(header.pop("__metadata__")["card"])
    assert size % 8 == 0
    state = model.module.state_dict()
    assert header.keys() == state.keys()
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        found = np.frombuffer(values[first:last], np.float32).reshape(entry["shape"])
        assert entry["dtype"] == "F32"
        assert np.array_equal(found, state[name].numpy())
    assert card == json.loads(path.with_suffix(".json").read_text())
    assert {name: card[name] for name in asdict(model.score)} == asdict(model.score)
    assert (card["layer"], card["task"], card["config"]["seed"]) == ("NMU", SCRIPT, 0)
    assert card["formula"].startswith("y_o = prod_i")
    assert card["versions"]["torch"]


def test_onnx_computes_the_same(runs, tmp_path):
    model = sn.load(runs.best)
    reference = pytest.importorskip("onnx.reference")
    pytest.importorskip("onnxscript")
    path = model.export(tmp_path / "unit.onnx")
    x = torch.rand(5, 2) + 1
    (y,) = reference.ReferenceEvaluator(str(path)).run(None, {"x": x.numpy()})
    torch.testing.assert_close(torch.from_numpy(y), model(x).detach())


def test_what_is_no_run(runs, tmp_path):
    with pytest.raises(UsageError, match="holds no record of a run"):
        sn.load(tmp_path)
    with pytest.raises(UsageError, match="has no format; end its name in .onnx or .safetensors"):
        sn.load(runs[0]).export(tmp_path / "unit.pt")
