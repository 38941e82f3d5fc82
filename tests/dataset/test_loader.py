import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from stable_nalu.dataset.distribution import IndexLoader, draw_seed, shuffled_order


def test_known_seeds_and_order():
    torch.manual_seed(5)
    assert draw_seed() == 4095051218741643470
    assert shuffled_order(5500)[:6].tolist() == [4228, 2766, 3112, 1017, 5229, 5375]
    torch.manual_seed(5)
    draw_seed()
    assert draw_seed() == 6838803925648402109


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_and_draws_of_torch(shuffle):
    tensors = (torch.arange(23), torch.arange(46.0).reshape(23, 2))
    theirs = DataLoader(TensorDataset(*tensors), batch_size=5, shuffle=shuffle)
    ours = IndexLoader(23, 5, shuffle, lambda rows: tuple(one[rows] for one in tensors))
    assert len(ours) == len(theirs)

    def two_epochs(loader):
        torch.manual_seed(11)
        batches = [part for _ in range(2) for batch in loader for part in batch]
        return [*batches, torch.get_rng_state()]

    for our, their in zip(two_epochs(ours), two_epochs(theirs), strict=True):
        assert torch.equal(our, their)
