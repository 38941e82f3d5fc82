"""Gated NAU/NMU: formula, options of both layers, penalties."""

import math

import pytest
import torch

from stable_nalu.layer import (
    GatedNAUNMULayer,
    GeneralizedLayer,
    NAULayer,
    NMULayer,
    ReRegualizedLinearNALULayer,
)

PUBLISHED_USE = {"nalu_two_nac": True, "nalu_mul": "mnac"}


def test_original_class_name():
    assert ReRegualizedLinearNALULayer is GatedNAUNMULayer


def test_output_is_the_formula():
    torch.manual_seed(1)
    layer = GatedNAUNMULayer(4, 3, **PUBLISHED_USE).double()
    x = torch.randn(5, 4, dtype=torch.float64)
    y = layer(x)
    for b, row in enumerate(x.tolist()):
        for o in range(3):
            g = 1 / (1 + math.exp(-sum(layer.G_add[o, i].item() * row[i] for i in range(4))))
            a = sum(layer.nac_add.W[o, i].item() * row[i] for i in range(4))
            m = 1.0
            for i in range(4):
                w = layer.nac_mul.W[o, i].item()
                m *= w * row[i] + 1 - w
            assert y[b, o].item() == pytest.approx(g * a + (1 - g) * m, rel=1e-10)


def test_shared_nau_multiplies_in_log_space_with_its_clamped_weight():
    layer = GatedNAUNMULayer(2, 1)
    layer.nac_add.W.data = torch.tensor([[1.7, -0.5]])
    m = layer.multiply(torch.tensor([[-3.0, 4.0]]))
    assert m.item() == pytest.approx(3 * 4**-0.5, rel=1e-5)


def test_draws_nau_then_nmu_then_gate():
    torch.manual_seed(2)
    layer = GatedNAUNMULayer(4, 3, **PUBLISHED_USE)
    torch.manual_seed(2)
    bound = math.sqrt(6 / 7)
    assert torch.equal(layer.nac_add.W.data, torch.empty(3, 4).uniform_(-0.5, 0.5))
    assert torch.equal(layer.nac_mul.W.data, torch.empty(3, 4).uniform_(0.25, 0.75))
    assert torch.equal(layer.G_add.data, torch.empty(3, 4).uniform_(-bound, bound))


def test_options_reach_the_child_that_reads_them():
    options = PUBLISHED_USE | {"nau_noise": True, "nmu_noise": True, "nac_oob": "clip"}
    layer = GeneralizedLayer(2, 1, "ReRegualizedLinearNALU", **options).layer
    assert isinstance(layer.nac_add, NAULayer)
    assert isinstance(layer.nac_mul, NMULayer)
    assert layer.nac_add.nau_noise
    assert layer.nac_mul.nmu_noise
    assert layer.nac_add.nac_oob == layer.nac_mul.nac_oob == "clip"


def test_penalties_of_both_layers_are_added_and_both_are_clipped():
    layer = GatedNAUNMULayer(2, 1, **PUBLISHED_USE, nac_oob="clip", regualizer_shape="linear")
    layer.nac_add.W.data = torch.tensor([[-1.25, 0.5]])
    layer.nac_mul.W.data = torch.tensor([[-0.25, 0.875]])
    expected = (0.25 + 0.5) / 2 + (0.25 + 0.125) / 2
    assert layer.regualizer()["W"].item() == pytest.approx(expected, rel=1e-6)
    layer.optimize(torch.tensor(0.0))
    assert layer.nac_add.W.tolist() == [[-1.0, 0.5]]
    assert layer.nac_mul.W.tolist() == [[0.0, 0.875]]
