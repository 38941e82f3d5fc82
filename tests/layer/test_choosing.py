"""Layers that choose their weights: samples, noise, expected weights, learning from the loss."""

import copy
import math

import pytest
import torch
from torch.nn.functional import gumbel_softmax

from stable_nalu import layer as zoo
from tests.layer_checks import LayerChecks, assert_equals_loop
from tests.layer_values import IN, OUT, dot, drawn_alike, draws, product, sigmoid, softmax, uniform
from tests.runs import RUNS, in_runs

X = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.5, 3.0, -1.0, 2.0]], dtype=torch.float64)
SIGNS = torch.tensor([1.0, -1.0, 0.0])


def built(layer, seed=0, dtype=torch.float64):
    """From 4 to 3, with weights other than the zeros that some start from."""
    made = layer(IN, OUT).to(dtype)
    with torch.no_grad():
        made.W_hat.normal_(generator=torch.Generator().manual_seed(seed))
    return made


def repeated(layer, runs):
    """A copy whose parameters and buffers are those of so many runs."""
    return in_runs(runs, [copy.deepcopy(layer) for _ in range(torch.Size(runs).numel())])


def expected_signs(layer, o):
    """p_+ - p_- of every input."""
    p = [softmax([*logits, 0.0]) for logits in layer.W_hat[o].tolist()]
    return [plus - minus for plus, minus, _ in p]


def drawn_by_torch(layer):
    """The categories that torch.multinomial draws from the probabilities of a layer."""
    p = layer.probabilities().detach()
    return torch.multinomial(p.reshape(-1, 3), 1).reshape(OUT, IN)


class TestSoftmaxNAC(LayerChecks):
    layer = zoo.SoftmaxNACLayer

    def formula(self, layer, row, o):
        return dot(row, expected_signs(layer, o))

    def start(self):
        W_hat = torch.empty(OUT, IN, 2)
        yield "W_hat", torch.nn.init.xavier_uniform_(W_hat, gain=math.sqrt(0.5))

    def test_the_logit_of_zero_is_a_buffer_that_follows_the_dtype(self):
        layer = zoo.SoftmaxNACLayer(IN, OUT)
        assert [n for n, _ in layer.named_parameters()] == ["W_hat"]
        assert torch.equal(layer.state_dict()["W_hat_k"], torch.zeros(OUT, IN, 1))
        assert layer.double()(X).dtype == torch.float64


class ChoosingChecks:
    """Of layers that draw in every pass; a second pass may keep what the first has drawn."""

    layer: type

    def test_reuse_draws_nothing_and_keeps_what_was_drawn(self):
        layer = built(self.layer)
        y = layer(X)
        assert not draws(lambda: torch.testing.assert_close(layer(X, reuse=True), y))

    def test_evaluation_draws_too(self):
        layer = built(self.layer).eval()
        assert draws(lambda: layer(X))


class TestHardSoftmaxNAC(ChoosingChecks):
    layer = zoo.HardSoftmaxNACLayer

    def test_samples_what_multinomial_draws_from_the_softmax(self):
        layer = built(zoo.HardSoftmaxNACLayer, dtype=torch.float32)
        y, category = drawn_alike(lambda: layer(X.float()), lambda: drawn_by_torch(layer))
        assert torch.equal(layer.sample, category)
        assert torch.equal(y, X.float() @ SIGNS[category].mT)

    def test_the_gradient_is_that_of_the_soft_weight(self):
        layer, soft = built(zoo.HardSoftmaxNACLayer), built(zoo.SoftmaxNACLayer)
        G = torch.randn(2, OUT, dtype=torch.float64)
        (actual,) = torch.autograd.grad((layer(X) * G).sum(), [layer.W_hat])
        (expected,) = torch.autograd.grad((soft(X) * G).sum(), [soft.W_hat])
        assert torch.equal(actual, expected)
        assert expected.abs().min() > 0

    def test_samples_without_randomness_too(self):
        layer = built(zoo.HardSoftmaxNACLayer)
        with layer.no_random():
            assert draws(lambda: layer(X))
        assert not layer.evaluates_rows_independently

    def test_logs_the_soft_weight(self):
        layer = built(zoo.HardSoftmaxNACLayer)
        assert layer(X).dtype == torch.float64
        assert layer.sample.dtype == torch.int64
        assert torch.equal(layer.observations()[0].value(), layer.weights())
        assert layer.weights().abs().max() < 1


