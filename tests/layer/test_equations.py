"""EML: both trees as a recursion over complex numbers, starts, and formulas it is known to have.

EQL and EQL-division: formulas, phases, and what a step holds at zero.
"""

import cmath
import itertools
import math

import pytest
import torch

from stable_nalu.layer import EMLLayer, EQLDivLayer, EQLLayer
from tests.layer_checks import LayerChecks
from tests.layer_values import IN, OUT, dot, sigmoid, softmax, with_parameters


class TestEML(LayerChecks):
    layer = EMLLayer
    options = (
        {},
        {"depth": 1},
        {"depth": 3, "temperature": 2.5},
        {"depth": 3, "tree": "bottom", "temperature": 2.5},
    )
    start_options = ({}, {"depth": 3, "init": "xy_biased"}, {"tree": "bottom", "init": "uniform"})
    refused = (
        ({"depth": 0}, "depth has to be from 1"),
        ({"tree": "binary"}, "tree 'binary' is not one of slots, bottom"),
        ({"init": "cold"}, "init 'cold' is not one of normal"),
    )

    def formula(self, layer, row, o):
        T, depth = layer.temperature, layer.depth
        terms = [1.0, *row]
        offset = dict(zip(range(depth, 0, -1), [0] * depth, strict=True))
        used = 0
        for level in range(depth, 0, -1):
            offset[level] = used
            if layer.tree == "bottom" or level < depth:
                used += 2**level

        def operand(level, k):
            """The input k of the nodes of which there are 2^level inputs."""
            logits = [v / T for v in layer.leaves[o, k].tolist()] if level == depth else None
            mixed = logits and dot(terms, softmax(logits))
            if layer.tree == "bottom":
                s = sigmoid(layer.nodes[o, offset[level] + k].item() / T)
                return s + (1 - s) * (node(level + 1, k) if mixed is None else mixed)
            if mixed is not None:
                return complex(mixed)
            p = softmax([v / T for v in layer.nodes[o, offset[level] + k].tolist()])
            known = sum(share * t for share, t in zip(p, terms, strict=False))
            return known + p[-1] * node(level + 1, k)

        def node(level, k):
            return cmath.exp(operand(level, 2 * k)) - cmath.log(operand(level, 2 * k + 1))

        return node(1, 0).real

    def start(self, depth=2, tree="slots", init="normal"):
        leaves = torch.empty(OUT, 2**depth, IN + 1).normal_()
        leaves[..., 1:] += init == "xy_biased"
        yield "leaves", leaves
        size = (2**depth - 2, IN + 2) if tree == "slots" else (2 * (2**depth - 1),)
        nodes = torch.empty(OUT, *size).normal_()
        yield "nodes", nodes + 4 if tree == "bottom" and init != "normal" else nodes


def chosen(text, depth):
    """A layer of two inputs whose choices are a tree such as ("1", ("x", "1")), from the root."""
    layer = EMLLayer(2, 1, depth=depth, temperature=0.01).double()
    layer.leaves.data.fill_(-24.0)
    layer.nodes.data.fill_(-24.0)
    offsets = [0, *itertools.accumulate(2**level for level in range(depth - 1, 0, -1))]

    def put(tree, level, k):
        for slot, part in enumerate(tree, start=2 * k):
            place = "1xy".index(part) if isinstance(part, str) else 3
            if level == depth:
                layer.leaves.data[0, slot, place] = 24.0
                continue
            layer.nodes.data[0, offsets[depth - 1 - level] + slot, place] = 24.0
            put(part if place == 3 else ("1", "1"), level + 1, slot)

    put(text, 1, 0)
    return layer


LN_X = ("1", (("1", "x"), "1"))


def test_known_formulas():
    for tree, depth, expected in (
        (("x", "1"), 1, math.exp),
        (LN_X, 3, math.log),
        (("x", "y"), 2, lambda x: math.exp(x) - math.log(3.5)),
    ):
        x = torch.tensor([[0.5, 3.5], [1.0, 3.5], [4.0, 3.5]]).double()
        right = [expected(v) for v in x[:, 0].tolist()]
        y = chosen(tree, depth)(x).flatten().tolist()
        assert y == pytest.approx(right, rel=1e-12, abs=1e-12)


def test_the_penalty_is_the_mean_square_of_the_imaginary_part():
    layer = with_parameters(EMLLayer, {}, depth=1, regualizer_z=1).double()
    x = torch.tensor([[-2.0, -3.0], [-4.0, -1.0]]).double()
    layer.leaves.data = torch.tensor([[[-50.0, 50, -50], [-50, -50, 50]]]).double()
    layer(x)
    assert layer.regualizer()["z"].item() == pytest.approx(math.pi**2)


def test_outputs_stay_finite_where_numbers_overflow():
    x = torch.tensor([[900.0, 0.0], [-900.0, 1e30]], requires_grad=True)
    y = EMLLayer(2, 1, depth=4)(x)
    y.sum().backward()
    assert torch.isfinite(y).all()


