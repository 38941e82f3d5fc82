import numpy as np
import pytest

from stable_nalu.task.number_translation import VOCABULARY, encode, split_numbers, words_of

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
