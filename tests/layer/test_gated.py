"""iNALU, DMU and NSR: formulas, limits, penalties, start values, logged values."""

import math

import pytest
import torch

from stable_nalu.layer import DMULayer, INALULayer, NSRLayer
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published, Worked
from tests.layer_values import IN, OUT, dot, sigmoid, softmax, with_parameters

MATRICES = ("W_a_hat", "M_a_hat", "W_m_hat", "M_m_hat")
RAW = dict.fromkeys(MATRICES, [[1.0], [-30.0]])


class TestINALU(LayerChecks):
    layer = INALULayer
    published = (Published([0.169032, 1.18607], penalties={"inalu": 97.3743}),)
    penalised = (
        Penalised(
            {},
            {
                "W_a_hat": [[1.0], [-2.0]],
                "M_a_hat": [[25.0], [-30.0]],
                "W_m_hat": [[3.0], [21.0]],
                "M_m_hat": [[4.0], [0.0]],
                "g": [-21.0],
            },
            {"inalu": (19 + 18) / 2 + 0 + 17 / 2 + (16 + 20) / 2 + 0},
        ),
    )
    clipped = (Clipped({}, RAW, RAW),)
    worked = tuple(
        Worked(dict.fromkeys(MATRICES, [[50.0], [50.0]]) | {"g": [gate]}, [x], [y])
        for gate, x, y in (
            (50.0, [3.0, -4.0], -1.0),
            (-50.0, [3.0, -4.0], -12.0),
            # The logarithm of a product is limited, and that of an input.
            (-200.0, [1e6, 1e6], math.exp(20)),
            (-200.0, [1e-9, 2.0], 2e-7),
            (-200.0, [0.0, 2.0], 0.0),
        )
    )

    def formula(self, layer, row, o):
        def effective(kind):
            W, M = (getattr(layer, f"{n}_{kind}_hat")[:, o].tolist() for n in "WM")
            return [math.tanh(w) * sigmoid(m) for w, m in zip(W, M, strict=True)]

        gate, W = sigmoid(layer.g[o].item()), effective("m")
        log = dot(W, (math.log(max(abs(v), 1e-7)) for v in row))
        signs = (abs(w) * math.copysign(1, v) + 1 - abs(w) for w, v in zip(W, row, strict=True))
        multiplied = math.exp(min(log, 20)) * math.prod(signs)
        return gate * dot(effective("a"), row) + (1 - gate) * multiplied

    def start(self):
        for name, mean in zip(MATRICES, (0.88, 0.5, 0.88, 0.5), strict=True):
            yield name, torch.empty(IN, OUT).normal_(mean, 0.2)
        yield "g", torch.empty(OUT).normal_(0, 0.2)


def test_an_inalu_with_shared_weights_multiplies_by_those_of_its_sum():
    own = {"W_a_hat": [[0.3], [-2.0]], "M_a_hat": [[1.0], [3.0]], "g": [0.4]}
    shared = with_parameters(INALULayer, own, shared_weights=True)
    twice = own | {"W_m_hat": own["W_a_hat"], "M_m_hat": own["M_a_hat"]}
    separate = with_parameters(INALULayer, twice)
    x = torch.tensor([[2.0, -3.0], [-0.5, 0.1]])
    torch.testing.assert_close(shared(x), separate(x))
    assert [name for name, _ in shared.named_parameters()] == [*own]
    assert shared.rounded().mul_weights().ravel().tolist() == [0, -1]


L = math.log(1e6) - 1


def clip(value):
    return min(max(value, -L), L)


