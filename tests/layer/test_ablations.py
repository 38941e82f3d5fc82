"""Layers that leave something out of NAC, NAU and NMU: formulas, draws, penalties, ranges."""

import math

import pytest
import torch

from stable_nalu import layer as zoo
from stable_nalu.abstract import stack_models
from stable_nalu.network import SimpleFunctionStaticNetwork
from tests.layer.test_nac import TestNAC as OfNAC
from tests.layer_checks import Clipped, LayerChecks, Penalised
from tests.layer_values import (
    IN,
    OUT,
    X,
    clamped,
    dot,
    drawn_alike,
    product,
    uniform,
    with_parameters,
)
from tests.runs import in_runs, normal

FREE = {"W": [[1.75, -0.25]]}


class TestLinearNAC(LayerChecks):
    layer = zoo.LinearNACLayer
    penalised = (Penalised({}, FREE, {}),)
    clipped = (Clipped({}, FREE, FREE),)

    def formula(self, layer, row, o):
        return dot(row, layer.W[o].tolist())

    def start(self):
        yield "W", uniform(-math.sqrt(6 / 7), math.sqrt(6 / 7))


class TestRegualizedLinearNAC(TestLinearNAC):
    layer = zoo.RegualizedLinearNACLayer
    penalised = tuple(
        Penalised(options, {"W": [[0.25, -0.75, 1.5]]}, penalties)
        for options, penalties in (
            ({"regualizer_shape": "linear"}, {"W": (0.25 + 0.25 + 0.5) / 3}),
            ({}, {"W": ((0.25 * 0.75) ** 2 * 2 + (1.5 * 0.5) ** 2) / 3}),
            ({"regualizer_shape": "none"}, {}),
        )
    )


class TestRegualizedLinearMNAC(LayerChecks):
    layer = zoo.RegualizedLinearMNACLayer
    penalised = (
        # min(|w|, |1 - w|): 0.75 and 0.25
        Penalised({"regualizer_shape": "linear"}, FREE, {"W": 0.5}),
    )
    clipped = (Clipped({}, FREE, FREE),)

    normalised = ({},)

    def formula(self, layer, row, o):
        return product(row, layer.W[o].tolist())

    def start(self):
        yield "W", uniform(0.5 - math.sqrt(3) / 2, 0.5 + math.sqrt(3) / 2)


@pytest.mark.parametrize(
    ("key", "cell"),
    [("LinearNAC", zoo.LinearNACCell), ("RegualizedLinearMNAC", zoo.RegualizedLinearMNACCell)],
)
def test_cell_classes_that_are_not_registered(key, cell):
    assert zoo.entries()[key].cell is None
    assert cell(2, 3).op.W.shape == (3, 5)


def test_the_registered_cell_of_the_regualized_linear_nac_works():
    cell = zoo.GeneralizedCell(2, 3, "RegualizedLinearNAC", regualizer_shape="linear")
    assert cell(torch.ones(4, 2), torch.ones(4, 3)).shape == (4, 3)
    assert list(cell.regualizer()) == ["W"]


