"""NRU and the three NMRUs: formulas, zeros, noise, gates, penalties, ranges."""

import math
from dataclasses import replace
from typing import ClassVar

import pytest
import torch

from stable_nalu import layer as zoo
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published, Worked
from tests.layer_values import (
    IN,
    OUT,
    X,
    clamped,
    drawn_alike,
    draws,
    product,
    uniform,
    with_parameters,
)

EPS = 2.0**-23
AS_PUBLISHED = {"nac_oob": "clip", "regualizer_shape": "linear"}
DIV_MODES = ("div", "div-sepSign")


class TestNRU(LayerChecks):
    layer = zoo.ReciprocalNMULayer
    options = tuple({"nac_oob": "clip", "nru_div_mode": mode} for mode in DIV_MODES)
    weights = (-0.9, 0.9)
    start_options = ({}, {"beta_nau": True})
    refused = (({"nru_div_mode": "prod"}, "nru_div_mode"),)
    published = tuple(
        Published(train, evaluation, {"W": 0.389746}, AS_PUBLISHED | {"nru_div_mode": mode})
        for mode, train, evaluation in (
            ("div", [-0.65579, 0.887799], [0.324962, 0.996858]),
            ("div-sepSign", [0.65579, 0.887799], [0.859156, 0.996858]),
        )
    )
    _zero = {"W": [[-1.0, 1.0]]}, [[0.0, 2.0]]
    worked = (
        *(
            Worked({"W": [[-1.0, 1.0, 0.0]]}, [[4.0, -6.0, 7.0]], [-1.5], {"nru_div_mode": mode})
            for mode in DIV_MODES
        ),
        Worked(*_zero, [math.nan], {"nru_div_mode": "div"}, (True,)),
        Worked(*_zero, [math.inf], {"nru_div_mode": "div-sepSign"}, (True,)),
        Worked(
            {"W": [[-1.3, 1.5]]}, [[2.0, 3.0]], [3 * 2**-0.875], {"mnac_epsilon": 0.125}, (True,)
        ),
    )

    def formula(self, layer, row, o):
        apart = layer.nru_div_mode == "div-sepSign"
        mixed = sign = 1.0
        for v, W in zip(row, layer.W[o].tolist(), strict=True):
            A = math.tanh(1000 * W) ** 2 if layer.training else abs(W)
            power = abs(v) ** W
            mixed *= A * (power if apart else math.copysign(power, v)) + 1 - A
            sign *= math.copysign(1, v) ** round(W) if apart else 1
        return mixed * sign

    def start(self, **options):
        yield "W", zoo.NAULayer(IN, OUT, **options).W.data

    @pytest.mark.parametrize("mode", DIV_MODES)
    def test_small_weights_and_zeros(self, mode):
        """A weight of zero ignores an input of zero, and gets no gradient."""
        W, row = {"W": [[-1.0, 1.0, 3e-4]]}, [4.0, -6.0, 7.0]
        layer = with_parameters(self.layer, W, 3, nru_div_mode=mode).double()
        for training in (True, False):
            y = layer.train(training)(torch.tensor([row]).double()).item()
            assert y == pytest.approx(self.formula(layer, row, 0), rel=1e-9)
        layer = with_parameters(self.layer, {"W": [[0.0, 0.0]]}, nru_div_mode=mode)
        y = layer(torch.tensor([[0.0, -3.0]]))
        (gradient,) = torch.autograd.grad(y.sum(), [layer.W])
        assert (y.item(), gradient.tolist()) == (1, [[0, 0]])

    def test_trash_cell_is_added_in_training_only(self):
        layer = with_parameters(self.layer, {"W": [[1.0, 1.0]]}, trash_cell=True)
        layer.trash_cell.data = torch.tensor([2.5])
        x = torch.tensor([[2.0, 3.0]])
        assert layer(x).item() == pytest.approx(8.5)
        assert layer.eval()(x).item() == pytest.approx(6)
        layer.reset_parameters()
        assert layer.trash_cell.tolist() == [0]
        assert dict(self.layer(2, 1).named_parameters()).keys() == {"W"}


