import pytest
import torch

from stable_nalu.functional.product import product, tracing
from tests.runs import RUNS, normal

FACTORS = {
    "no zero": [[1.5, -2.0], [0.5, 3.0], [-1.0, 0.25]],
    "one zero": [[1.5, 0.0], [0.5, 3.0], [0.0, 0.25]],
    "two zeros": [[0.0, 0.0], [0.5, 0.0], [0.0, 0.25]],
}


def value_and_gradient(factors, upstream):
    factors = factors.clone().requires_grad_()
    y = product(factors)
    return y.detach(), torch.autograd.grad(y, factors, upstream)[0]


@pytest.mark.parametrize("runs", RUNS)
def test_value(runs):
    factors = normal(*runs, 4, 3, 2)
    expected = factors[..., 0, :] * factors[..., 1, :] * factors[..., 2, :]
    torch.testing.assert_close(product(factors), expected)


@pytest.mark.parametrize("name", FACTORS)
def test_gradient_leaves_each_factor_out(name):
    factors = torch.tensor(FACTORS[name], dtype=torch.float64)
    _, gradient = value_and_gradient(factors, torch.ones(2, dtype=torch.float64))
    for i in range(3):
        others = [j for j in range(3) if j != i]
        torch.testing.assert_close(gradient[i], factors[others[0]] * factors[others[1]])


def test_a_zero_in_one_run_leaves_the_others_as_they_are_alone():
    factors, upstream = normal(3, 128, 10, 2).float(), normal(3, 128, 2, seed=1).float()
    factors[1, 5, 4, 0] = 0
    _, together = value_and_gradient(factors, upstream)
    for run in range(3):
        _, alone = value_and_gradient(factors[run], upstream[run])
        assert torch.equal(together[run], alone)
    leaf = factors.clone().requires_grad_()
    (as_one_tensor,) = torch.autograd.grad(leaf.prod(-2), leaf, upstream)
    assert not torch.equal(together[0], as_one_tensor[0])


def test_tracing_counts_zeros():
    factors = normal(3, 4, 5, 2)
    factors[1, 2, 3] = 0
    with tracing() as counts:
        product(factors)
        product(factors[:, :, :3])
    assert [count.tolist() for count in counts] == [[0, 2, 0], [0, 0, 0]]


def test_traced_products_have_the_same_bits_on_many_numbers():
    factors, upstream = normal(3, 128, 10, 2).float(), normal(3, 128, 2, seed=1).float()
    plain = value_and_gradient(factors, upstream)
    with tracing():
        traced = value_and_gradient(factors, upstream)
    assert all(map(torch.equal, plain, traced))


def leave_by_an_error():
    with tracing():
        raise KeyError


def test_tracing_ends_with_its_block():
    with pytest.raises(KeyError):
        leave_by_an_error()
    y = product(normal(3, 2).requires_grad_())
    assert "TraceableProduct" not in type(y.grad_fn).__name__
