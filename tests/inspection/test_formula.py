"""Formulas of networks, and what they prove."""

import csv
import functools
from pathlib import Path

import pytest
import sympy
import torch

import stable_nalu as sn
from stable_nalu.base.errors import UsageError
from stable_nalu.dataset.simple_function import FunctionTargets, Operation, get_operation
from stable_nalu.inspection import saved_model
from stable_nalu.inspection.formula import (
    ALGEBRA,
    EXACT,
    INSIDE,
    OTHER,
    ROUNDED,
    WRONG,
    certificate,
    recurrent_certificate,
)
from stable_nalu.inspection.saved_model import counted, formula, formula_command, in_short
from stable_nalu.layer import entries
from stable_nalu.network.arithmetic import SimpleFunctionRecurrentNetwork
from stable_nalu.task.table import SCRIPTS, TASKS

X1, X2 = sympy.symbols("x1 x2", positive=True)
WITHOUT = {"HardSoftmaxNAC", "HardSoftmaxNALU", "EnsembleGumbelNAU"}
"""Layers that draw noise of their own in evaluation, too."""
POSITIVE, BOTH = [(2.0, 6.0)], [(-6.0, -2.0), (2.0, 6.0)]


NOT_SOLVED = {"solved": False, "solved_inside": False}


def built(key, *sizes, **parameters):
    """A layer of two inputs and one output, whose parameters have these values."""
    layer = entries()[key].layer(*(sizes or (2, 1)))
    layer.reset_parameters()
    for name, values in parameters.items():
        own = layer.get_parameter(name)
        own.data = torch.tensor(values, dtype=own.dtype).expand_as(own).clone()
    return layer


NMU, NAU = "ReRegualizedLinearMNAC", "ReRegualizedLinearNAC"


def judged(layer, operation, intervals=POSITIVE, inputs=2, solved=False, inside=False):
    targets = FunctionTargets(get_operation(operation), [(0, 1), (1, 2)])
    return certificate(layer, targets, inputs, intervals, solved=solved, solved_inside=inside)


@pytest.mark.parametrize(
    ("weights", "verdict", "formula"),
    [
        ([1.0, 1.0], EXACT, X1 * X2),
        ([0.998, 1.0], ROUNDED, X1 * X2),
        ([0.0, 0.0], WRONG, sympy.Integer(1)),
        ([0.7, 1.0], WRONG, X1 * X2),
        ([1.0, 0.2], WRONG, X1),
    ],
)
def test_products_are_read_from_weights(weights, verdict, formula):
    found = judged(built(NMU, W=[weights]), "mul")
    assert found.verdict == verdict
    assert sympy.simplify(found.rounded - formula) == 0
    assert found.change == pytest.approx(max(abs(w - round(w)) for w in weights), abs=1e-6)
    assert found.ulps < 8


@pytest.mark.parametrize(
    ("operands", "gate", "operation", "intervals"),
    [
        *[("add", 1, "add", POSITIVE), ("add", -1, "mul", POSITIVE), ("add", -1, "mul", BOTH)],
        *[("sub", 1, "sub", POSITIVE), ("sub", -1, "div", POSITIVE), ("sub", -1, "div", BOTH)],
    ],
)
def test_a_decided_gate_of_a_dmu_is_one_operation(operands, gate, operation, intervals):
    layer = entries()["DMU"].layer(2, 1, operands=operands)
    layer.G.data = torch.tensor([[0.5 * gate, -0.5 * gate]])
    found = judged(layer, operation, intervals)
    assert found.verdict == ROUNDED
    assert 0 < found.change < 1e-4


@pytest.mark.parametrize(
    ("key", "operation", "intervals", "verdict"),
    [
        *[("ProductUnit", "div", POSITIVE, EXACT), ("ProductUnit", "mul", POSITIVE, WRONG)],
        *[("NRU", "div", BOTH, EXACT), ("NRU", "div", [(-2.0, 2.0)], EXACT)],
    ],
)
def test_weights_of_1_and_minus_1_are_a_quotient(key, operation, intervals, verdict):
    assert judged(built(key, W=[[1.0, -1.0]]), operation, intervals).verdict == verdict


def test_a_wrong_formula_is_not_the_target_however_small_its_error():
    layer = built(NAU, W=1.0)
    assert judged(layer, "add").proof == ALGEBRA
    assert judged(layer, "sub", solved=True, inside=True).verdict == OTHER
    assert judged(layer, "sub", inside=True).verdict == INSIDE


def of_forward(key, forward, W):
    """A layer with these weights and another forward pass."""
    layer = type("Own", (entries()[key].layer,), {"forward": forward})(2, 1)
    layer.W.data[:] = torch.tensor(W)
    return layer


