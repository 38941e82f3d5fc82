"""MCFC and the three MulMCFCs: formulas, conservation, signs, draws, penalties, tags."""

import math
from dataclasses import replace

import pytest
import torch

from stable_nalu.layer import MCFullyConnected, MulMCFC, MulMCFCSignINALU, MulMCFCSignRealNPU
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published, Worked
from tests.layer_values import IN, OUT, X, dot, randomised, uniform
from tests.runs import normal

OPEN = {"mcfc.out_gate.fc.weight": [[1.0]], "mcfc.out_gate.fc.bias": [50.0]}
SIGNED = Worked(OPEN, [[3.0, -5.0], [-3.0, -5.0]], [-15.0, 15.0])
"""Open gates multiply."""


def gate_and_shares(layer, o):
    """c_o and the shares of all inputs that go to an output."""
    fc = layer.out_gate.fc
    gate = 1 / (1 + math.exp(-fc.weight[o, 0].item() - fc.bias[o].item()))
    exponentials = [[math.exp(v) for v in logits] for logits in layer.junction.r.tolist()]
    return gate, [row[o] / sum(row) for row in exponentials]


def draw_gate_and_junction(inputs, outputs):
    gate = torch.nn.init.orthogonal_(torch.empty(outputs, 1))
    if inputs == outputs:
        return gate, torch.eye(inputs)
    return gate, torch.nn.init.orthogonal_(torch.empty(inputs, outputs))


def start_of_mcfc(inputs, outputs):
    """The constructor draws before the initialisation."""
    uniform(-1, 1, outputs, 1), uniform(-1, 1, outputs)
    draw_gate_and_junction(inputs, outputs)
    gate, r = draw_gate_and_junction(inputs, outputs)
    yield "out_gate.fc.weight", gate
    yield "out_gate.fc.bias", torch.zeros(outputs)
    yield "junction.r", r


class TestMCFC(LayerChecks):
    layer = MCFullyConnected
    published = (Published([-0.134471, 0.941295], penalties={"W": -1.5}),)
    penalised = (
        Penalised(
            {},
            {
                "junction.r": [[1.0, -2.0], [3.0, 0.0]],
                "out_gate.fc.weight": [[2.0], [4.0]],
                "out_gate.fc.bias": [1.0, 0.0],
            },
            {"W": -14 / 4 - 20 / 2 - 1 / 2},
        ),
    )

    def formula(self, layer, row, o):
        gate, shares = gate_and_shares(layer, o)
        return gate * dot(shares, row)

    def start(self):
        yield from start_of_mcfc(IN, OUT)

    def test_open_gates_conserve_the_sum_of_the_inputs(self):
        layer = randomised(MCFullyConnected(3, 2), -1.5, 1.5)
        layer.out_gate.fc.bias.data.fill_(50.0)
        x = normal(6, 3)
        torch.testing.assert_close(layer(x).sum(-1), x.sum(-1))


class MulMCFCChecks(LayerChecks):
    """A subclass says what becomes of signs."""

    worked = (SIGNED,)

    def sign(self, layer, row, shares):
        return 1.0

    def formula(self, layer, row, o):
        gate, shares = gate_and_shares(layer.mcfc, o)
        log = dot(shares, (math.log(abs(v)) for v in row))
        return math.exp(layer.bias[o].item() + gate * log) * self.sign(layer, row, shares)

    def start(self):
        yield from ((f"mcfc.{name}", value) for name, value in start_of_mcfc(IN, OUT))
        yield "bias", torch.zeros(OUT)


class TestMulMCFC(MulMCFCChecks):
    layer = MulMCFC
    positive = True
    worked = (Worked(OPEN, [[3.0, 5.0], [-1.0, 2.0], [0.0, 2.0]], [15.0, math.nan, 0.0]),)
    published = (Published([1.34375, 1.11521], penalties={"W": -1.5}, x=X.abs()),)


class TestMulMCFCSignINALU(MulMCFCChecks):
    layer = MulMCFCSignINALU
    published = (Published([-1.34375, 1.11521], penalties={"W": -1.5}),)

    def sign(self, layer, row, shares):
        mixed = zip(shares, row, strict=True)
        return math.prod(share * math.copysign(1, v) + 1 - share for share, v in mixed)


class TestMulMCFCSignRealNPU(MulMCFCChecks):
    layer = MulMCFCSignRealNPU
    worked = (replace(SIGNED, parameters=OPEN | {"g": [1.0, 1.4]}),)
    penalised = (
        Penalised({}, {"mcfc.out_gate.fc.weight": [[1.0]]}, {"W": -1.5}),
        Penalised(
            {"regualizer_gate": 1},
            {
                "g": [-0.25, 1.4],
                "mcfc.junction.r": [[0.0], [0.0]],
                "mcfc.out_gate.fc.weight": [[1.0]],
            },
            {"g-NPU": (0.25 + 0.4) / 2, "W": -1.0},
        ),
    )
    clipped = (Clipped({}, {"g": [-0.25, 1.5]}, {"g": [-0.25, 1.5]}),)

    def sign(self, layer, row, shares):
        gates = [min(max(g, 0), 1) for g in layer.g.tolist()]
        of_inputs = zip(shares, gates, row, strict=True)
        return math.cos(sum(share * gate * math.pi * (v < 0) for share, gate, v in of_inputs))

    def start(self):
        yield from super().start()
        yield "g", torch.full((IN,), 0.5)

    def test_published_values(self):
        torch.manual_seed(0)
        layer = MulMCFCSignRealNPU(2, 1, regualizer_gate=1)
        layer.reset_parameters()
        # The cosine of a rounded pi / 2 is not zero: it is published as it comes out.
        assert layer(X)[0].item() == pytest.approx(-5.87e-8, rel=1e-3)
        assert layer.regualizer()["g-NPU"].item() == 0.5
        layer.g.data.fill_(0.0)
        assert layer(X).flatten().tolist() == pytest.approx([1.34375, 1.11521], rel=5e-6)
        assert layer.regualizer()["W"].item() == pytest.approx(-1.5)
