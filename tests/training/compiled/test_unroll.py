"""Recorded iterations rewritten over (run, sample): same values, or refused."""

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from stable_nalu.functional.mnac import product
from stable_nalu.training.compiled.recorded_products import RecordedProducts
from stable_nalu.training.compiled.unroll import UnrollingError, unrolled
from tests.runs import normal

RUNS, BATCH, IN, OUT = 3, 5, 2, 4


def both(function, *arguments, batch=BATCH):
    """Outputs and changed arguments of a function as it is recorded, and unrolled."""

    def copies():
        return [argument.clone() for argument in arguments]

    graph = make_fx(function)(*copies())
    one, other = copies(), copies()
    expected = graph(*one)
    actual = unrolled(graph, arguments[0].shape[0], batch)(*other)
    return (*expected, *one), (*actual, *other)


def assert_unrolls(function, *arguments):
    expected, actual = both(function, *arguments)
    for e, a in zip(expected, actual, strict=True):
        assert a.shape == e.shape
        torch.testing.assert_close(a, e, rtol=1e-13, atol=1e-13)


@pytest.fixture
def x():
    return normal(RUNS, BATCH, IN)


@pytest.fixture
def W():
    return normal(RUNS, OUT, IN, seed=1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, W: ((x @ W.mT).sum((-2, -1)),),
        lambda x, W: ((x @ W.mT).mean((-2, -1)),),
        lambda x, W: ((x.unsqueeze(-1) * W.mT.unsqueeze(-3)).prod(-2).sum((-2, -1)),),
        lambda x, W: (x.mT @ x, W.abs().sum(-1)),
        lambda x, W: (torch.cat([W, W * 2], -1), torch.stack([W, W], -1)),
        lambda x, W: (W[..., 1:], W.squeeze(0), W.reshape(RUNS, -1)),
        lambda x, W: (torch.linalg.vector_norm(W, 2, (-2, -1)), W.norm(1, (-2, -1))),
        lambda x, W: (torch.where(W > 0, W, 0.0), torch.ones_like(W), torch.full_like(W, 2.5)),
        lambda x, W: ((W == 0).sum(-1).to(W.dtype),),
        lambda x, W: (x * 2, x @ W.mT),
    ],
)
def test_operations(function, x, W):
    assert_unrolls(function, x, W)


def test_changes_in_place(x, W):
    """Of intermediate values; arguments are left alone."""

    def step(x, W):
        value = W.abs().sqrt().add_(1e-8)
        value.clamp_(0.2, 0.9)
        return (value.sum((-2, -1)),)

    assert_unrolls(step, x, W)
    with pytest.raises(UnrollingError, match="an argument changed by add_"):
        both(lambda x, W: (W.add_(1),), x, W)


@pytest.mark.parametrize("zeros", [0, 1, 3])
def test_gradient_of_a_product(zeros):
    """And how many are zero: a count of truths must not stop at one."""
    factors = normal(RUNS, BATCH, 3)
    factors[:, :, :zeros] = 0

    def gradient(factors):
        leaf = factors.detach().requires_grad_()
        with RecordedProducts() as products:
            value = product(leaf.unsqueeze(-1)).sum((-2, -1))
        (result,) = torch.autograd.grad(value.sum(), leaf)
        return (result.sum(-2), *products.zero_counts)

    leaf = factors.clone().requires_grad_()
    leaf.prod(-1).sum().backward()
    _, (actual, count, _) = both(gradient, factors)
    assert count.tolist() == [BATCH if zeros else 0] * RUNS
    if not zeros:
        torch.testing.assert_close(actual, leaf.grad.sum(-2))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, W: (x.sum(0),),
        lambda x, W: (x.cumsum(-2).sum((-2, -1)),),
        lambda x, W: (x.prod(-2),),
        lambda x, W: (x[:, 1:].sum((-2, -1)),),
        lambda x, W: (x.mT * 2,),
        lambda x, W: (W * torch.arange(2.0, dtype=W.dtype),),
        lambda x, W: (W.permute(1, 0, 2),),
    ],
)
def test_refused(function, x, W):
    with pytest.raises(UnrollingError):
        both(function, x, W)


@pytest.mark.parametrize("batch", [IN, OUT])
def test_a_batch_as_long_as_another_dimension_is_refused(batch, W):
    """Sizes are all that tells the batch from other dimensions in a recorded graph."""
    with pytest.raises(UnrollingError):
        both(lambda x, W: ((x @ W.mT).sum((-2, -1)),), normal(RUNS, batch, IN), W, batch=batch)


def test_many_cells_are_refused():
    wide = normal(RUNS, 20, 20)
    with pytest.raises(UnrollingError, match="400 cells"):
        both(lambda x, W: (W.abs(),), normal(RUNS, BATCH, IN), wide)
