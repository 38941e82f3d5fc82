"""iNALU: published values, formula, limits, penalty, logged values.

DMU: formula, what is given and what is learned, and what its published rates can do.
"""

import math

import pytest
import torch

from stable_nalu.layer import DMULayer, INALULayer
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published, Worked
from tests.layer_values import IN, OUT, X, observed, sigmoid, with_parameters

MATRICES = ("W_a_hat", "M_a_hat", "W_m_hat", "M_m_hat")
RAW = [[1.0], [-30.0]]


class TestINALU(LayerChecks):
    layer = INALULayer
    published = (
        Published(
            {
                "W_a_hat": [0.799331, 0.760673],
                "M_a_hat": [0.536407, 0.328665],
                "W_m_hat": [1.10012, 0.665763],
                "M_m_hat": [0.52454, 0.386737],
                "g": [0.0746229],
            },
            [0.169032, 1.18607],
            penalties={"inalu": 97.3743},
        ),
    )
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
    clipped = (Clipped({}, dict.fromkeys(MATRICES, RAW), dict.fromkeys(MATRICES, RAW)),)
    worked = tuple(
        Worked(dict.fromkeys(MATRICES, [[50.0], [50.0]]) | {"g": [gate]}, [x], [y])
        for gate, x, y in (
            (50.0, [3.0, -4.0], -1.0),
            (-50.0, [3.0, -4.0], -12.0),
            # The logarithm of a product is limited, and that of an input.
            (-200.0, [1e6, 1e6], math.exp(20)),
            (-200.0, [1e-9, 2.0], 2e-7),
        )
    )

    def formula(self, layer, row, o):
        def effective(kind, i):
            W, M = (getattr(layer, f"{n}_{kind}_hat")[i, o].item() for n in "WM")
            return math.tanh(W) * sigmoid(M)

        gate = sigmoid(layer.g[o].item())
        add = sum(effective("a", i) * v for i, v in enumerate(row))
        log = sum(effective("m", i) * math.log(max(abs(v), 1e-7)) for i, v in enumerate(row))
        sign = 1.0
        for i, v in enumerate(row):
            mixed = abs(effective("m", i))
            sign *= mixed * ((v > 0) - (v < 0)) + 1 - mixed
        return gate * add + (1 - gate) * math.exp(min(log, 20)) * sign

    def start(self):
        for name, mean in zip(MATRICES, (0.88, 0.5, 0.88, 0.5), strict=True):
            yield name, torch.empty(IN, OUT).normal_(mean, 0.2)
        yield "g", torch.empty(OUT).normal_(0, 0.2)

    def test_inputs_of_zero_and_next_to_it(self):
        layer, row = INALULayer(3, 2).double(), [0.0, 1e-9, -2.0]
        expected = [self.formula(layer, row, o) for o in range(2)]
        assert layer(torch.tensor([row]).double())[0].tolist() == pytest.approx(expected, rel=1e-9)

    def test_the_penalty_has_its_gradient(self):
        layer = INALULayer(2, 2)
        layer.W_a_hat.data = torch.tensor([[1.0, -2.0], [25.0, -30.0]])
        layer.g.data = torch.tensor([4.0, -21.0])
        gradients = torch.autograd.grad(layer.regualizer()["inalu"], [layer.W_a_hat, layer.g])
        assert gradients[0].tolist() == [[-0.25, 0.25], [0, 0]]
        assert gradients[1].tolist() == [-0.5, 0]

    def test_values_that_are_logged(self):
        torch.manual_seed(0)
        layer = INALULayer(2, 1)
        layer(X)
        assert layer.trace is None
        values = observed(layer)
        gate = sigmoid(layer.g.item())
        assert torch.equal(values["tensor", "gate"], layer.g)
        assert values["histogram", "gate"].item() == pytest.approx(gate)
        assert values["scalar", "gate/mean"].item() == pytest.approx(gate)
        error = min(gate, 1 - gate)
        assert values["scalar", "gate/sparsity_error"].item() == pytest.approx(error)
        errors = [values["scalar", f"{name}/sparsity_error"].item() for name in ("W_a", "W_m")]
        assert values["scalar", "W/sparsity_error"].item() == pytest.approx(sum(errors) / 2)
        torch.testing.assert_close(values["histogram", "add"], X @ layer.add_weights())
        assert values["histogram", "sign"][1].item() == pytest.approx(1)
        y = gate * values["histogram", "add"]
        y = y + (1 - gate) * values["histogram", "mul"] * values["histogram", "sign"]
        torch.testing.assert_close(layer(X), y)


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
        R = sum(w * v for w, v in zip(W, row, strict=True))
        Q = clip(sum(w * math.log(max(abs(v), 1e-11)) for w, v in zip(W, row, strict=True)))
        turns = sum(abs(w) for w, v in zip(W, row, strict=True) if v < 0)
        sign = g * math.tanh(R / 1e-4) + (1 - g) * math.cos(math.pi * turns)
        return sign * math.exp(clip(g * math.log(math.sqrt(R * R + 1e-8)) + (1 - g) * Q))

    def start(self):
        yield "W", torch.full((OUT, 4), 0.5)
        yield "G", torch.zeros(OUT, 2)


def test_the_gate_of_two_numbers_is_that_of_their_difference():
    layer = with_parameters(DMULayer, {"G": [[0.03, -0.03]]}, operands="add").double()
    assert layer.gate().item() == pytest.approx(sigmoid(0.6))
    assert observed(layer, torch.ones(1, 2).double())[
        "scalar", "W/sparsity_error"
    ].item() == pytest.approx(1 - sigmoid(0.6))