def product_and(part):
    """A layer that computes x1 x2 and another part."""
    product = entries()[NMU].layer.forward
    return of_forward(NMU, lambda self, x: product(self, x) + part(x[..., :1], x[..., 1:]), 1.0)


@pytest.mark.parametrize(
    "part",
    [
        lambda a, b: 100 * torch.relu(a - 5.97),
        lambda a, b: 100 * torch.relu(a + b - 11.99),
        lambda a, b: 1e3 * torch.relu(1e-4 - (a - 3.3).abs()),
        lambda a, b: 100 * torch.relu(1e-3 - (a - 3.3).abs() - (b - 4.4).abs()),
        lambda a, b: 100 * torch.exp(-1e6 * (a - 5.97) ** 2),
        lambda a, b: torch.where((a > 3) & (a < 3.0001), b, 0 * b),
        lambda a, b: torch.sign(b - 5.9999) + 1,
        lambda a, b: 1e-8 * a,
        lambda a, b: 1e7 * (torch.relu(a - 3) + 1e-7) - 1e7 * torch.relu(a - 3),
    ],
    ids=["end", "corner", "bump", "spot", "bell", "where", "sign", "slope", "guard"],
)
def test_a_part_wherever_it_hides_is_no_product(part):
    found = judged(product_and(part), "mul", solved=True)
    assert found.verdict == OTHER
    assert found.proof == ""


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (lambda a, b: 0 * a, "x1*x2, exact as trained"),
        (lambda a, b: 1e-7 + 0 * a, "x1*x2, as trained, equal to within 1e-07"),
        (lambda a, b: 1e-12 * a, "x1*x2 + 1.0e-12*x1, as trained, equal to x1*x2 to 12 digits"),
        (
            lambda a, b: 1e-4 * torch.relu(b - 5.97),
            "x1*x2 + 0.0001*Max(0, x2 - 5.97), as trained, equal to x1*x2 to within 3e-06",
        ),
    ],
    ids=["nothing", "constant", "slope", "small"],
)
def test_only_the_target_itself_is_called_exact(part, words):
    found = judged(product_and(part), "mul")
    assert str(found) == f"learned: {words}"
    assert ("within" in found.row["proof"]) == ("within" in words)


def test_signs_differ_in_every_range():
    """A sum of logarithms is |x1 x2|: right for positive inputs, wrong where signs differ."""
    total = entries()[NAU].layer.forward
    layer = of_forward(NAU, lambda self, x: torch.exp(total(self, torch.log(torch.abs(x)))), 1.0)
    assert judged(layer, "mul").verdict == EXACT
    assert judged(layer, "mul", BOTH).verdict == WRONG


@pytest.mark.parametrize(
    "key", [k for k, e in entries().items() if e.layer and k not in ("NNU", "EML")]
)
def test_the_formula_of_every_layer_is_the_layer(key):
    """At points of the range, in the precision of the layer."""
    torch.manual_seed(1)
    layer = built(key)
    if key in WITHOUT:
        with pytest.raises(UsageError, match="no formula: "):
            judged(layer, "mul")
    else:
        assert judged(layer, "mul").ulps < 1e4


