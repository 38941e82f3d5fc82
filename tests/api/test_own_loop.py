"""Units in a loop of one's own: penalties, bounds, wrapped optimisers, exact weights, formulas."""

import copy
import math
import re

import numpy as np
import pytest
import torch

import stable_nalu as sn
from stable_nalu.base.errors import UsageError
from stable_nalu.layer import NAC, NAU, NMRU, NMU, NRU, NMULayer, RealNPU, iNALU
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.step import Penalties
from tests.test_documents import ROOT


class Scale(sn.Layer):
    def __init__(self, in_features, out_features, **options):
        super().__init__(in_features, out_features, **options)
        self.W = torch.nn.Parameter(torch.full((out_features, in_features), 0.3))
        self.seen = []

    def regualizer_terms(self):
        return {"small": lambda: self.W.abs().sum()}

    def forward(self, x):
        self.seen.append((self.iteration, self.progress))
        return x @ self.W.mT


def model_of(*units):
    torch.manual_seed(0)
    return torch.nn.Sequential(*[unit(2, 2) for unit in units])


@pytest.mark.parametrize("step", [0, 1_500_000, 3_000_000])
@pytest.mark.parametrize("unit", [NMU, NAU, NMULayer, iNALU])
def test_penalty_is_that_of_scripts_by_default(unit, step):
    layer = unit(3, 2, regualizer_shape="linear") if unit is NMULayer else unit(3, 2)
    with torch.no_grad():
        layer.get_parameter("g" if unit is iNALU else "W").sub_(0.7)
    penalties = Penalties(SCRIPTS["single_layer_benchmark"].plan([]).configs[:1], layer)
    penalties.validation = np.zeros(1)
    expected = penalties.total(penalties.weights(step)) or torch.zeros(())
    assert sn.penalty(layer, step).item() == pytest.approx(expected.item())


def test_penalty_takes_weights_a_ramp_and_keys_of_ones_own():
    model = model_of(NMU, Scale)
    full = sn.penalty(model, 10, weights={"W": 1}, ramp=(0, 10)) - model[1].W.sum()
    half = sn.penalty(model, 5, weights={"W": 1, "small": 0}, ramp=(0, 10))
    assert full.item() == pytest.approx(2 * half.item())
    npu = RealNPU(2, 1, regualizer_npu_w=1)
    assert sn.penalty(npu, 5).item() == pytest.approx(1e-5 * npu.weight_penalty().item())
    assert sn.penalty(npu, 10_000).item() == pytest.approx(1e-4 * npu.weight_penalty().item())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: sn.penalty(3, 0), "model: int is not a module"),
        (lambda: sn.penalty(NMU(2, 1), -1), "step: -1 is not a step"),
        (
            lambda: sn.penalty(NMU(2, 1), 0, weights={"w": 1}),
            "no unit .* penalty 'w'; did you",
        ),
        (lambda: sn.penalty(NMU(2, 1), 0, weights={"z": 1}), "build it with regualizer_z=1"),
        (lambda: sn.penalty(NMU(2, 1), math.nan), "step: nan is not a step"),
        (lambda: sn.penalty(NMU(2, 1), 0, weights={"W": math.inf}), "weights: inf is not"),
        (lambda: sn.penalty(NMU(2, 1), 0, weights=3), "weights: 3 is not a weight"),
        (lambda: sn.penalty(NMU(2, 1), 0, ramp=(5, 5)), r"ramp: \(5, 5\) is not two steps"),
        (lambda: sn.constrain(None), "model: NoneType"),
        (lambda: sn.constrain(sn.layer("GradientBanditNAC")(2, 1)), "loss: .* give the loss"),
        (lambda: sn.wrap("adam", NMU(2, 1)), "optimizer: str is not one of torch"),
        (lambda: sn.layer("Linear")(2, 1).freeze(), "Linear has no exact weights|BasicLayer has"),
        (lambda: sn.formula(NMU(2, 1), ["a"]), "inputs: NMU cannot map 1"),
        (lambda: sn.formula(NMU(2, 1), ["a", "a"]), "inputs: give one name for each"),
        (lambda: sn.formula(NMU(2, 1), within=(2, 1)), r"within: \(2, 1\) is not a range"),
        (lambda: NMU(2, 1).export("unit.pt"), r"path: unit.pt has no format"),
        (lambda: sn.load("absent.safetensors"), "cannot read absent.safetensors: No such file"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, words):
    with pytest.raises(UsageError, match=words):
        call()


