"""Which images make which sequence: figures of the published code, on labels made up."""

import numpy as np
import pytest
import torch

from stable_nalu.dataset.images import SequentialDigitDataset
from stable_nalu.dataset.legacy_random import LegacyRandom
from tests.digit_images import published_sizes

PARENT_DRAWS = (
    *(2357136044, 1791095845, 1872583848, 2365658986, 4153361530),
    *(953453411, 3834805130, 327741615, 3751350723, 44556670),
)
TRAIN_FULL, VALID, TEST = 62379872, 47430696, 88253339


@pytest.fixture
def mnist(monkeypatch):
    published_sizes(monkeypatch, (1, 1), (60000, 10000))


def test_the_first_fork_has_the_seed_that_the_parent_draws(mnist):
    for seed, drawn in enumerate(PARENT_DRAWS):
        assert int(LegacyRandom(seed).integers(0, 2**32 - 1)) == drawn
    first = SequentialDigitDataset("mnist", "cumsum", seed=3).fork()
    again = SequentialDigitDataset("mnist", "cumsum", seed=8).fork(seed=PARENT_DRAWS[3])
    assert torch.equal(first.positions, again.positions)


def test_worked_example_of_all_digits(mnist):
    dataset = SequentialDigitDataset("mnist", "cumsum", seed=0)
    train = dataset.fork(10)
    full = dataset.fork(10, "train", TRAIN_FULL)
    valid = dataset.fork(10, "valid", VALID)
    test = dataset.fork(100, "test", TEST)
    assert list(map(len, (train, full, valid, test))) == [5500, 5500, 500, 100]
    starts = {
        train: [54333, 33598, 26676, 12128, 16759, 28202, 2571, 53165, 40090, 19293],
        full: [44734, 10516, 29472, 15978, 15924],
        valid: [1079, 1382, 3861, 4971, 423],
        test: [2721, 5800, 6682, 6395, 4795],
    }
    for fork, start in starts.items():
        assert fork.mapping.ravel()[: len(start)].tolist() == start
    assert train.targets[0].ravel().tolist() == [4, 13, 18, 27, 33, 40, 40, 48, 51, 55]
    assert train.targets.dtype == torch.float32
    assert train.targets.shape == (5500, 10, 1)
    products = SequentialDigitDataset("mnist", "prod", seed=0).fork(10)
    assert products.targets[0].ravel().tolist() == [4, 36, 180, 1620, 9720, 68040, 0, 0, 0, 0]


def test_worked_example_of_some_digits(mnist):
    train = SequentialDigitDataset("mnist", "cumprod", range(1, 10), seed=1).fork(2)
    assert len(train) == 24750
    assert train.mapping.ravel()[:6].tolist() == [17837, 27299, 38127, 44902, 18017, 5104]
    assert train.targets[:2].tolist() == [[[2], [12]], [[2], [14]]]


def test_worked_example_of_house_numbers(monkeypatch):
    published_sizes(monkeypatch, (1, 1, 3), (73257, 26032))
    dataset = SequentialDigitDataset("svhn", "cumprod", seed=0)
    train, valid = dataset.fork(10), dataset.fork(10, "valid")
    assert (len(train), len(valid)) == (6825, 500)
    assert train.mapping.ravel()[:5].tolist() == [46546, 29716, 49581, 6727, 15395]
    assert valid.mapping.ravel()[:5].tolist() == [4565, 4712, 3905, 3734, 1604]


def test_long_products_wrap_around_as_int64(mnist):
    dataset = SequentialDigitDataset("mnist", "cumprod", [9], seed=0)
    targets = dataset.fork(20, "test", TEST).targets[0].ravel()
    assert targets[18] == float(np.float32(9**19))
    assert targets[19] == float(np.float32(9**20 - 2**64))


@pytest.mark.parametrize(
    ("family", "shape", "values"),
    [
        ("mnist", (1, 28, 28), (-0.424212962, 2.82148671)),
        ("svhn", (3, 32, 32), (0.0, 1.0)),
    ],
)
def test_batches_of_digits(family, shape, values):
    train = SequentialDigitDataset(family, "sum", range(1, 10), 0, "digits").fork(3)
    x, t = next(iter(train.dataloader(7, shuffle=False)))
    assert x.shape == (7, 3, *shape)
    assert (x.dtype, t.shape) == (torch.float32, (7, 3, 1))
    assert (x.min().item(), x.max().item()) == pytest.approx(values)
    labels = train.subset.labels[train.positions[:7]]
    assert t[..., 0].tolist() == np.cumsum(labels, -1).tolist()
    image = train.subset.images[train.positions[4, 2]]
    assert torch.equal(x[4, 2], train.table(image))


def test_the_order_of_a_shuffled_epoch_is_torchs(mnist):
    torch.manual_seed(5)
    order = SequentialDigitDataset("mnist", "sum", seed=0).fork(10).dataloader().begin()
    assert order is not None
    assert order[:6].tolist() == [4228, 2766, 3112, 1017, 5229, 5375]


def test_a_last_batch_that_is_too_small_joins_the_one_before():
    train = SequentialDigitDataset("mnist", "sum", seed=0, source="digits").fork(1)
    assert len(train) == 1197
    sizes = [len(t) for _, t in train.dataloader(92, smallest=2)]
    assert sizes == [92] * 12 + [93]
    assert len(train.dataloader(92)) == 14


def test_too_long_a_sequence_is_refused():
    dataset = SequentialDigitDataset("mnist", "sum", [3], seed=0, source="digits")
    with pytest.raises(ValueError, match="make no sequence of 100; ask for shorter"):
        dataset.fork(100, "test", TEST)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="operation 'div' is not one of"):
        SequentialDigitDataset("mnist", "div")
    with pytest.raises(ValueError, match="subset 'all' is not one of"):
        SequentialDigitDataset("mnist", "sum", source="digits").fork(2, "all")