def test_runs_tell_what_they_have_learned(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = {"operation": "mul", "max_iterations": 6_000, "log_interval": 1_000, "seed": [0, 1]}
    flags |= {"regualizer_scaling_start": 1_000, "regualizer_scaling_end": 2_000}
    flags |= {"regualizer": 10, "learning_rate": 0.01, "no_cuda": True}
    runs = sn.train("single_layer", layer="NMU", **flags)
    found = [formula(run) for run in runs]
    assert all(one.verdict in (EXACT, ROUNDED) for one in found) == runs.solved.all()
    assert sn.load(runs[0]).card["learned"] == str(found[0])
    assert formula_command(["--run", str(runs[0].folder.parent), "--csv-out", "found.csv"]) == 0
    actual = capsys.readouterr().out
    assert counted([one.verdict for one in found]) in actual
    shortly = functools.partial(in_short, SCRIPTS["single_layer"], TASKS["single_layer"])
    assert shortly([run.folder for run in runs]).endswith(actual.splitlines()[-1])
    assert shortly([runs[0].folder]).endswith(str(found[0]).removeprefix("learned: "))
    monkeypatch.setattr(saved_model, "SECONDS", 1e-9)
    assert shortly([run.folder for run in runs]) is None
    rows = list(csv.DictReader(Path("found.csv").read_text().splitlines()))
    assert [row["verdict"] for row in rows] == [one.verdict for one in found]


def test_a_folder_without_runs_is_named(tmp_path, capsys):
    assert formula_command(["--run", str(tmp_path)]) == 2
    assert "holds no run" in capsys.readouterr().err


SUMS = [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
"""Weights of three inputs: x1 + x2 and x2 + x3."""


def of_a_cell(unit, inputs=None, state=None):
    network = SimpleFunctionRecurrentNetwork(unit, 3)
    network.reset_parameters()
    if inputs:
        weights = torch.cat([torch.tensor(inputs), torch.tensor(state)], -1)
        for name, values in network.named_parameters():
            if name != "zero_state":
                values.data[:] = weights if values.shape == weights.shape else 1.0
    targets = FunctionTargets(get_operation("add"), [(0, 2), (1, 3)])
    return recurrent_certificate(network, targets, 3, [(1.0, 2.0)], **NOT_SOLVED)


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], EXACT),
        ([[0.99, 0.0], [0.0, 1.0]], ROUNDED),
        # Right for one step, and for no second one.
        ([[0.0, 0.0], [0.0, 0.0]], WRONG),
        ([[0.8, 0.0], [0.0, 1.0]], WRONG),
        ([[1.0, 1.0], [0.0, 1.0]], WRONG),
    ],
)
def test_a_recurrent_network_has_to_add_up_steps(state, verdict):
    found = of_a_cell(NAU, SUMS, state)
    assert found.verdict == verdict
    if found.is_exact:
        assert str(found).startswith("learned: x1 + 2*x2 + x3 of sums over all steps, exact")
        assert found.change == pytest.approx(0.01 * (verdict == ROUNDED))


def test_recurrent_runs_tell_what_they_have_learned(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = {"operation": "add", "simple": True, "max_iterations": 2, "no_cuda": True}
    runs = sn.train("simple_function_recurrent", layer="NAC", seed=0, **flags)
    assert str(formula(runs[0])).endswith("not 2*x1 + 2*x2 + x3 + x4")


def of_a_chain(tmp_path, **flags):
    """The formula of a chain after one update, from exact weights plus noise."""
    chain = {"layer_type": "NRU", "sum_layer": "NAU", "depth": 3, "start": "near", "start_noise": 0}
    (run,) = sn.train("depth", **chain | flags, max_iterations=1, learning_rate=1e-5, out=tmp_path)
    return sn.formula(run)


@pytest.mark.parametrize(
    ("operations", "target"), [("add,mul", "x3*(x1 + x2) + x4"), ("sub,div", "-x4 + (x1 - x2)/x3")]
)
def test_a_chain_has_its_formula(tmp_path, operations, target):
    """Whatever inputs there are besides, and noise in training."""
    found = of_a_chain(tmp_path, operations=operations, redundant=1, noise=0.1)
    assert found.is_exact
    assert str(found.target) == target
    assert sympy.simplify(found.rounded - found.target) == 0


@pytest.mark.parametrize("tree", ["slots", "bottom"])
def test_the_formula_of_a_tree_is_that_of_its_choices(tree):
    """Of those that count: a doubt where nothing is read is none."""
    layer = entries()["EML"].layer(2, 1, tree=tree, depth=2)
    layer.leaves.data = torch.tensor([[[0.0, 20, 0], [0, 0, 20], [0, 0, 0], [0, 0, 0]]])
    slots, bottom = [[[0, 0, 0, 20.0], [20, 0, 0, 0]]], [[-20, -20, 0, 0, -20, 20.0]]
    layer.nodes.data = torch.tensor(slots if tree == "slots" else bottom)

    def tree_of(a, b):
        return sympy.exp(sympy.exp(a) - sympy.log(b))

    targets = FunctionTargets(Operation("tree", None, tree_of, str), [(0, 1), (1, 2)])
    found = certificate(layer, targets, 2, POSITIVE, **NOT_SOLVED)
    assert found.rounded == tree_of(X1, X2)
    assert found.is_exact
    assert found.change < 1e-7
    layer.leaves.data[0, 0, 2] = 19.0
    assert certificate(layer, targets, 2, POSITIVE, **NOT_SOLVED).verdict == WRONG


@pytest.mark.parametrize(("noise", "is_exact"), [(0.0, True), (60.0, False)])
def test_a_recovered_tree_has_its_formula(tmp_path, noise, is_exact):
    flags = {"depth": 3, "target": "chain", "pytorch_precision": 64, "max_iterations": 20}
    (run,) = sn.train("eml_recovery", **flags, warm_start=noise, out=tmp_path)
    found = sn.formula(run)
    z = sympy.exp(X1) - sympy.log(X2)
    assert sympy.simplify(found.target - sympy.exp(sympy.E) / z) == 0
    assert found.is_exact == is_exact
