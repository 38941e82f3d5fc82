"""Trials of the papers' authors, which no figure shows: one table of what each computes.

An oracle is written in plain torch and draws from the global generator what the layer draws, in
the same order. Gradients of layers with a rule of their own are those of the oracle, too.
"""

import pytest
import torch
from torch.nn.functional import batch_norm, gumbel_softmax

from stable_nalu import layer as zoo
from tests.layer_checks import values_of
from tests.layer_values import IN, OUT, drawn_alike

X = torch.tensor([[1.5, -2.0, 0.25, 4.0], [0.5, 3.0, -1.0, 2.0]])
ROW = torch.tensor([[1.5, -2.0], [0.5, 3.0]])
SIGNS = torch.tensor([1.0, -1.0, 0.0])
TAU = 0.5


def straight(value, soft):
    """The value, with the gradient of something else."""
    return value.detach() + soft - soft.detach()


def categories(nac):
    """Probabilities of 1, -1 and 0, whose logit is 0 unless it is a parameter, too."""
    logits = nac.W_hat
    if logits.shape[-1] == 2:
        logits = torch.cat((logits, torch.zeros(*logits.shape[:-1], 1)), -1)
    return torch.softmax(logits, -1)


def expected_sign(p):
    return p[..., 0] - p[..., 1]


def softmax_weights(nac):
    return expected_sign(categories(nac))


def picked(nac):
    """The signs that torch.multinomial draws."""
    p = categories(nac).detach()
    return SIGNS[torch.multinomial(p.reshape(-1, 3), 1).reshape(p.shape[:-1])]


def hard_weights(nac):
    return straight(picked(nac), softmax_weights(nac))


def gumbel_weights(nac):
    p = categories(nac)
    noise = -torch.log(-torch.log(torch.empty_like(p).uniform_(1e-10, 1)))
    return expected_sign(torch.softmax((torch.log(p) + noise) / nac.tau, -1))


def independent_weights(nac):
    squashed, gates = torch.tanh(nac.W_hat), torch.sigmoid(nac.M_hat)
    return straight(squashed * gates, squashed + gates)


def plain_weights(nac):
    return nac.W


def added(weights):
    return lambda layer, x: x @ weights(layer).mT


def multiplied(weights):
    def product(layer, x):
        W = weights(layer)
        return torch.prod(x.unsqueeze(-2) * W + 1 - W, -1)

    return product


def gumbel_sigmoid(layer):
    noise = -torch.log(1e-8 - torch.log(torch.rand(layer.W_hat.shape) + 1e-8))
    return torch.sigmoid((layer.W_hat + noise) / layer.tau)


def ensemble(layer, x):
    logits = x.unsqueeze(-1) * layer.W_logits
    masks = [gumbel_softmax(logits, layer.temperature, hard=True, dim=-2) for _ in range(IN // 4)]
    return (x.unsqueeze(-1) * torch.stack(masks).amax(0)).sum(-2)


def scaled_mask(layer, x):
    mask = 2 / (1 + torch.exp(0.5 * layer.l1(layer.W_logits).abs()))
    return x @ (mask if layer.training else mask.round())


def normalised_mask(layer, x):
    bn = layer.bn
    statistics = bn.running_mean.clone(), bn.running_var.clone()
    hidden = layer.l1(layer.W_logits)
    mask = torch.sigmoid(batch_norm(hidden, *statistics, bn.weight, bn.bias, layer.training))
    return x @ (mask if layer.training else mask.round())


def nalu_over(weights):
    """A gate between a sum and a product in log space; a shared NAC draws once."""

    def oracle(layer, x):
        W = weights(layer.nac_add)
        W_mul = weights(layer.nac_mul) if layer.nalu_two_nac else W
        g = torch.sigmoid(x @ layer.G_add.mT)
        return g * (x @ W.mT) + (1 - g) * torch.exp(torch.log(x.abs() + 1e-7) @ W_mul.mT)

    return oracle


WEIGHTS = {
    **{"Linear": plain_weights, "RegualizedLinear": plain_weights, "Gumbel": gumbel_weights},
    **{"Independent": independent_weights, "Softmax": softmax_weights},
    **{"HardSoftmax": hard_weights, "GradientBandit": picked},
}
ORACLES = {
    **{f"{name}NAC": added(weights) for name, weights in WEIGHTS.items()},
    **{f"{name}NALU": nalu_over(weights) for name, weights in WEIGHTS.items()},
    "PosNALU": nalu_over(lambda nac: torch.sigmoid(nac.W_hat)),
    "RegualizedLinearMNAC": multiplied(plain_weights),
    "SillyReRegualizedLinearMNAC": lambda layer, x: (x[:, None] * layer.W.clamp(0, 1)).prod(-1),
    "MultiWeightNAU": lambda layer, x: x @ layer.W_2.clamp(-1, 1).mT,
    **{"SigmoidNAU": normalised_mask, "ScaledSigmoidNAU": scaled_mask},
    **{"GumbelMNAC": multiplied(gumbel_sigmoid), "EnsembleGumbelNAU": ensemble},
}
CASES = [(key, {}) for key in ORACLES]
CASES += [(key, {"nalu_two_nac": True}) for key in ORACLES if key.endswith("NALU")]


def built(key, **options):
    """A layer with a temperature and an iteration, and weights other than a start of zeros."""
    torch.manual_seed(0)
    layer = getattr(zoo, f"{key}Layer")(IN, OUT, **options)
    layer.iteration = 7
    with torch.no_grad():
        for name, value in (*layer.named_parameters(), *layer.named_buffers()):
            if name.split(".")[-1] in ("W", "W_hat", "W_0", "W_1", "W_2"):
                value.normal_()
            if name.endswith("tau"):
                value.fill_(TAU)
    return layer


@pytest.mark.parametrize(("key", "options"), CASES)
def test_outputs_draws_and_gradients_are_those_of_the_oracle(key, options):
    layer, other = built(key, **options), built(key, **options)
    y, expected = drawn_alike(lambda: layer(X), lambda: ORACLES[key](other, X))
    torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-5)
    if not y.requires_grad:
        assert not expected.requires_grad
        return
    gradients = (
        torch.autograd.grad(
            (output * X[:, :OUT]).sum(),
            [p for p in made.parameters() if p.requires_grad],
            allow_unused=True,
        )
        for made, output in ((layer, y), (other, expected))
    )
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-4)


