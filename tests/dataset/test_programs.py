"""Numbers in words, programs, and batches in a known order."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from stable_nalu.dataset.distribution import IndexLoader, draw_seed, shuffled_order
from stable_nalu.dataset.number_translation import VOCABULARY, encode, split_numbers, words_of
from stable_nalu.task.program_evaluation import draw, in_steps, words


def programs(kind="programs", count=1000, nesting=2, low=0, high=100, seed=0):
    return draw(np.random.default_rng(seed), kind, count, nesting, low, high)


@pytest.mark.parametrize(
    ("kind", "nesting", "low", "high"),
    [
        ("addition", 1, 0, 100),
        ("addition", 3, 10, 1000),
        ("programs", 1, 0, 100),
        ("programs", 2, 0, 100),
        ("programs", 2, 1000, 10_000),
        ("programs", 5, 0, 10),
    ],
)
def test_python_computes_the_same(kind, nesting, low, high):
    table = programs(kind, 300, nesting, low, high)
    for row in range(300):
        text = words(table, row)
        assert eval(" ".join(text)) == table.results[row], " ".join(text)
        numbers = [int(word) for word in text if word.isdigit()]
        assert all(low <= number < high for number in numbers)
        assert sum(word in ("+", "-", "if") for word in text) == nesting
        assert len(text) == table.lengths[row]


def test_steps_are_rows_of_the_table():
    """Three batches: each word is where its step says, and results follow."""
    table = programs(count=15, seed=1)
    for batch, steps in enumerate(in_steps(table, 3)):
        starts = np.cumsum((0, *steps.counts))
        assert len(steps.tokens) == starts[-1]
        assert list(steps.counts) == sorted(steps.counts, reverse=True)
        rows = np.arange(5) + batch * 5
        rows = rows[(-table.lengths[rows]).argsort(kind="stable")]
        assert steps.results.tolist() == table.results[rows].tolist()
        for place, row in enumerate(rows):
            length = table.lengths[row]
            at = starts[:length] + place
            assert steps.tokens[at].tolist() == table.tokens[row, :length].tolist()
            assert steps.values[at].tolist() == table.values[row, :length].tolist()
            assert steps.ends[place] == at[-1]


SENTENCES = {
    **{999: [10, 29, 1, 28, 10], 115: [2, 29, 1, 16, 0], 100: [2, 29, 0, 0, 0]},
    **{42: [23, 3, 0, 0, 0], 20: [21, 0, 0, 0, 0], 19: [20, 0, 0, 0, 0], 7: [8, 0, 0, 0, 0]},
}


def test_sentences():
    assert encode(list(SENTENCES)).tolist() == list(SENTENCES.values())
    assert " ".join(words_of(235)) == "two hundred and thirty five"
    assert words_of(0, "paper") == ["zero"]
    assert encode([0, 1], "paper").tolist() == [[30, 0, 0, 0, 0], *encode([1]).tolist()]
    assert len(set(map(tuple, encode(range(1, 1000)).tolist()))) == 999
    assert len(VOCABULARY) == len(set(VOCABULARY)) == 30


SPLITS = {
    0: {
        "forced": [460, 432, 351, 645, 598, 924, 273, 788, 759, 614],
        "last": [212, 649, 579, 704],
        "valid": [180, 977, 681, 898, 763, 215, 211, 648],
        "test": [919, 718, 800, 737, 34, 402, 117, 933],
    },
    1: {
        "forced": [390, 423, 986, 747, 753, 162, 838, 179, 116, 230],
        "last": [92, 928, 255, 57],
        "valid": [766, 694, 623, 480, 868, 657, 443, 335],
        "test": [712, 698, 195, 140, 124, 625, 408, 652],
    },
}


@pytest.mark.parametrize("seed", SPLITS)
def test_splits(seed):
    splits, expected = split_numbers(seed), SPLITS[seed]
    assert splits["train"][:29] == [*range(1, 20), *expected["forced"]]
    assert splits["train"][-4:] == expected["last"]
    for name in ("valid", "test"):
        assert splits[name][:8] == expected[name]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("numbers", "first", "tested"), [("reference", 1, 630), ("paper", 0, 631)])
def test_splits_are_disjoint_and_training_has_all_words(numbers, first, tested, seed):
    splits = split_numbers(seed, numbers)
    assert [len(splits[name]) for name in ("train", "valid", "test")] == [169, 200, tested]
    assert sorted(sum(splits.values(), [])) == list(range(first, 1000))
    assert splits["train"][: 20 - first] == list(range(first, 20))
    words = np.unique(encode(splits["train"], numbers))
    assert words.tolist() == list(range(31 - first))


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
