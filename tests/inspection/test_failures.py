"""Each class of failure, by a run that is planted."""

import math

import numpy as np
import pytest
import torch

import stable_nalu as sn
from stable_nalu.dataset.simple_function import FunctionTargets, get_operation
from stable_nalu.inspection import saved_model as failures
from stable_nalu.inspection.formula import certificate
from stable_nalu.inspection.saved_model import curve, failure
from stable_nalu.layer import entries
from stable_nalu.statistics.setups import Limit
from stable_nalu.training.task import Target

INTERVALS = [(2.0, 6.0)]
FLAT, FALLING = np.full(50, 3.0), np.logspace(2, -6, 50)


def classified(key, parameters, errors=FLAT, operation="mul"):
    """Return the class of a layer with these values of parameters, the others as at the start."""
    layer = entries()[key].layer(2, 1)
    for name, values in parameters.items():
        own = layer.get_parameter(name)
        own.data = torch.tensor(values, dtype=own.dtype).expand_as(own).clone()
    targets = FunctionTargets(get_operation(operation), [(0, 1), (1, 2)])
    x = torch.rand(500, 2, generator=torch.Generator().manual_seed(0)) + 1
    right = torch.as_tensor(targets(x.numpy()))
    layer.eval()
    target = Target(targets, x, right, INTERVALS, Limit(1e-5))
    found = None
    if all(bool(torch.isfinite(p).all()) for p in layer.parameters()):
        given = {"solved": False, "solved_inside": False}
        found = certificate(layer, targets, 2, INTERVALS, **given)
    return failure(layer, target, errors, found)


NMU, REAL_NPU = "ReRegualizedLinearMNAC", "RealNPU"


@pytest.mark.parametrize(
    ("wanted", "key", "parameters", "errors"),
    [
        (failures.NAN, NMU, {"W": [[1.0, math.nan]]}, FLAT),
        (failures.NAN, NMU, {"W": [[1.0, 0.0]]}, np.array([3.0, math.nan])),
        (failures.EXPLODED, NMU, {"W": [[1.0, 0.0]]}, np.array([3.0, 31.0])),
        (failures.EXPLODED, REAL_NPU, {"W_real": 12.0, "g": 1.0}, FLAT),
        (failures.IMPRECISE, NMU, {"W": [[0.99, 0.98]]}, FLAT),
        (failures.IMPRECISE, NMU, {"W": [[0.99, 0.98]]}, FALLING),
        (failures.SLOW, NMU, {"W": [[0.3, 0.6]]}, FALLING),
        (failures.VANISHED, NMU, {"W": [[0.0, 0.0]]}, FLAT),
        (failures.GATE, REAL_NPU, {"W_real": 1.0, "g": [1.0, 0.0]}, FLAT),
        (failures.GATE, "iNALU", {"g": 20.0}, FLAT),
        (failures.GATE, "NALU", {"G_add": 10.0}, FLAT),
        (failures.CORNER, NMU, {"W": [[1.0, 0.0]]}, FLAT),
        (failures.CORNER, REAL_NPU, {"W_real": [[1.0], [-1.0]], "g": 1.0}, FLAT),
        (failures.DENSE, NMU, {"W": [[0.5, 1.0]]}, FLAT),
    ],
)
def test_a_class(wanted, key, parameters, errors):
    assert classified(key, parameters, errors) == wanted


def test_a_run_that_fits_no_rule_stays_unclassified():
    layer = entries()[NMU].layer(2, 1)
    x = torch.rand(50, 2) + 1
    targets = FunctionTargets(get_operation("mul"), [(0, 1), (1, 2)])
    target = Target(targets, x, x[:, :1] * x[:, 1:], INTERVALS, Limit(1e-5))
    for errors, sparsity in ((FLAT, 0.0), (FLAT, math.nan), (FLAT[:0], 0.4)):
        assert failure(layer, target, errors, None, sparsity) == failures.UNCLASSIFIED
    assert failure(layer, target, FLAT, None, 0.4) == failures.DENSE


def test_a_curve_is_what_was_logged(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = {"max_iterations": 20, "log_interval": 10, "no_cuda": True}
    runs = sn.train("single_layer_benchmark", layer="NMU", **flags)
    steps, errors = curve(runs[0].folder)
    assert steps.tolist() == [0, 10, 20]
    logged = runs[0].table["metric.valid.interpolation"]
    assert errors.tolist() == pytest.approx(logged.tolist(), rel=1e-6)
