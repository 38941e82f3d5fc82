"""iNALU: published values, formula, limits, penalty, logged values."""

import math

import pytest
import torch

from stable_nalu.layer import INALULayer
from tests.layer_checks import Clipped, LayerChecks, Penalised, Published
from tests.layer_values import IN, OUT, X, observed, sigmoid

MATRICES = ("W_a_hat", "M_a_hat", "W_m_hat", "M_m_hat")
RAW = [[1.0], [-30.0]]


def saturated(inputs, gate):
    """A layer whose weights are all 1, with gate `gate`."""
    layer = INALULayer(inputs, 1)
    for name in MATRICES:
        getattr(layer, name).data.fill_(50.0)
    layer.g.data.fill_(gate)
    return layer


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

    def test_gate_chooses_between_sum_and_product(self):
        x = torch.tensor([[3.0, -4.0]])
        assert saturated(2, 50.0)(x).item() == pytest.approx(-1)
        assert saturated(2, -50.0)(x).item() == pytest.approx(-12)

    def test_product_is_limited_and_its_logarithm_too(self):
        layer = saturated(2, -200.0)
        assert layer(torch.tensor([[1e6, 1e6]])).item() == pytest.approx(math.exp(20))
        assert layer(torch.tensor([[1e-9, 2.0]])).item() == pytest.approx(2e-7)

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

    def test_intermediate_values_are_kept_on_request_only(self):
        layer = INALULayer(2, 1)
        layer(X)
        assert layer.trace is None
        assert {o.name for o in layer.observations()}.isdisjoint({"add", "mul", "sign"})
