"""Sums over a batch in torch's order."""

import pytest
import torch

from stable_nalu.training.compiled.unroll.batch_sum import batch_sum, is_known_order


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 7, 8, 10, 20, 40])
@pytest.mark.parametrize("runs", [1, 6])
def test_whether_the_order_is_known_does_not_depend_on_the_values(runs, m, dtype):
    known = is_known_order(runs, 128, m, dtype)
    x = torch.rand(20, runs, 128, m, dtype=dtype) * torch.rand(20, runs, 1, m, dtype=dtype)
    equal = [torch.equal(batch_sum(part.mT), part.sum(1)) for part in x]
    assert all(equal) if known else not all(equal)


@pytest.mark.parametrize("batch", [64, 128, 256, 1024])
def test_it_is_the_sum(batch):
    x = torch.rand(3, batch, 5, dtype=torch.float64)
    torch.testing.assert_close(batch_sum(x.mT), x.sum(1), rtol=1e-14, atol=0)


@pytest.mark.parametrize("batch", [1, 20, 100, 2048])
def test_other_batches_are_left_to_torch(batch):
    assert not is_known_order(3, batch, 2, torch.float32)