def test_the_multi_weight_nau_penalises_trains_and_clamps_the_active_weight():
    layer = zoo.MultiWeightNAULayer(
        2, 1, W_set_count=2, nac_oob="clip", regualizer_shape="linear", regualizer_z=1
    )
    layer.W_0.data, layer.W_1.data = torch.tensor([[0.25, 0.5]]), torch.tensor([[1.5, -0.25]])
    layer.iteration = 3
    gradients = torch.autograd.grad(layer(ROW).sum(), [layer.W_0, layer.W_1], allow_unused=True)
    assert [gradient is None for gradient in gradients] == [True, False]
    found = values_of(layer.regualizer())
    # Means over two elements; the mean input is (1, 0.5).
    assert found["W"] == (0.5 + 0.25) / 2
    assert found["z"] == ((1 - 1.5) * 1.0 + (1 - 0.25) * 0.25) / 2
    assert found["W-set"] == (2 * 0.625**2 + 2 * 0.375**2) / 4
    layer.optimize(torch.tensor(0.0))
    assert (layer.W_0.tolist(), layer.W_1.tolist()) == ([[0.25, 0.5]], [[1.0, -0.25]])


@pytest.mark.parametrize(("lr", "beta"), [(1e-3, 0.9), (0.25, 0.5)])
def test_the_bandit_learns_from_losses_by_the_formula(lr, beta):
    layer = built("GradientBanditNAC").double()
    layer.set_parameter("lr", lr)
    layer.set_parameter("running_mean_beta", beta)
    W_hat, mean = layer.W_hat.clone(), 0.0
    lr, beta = layer.lr.item(), layer.running_mean_beta.item()
    for t, loss in enumerate((3.0, 1.0, 2.5, 0.25), start=1):
        layer(X.double())
        layer.optimize(torch.tensor(loss, dtype=torch.float64))
        mean = beta * mean + (1 - beta) * loss
        chosen = torch.nn.functional.one_hot(layer.sample, 3).double()
        step = lr * (mean / (1 - beta**t) - loss)
        W_hat = W_hat + step * (chosen - torch.softmax(W_hat, -1))
        torch.testing.assert_close(layer.W_hat, W_hat, rtol=1e-12, atol=1e-14)
    layer.reset_parameters()
    assert (layer.running_mean_iter.item(), layer.W_hat.abs().max().item()) == (0, 0.0)


def test_masks_are_rounded_in_evaluation_and_batch_statistics_follow_torch():
    for key in ("ScaledSigmoidNAU", "SigmoidNAU"):
        layer = built(key).eval()
        layer.W_logits.data.normal_(0, 20)
        assert torch.equal(layer(X), ORACLES[key](layer, X))
    layer.train()
    norm = torch.nn.BatchNorm1d(OUT)
    for _ in range(3):
        layer(X), norm(layer.l1(layer.W_logits))
    torch.testing.assert_close(layer.bn.state_dict(), norm.state_dict(), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="at least 2"):
        zoo.SigmoidNAULayer(1, 3)