def test_a_wrapped_optimizer_equals_the_loop_written_out():
    x = torch.rand(16, 2) * 4
    out, inside = model_of(NAU, NMU), model_of(NAU, NMU)
    plain = torch.optim.Adam(out.parameters(), lr=0.1)
    wrapped = sn.wrap(torch.optim.Adam(inside.parameters(), lr=0.1), inside, ramp=(2, 9))
    rates = [torch.optim.lr_scheduler.ExponentialLR(o, 0.9) for o in (plain, wrapped)]
    for step in range(12):
        plain.zero_grad()
        (out(x).square().mean() + sn.penalty(out, step, ramp=(2, 9))).backward()
        plain.step()
        sn.constrain(out)
        wrapped.zero_grad()
        inside(x).square().mean().backward()
        wrapped.step()
        for rate in rates:
            rate.step()
        if step == 5:
            wrapped.load_state_dict(copy.deepcopy(wrapped.state_dict()))
    for one, other in zip(out.parameters(), inside.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert all(0 <= w <= 1 for w in inside[1].W.flatten().tolist())
    with pytest.raises(UsageError, match="wrapped for this model already"):
        sn.wrap(wrapped, inside)


def test_units_read_step_and_progress_of_the_model():
    model = model_of(Scale)
    optimizer = sn.wrap(torch.optim.SGD(model.parameters(), lr=0.1), model, steps=4)
    for _ in range(4):
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    assert model[0].seen == [(0, 0), (1, 0.25), (2, 0.5), (3, 0.75)]
    state = optimizer.state_dict()
    model = model_of(Scale)
    sn.wrap(torch.optim.SGD(model.parameters(), lr=0.1), model, steps=8).load_state_dict(state)
    assert (model[0].iteration, model[0].progress) == (4, 0.5)
    model.progress = 0.9
    sn.penalty(model, 7)
    assert (model[0].iteration, model[0].progress) == (7, 0.9)
    cooling = sn.layer("GumbelNAC")(2, 1)
    sn.penalty(cooling, 99_999)
    sn.constrain(cooling)
    assert cooling.tau.item() == pytest.approx(0.5)


@pytest.mark.parametrize("unit", [NMU, NAU, NAC, NRU, NMRU, RealNPU, iNALU])
def test_rounded_weights_are_whole_and_frozen_ones_stay(unit):
    torch.manual_seed(1)
    layer = unit(3, 2)
    before = copy.deepcopy(layer.state_dict())
    assert sn.formula(layer.rounded()).is_exact
    assert all(torch.equal(before[name], value) for name, value in layer.state_dict().items())
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), layer.freeze())
    optimizer = sn.wrap(torch.optim.Adam(model.parameters(), lr=0.1), model, ramp=(0, 1))
    exact = copy.deepcopy(layer.state_dict())
    model(torch.rand(4, 3)).sum().backward()
    optimizer.step()
    assert sn.penalty(model, 10, ramp=(0, 1)) == sum(layer.regualizer().values()) == 0
    assert all(torch.equal(exact[name], value) for name, value in layer.state_dict().items())


def test_formula_of_a_module_says_for_which_inputs_it_is():
    unit = RealNPU(3, 1)
    with torch.no_grad():
        unit.W_real.copy_(torch.tensor([[1.0], [1.0], [-2.0]]))
        unit.g.fill_(1)
    found = sn.formula(unit, inputs=["m1", "m2", "r"])
    assert str(found.rounded) == "m1*m2/r**2"
    assert str(found).endswith("for positive inputs")
    mixed = torch.nn.Sequential(NAU(2, 2).freeze(), torch.nn.Linear(2, 1)).double()
    assert re.fullmatch(r"-?[\d.]+, for .*|-?[\d.]+", str(sn.formula(mixed)))


def test_a_saved_unit_or_network_comes_back(tmp_path):
    unit = NRU(3, 2, trash_cell=True, dtype=torch.float64)
    path = unit.export(tmp_path / "unit.safetensors")
    loaded = sn.load(path)
    assert repr(loaded) == repr(unit)
    assert all(torch.equal(loaded.state_dict()[n], v) for n, v in unit.state_dict().items())
    run = sn.train("single_layer", layer="NMU", operation="mul", max_iterations=3, out=tmp_path)[0]
    network = sn.load(run)
    again = sn.load(network.export(tmp_path / "network.safetensors"))
    x = torch.rand(4, 2)
    assert torch.equal(again(x), network(x))
    assert again.score == network.score
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(UsageError, match="is not a whole .safetensors file"):
        sn.load(path)


def test_the_library_of_safetensors_reads_a_saved_unit(tmp_path):
    library = pytest.importorskip("safetensors.torch")
    unit = NMU(3, 2)
    found = library.load_file(unit.export(tmp_path / "unit.safetensors"))
    assert torch.equal(found["W"], unit.W)
    library.save_file(found, tmp_path / "other.safetensors")
    with pytest.raises(UsageError, match="was not written by export"):
        sn.load(tmp_path / "other.safetensors")


def test_the_page_of_own_models_runs_and_prints_what_is_shown(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "own-model.md").read_text("utf-8")
    exec(compile("\n".join(re.findall(r"```python\n(.*?)```", page, re.S)), "page", "exec"), {})
    assert capsys.readouterr().out == "".join(re.findall(r"```text\n(.*?)```", page, re.S))
