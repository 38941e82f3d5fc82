"""Which images make which sequence: figures of the published code, on labels made up."""

import numpy as np
import pytest
import torch

from stable_nalu.dataset.legacy_random import LegacyRandom
from tests.digit_images import digit_sequences, first_seed, published_sizes

PARENT_DRAWS = (
    *(2357136044, 1791095845, 1872583848, 2365658986, 4153361530),
    *(953453411, 3834805130, 327741615, 3751350723, 44556670),
)
TRAIN_FULL, VALID, TEST = 62379872, 47430696, 88253339


@pytest.fixture
def mnist(monkeypatch):
    published_sizes(monkeypatch, (1, 1), (60000, 10000))


def test_seeds_that_parents_draw():
    drawn = [int(LegacyRandom(seed).integers(0, 2**32 - 1)) for seed in range(10)]
    assert tuple(drawn) == PARENT_DRAWS


def test_worked_example_of_all_digits(mnist):
    train = digit_sequences("mnist", "cumsum", 10, first_seed(0))
    full = digit_sequences("mnist", "cumsum", 10, TRAIN_FULL)
    valid = digit_sequences("mnist", "cumsum", 10, VALID, "valid")
    test = digit_sequences("mnist", "cumsum", 100, TEST, "test")
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
    products = digit_sequences("mnist", "prod", 10, first_seed(0))
    assert products.targets[0].ravel().tolist() == [4, 36, 180, 1620, 9720, 68040, 0, 0, 0, 0]


def test_worked_example_of_some_digits(mnist):
    train = digit_sequences("mnist", "cumprod", 2, first_seed(1), digits=range(1, 10))
    assert len(train) == 24750
    assert train.mapping.ravel()[:6].tolist() == [17837, 27299, 38127, 44902, 18017, 5104]
    assert train.targets[:2].tolist() == [[[2], [12]], [[2], [14]]]


def test_worked_example_of_house_numbers(monkeypatch):
    published_sizes(monkeypatch, (1, 1, 3), (73257, 26032))
    random = LegacyRandom(0)
    seeds = [int(random.integers(0, 2**32 - 1)) for _ in range(2)]
    train = digit_sequences("svhn", "cumprod", 10, seeds[0])
    valid = digit_sequences("svhn", "cumprod", 10, seeds[1], "valid")
    assert (len(train), len(valid)) == (6825, 500)
    assert train.mapping.ravel()[:5].tolist() == [46546, 29716, 49581, 6727, 15395]
    assert valid.mapping.ravel()[:5].tolist() == [4565, 4712, 3905, 3734, 1604]


def test_long_products_wrap_around_as_int64(mnist):
    targets = digit_sequences("mnist", "cumprod", 20, TEST, "test", [9]).targets[0].ravel()
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
    train = digit_sequences(family, "sum", 3, first_seed(0), digits=range(1, 10), source="digits")
    x, t = next(iter(train.dataloader(7, shuffle=False)))
    assert x.shape == (7, 3, *shape)
    assert (x.dtype, t.shape) == (torch.float32, (7, 3, 1))
    assert (x.min().item(), x.max().item()) == pytest.approx(values)
    labels = train.subset.labels[train.positions[:7]]
    assert t[..., 0].tolist() == np.cumsum(labels, -1).tolist()
    image = train.subset.images[train.positions[4, 2]]
    assert torch.equal(x[4, 2], train.table(image))


def test_orders_and_sizes_of_batches(mnist):
    torch.manual_seed(5)
    order = digit_sequences("mnist", "sum", 10, 0).dataloader().begin()
    assert order is not None
    assert order[:6].tolist() == [4228, 2766, 3112, 1017, 5229, 5375]


def test_a_last_batch_that_is_too_small_joins_the_one_before():
    train = digit_sequences("mnist", "sum", 1, 0, source="digits")
    assert len(train) == 1197
    sizes = [len(t) for _, t in train.dataloader(92, smallest=2)]
    assert sizes == [92] * 12 + [93]
    assert len(train.dataloader(92)) == 14
