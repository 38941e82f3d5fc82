"""EML: both trees as a recursion over complex numbers, starts, and formulas it is known to have."""

import cmath
import itertools
import math

import pytest
import torch

from stable_nalu.layer import EMLLayer
from tests.layer_checks import LayerChecks
from tests.layer_values import IN, OUT, sigmoid, with_parameters


def softmax(logits):
    exps = [math.exp(v) for v in logits]
    return [e / sum(exps) for e in exps]


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
            mixed = logits and sum(p * t for p, t in zip(softmax(logits), terms, strict=True))
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


@pytest.mark.parametrize("depth", range(1, 9))
def test_free_parameters(depth):
    def count(tree, inputs):
        return sum(p.numel() for p in EMLLayer(inputs, 1, depth=depth, tree=tree).parameters())

    assert count("slots", 1) == 5 * 2**depth - 6
    assert count("slots", 2) == 7 * 2**depth - 8
    assert count("bottom", 2) == 5 * 2**depth - 2


def chosen(text, depth):
    """A layer of two inputs whose choices are a tree such as ("1", ("x", "1")), from the root."""
    layer = EMLLayer(2, 1, depth=depth, temperature=0.01).double()
    place = {"1": 0, "x": 1, "y": 2}
    with torch.no_grad():
        layer.leaves.fill_(-24.0)
        layer.nodes.fill_(-24.0)
        offsets = [0, *itertools.accumulate(2**level for level in range(depth - 1, 0, -1))]

        def put(tree, level, k):
            for side in (0, 1):
                slot, part = 2 * k + side, tree[side]
                if level == depth:
                    layer.leaves[0, slot, place[part]] = 24.0
                    continue
                index = offsets[depth - 1 - level] + slot
                layer.nodes[0, index, place.get(part, 3) if isinstance(part, str) else 3] = 24.0
                put(part if not isinstance(part, str) else ("1", "1"), level + 1, slot)

        put(text, 1, 0)
    return layer


LN_X = ("1", (("1", "x"), "1"))


@pytest.mark.parametrize(
    ("tree", "depth", "expected"),
    [
        (("x", "1"), 1, math.exp),
        (LN_X, 3, math.log),
        (("x", "y"), 2, lambda x: math.exp(x) - math.log(3.5)),
    ],
    ids=["exp", "ln", "exp - ln"],
)
def test_known_formulas(tree, depth, expected):
    layer = chosen(tree, depth)
    for x in (0.5, 1.0, 4.0):
        y = layer(torch.tensor([[x, 3.5]]).double()).item()
        assert y == pytest.approx(expected(x), rel=1e-12, abs=1e-12)


def test_a_product_is_a_tree_of_depth_8():
    """eml(eml(1, eml(eml(eml(1, eml(eml(1, eml(1, x)), 1)), y), 1)), 1), with negative numbers."""
    inner = ("1", (("1", ("1", "x")), "1"))
    layer = chosen((("1", ((inner, "y"), "1")), "1"), 8)
    for x, y in ((2.0, 3.0), (0.25, 8.0), (-2.0, 3.0), (-1.5, -4.0)):
        found = layer(torch.tensor([[x, y]]).double()).item()
        assert found == pytest.approx(x * y, rel=1e-9)


def test_a_tree_in_words_and_snapped():
    layer = chosen(LN_X, 3)
    assert layer.expression(("x", "y")).startswith("eml(1, eml(eml(1, x)")
    layer.leaves.data *= 0.1
    before = layer.expression(("x", "y"))
    layer.snap()
    assert layer.expression(("x", "y")) == before
    assert set(layer.leaves.flatten().tolist()) == {24.0, -24.0}


def test_the_penalty_is_the_mean_square_of_the_imaginary_part():
    layer = with_parameters(EMLLayer, {}, depth=1, regualizer_z=1).double()
    x = torch.tensor([[-2.0, -3.0], [-4.0, -1.0]]).double()
    layer.leaves.data = torch.tensor([[[-50.0, 50, -50], [-50, -50, 50]]]).double()
    layer(x)
    assert layer.regualizer()["z"].item() == pytest.approx(math.pi**2)


def test_gradients_stay_finite_where_numbers_overflow():
    x = torch.tensor([[900.0, 0.0], [-900.0, 1e30]], requires_grad=True)
    layer = EMLLayer(2, 1, depth=4)
    y = layer(x)
    y.sum().backward()
    assert torch.isfinite(y).all()
