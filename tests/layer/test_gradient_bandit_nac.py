"""GradientBanditNAC: sampled and most probable weights, and learning from the loss."""

import math

import pytest
import torch

from stable_nalu.layer import GradientBanditNACLayer

X = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.5, 3.0, -1.0, 2.0]])
SIGNS = (1.0, -1.0, 0.0)


def build(dtype=torch.float32):
    layer = GradientBanditNACLayer(4, 3).to(dtype)
    layer.W_hat.normal_(generator=torch.Generator().manual_seed(0))
    return layer


def test_training_samples_what_multinomial_draws():
    layer = build()
    torch.manual_seed(5)
    y = layer(X)
    state = torch.get_rng_state()
    torch.manual_seed(5)
    category = torch.multinomial(torch.softmax(layer.W_hat, -1).reshape(-1, 3), 1).reshape(3, 4)
    assert torch.equal(state, torch.get_rng_state())
    W = torch.tensor([[SIGNS[c] for c in row] for row in category.tolist()])
    assert torch.equal(layer.sample, category)
    assert torch.equal(layer.weights(), W)
    assert torch.equal(y, X @ W.mT)


def test_without_randomness_the_most_probable_weight_is_used_and_the_sample_kept():
    layer = build()
    layer(X)
    sample = layer.sample.clone()
    state = torch.get_rng_state()
    with layer.no_random():
        y = layer(X)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(layer.sample, sample)
    W = torch.tensor(
        [[SIGNS[max(range(3), key=v.__getitem__)] for v in row] for row in layer.W_hat.tolist()]
    )
    assert torch.equal(y, X @ W.mT)


def test_reuse_keeps_the_sample():
    layer = build()
    y = layer(X)
    state = torch.get_rng_state()
    assert torch.equal(layer(X, reuse=True), y)
    assert torch.equal(state, torch.get_rng_state())


@pytest.mark.parametrize(("lr", "beta"), [(1e-3, 0.9), (0.25, 0.5)])
def test_updates_are_the_formula(lr, beta):
    layer = build(torch.float64)
    layer.set_parameter("lr", lr)
    layer.set_parameter("running_mean_beta", beta)
    W_hat, m = layer.W_hat.tolist(), 0.0
    lr, beta = layer.lr.item(), layer.running_mean_beta.item()
    for t, loss in enumerate((3.0, 1.0, 2.5, 0.25), start=1):
        layer(X.double())
        sample = layer.sample.tolist()
        layer.optimize(torch.tensor(loss, dtype=torch.float64))
        m = beta * m + (1 - beta) * loss
        advantage = m / (1 - beta**t) - loss
        for o in range(3):
            for i in range(4):
                total = sum(math.exp(v) for v in W_hat[o][i])
                p = [math.exp(v) / total for v in W_hat[o][i]]
                for k in range(3):
                    W_hat[o][i][k] += lr * advantage * ((sample[o][i] == k) - p[k])
        expected = torch.tensor(W_hat, dtype=torch.float64)
        torch.testing.assert_close(layer.W_hat, expected, rtol=1e-12, atol=1e-14)
    assert layer.running_mean_iter.item() == 4


def test_the_first_update_is_zero():
    layer = build(torch.float64)
    before = layer.W_hat.clone()
    layer(X.double())
    layer.optimize(torch.tensor(1234.5, dtype=torch.float64))
    torch.testing.assert_close(layer.W_hat, before, rtol=0, atol=1e-12)


def test_runs_learn_from_their_own_losses():
    layer = GradientBanditNACLayer(4, 3)
    singles = [build(torch.float64) for _ in range(2)]
    stacked = build(torch.float64)
    for name, buffer in layer.named_buffers():
        setattr(stacked, name, torch.stack([s.get_buffer(name) for s in singles]))
        assert stacked.get_buffer(name).shape == (2, *buffer.shape)
    for name in ("lr", "running_mean_beta"):
        value = torch.stack([s.get_parameter(name).detach() for s in singles])
        setattr(stacked, name, torch.nn.Parameter(value, requires_grad=False))
    generator = torch.Generator().manual_seed(1)
    for losses in ((3.0, 1.0), (1.0, 2.0), (2.0, 5.0)):
        stacked.sample = torch.randint(3, (2, 3, 4), generator=generator)
        for run, single in enumerate(singles):
            single.sample = stacked.sample[run]
            single.after_step(torch.tensor(losses[run], dtype=torch.float64))
        stacked.after_step(torch.tensor(losses, dtype=torch.float64))
    for run, single in enumerate(singles):
        torch.testing.assert_close(stacked.W_hat[run], single.W_hat, rtol=1e-12, atol=0)
    assert not torch.equal(singles[0].W_hat, singles[1].W_hat)


def test_the_reward_moves_the_choice_towards_lower_losses():
    layer = GradientBanditNACLayer(1, 1)
    layer.set_parameter("lr", 0.5)
    torch.manual_seed(0)
    x = torch.ones(1, 1)
    for _ in range(300):
        loss = (layer(x) + 1).square().mean()
        layer.optimize(loss)
    with layer.no_random():
        assert layer(x).item() == -1


def test_nothing_is_trained_by_gradients_and_the_state_is_saved():
    layer = GradientBanditNACLayer(4, 3)
    assert not any(p.requires_grad for p in layer.parameters())
    assert not layer(X).requires_grad
    saved = {"lr", "running_mean_beta", "W_hat", "running_mean_iter", "running_mean_loss"}
    assert layer.state_dict().keys() == saved
    assert layer.lr.item() == pytest.approx(1e-3)
    assert layer.running_mean_beta.item() == pytest.approx(0.9)


def test_a_reset_forgets_what_was_learned():
    layer = build()
    layer(X)
    layer.optimize(torch.tensor(2.0))
    state = torch.get_rng_state()
    layer.reset_parameters()
    assert torch.equal(state, torch.get_rng_state())
    assert layer.W_hat.abs().max() == 0
    assert (layer.running_mean_iter.item(), layer.running_mean_loss.item()) == (0, 0.0)


def test_logs_the_weight_in_use():
    layer = build()
    layer(X)
    histogram, text, error = layer.observations()
    assert torch.equal(histogram.value(), layer.weights())
    assert (text.verbose_only, error.verbose_only, error.value().item()) == (True, False, 0.0)