class TestSillyReRegualizedLinearMNAC(LayerChecks):
    """Penalties and range are those of the NMU, without z."""

    layer = zoo.SillyReRegualizedLinearMNACLayer
    options = ({"mnac_epsilon": 0.1}, {"mnac_epsilon": 0.1, "nac_oob": "clip"})
    penalised = (
        Penalised(
            {"regualizer_shape": "linear"}, {"W": [[1.5, -0.25]]}, {"W": 0.375, "W-OOB": 0.375}, X
        ),
    )
    clipped = (
        Clipped(
            {"nac_oob": "clip", "mnac_epsilon": 0.125}, {"W": [[1.5, -0.25]]}, {"W": [[1.0, 0.125]]}
        ),
    )

    normalised = options

    def weights_of(self, layer, o):
        W = layer.W[o].tolist()
        return W if layer.nac_oob == "clip" else clamped(W, 0.1, 1)

    def formula(self, layer, row, o):
        return math.prod(v * w for v, w in zip(row, self.weights_of(layer, o), strict=True))

    def start(self):
        yield "W", uniform(0.25, 0.75)

    def test_an_unused_input_makes_the_product_zero(self):
        layer = with_parameters(self.layer, {"W": [[1.0, 0.0]]})
        assert layer(torch.tensor([[3.0, 5.0]])).item() == 0
        assert list(layer.regualizer_terms()) == ["W", "W-OOB"]

    @pytest.mark.parametrize("key", ["SillyReRegualizedLinearNAC", "SillyReRegualizedLinearNALU"])
    def test_the_other_two_keys_are_names_only(self, key):
        entry = zoo.entries()[key]
        assert (entry.layer, entry.cell, entry.options) == (None, None, frozenset())
        with pytest.raises(ValueError, match=f"'{key}' is not a layer"):
            zoo.GeneralizedLayer(2, 1, key)

    def test_the_name_finds_this_layer_as_the_second_of_a_network(self):
        network = SimpleFunctionStaticNetwork(
            "SillyReRegualizedLinearNAC",
            input_size=4,
            first_layer="ReRegualizedLinearNAC",
            nac_mul="mnac",
        )
        assert type(network.layer_2.layer) is zoo.SillyReRegualizedLinearMNACLayer
        assert network(torch.ones(3, 4)).shape == (3, 1)


class TestIndependentNAC(LayerChecks):
    """Values, start, penalty and logs of the NAC; a backward pass of its own."""

    layer = zoo.IndependentNACLayer
    formula = OfNAC.formula
    start = OfNAC.start

    def test_each_factor_gets_its_own_derivative(self):
        layer = zoo.IndependentNACLayer(2, 3).double()
        x, G = X.double(), normal(2, 3)
        actual = torch.autograd.grad((layer(x) * G).sum(), [layer.W_hat, layer.M_hat])
        upstream = torch.einsum("bo,bi->oi", G, x)
        s = 1 / (1 + torch.exp(-layer.M_hat.detach()))
        expected = upstream / torch.cosh(layer.W_hat.detach()) ** 2, upstream * s * (1 - s)
        torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-14)

    def test_the_penalty_z_is_that_of_the_nac(self):
        layer, nac = (cls(2, 3, regualizer_z=1) for cls in (zoo.IndependentNACLayer, zoo.NACLayer))
        nac.load_state_dict(layer.state_dict())
        assert torch.equal(layer(X), nac(X))
        assert layer.regualizer()["z"].item() == nac.regualizer()["z"].item() > 0
        assert list(layer.regualizer_terms()) == ["z"]


def multi_weight(seed=0, **options):
    torch.manual_seed(seed)
    return zoo.MultiWeightNAULayer(2, 1, **options)


def set_weights(layer, *values):
    for k, W in enumerate(values):
        layer.get_parameter(f"W_{k}").data = torch.tensor([W])
    return layer


