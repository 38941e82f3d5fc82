"""Convolutions of many runs, and pooling."""

import torch

from stable_nalu.abstract import stack_models
from stable_nalu.network.convolution import Convolution, pooled


def test_a_stack_convolves_as_each_of_its_runs_does():
    models = [Convolution(2, 3, 5, 2) for _ in range(4)]
    x = torch.randn(4, 7, 2, 20, 20)
    alone = torch.stack([model(part) for model, part in zip(models, x, strict=True)])
    shared = torch.stack([model(x[0]) for model in models])
    theirs = torch.nn.functional.conv2d(x[1], models[1].W, models[1].bias, stride=2)
    assert torch.equal(alone[1], theirs)
    stack = stack_models(models)
    assert torch.equal(stack(x), alone)
    assert torch.equal(stack(x[0]), shared)


def test_pooling_is_that_of_torch():
    """With its gradient, where neighbours are equal too: the first of them has it."""
    x = torch.randint(0, 3, (2, 5, 3, 6, 6)).float().requires_grad_()
    theirs = torch.nn.functional.max_pool2d(x.flatten(0, 1), 2).unflatten(0, (2, 5))
    weights = torch.randn(theirs.shape)
    assert torch.equal(pooled(x), theirs)
    ours = torch.autograd.grad((pooled(x) * weights).sum(), x)[0]
    assert torch.equal(ours, torch.autograd.grad((theirs * weights).sum(), x)[0])