class GumbelChecks(LayerChecks):
    """Of layers with Gumbel noise; the formula is that without it."""

    def with_noise(self, layer, row, o, u, tau):
        raise NotImplementedError

    def uniforms(self):
        raise NotImplementedError

    @pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
    @pytest.mark.parametrize("runs", RUNS, ids=str)
    def test_output_is_the_formula(self, runs, training):
        layer = built(self.layer).train(training)
        layer.set_parameter("tau", 0.5)
        stacked, x = repeated(layer, runs), X.expand(*runs, 2, IN)
        with stacked.no_random():
            assert not draws(lambda: stacked(x))
            y = stacked(x)
        assert y.shape == (*runs, 2, OUT)
        for outputs in y.reshape(-1, 2, OUT):
            assert_equals_loop(lambda row, o: self.formula(layer, row, o), X, outputs)

    @pytest.mark.parametrize("tau", [1.0, 0.5])
    def test_noisy_weights_are_the_formula(self, tau):
        layer = built(self.layer)
        layer.set_parameter("tau", tau)
        y, u = drawn_alike(lambda: layer(X), lambda: self.uniforms().tolist())
        assert_equals_loop(lambda row, o: self.with_noise(layer, row, o, u[o], tau), X, y)

    def test_a_temperature_per_run(self):
        layer = built(self.layer)
        stacked = repeated(layer, (2,))
        stacked.tau.data = torch.tensor([1.0, 0.5]).double()
        torch.manual_seed(3)
        y = stacked(X.expand(2, 2, IN))
        for run, tau in enumerate((1.0, 0.5)):
            layer.set_parameter("tau", tau)
            torch.manual_seed(3)
            torch.testing.assert_close(y[run], layer(X), rtol=1e-12, atol=0)

    def start(self):
        yield "W_hat", torch.zeros_like(self.layer(IN, OUT).W_hat)
        yield "tau", torch.ones(())

    def test_the_expected_weight_is_logged_and_the_temperature_not_learned(self):
        layer = built(self.layer)
        assert not layer.tau.requires_grad
        assert torch.equal(layer.observations()[1].value(), layer.weights())
        assert {t.dtype for t in layer.state_dict().values()} == {torch.float64}


class TestGumbelNAC(ChoosingChecks, GumbelChecks):
    layer = zoo.GumbelNACLayer

    def formula(self, layer, row, o):
        return dot(row, expected_signs(layer, o))

    def uniforms(self):
        return torch.empty(OUT, IN, 3, dtype=torch.float64).uniform_(1e-10, 1)

    def with_noise(self, layer, row, o, u, tau):
        W = []
        for logits, numbers in zip(layer.W_hat[o].tolist(), u, strict=True):
            gumbel = [-math.log(-math.log(v)) for v in numbers]
            p = zip(softmax([*logits, 0.0]), gumbel, strict=True)
            plus, minus, _ = softmax([(math.log(a) + g) / tau for a, g in p])
            W.append(plus - minus)
        return dot(row, W)

    def test_gradients_pass_through_several_time_steps_of_the_cell(self):
        cell, h = zoo.GumbelNACCell(2, 3), torch.ones(5, 3)
        for _ in range(3):
            h = cell(torch.ones(5, 2), h)
        (gradient,) = torch.autograd.grad(h.sum(), [cell.op.W_hat])
        assert torch.isfinite(gradient).all()
        assert gradient.abs().max() > 0


class TestGumbelMNAC(GumbelChecks):
    layer = zoo.GumbelMNACLayer

    def formula(self, layer, row, o):
        return product(row, [sigmoid(w) for w in layer.W_hat[o].tolist()])

    def uniforms(self):
        return torch.rand(OUT, IN, dtype=torch.float64)

    def with_noise(self, layer, row, o, u, tau):
        noise = [-math.log(1e-8 - math.log(number + 1e-8)) for number in u]
        W_hat = zip(layer.W_hat[o].tolist(), noise, strict=True)
        return product(row, [sigmoid((w + n) / tau) for w, n in W_hat])