def with_weights(layer, values, **options):
    built = layer(len(values) // 2, 1, **options)
    built.W.data = torch.tensor([values])
    return built


def with_reciprocals(layer, row):
    return [*row, *(1 / (v + EPS * layer.training) for v in row)]


DISCRETE = Worked(
    {"W": [[1.0, 0.0, 0.0, 1.0]]},
    [[6.0, -4.0], [-6.0, -4.0], [-6.0, 4.0]],
    [-1.5, 1.5, -1.5],
    rel=1e-6,
)
"""Weights of the first half multiply and those of the second divide."""


class NMRUChecks(LayerChecks):
    """Of layers over inputs and their reciprocals: a product of magnitudes, and its sign."""

    options = ({"nac_oob": "clip"}, {"nac_oob": "regualized"})
    weights = (-0.3, 1.3)
    with_noise: ClassVar = {"nmu_noise": True}
    noise = (1, 5)
    worked = (DISCRETE,)

    def seen(self, layer, row):
        """What is multiplied, with its signs."""
        return with_reciprocals(layer, row)

    def factors(self, layer, row):
        return [abs(v) for v in self.seen(layer, row)]

    def sign(self, layer, row, o):
        """The cosine of a sum of angles, which takes the raw weight."""
        seen = zip(self.seen(layer, row), layer.W[o].tolist(), strict=True)
        return math.cos(sum(w * math.pi * (v < 0) for v, w in seen))

    def formula(self, layer, row, o):
        W = layer.W[o].tolist()
        W = W if layer.nac_oob == "clip" else clamped(W, 0, 1)
        return product(self.factors(layer, row), W) * self.sign(layer, row, o)

    def start(self):
        yield "W", uniform(0.25, 0.75, OUT, 2 * IN)

    def test_noise_acts_in_training_on_both_halves_and_is_undone(self):
        layer = with_weights(self.layer, [0.4, 0.7, 0.2, 0.9], **self.with_noise)
        noisy, noise = drawn_alike(lambda: layer(X), lambda: uniform(*self.noise, 2, 4).tolist())
        W = layer.W[0].tolist()
        for y, row, n in zip(noisy.flatten().tolist(), X.tolist(), noise, strict=True):
            scaled = [a * b for a, b in zip(self.factors(layer, row), n, strict=True)]
            expected = product(scaled, W) / product(n, W) * self.sign(layer, row, 0)
            assert y == pytest.approx(expected, rel=1e-5)
        assert not draws(lambda: layer.eval()(X))


class TestNMRU(NMRUChecks):
    layer = zoo.ConcatReciprocalNMULayer
    refused = (({"noise_range": (1, 5)}, "noise_range"),)
    published = (Published([0.0333036, 1.36116], None, {"W": 0.408374}, AS_PUBLISHED),)
    worked = (
        DISCRETE,
        Worked(DISCRETE.parameters, [[3.0, 0.0]], [3 / EPS], modes=(True,)),
        Worked(DISCRETE.parameters, [[3.0, 0.0]], [math.inf], modes=(False,)),
        Worked({"W": [[1.0, 0.0, 0.0, 0.0]]}, [[3.0, 0.0]], [math.nan], modes=(False,)),
    )

    def factors(self, layer, row):
        return with_reciprocals(layer, row)

    def sign(self, layer, row, o):
        return 1.0

    def test_normalised_product_divides_by_the_deviation_of_inputs_and_reciprocals(self):
        layer = with_weights(self.layer, [0.4, 0.7, 0.2, 0.9], mnac_normalized=True).eval()
        z = torch.cat((X, 1 / X), dim=1)
        c, W = z.std().item(), layer.W[0].tolist()
        expected = [product([v / c for v in row], W) * c ** sum(W) for row in z.tolist()]
        assert layer(X).flatten().tolist() == pytest.approx(expected, rel=1e-5)


class TestSignNMRU(NMRUChecks):
    layer = zoo.ConcatReciprocalNMUSignRetrievalLayer
    refused = (
        ({"mnac_normalized": True}, "mnac_normalized"),
        ({"nmu_noise": True, "noise_range": [1, 0]}, "SignNMRU draws noise"),
    )
    published = (Published([-0.688252, 1.36116], None, {"W": 0.408374}, AS_PUBLISHED),)
    with_noise: ClassVar = {"nmu_noise": True, "noise_range": [2, 3]}
    noise = (2, 3)


class TestGatedSignNMRU(NMRUChecks):
    """The gate scales its input before sign and magnitude are taken, and is not clamped here."""

    layer = zoo.ConcatReciprocalNMUGatedSignRetrievalLayer
    options = ({"nac_oob": "clip"},)
    weights = (-0.5, 1.5)
    published = (
        Published(
            [-0.192926, 0.374197],
            penalties={"W": 0.408374, "g-NPU": 0.5},
            options=AS_PUBLISHED | {"regualizer_gate": 1},
        ),
    )
    penalised = (
        Penalised(
            {"regualizer_gate": 1, "regualizer_shape": "none"},
            {"g": [-0.25, 0.9]},
            {"g-NPU": (0.25 + 0.1) / 2},
        ),
        Penalised({"regualizer_shape": "none"}, {"g": [-0.25, 0.9]}, {}),
    )
    clipped = (
        Clipped({"nac_oob": "clip"}, {"g": [-0.25, 1.25]}, {"g": [0.0, 1.0]}),
        Clipped({}, {"g": [-0.25, 1.25]}, {"g": [-0.25, 1.25]}),
    )
    worked = (
        replace(DISCRETE, parameters=DISCRETE.parameters | {"g": [1.0] * 4}),
        # A closed gate gives 0, not 1.
        Worked({"W": [[1.0, 0.0, 0.0, 0.0]], "g": [0.0, 1.0, 1.0, 1.0]}, [[3.0, 5.0]], [0.0]),
    )

    def seen(self, layer, row):
        gates = zip(with_reciprocals(layer, row), layer.g.tolist(), strict=True)
        return [g * v for v, g in gates]

    def start(self):
        yield from super().start()
        yield "g", torch.full((2 * IN,), 0.5)
