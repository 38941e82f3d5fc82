"""Convolutions and pooling."""

import torch

from stable_nalu.network.dense import Convolution, pooled


def test_a_convolution_is_that_of_torch():
    model, x = Convolution(2, 3, 5, 2), torch.randn(7, 2, 20, 20)
    theirs = torch.nn.functional.conv2d(x, model.W, model.bias, stride=2)
    assert torch.equal(model(x), theirs)


def test_pooling_is_that_of_torch():
    """With its gradient, where neighbours are equal too: the first of them has it."""
    x = torch.randint(0, 3, (10, 3, 6, 6)).float().requires_grad_()
    theirs = torch.nn.functional.max_pool2d(x, 2)
    weights = torch.randn(theirs.shape)
    assert torch.equal(pooled(x), theirs)
    ours = torch.autograd.grad((pooled(x) * weights).sum(), x)[0]
    assert torch.equal(ours, torch.autograd.grad((theirs * weights).sum(), x)[0])