class TestDMU(LayerChecks):
    layer = DMULayer
    options = (
        {},
        {"temperature": 1.0, "operands": "sub"},
        {"single_gate": True, "temperature": 0.5, "operands": "add"},
        {"gate_smoothing": 1e-5},
    )
    refused = (
        ({"operands": "mul"}, "operands 'mul' is not one of learned, add, sub"),
        ({"temperature": 0}, "temperature has to be above 0"),
        ({"gate_smoothing": 0.5}, "gate_smoothing from 0 to 0.5"),
    )
    worked = tuple(
        Worked({"G": [[raised, -raised]]}, [x], [y], {"operands": operands}, rel=rel)
        for operands, raised, x, y, rel in (
            ("add", 5.0, [2.0, -3.0], -1 - 5e-9, 1e-9),
            ("add", -5.0, [2.0, -3.0], -6.0, 1e-9),
            ("sub", 5.0, [2.0, -3.0], 5 + 1e-9, 1e-9),
            ("sub", -5.0, [2.0, -3.0], -2 / 3, 1e-9),
            # A difference next to zero is scaled down, and larger numbers are out of reach.
            ("sub", 5.0, [1.00001, 1.0], 1.005e-4 * math.tanh(0.1), 1e-2),
            ("add", -5.0, [1e4, 1e4], 1e6 / math.e, 1e-6),
            ("add", 5.0, [1e6, 1e6], 1e6 / math.e, 1e-6),
            ("add", 0.0, [1e4, 1e4], math.sqrt(2e4 * 1e6 / math.e), 1e-6),
        )
    )

    def formula(self, layer, row, o):
        W, G, c = layer.W[o].tolist(), layer.G[o], layer.gate_smoothing
        raised = G.item() if layer.single_gate else (G[0] - G[1]).item()
        g = c + (1 - 2 * c) * sigmoid(raised / layer.temperature)
        R = dot(W, row)
        Q = clip(dot(W, (math.log(max(abs(v), 1e-11)) for v in row)))
        turns = sum(abs(w) for w, v in zip(W, row, strict=True) if v < 0)
        sign = g * math.tanh(R / 1e-4) + (1 - g) * math.cos(math.pi * turns)
        return sign * math.exp(clip(g * math.log(math.sqrt(R * R + 1e-8)) + (1 - g) * Q))

    def start(self):
        yield "W", torch.full((OUT, 4), 0.5)
        yield "G", torch.zeros(OUT, 2)


COMPARING = {"V": [[[50.0], [-50.0]]], "U": [[[-50.0], [50.0]]]}
"""Weights of the first input less the second."""


class TestNSR(LayerChecks):
    layer = NSRLayer
    options = ({}, {"copies": 1, "z": 0.25})
    start_options = ({}, {"copies": 2})
    refused = (({"copies": 0}, "copies has to be"), ({"z": 0.0}, "z above 0"))

    def formula(self, layer, row, o):
        total = layer.b[o].item()
        for k in range(layer.copies):
            first, second = (dot(row, softmax(m[o, :, k].tolist())) for m in (layer.V, layer.U))
            S = math.tanh(layer.z * (first - second))
            total += layer.w[o, k].item() * S + layer.u[o, k].item() * (1 - 2 * S**2)
        return sigmoid(total)

    def start(self, copies=10):
        for name in "VU":
            std = math.sqrt(2 / (IN + copies))
            yield name, torch.empty(OUT, IN, copies).normal_(0, std)
        for name in "wu":
            yield name, torch.empty(OUT, copies).normal_(0, math.sqrt(2 / (copies + 1)))
        yield "b", torch.zeros(OUT)

    @pytest.mark.parametrize(
        ("w", "u", "b", "expected"),
        [(20, 0, 0, (0, 0.5, 1)), (20, 10, 0, (0, 1, 1)), (0, -20, 0, (1, 0, 1))],
        ids=["greater", "greater or equal", "not equal"],
    )
    def test_bits_make_every_comparison(self, w, u, b, expected):
        bits = {"w": [[float(w)]], "u": [[float(u)]], "b": [float(b)]}
        layer = with_parameters(NSRLayer, COMPARING | bits, copies=1).double()
        x = torch.tensor([[7, 12], [1e15, 1e15], [1e15 + 3, 1e15]], dtype=torch.float64)
        assert layer(x).flatten().tolist() == pytest.approx(expected, abs=1e-4)