class TestGradientBanditNAC(ChoosingChecks):
    layer = zoo.GradientBanditNACLayer

    def test_training_samples_what_multinomial_draws(self):
        layer = built(zoo.GradientBanditNACLayer, dtype=torch.float32)
        y, category = drawn_alike(lambda: layer(X.float()), lambda: drawn_by_torch(layer))
        assert torch.equal(layer.sample, category)
        assert torch.equal(layer.weights(), SIGNS[category])
        assert torch.equal(y, X.float() @ SIGNS[category].mT)

    def test_without_randomness_the_most_probable_weight_is_used_and_the_sample_kept(self):
        layer = built(zoo.GradientBanditNACLayer)
        layer(X)
        sample = layer.sample.clone()
        W = SIGNS.double()[layer.W_hat.argmax(-1)]
        with layer.no_random():
            assert not draws(lambda: torch.testing.assert_close(layer(X), X @ W.mT))
        assert torch.equal(layer.sample, sample)

    @pytest.mark.parametrize(("lr", "beta"), [(1e-3, 0.9), (0.25, 0.5)])
    def test_updates_are_the_formula(self, lr, beta):
        layer = built(zoo.GradientBanditNACLayer)
        layer.set_parameter("lr", lr)
        layer.set_parameter("running_mean_beta", beta)
        W_hat, m = layer.W_hat.tolist(), 0.0
        lr, beta = layer.lr.item(), layer.running_mean_beta.item()
        for t, loss in enumerate((3.0, 1.0, 2.5, 0.25), start=1):
            before = layer.W_hat.clone()
            layer(X)
            sample = layer.sample.tolist()
            layer.optimize(torch.tensor(loss, dtype=torch.float64))
            m = beta * m + (1 - beta) * loss
            advantage = m / (1 - beta**t) - loss
            for o in range(OUT):
                for i in range(IN):
                    p = softmax(W_hat[o][i])
                    for k in range(3):
                        W_hat[o][i][k] += lr * advantage * ((sample[o][i] == k) - p[k])
            expected = torch.tensor(W_hat, dtype=torch.float64)
            torch.testing.assert_close(layer.W_hat, expected, rtol=1e-12, atol=1e-14)
            if t == 1:  # whose advantage is zero
                torch.testing.assert_close(layer.W_hat, before, rtol=0, atol=1e-12)
        assert layer.running_mean_iter.item() == 4

    def test_runs_learn_from_their_own_losses(self):
        singles = [built(zoo.GradientBanditNACLayer) for _ in range(2)]
        stacked = repeated(singles[0], (2,))
        generator = torch.Generator().manual_seed(1)
        for losses in ((3.0, 1.0), (1.0, 2.0), (2.0, 5.0)):
            stacked.sample = torch.randint(3, (2, OUT, IN), generator=generator)
            for run, single in enumerate(singles):
                single.sample = stacked.sample[run]
                single.after_step(torch.tensor(losses[run], dtype=torch.float64))
            stacked.after_step(torch.tensor(losses, dtype=torch.float64))
        for run, single in enumerate(singles):
            torch.testing.assert_close(stacked.W_hat[run], single.W_hat, rtol=1e-12, atol=0)
        assert not torch.equal(singles[0].W_hat, singles[1].W_hat)

    def test_the_reward_moves_the_choice_towards_lower_losses(self):
        layer, x = zoo.GradientBanditNACLayer(1, 1), torch.ones(1, 1)
        layer.set_parameter("lr", 0.5)
        torch.manual_seed(0)
        for _ in range(300):
            layer.optimize((layer(x) + 1).square().mean())
        with layer.no_random():
            assert layer(x).item() == -1

    def test_nothing_is_trained_by_gradients_and_the_state_is_saved(self):
        layer = zoo.GradientBanditNACLayer(IN, OUT)
        assert not any(p.requires_grad for p in layer.parameters())
        assert not layer(X.float()).requires_grad
        saved = {"lr", "running_mean_beta", "W_hat", "running_mean_iter", "running_mean_loss"}
        assert layer.state_dict().keys() == saved
        assert layer.lr.item() == pytest.approx(1e-3)
        assert layer.running_mean_beta.item() == pytest.approx(0.9)

    def test_a_reset_forgets_what_was_learned(self):
        layer = built(zoo.GradientBanditNACLayer)
        layer(X)
        layer.optimize(torch.tensor(2.0))
        assert not draws(layer.reset_parameters)
        assert layer.W_hat.abs().max() == 0
        assert (layer.running_mean_iter.item(), layer.running_mean_loss.item()) == (0, 0.0)

    def test_logs_the_weight_in_use(self):
        layer = built(zoo.GradientBanditNACLayer)
        layer(X)
        histogram, text, error = layer.observations()
        assert torch.equal(histogram.value(), layer.weights())
        assert (text.verbose_only, error.verbose_only, error.value().item()) == (True, False, 0.0)


def ensemble(inputs=5, dtype=torch.float64):
    torch.manual_seed(0)
    x = torch.randn(4, inputs, dtype=dtype, generator=torch.Generator().manual_seed(1))
    return zoo.EnsembleGumbelNAULayer(inputs, OUT).to(dtype), x


