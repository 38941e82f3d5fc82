"""Matrix products in torch's order."""

import pytest
import torch

from stable_nalu.training.unroll.products import is_known_order, linear_sum, turns_over

DTYPES = [torch.float32, torch.float64]


def random(*shape, dtype):
    return torch.rand(*shape, dtype=dtype) * torch.rand(*shape[:-1], 1, dtype=dtype) - 0.2


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inner", [1, 2, 5, 7, 8, 10, 16, 20, 24, 31])
@pytest.mark.parametrize(("runs", "columns"), [(1, 1), (6, 1), (25, 1), (6, 2), (225, 1)])
def test_whether_the_order_is_known_does_not_depend_on_the_values(runs, inner, columns, dtype):
    known = is_known_order(runs, 128, inner, columns, dtype)
    equal = []
    for _ in range(3):
        x, weights = (
            random(runs, 128, inner, dtype=dtype),
            random(runs, columns, inner, dtype=dtype),
        )
        ours = [linear_sum((x * w.unsqueeze(1)).unbind(2)) for w in weights.unbind(1)]
        equal.append(torch.equal(torch.bmm(x, weights.mT), torch.stack(ours, 2)))
    assert all(equal) if known else not all(equal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 2, 5, 10, 20, 40])
@pytest.mark.parametrize("runs", [1, 6, 225])
def test_whether_a_product_may_be_turned_does_not_depend_on_the_values(runs, rows, dtype):
    known = turns_over(runs, 128, rows, dtype)
    equal = []
    for _ in range(3):
        x, y = random(runs, rows, 128, dtype=dtype), random(runs, 128, 1, dtype=dtype)
        turned = torch.bmm(y.mT.contiguous(), x.mT.contiguous()).mT
        equal.append(torch.equal(torch.bmm(x, y), turned))
    assert all(equal) if known else not all(equal)


@pytest.mark.parametrize("inner", [1, 3, 7, 8, 9, 16, 23, 32, 50])
def test_it_is_the_sum(inner):
    x = torch.rand(7, inner, dtype=torch.float64)
    torch.testing.assert_close(linear_sum(x.unbind(1)), x.sum(1), rtol=1e-14, atol=0)


def test_products_of_the_papers_sizes_are_known():
    """On machines with torch's usual library; elsewhere products are left to torch."""
    if not torch.backends.mkl.is_available():
        pytest.skip("products of another library")
    assert all(is_known_order(225, 128, inner, 1, torch.float32) for inner in (2, 4, 10, 20))
    assert all(turns_over(225, 128, rows, torch.float32) for rows in (10, 20))
