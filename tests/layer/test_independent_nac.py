"""IndependentNAC: the NAC's values, a backward pass of its own, a working z penalty."""

import torch

from stable_nalu.layer import IndependentNACLayer, NACLayer

X = torch.tensor([[1.5, -2.0], [0.5, 3.0]], dtype=torch.float64)


def build_pair(**options):
    torch.manual_seed(0)
    layer = IndependentNACLayer(2, 3, **options).double()
    torch.manual_seed(0)
    return layer, NACLayer(2, 3, **options).double()


def test_initial_values_and_output_are_those_of_the_nac():
    layer, nac = build_pair()
    assert torch.equal(layer.W_hat, nac.W_hat)
    assert torch.equal(layer.M_hat, nac.M_hat)
    assert torch.equal(layer(X), nac(X))


def test_each_factor_gets_its_own_derivative():
    layer, _ = build_pair()
    G = torch.randn(2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    actual = torch.autograd.grad((layer(X) * G).sum(), [layer.W_hat, layer.M_hat])
    upstream = torch.einsum("bo,bi->oi", G, X)
    s = 1 / (1 + torch.exp(-layer.M_hat.detach()))
    expected = upstream / torch.cosh(layer.W_hat.detach()) ** 2, upstream * s * (1 - s)
    torch.testing.assert_close(actual, expected, rtol=1e-8, atol=1e-14)


def test_z_penalty_is_that_of_the_nac():
    layer, nac = build_pair(regualizer_z=1)
    layer(X)
    nac(X)
    assert layer.regualizer()["z"].item() == nac.regualizer()["z"].item() > 0


def test_logs_what_the_nac_logs():
    layer, nac = build_pair()
    named = [[(o.kind, o.name, o.verbose_only) for o in m.observations()] for m in (layer, nac)]
    assert named[0] == named[1]
    assert list(layer.regualizer_terms()) == ["z"]