class TestEnsembleGumbelNAU:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
    @pytest.mark.parametrize(("inputs", "count"), [(4, 1), (5, 2), (9, 3)])
    @pytest.mark.parametrize("iteration", [0, 50_000])
    def test_masks_are_those_of_torch_for_the_same_generator_state(
        self, dtype, inputs, count, iteration
    ):
        """One call of torch's function per four inputs, over the input axis of x_bi W_io."""
        layer, x = ensemble(inputs, dtype)
        layer.iteration = iteration
        tau = math.exp(-1e-5 * iteration)
        assert layer.temperature == pytest.approx(tau)
        logits = torch.einsum("bi,io->bio", x, layer.W_logits)
        y, masks = drawn_alike(
            lambda: layer(x),
            lambda: [gumbel_softmax(logits, tau=tau, hard=True, dim=1) for _ in range(count)],
        )
        for b in range(4):
            for o in range(OUT):
                picked = {int(mask[b, :, o].argmax()) for mask in masks}
                expected = sum(x[b, i].item() for i in picked)
                assert y[b, o].item() == pytest.approx(expected, rel=1e-5, abs=1e-6)

    def test_the_gradient_is_that_of_the_soft_masks(self):
        layer, x = ensemble(4)
        G = torch.randn(4, OUT, dtype=torch.float64)
        y, noise = drawn_alike(
            lambda: layer(x), lambda: torch.empty(4, 4, OUT).double().exponential_().log()
        )
        (actual,) = torch.autograd.grad((y * G).sum(), [layer.W_logits])
        soft = torch.softmax(torch.einsum("bi,io->bio", x, layer.W_logits) - noise, dim=1)
        y = torch.einsum("bi,bio->bo", x, soft)
        (expected,) = torch.autograd.grad((y * G).sum(), [layer.W_logits])
        torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-14)

    def test_one_draw_of_the_logits_with_inputs_first(self):
        layer, logits = drawn_alike(
            lambda: zoo.EnsembleGumbelNAULayer(5, 3), lambda: uniform(0.25, 0.75, 5, 3)
        )
        assert torch.equal(layer.W_logits.data, logits)

    def test_samples_in_evaluation_and_without_randomness_too(self):
        layer, x = ensemble()
        with layer.eval().no_random():
            assert draws(lambda: layer(x))
        assert not layer.evaluates_rows_independently
        assert "iteration" in layer.clock_reads

    def test_logs_only_a_penalty_z_that_is_off(self):
        layer, _ = ensemble()
        assert layer.observations() == []
        assert layer.regualizer_terms() == {"z": None}
        assert zoo.EnsembleGumbelSoftmaxNAU is zoo.EnsembleGumbelNAULayer


@pytest.mark.parametrize(
    "layer", [zoo.EnsembleGumbelNAULayer, zoo.HardSoftmaxNACLayer, zoo.GumbelMNACLayer]
)
def test_runs_without_a_dimension_in_the_source_share_their_numbers(layer):
    single = layer(IN, OUT).double()
    stacked = repeated(single, (2, 3))
    torch.manual_seed(7)
    y = single(X)
    torch.manual_seed(7)
    torch.testing.assert_close(stacked(X.expand(2, 3, 2, IN)), y.expand(2, 3, 2, OUT))


class TestFeatureSelector:
    """It has no key; gates are noisy in training only."""

    def built(self, runs=(), **options):
        layer = zoo.FeatureSelector(IN, OUT, **options).double()
        layer.mu = torch.nn.Parameter(torch.randn(*runs, IN, OUT, dtype=torch.float64))
        return layer

    def gated(self, mu, row, o):
        return dot(row, [min(max(v + 0.5, 0.0), 1.0) for v in mu[:, o].tolist()])

    @pytest.mark.parametrize("runs", RUNS, ids=str)
    def test_evaluation_is_the_formula_and_draws_nothing(self, runs):
        layer = self.built(runs).eval()
        assert not draws(lambda: layer(X.expand(*runs, 2, IN)))
        y = layer(X.expand(*runs, 2, IN))
        assert y.shape == (*runs, 2, OUT)
        of_runs = zip(layer.mu.reshape(-1, IN, OUT), y.reshape(-1, 2, OUT), strict=True)
        for mu, outputs in of_runs:
            assert_equals_loop(lambda row, o, m=mu: self.gated(m, row, o), X, outputs)

    def test_training_adds_normal_noise_to_the_gates(self):
        layer = self.built(sigma=0.25)
        y, mu = drawn_alike(
            lambda: layer(X), lambda: layer.mu + 0.25 * torch.randn(IN, OUT, dtype=torch.float64)
        )
        assert_equals_loop(lambda row, o: self.gated(mu, row, o), X, y)

    def test_starts_at_a_hundredth_of_normal_numbers(self):
        layer, mu = drawn_alike(lambda: zoo.FeatureSelector(3, 2), lambda: 0.01 * torch.randn(3, 2))
        assert torch.equal(layer.mu.data, mu)

    def test_is_no_registered_layer(self):
        assert zoo.FeatureSelector not in {entry.layer for entry in zoo.entries().values()}