class TestMultiWeightNAU:
    """Which weight is used, trained, clamped and penalised."""

    def test_draws_the_weights_in_order_as_the_nau_does(self):
        torch.manual_seed(0)
        layer = zoo.MultiWeightNAULayer(30, 20, W_set_count=3)
        torch.manual_seed(0)
        for W in layer.weight_set():
            assert torch.equal(W.data, zoo.NAULayer(30, 20).W.data)
        assert [n for n, _ in layer.named_parameters()] == ["W_0", "W_1", "W_2"]
        assert len(multi_weight().weight_set()) == 5

    @pytest.mark.parametrize("oob", ["clip", "regualized"])
    @pytest.mark.parametrize(("iteration", "active"), [(0, 0), (2, 2), (3, 0), (7, 1)])
    def test_the_iteration_selects_the_clamped_weight(self, iteration, active, oob):
        layer = multi_weight(W_set_count=3, nac_oob=oob)
        layer.W_1.data[0, 0] = 1.75
        assert (layer.iteration, layer.clock_reads) == (0, {"iteration"})
        layer.iteration = iteration
        W = [min(max(w, -1.0), 1.0) for w in layer.get_parameter(f"W_{active}")[0].tolist()]
        expected = [dot(row, W) for row in X.tolist()]
        assert layer(X).flatten().tolist() == pytest.approx(expected, rel=1e-6)

    def test_only_the_active_weight_gets_a_gradient(self):
        layer = multi_weight(W_set_count=3)
        layer.iteration = 1
        weights = [layer.W_0, layer.W_1, layer.W_2]
        gradients = torch.autograd.grad(layer(X).sum(), weights, allow_unused=True)
        assert [g is None for g in gradients] == [True, False, True]

    def test_only_the_active_weight_is_clamped(self):
        layer = set_weights(multi_weight(W_set_count=2, nac_oob="clip"), [1.5, -3.0], [1.5, -3.0])
        layer.iteration = 3
        layer.optimize(torch.tensor(0.0))
        assert layer.W_0.tolist() == [[1.5, -3.0]]
        assert layer.W_1.tolist() == [[1.0, -1.0]]
        assert multi_weight(nac_oob="regualized").parameter_bounds() == {}

    def test_penalties_are_those_of_the_active_raw_weight(self):
        layer = multi_weight(W_set_count=2, regualizer_shape="linear", regualizer_z=1)
        set_weights(layer, [0.25, 0.5], [1.5, -0.25])
        layer.iteration = 1
        layer(X)
        values = {k: v.item() for k, v in layer.regualizer().items()}
        # Means over two elements; the mean input is (1, 0.5).
        assert values == {
            "W": (0.5 + 0.25) / 2,
            "z": ((1 - 1.5) * 1.0 + (1 - 0.25) * 0.25) / 2,
            "W-OOB": 0.5 / 2,
            "W-set": (2 * 0.625**2 + 2 * 0.375**2) / 4,
        }
        layer.optimize(torch.tensor(0.0))
        assert layer.regualizer()["z"].item() == 0

    def test_noise_leaves_the_value_and_draws_once(self):
        layer, plain = multi_weight(nau_noise=True), multi_weight()
        y, _ = drawn_alike(lambda: layer(X), lambda: uniform(-1, 1, 2, 2))
        torch.testing.assert_close(y, plain(X), rtol=1e-5, atol=1e-6)
        assert torch.equal(layer.eval()(X), plain(X))

    def test_penalties_of_stacked_runs_are_those_of_single_ones(self):
        singles = [multi_weight(seed, W_set_count=3) for seed in range(2)]
        expected = [{k: v.item() for k, v in s.regualizer().items()} for s in singles]
        for key, value in stack_models(singles).regualizer().items():
            assert value.tolist() == pytest.approx([e[key] for e in expected], rel=1e-6)

    def test_logs_the_raw_active_weight(self):
        layer = set_weights(multi_weight(W_set_count=2), [0.0, 0.0], [1.5, -0.25])
        layer.iteration, layer.robustness_logging = 1, True
        histogram, text, error = layer.observations()
        assert histogram.value().tolist() == [[1.5, -0.25]]
        assert (text.verbose_only, error.verbose_only, error.value().item()) == (True, False, 0.5)


ROWS = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.5, 3.0, -1.0, 2.0]], dtype=torch.float64)


class MaskChecks:
    """Of layers that add what a mask selects: a soft one in training, else a rounded one."""

    def test_the_constructor_draws_l1_and_a_reset_only_the_logits(self):
        torch.manual_seed(1)
        layer = self.layer(IN, OUT)
        l1 = layer.l1.weight.clone(), layer.l1.bias.clone()
        layer.reset_parameters()
        state = torch.get_rng_state()
        torch.manual_seed(1)
        expected = torch.nn.Linear(OUT, OUT)
        uniform(0.25, 0.75, IN, OUT)
        logits = uniform(0.25, 0.75, IN, OUT)
        assert torch.equal(state, torch.get_rng_state())
        assert torch.equal(l1[0], expected.weight)
        assert torch.equal(l1[1], expected.bias)
        assert torch.equal(layer.l1.weight, l1[0])
        assert torch.equal(layer.W_logits.data, logits)

    def test_logs_only_a_penalty_z_that_is_off(self):
        layer = self.layer(IN, OUT)
        assert layer.observations() == []
        assert layer.regualizer_terms() == {"z": None}