def columns(layer, row):
    """The last columns, number by number."""
    w, h = layer.width, row
    for number in range(1, layer.layers + 1):
        W, b = (layer.get_parameter(f"{kind}{number}").tolist() for kind in "Wb")
        z = [dot(h, own) + c for own, c in zip(W, b, strict=True)]
        h = z[:w] + [math.sin(v) for v in z[w : 2 * w]] + [math.cos(v) for v in z[2 * w : 3 * w]]
        h += [a * b for a, b in zip(z[3 * w : 4 * w], z[4 * w :], strict=False)]
        h += [1 / (1 + math.exp(-v)) for v in z[5 * w :]]
    return z


class TestEQL(LayerChecks):
    layer = EQLLayer
    options = ({}, {"layers": 3, "width": 2}, {"layers": 3, "width": 2, "sigmoids": True})
    refused = (
        ({"layers": 1}, "layers has to be from 2 to 9"),
        ({"width": 0}, "width and iterations at least 1"),
        ({"l1": math.nan}, "l1 has to be a number from 0"),
    )

    def formula(self, layer, row, o):
        return columns(layer, row)[o]

    def start(self):
        yield "W1", torch.randn(50, IN) * (50 + IN) ** -0.5
        yield "W2", torch.randn(OUT, 40) * (40 + OUT) ** -0.5
        yield "b1", torch.zeros(50)


class TestEQLDiv(LayerChecks):
    layer = EQLDivLayer
    options = ({"width": 3}, {"layers": 3, "width": 2, "epoch": 1})
    weights = (-0.9, 1.5)
    refused = (({"epoch": 0}, "epoch has to be at least 1"),)

    def formula(self, layer, row, o):
        z = columns(layer, row)
        a, b = z[o], z[layer.out_features + o]
        least = (layer.tau.item() / layer.epoch + 1) ** -0.5 if layer.training else 1e-4
        return a / b if b > least else 0.0

    def start(self):
        yield "W1", torch.randn(50, IN) * (50 + IN) ** -0.5
        yield "W2", torch.randn(2 * OUT, 40) * (40 + 2 * OUT) ** -0.5
        yield "b2", torch.ones(2 * OUT)


@pytest.mark.parametrize(("iteration", "counts"), [(0, 0), (249, 0), (250, 1), (949, 1), (950, 0)])
def test_the_penalty_is_in_force_in_the_second_phase(iteration, counts):
    layer = EQLLayer(2, 1, iterations=1000, l1=0.01).double()
    layer.set_parameter("tau", layer.tau_at(iteration))
    total = sum(W.abs().sum() for name, W in layer.named_parameters() if name[0] == "W")
    assert layer.regualizer()["g"].item() == pytest.approx(counts * 0.01 * total.item())


def test_small_weights_are_held_at_zero_in_the_last_phase():
    layer = EQLLayer(2, 1, iterations=1000)
    layer.W2.data[0, :3] = torch.tensor([9e-4, -9e-4, 1.1e-3])
    kept = layer.W2.detach().clone()
    for tau, expected in ((949, kept[0, :3].tolist()), (950, [0, 0, kept[0, 2].item()])):
        layer.set_parameter("tau", tau)
        assert layer.weights(layer.W2)[0, :3].tolist() == expected
        layer.optimize(torch.zeros(()))
        assert layer.W2[0, :3].tolist() == expected
    layer(torch.ones(5, 2)).sum().backward()
    assert layer.W2.grad[0, :2].tolist() == [0, 0]


@pytest.mark.parametrize("sigmoids", [False, True])
def test_active_units_are_counted_by_the_product_of_their_weights(sigmoids):
    layer = EQLLayer(2, 1, width=2, sigmoids=sigmoids)
    for W in layer.matrices():
        W.data.zero_()
    layer.W1.data[[0, 2, 9]] = torch.tensor([0.3, 0.4])
    layer.W2.data[0, [0, 1, 2, 7]] = torch.tensor([0.1, 9.0, 0.01, -0.03])
    # An identity, and a product by one of its columns; one sine is too weak, one identity unused.
    assert layer.active_units().item() == 2
    if sigmoids:
        layer.W1.data[10, 0] = layer.W2.data[0, 8] = 1
        assert layer.active_units().item() == 3


def test_divisors_below_the_least_one_are_penalised_in_training():
    layer = EQLDivLayer(2, 1, epoch=10, l1=0)
    for W in (layer.W1, layer.W2):
        W.data.zero_()
    layer.b2.data[:] = torch.tensor([6.0, 0.25])
    layer.set_parameter("tau", 30)
    x = torch.ones(4, 2)
    assert layer(x).tolist() == [[0.0]] * 4
    assert layer.regualizer()["g"].item() == pytest.approx(4 * 0.25)
    assert layer.eval()(x).tolist() == [[24.0]] * 4
    assert layer.regualizer()["g"].item() == 0
