import pytest
import torch

from stable_nalu.functional.mnac import product
from stable_nalu.training.compiled.recorded_products import RecordedProducts
from tests.functional.test_mnac import value_and_gradient
from tests.runs import normal


def test_recording_counts_zeros():
    factors = normal(3, 4, 5, 2)
    factors[1, 2, 3] = 0
    with RecordedProducts() as products:
        product(factors)
        product(factors[:, :, :3])
    assert [count.tolist() for count in products.zero_counts] == [[0, 2, 0], [0, 0, 0]]


def test_recorded_products_have_the_same_bits_on_many_numbers():
    factors, upstream = normal(3, 128, 10, 2).float(), normal(3, 128, 2, seed=1).float()
    plain = value_and_gradient(factors, upstream)
    with RecordedProducts():
        recorded = value_and_gradient(factors, upstream)
    assert all(map(torch.equal, plain, recorded))


def leave_by_an_error():
    with RecordedProducts():
        raise KeyError


def test_recording_ends_with_its_block():
    with pytest.raises(KeyError):
        leave_by_an_error()
    y = product(normal(3, 2).requires_grad_())
    assert "QuotientGradient" not in type(y.grad_fn).__name__
