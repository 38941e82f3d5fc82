"""Matrix products in torch's order."""

import pytest
import torch

from stable_nalu.training.compiled.unroll.products import (
    Layout,
    known_order,
    lies_either_way,
    sum_in_lanes,
    sum_in_turn,
    turns_over,
)

DTYPES = [torch.float32, torch.float64]


def by_rows(*sizes, dtype=torch.float32):
    return Layout(sizes, (sizes[1] * sizes[2], sizes[2], 1), dtype)


def turned(*sizes, dtype=torch.float32):
    """The transposed of what is laid by rows."""
    return Layout(sizes, (sizes[1] * sizes[2], 1, sizes[1]), dtype)


def random(layout):
    numbers = torch.rand(layout.sizes, dtype=layout.dtype)
    return layout.lay(numbers * torch.rand(layout.sizes[0], 1, 1, dtype=layout.dtype) - 0.2)


def agree(x, y, other):
    """How often of three times torch's product equals another."""
    pairs = [(random(x), random(y)) for _ in range(3)]
    return [torch.equal(torch.bmm(*pair), other(*pair)) for pair in pairs]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lie", [by_rows, turned])
@pytest.mark.parametrize("inner", [1, 2, 5, 7, 8, 10, 16, 20, 31])
@pytest.mark.parametrize(("runs", "columns"), [(1, 1), (6, 1), (6, 2), (225, 1)])
def test_a_known_order_is_that_of_other_numbers_too(runs, inner, columns, lie, dtype):
    x, y = by_rows(runs, 128, inner, dtype=dtype), lie(runs, inner, columns, dtype=dtype)
    order = known_order(x, y)
    for combine in (sum_in_turn, sum_in_lanes):
        equal = agree(x, y, lambda a, b, f=combine: f((a.unsqueeze(3) * b.unsqueeze(1)).unbind(2)))
        if combine is order:
            assert all(equal)
        elif order is None:
            assert not all(equal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 2, 5, 10, 20, 40])
@pytest.mark.parametrize("runs", [1, 6, 225])
@pytest.mark.parametrize("lie", [by_rows, turned])
def test_whether_a_product_may_be_written_otherwise(runs, rows, lie, dtype):
    x, y = lie(runs, rows, 128, dtype=dtype), by_rows(runs, 128, 1, dtype=dtype)
    over = agree(x, y, lambda a, b: torch.bmm(b.mT.contiguous(), a.mT.contiguous()).mT)
    assert all(over) if turns_over(x, y) else not all(over)
    either = agree(x, y, lambda a, b: torch.bmm(a.contiguous(), b))
    assert all(either) if lies_either_way(x, y) else not all(either)


@pytest.mark.parametrize("combine", [sum_in_turn, sum_in_lanes])
@pytest.mark.parametrize("inner", [1, 3, 7, 8, 9, 16, 23, 32, 50])
def test_it_is_the_sum(combine, inner):
    x = torch.rand(7, inner, dtype=torch.float64)
    torch.testing.assert_close(combine(x.unbind(1)), x.sum(1), rtol=1e-14, atol=0)


def test_a_layout_is_read_from_strides():
    class Node:
        def __init__(self, value):
            self.meta = {"val": value}

    matrices = torch.empty(6, 5, 3)
    assert Layout.of(Node(matrices)) == by_rows(6, 5, 3)
    assert Layout.of(Node(matrices.mT)) == turned(6, 3, 5)
    assert Layout.of(Node(matrices.mT)).by_columns
    # Expanded matrices are copied before they are multiplied.
    assert Layout.of(Node(torch.empty(6, 5, 1).expand(6, 5, 3))) == by_rows(6, 5, 3)
    # A stride over one element is kept as it is.
    column = torch.empty(6, 1, 10).mT
    assert Layout.of(Node(column)).strides == (10, 1, 10)
    assert not Layout.of(Node(column)).by_columns


def test_products_of_the_papers_sizes_are_known():
    """With torch's usual library; others' products are left to torch."""
    if not torch.backends.mkl.is_available():
        pytest.skip("products of another library")
    for inner in (2, 4, 10, 20):
        x = by_rows(225, 128, inner)
        assert known_order(x, by_rows(225, inner, 1))
        assert known_order(x, turned(225, inner, 1))
    assert all(turns_over(turned(225, m, 128), by_rows(225, 128, 1)) for m in (10, 20))
