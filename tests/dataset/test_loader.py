import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from stable_nalu.dataset import TensorLoader
from stable_nalu.dataset.loader import draw_seed, shuffled_order


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
    ours = TensorLoader(tensors, 5, shuffle)
    assert len(ours) == len(theirs)

    def two_epochs(loader):
        torch.manual_seed(11)
        iterator = iter(loader)
        states = [torch.get_rng_state()]
        batches = [next(iterator)]
        states.append(torch.get_rng_state())
        batches += [*iterator, *loader]
        return batches, [*states, torch.get_rng_state()]

    our_batches, our_states = two_epochs(ours)
    their_batches, their_states = two_epochs(theirs)
    for our_state, their_state in zip(our_states, their_states, strict=True):
        assert torch.equal(our_state, their_state)
    for our_batch, their_batch in zip(our_batches, their_batches, strict=True):
        for our, their in zip(our_batch, their_batch, strict=True):
            assert torch.equal(our, their)


def test_bad_batch_size():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        TensorLoader((torch.zeros(3),), 0, shuffle=False)