class TestScaledSigmoidNAU(MaskChecks):
    layer = zoo.ScaledSigmoidNAULayer

    @pytest.mark.parametrize("training", [True, False])
    def test_output_is_the_formula(self, training):
        torch.manual_seed(0)
        layer = self.layer(IN, OUT).double().train(training)
        layer.W_logits.data.mul_(20)
        y, seen = layer(ROWS), set()
        for o in range(OUT):
            of_l1, bias = layer.l1.weight[o].tolist(), layer.l1.bias[o].item()
            hidden = [bias + dot(of_l1, logits) for logits in layer.W_logits.tolist()]
            mask = [2 / (1 + math.exp(0.5 * abs(v))) for v in hidden]
            seen |= set(map(round, mask))
            for b, row in enumerate(ROWS.tolist()):
                expected = dot(row, mask if training else map(round, mask))
                assert y[b, o].item() == pytest.approx(expected, rel=1e-11, abs=1e-12)
        assert seen == {0, 1}
        assert set(layer.state_dict()) == {"W_logits", "l1.weight", "l1.bias"}


def sigmoid_nau(seed=0):
    torch.manual_seed(seed)
    layer = zoo.SigmoidNAULayer(IN, OUT).double()
    layer.bn.weight.data.uniform_(0.5, 2)
    layer.bn.bias.data.copy_(torch.tensor([2.0, -2.0, 0.0]))
    return layer


def torch_bn(layer):
    """torch's own batch norm with the parameters and statistics of the layer."""
    bn = torch.nn.BatchNorm1d(OUT).double()
    bn.load_state_dict(layer.bn.state_dict())
    return bn


class TestSigmoidNAU(MaskChecks):
    layer = zoo.SigmoidNAULayer

    def test_training_and_evaluation_are_those_of_torch_modules(self):
        layer = sigmoid_nau()
        bn = torch_bn(layer)
        for _ in range(3):
            y = layer(ROWS)
            mask = torch.sigmoid(bn(layer.l1(layer.W_logits)))
            torch.testing.assert_close(y, ROWS @ mask, rtol=1e-12, atol=1e-13)
        assert bn.state_dict().keys() == layer.bn.state_dict().keys()
        for name, value in bn.state_dict().items():
            torch.testing.assert_close(layer.bn.state_dict()[name], value, rtol=1e-12, atol=0)
        layer.eval(), bn.eval()
        mask = torch.sigmoid(bn(layer.l1(layer.W_logits))).round()
        assert torch.equal(layer(ROWS), ROWS @ mask)
        assert set(mask.flatten().tolist()) == {0.0, 1.0}
        assert layer.bn.num_batches_tracked.item() == 3

    def test_gradients_are_those_of_torch_modules(self):
        layer = sigmoid_nau()
        parameters = [p for n, p in layer.named_parameters() if not n.startswith("bn")]
        mask = torch.sigmoid(torch_bn(layer)(layer.l1(layer.W_logits)))
        expected = torch.autograd.grad((ROWS @ mask).square().sum(), parameters)
        actual = torch.autograd.grad(layer(ROWS).square().sum(), parameters)
        torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("runs", [(3,), (2, 3)], ids=str)
    def test_running_statistics_of_stacked_runs_are_those_of_single_ones(self, runs):
        count = torch.Size(runs).numel()
        singles, others = ([sigmoid_nau(seed) for seed in range(count)] for _ in range(2))
        stacked = in_runs(runs, others)
        y = stacked(ROWS).reshape(count, 2, OUT)
        for run, single in enumerate(singles):
            torch.testing.assert_close(y[run], single(ROWS), rtol=1e-12, atol=1e-13)
            for name, buffer in single.bn.named_buffers():
                value = stacked.bn.get_buffer(name).reshape(count, *buffer.shape)[run]
                torch.testing.assert_close(value, buffer, rtol=1e-12, atol=0)

    def test_one_input_is_refused(self):
        with pytest.raises(ValueError, match="at least 2"):
            zoo.SigmoidNAULayer(1, 3)
