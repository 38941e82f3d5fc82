"""Layers that ignore most of what they compute are torch's, forward and back, up to rounding."""

import pytest
import torch
from torch.nn import functional

from stable_nalu.network import sparse_gradients
from stable_nalu.network.sparse_gradients import pooled_convolution, rectified_linear

SHAPES = (
    (1, 28, 28, 20, 5),
    (20, 12, 12, 50, 5),
    (32, 26, 26, 64, 3),
    # More than the registers hold.
    (1, 12, 12, 65, 5),
    (33, 8, 8, 20, 5),
)
"""Channels, height, width, kernels and size."""


@pytest.fixture(params=["compiled", "torch alone"])
def library(request, monkeypatch):
    """Run with and without compiled code."""
    if request.param == "torch alone":
        monkeypatch.setattr(sparse_gradients, "library", lambda: None)
    elif sparse_gradients.library() is None:
        pytest.skip("no C++ compiler")


def drawn(*shape, seed=0, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * scale).requires_grad_()


def plainly_pooled(x, W, bias):
    return functional.max_pool2d(torch.relu(functional.conv2d(x, W, bias)), 2)


def assert_alike(own, plain, tensors):
    """Compare values and the gradients of a sum with random weights, some of them 0."""
    y, expected = own(*tensors), plain(*tensors)
    torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-5)
    weights = torch.where(drawn(*y.shape, seed=1) > 1, 0, drawn(*y.shape, seed=2)).detach()
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    found, right = (torch.autograd.grad((z * weights).sum(), wanted) for z in (y, expected))
    for gradient, other in zip(found, right, strict=True):
        torch.testing.assert_close(gradient, other, rtol=1e-4, atol=1e-4 * other.abs().max())


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("shape", SHAPES)
def test_pooled_convolutions(shape):
    channels, height, width, kernels, size = shape
    # Of few images, so that no two outputs are as near as roundings are.
    x = drawn(3, channels, height, width).detach().requires_grad_(channels > 1)
    W = drawn(kernels, channels, size, size, seed=3, scale=(channels * size * size) ** -0.5)
    assert_alike(pooled_convolution, plainly_pooled, (x, W, drawn(kernels, seed=4, scale=0.1)))


@pytest.mark.usefixtures("library")
def test_of_equal_outputs_the_first_one_learns():
    x = torch.zeros(1, 16, 6, 6)
    x[0, :, 2, 2] = torch.arange(16.0)
    W, bias = drawn(16, 16, 3, 3, scale=0.1), torch.ones(16)
    assert_alike(pooled_convolution, plainly_pooled, (x.requires_grad_(), W, bias))
    still = torch.zeros(1, 1, 28, 28)
    assert_alike(pooled_convolution, plainly_pooled, (still, drawn(20, 1, 5, 5), torch.ones(20)))


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("channels", [1, 20])
def test_what_is_not_a_number_is_seen(channels):
    x, W, bias = drawn(2, channels, 12, 12).detach(), drawn(50, channels, 5, 5), drawn(50)
    x[1, 0, 5, 5] = torch.nan
    y = pooled_convolution(x, W, bias)
    assert torch.equal(y.isnan(), plainly_pooled(x, W, bias).isnan())
    assert y.isnan().any()
    (of_W,) = torch.autograd.grad(y.sum(), W)
    assert of_W.isnan().any()


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(("samples", "inputs", "outputs"), [(5, 800, 500), (3, 48, 7), (4, 30, 8)])
def test_rectified_linear(samples, inputs, outputs):
    x, W = drawn(samples, inputs), drawn(outputs, inputs, seed=3, scale=inputs**-0.5)

    def plain(x, W, bias):
        return torch.relu(functional.linear(x, W, bias))

    assert_alike(rectified_linear, plain, (x, W, drawn(outputs, seed=4, scale=0.1)))


def test_without_a_compiler_torch_does_it(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    sparse_gradients.library.cache_clear()
    assert sparse_gradients.library() is None
    x, W, bias = drawn(2, 1, 28, 28).detach(), drawn(20, 1, 5, 5), drawn(20)
    assert torch.equal(pooled_convolution(x, W, bias), plainly_pooled(x, W, bias))
    sparse_gradients.library.cache_clear()


def test_the_same_images_give_the_same_numbers_in_any_batch():
    if sparse_gradients.library() is None:
        pytest.skip("no C++ compiler")
    x, W, bias = drawn(6, 1, 28, 28).detach(), drawn(20, 1, 5, 5), drawn(20)
    parts = [pooled_convolution(part, W, bias) for part in x.split(2)]
    assert torch.equal(torch.cat(parts), pooled_convolution(x, W, bias))
