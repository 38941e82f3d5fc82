"""Products in C++ have torch's bits, and sum in the order that they state."""

import importlib
import itertools

import numpy as np
import pytest
import torch

from stable_nalu import native
from stable_nalu.functional import linear
from stable_nalu.functional.products import is_done_by_cpp, product
from tests.runs import normal

room = importlib.import_module("stable_nalu.functional.products")

SIZES = [(45, 128, 512), (64, 64, 64), (31, 32, 512), (9, 300, 40), (7, 128, 64), (2, 225, 72)]
LAYOUTS = list(itertools.product([False, True], repeat=2))
"""Whether the matrices of either side lie column by column."""


@pytest.fixture(autouse=True)
def loaded(monkeypatch):
    monkeypatch.setattr(native, "_library", None)
    if not native.load():
        pytest.skip("no C++ compiler")


def drawn(runs, height, width, *, turned, seed):
    shape = (width, height) if turned else (height, width)
    numbers = normal(*runs, *shape, seed=seed).float()
    return numbers.mT if turned else numbers


def operands(runs, sizes, turned=(False, False)):
    rows, inputs, outputs = sizes
    a = drawn(runs, rows, inputs, turned=turned[0], seed=1)
    b = drawn(runs, inputs, outputs, turned=turned[1], seed=2)
    return a, b, drawn(runs, 1, outputs, turned=False, seed=3)


def one_after_another(a, b, places, start=None):
    total = np.zeros((a.shape[0], b.shape[1]), np.float32) if start is None else start
    for k in places:
        total = total + a[:, k, None] * b[k]
    return total


def in_order(a, b, bias, *, inputs_adjoin):
    """Sum as products.cpp says that it does."""
    rows, inputs = a.shape
    whole = 0 if rows < 8 else rows // 4 * 4
    blocks = [range(k, min(k + 112, inputs)) for k in range(0, inputs, 112)]
    top = np.zeros((whole, b.shape[1]), np.float32) + (0 if bias is None else bias)
    for places in (blocks[-1], *blocks[:-1]):
        top = top + one_after_another(a[:whole], b, places)
    rest = a[whole:]
    if not inputs_adjoin:
        return np.concatenate((top, one_after_another(rest, b, range(inputs), bias)))
    first = int(whole > 0)
    end = first + (inputs - first) // 4 * 4
    sums = [
        one_after_another(rest, b, [*range(first * (s == 0)), *range(first + s, end, 4)])
        for s in range(4)
    ]
    rest = (sums[0] + sums[2]) + (sums[1] + sums[3])
    rest = one_after_another(a[whole:], b, range(end, inputs), rest)
    return np.concatenate((top, rest if bias is None else rest + bias))


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("turned", LAYOUTS)
@pytest.mark.parametrize("biased", [False, True])
def test_sums_have_the_order_that_is_stated(sizes, turned, biased):
    a, b, bias = operands((), sizes, turned)
    bias = bias if biased else None
    wanted = in_order(
        *(v if v is None else v.numpy() for v in (a, b, bias)), inputs_adjoin=turned[1]
    )
    assert np.array_equal(room._by_cpp(a, b, bias).numpy(), wanted)


@pytest.mark.parametrize("runs", [(), (1,), (3,)])
@pytest.mark.parametrize("turned", LAYOUTS)
def test_bits_are_those_of_torch(runs, turned):
    """Whoever computes them: where the orders differ, torch does."""
    sizes = [*SIZES, (30, 7, 512), (1, 128, 512), (40, 100, 30), (10, 8, 8), (120, 16, 24)]
    for size in sizes:
        a, b, bias = operands(runs, size, turned)
        assert torch.equal(product(a, b), a @ b)
        wanted = torch.baddbmm(bias, a, b) if runs else torch.addmm(bias, a, b)
        assert torch.equal(product(a, b, bias), wanted)


def test_parts_of_larger_matrices():
    a, b, _ = operands((3,), (70, 128, 512))
    for rows in (slice(3, 44), slice(0, 9)):
        assert torch.equal(product(a[:, rows], b), a[:, rows] @ b)
        assert torch.equal(product(b.mT[:, rows], a[:, :, :].mT), b.mT[:, rows] @ a.mT)
    assert torch.equal(product(a[..., 5:100], b[:, 5:100, 8:48]), a[..., 5:100] @ b[:, 5:100, 8:48])


def test_rounding_is_that_of_single_numbers():
    a, b, bias = operands((2,), (45, 300, 64))
    exact = torch.baddbmm(bias.double(), a.double(), b.double())
    error = room._by_cpp(a, b, bias).double() - exact
    # Each of 300 sums is wrong by half of the last bit of some 60 at most.
    assert error.abs().max() < 300 * 60 * 2**-24


def test_who_computes():
    a, b, _ = operands((2,), SIZES[0])
    if not is_done_by_cpp(a, b):
        pytest.skip("MKL sums in another order on this machine, or vectors are narrow")
    assert is_done_by_cpp(a[0], b[0])
    assert not is_done_by_cpp(a.double(), b.double())
    assert product(a.clone().requires_grad_(), b).requires_grad
    assert not is_done_by_cpp(a[:, :1], b)
    assert not is_done_by_cpp(a[:, :, :4], b[:, :4])
    assert not is_done_by_cpp(a, b[..., :30])
    assert not is_done_by_cpp(a[..., ::2], b[:, ::2])
    assert not is_done_by_cpp(a[:, :2, :8], b[:, :8, :8])
    assert not is_done_by_cpp(a, b[0])


def test_torch_computes_where_orders_differ(monkeypatch):
    a, b, bias = operands((2,), SIZES[0])
    wanted = product(a, b, bias)
    monkeypatch.setattr(room, "_by_torch", lambda *values: room._by_cpp(*values) + 1)
    room._agrees.cache_clear()
    assert not is_done_by_cpp(a, b, bias)
    monkeypatch.undo()
    room._agrees.cache_clear()
    assert torch.equal(product(a, b, bias), wanted)


def stacked_map(x, W, bias):
    """Values of a map, first gradients, and one of the second order."""
    x, W, bias = (v.clone().requires_grad_() for v in (x, W, bias))
    y = linear(x, W, bias)
    dy = torch.cos(y.detach())
    first = torch.autograd.grad(y, (x, W, bias), dy, retain_graph=True)
    of_x, of_w = torch.autograd.grad(y, (x, W), dy.requires_grad_(), create_graph=True)
    second = torch.autograd.grad((of_x**2).sum() + (of_w**2).sum(), (x, W, dy))
    return y.detach(), *first, *second


@pytest.mark.parametrize("sizes", [(31, 32, 512), (40, 64, 128)])
def test_gradients_are_those_of_torch(monkeypatch, sizes):
    x, b, bias = operands((3,), sizes, (False, True))
    found = stacked_map(x, b.mT.contiguous(), bias.squeeze(-2))
    monkeypatch.setattr(native, "_library", None)
    wanted = stacked_map(x, b.mT.contiguous(), bias.squeeze(-2))
    assert all(map(torch.equal, found[:4], wanted[:4]))
    for ours, theirs in zip(found[4:], wanted[4:], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-3)
