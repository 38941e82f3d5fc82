import numpy as np
import pytest
import torch

from stable_nalu.dataset import NumberTranslationDataset
from stable_nalu.dataset.number_translation import VOCABULARY


@pytest.mark.parametrize(
    ("number", "ids"),
    [
        (999, [10, 29, 1, 28, 10]),
        (100, [2, 29, 0, 0, 0]),
        (42, [23, 3, 0, 0, 0]),
        (115, [2, 29, 1, 16, 0]),
        (7, [8, 0, 0, 0, 0]),
        (20, [21, 0, 0, 0, 0]),
        (19, [20, 0, 0, 0, 0]),
        (10, [11, 0, 0, 0, 0]),
    ],
)
def test_encode(number, ids):
    encoded = NumberTranslationDataset.encode(number)
    assert encoded.dtype == np.int64
    assert encoded.tolist() == ids


def test_encode_as_strings():
    words = NumberTranslationDataset.encode(235, as_strings=True)
    assert " ".join(words) == "two hundred and thirty five"


def test_every_number_has_its_own_sentence():
    sentences = {tuple(NumberTranslationDataset.encode(n)) for n in range(1, 1000)}
    assert len(sentences) == 999
    assert len(VOCABULARY) == len(set(VOCABULARY)) == 30


@pytest.mark.parametrize("number", [0, -1, 1000])
def test_numbers_without_words(number):
    with pytest.raises(ValueError, match="from 1 to 999"):
        NumberTranslationDataset.encode(number)


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
    splits, expected = NumberTranslationDataset(seed).splits, SPLITS[seed]
    assert splits["train"][:19] == list(range(1, 20))
    assert splits["train"][19:29] == expected["forced"]
    assert splits["train"][-4:] == expected["last"]
    assert splits["valid"][:8] == expected["valid"]
    assert splits["test"][:8] == expected["test"]


@pytest.mark.parametrize("seed", range(10))
def test_splits_are_disjoint_and_training_has_all_words(seed):
    dataset = NumberTranslationDataset(seed)
    splits = dataset.splits
    assert {name: len(numbers) for name, numbers in splits.items()} == {
        "train": 169,
        "valid": 200,
        "test": 630,
    }
    assert sorted(sum(splits.values(), [])) == list(range(1, 1000))
    assert set(dataset.fork("train").ids.flatten().tolist()) == set(range(30))


@pytest.mark.parametrize("seed", range(10))
def test_the_split_of_the_paper(seed):
    """0 to 19 and all words are trained; 169, 200 and 631 different numbers of 0 to 999."""
    dataset = NumberTranslationDataset(seed, "paper")
    splits = dataset.splits
    assert [len(splits[name]) for name in ("train", "valid", "test")] == [169, 200, 631]
    assert sorted(sum(splits.values(), [])) == list(range(1000))
    assert splits["train"][:20] == list(range(20))
    train = dataset.fork("train")
    assert set(train.ids.unique().tolist()) == {*range(1, 31), 0}
    assert train.ids[0].tolist() == [30, 0, 0, 0, 0]
    assert train.values[:3].flatten().tolist() == [0, 1, 2]


def test_the_split_of_the_paper_follows_the_seed():
    """The permutation is that of the reference, whose sets are filled in another order."""
    paper, reference = NumberTranslationDataset(1, "paper"), NumberTranslationDataset(1)
    assert paper.splits["train"][20:28] == SPLITS[1]["forced"][:8]
    assert paper.splits["train"][28:36] == SPLITS[1]["test"]
    assert paper.splits != NumberTranslationDataset(0, "paper").splits
    assert reference.encode(1).tolist() == paper.encode(1, number_range="paper").tolist()


def test_zero_has_a_word_in_the_paper_alone():
    assert NumberTranslationDataset.encode(0, True, "paper") == ["zero"]
    with pytest.raises(ValueError, match="from 0 to 999"):
        NumberTranslationDataset.encode(1000, number_range="paper")


def test_items():
    dataset = NumberTranslationDataset(seed=0)
    valid = dataset.fork("valid")
    ids, value = valid[1]
    assert ids.dtype == torch.int64
    assert ids.tolist() == NumberTranslationDataset.encode(977).tolist()
    assert torch.equal(value, torch.tensor([977.0]))
    assert len(valid) == 200
    with pytest.raises(ValueError, match="'all' is not one of train, valid, test"):
        dataset.fork("all")


def test_loader_batches():
    train = NumberTranslationDataset(seed=0).fork()
    loader = train.dataloader(shuffle=False)
    batches = list(loader)
    assert len(loader) == 3
    assert [tuple(ids.shape) for ids, _ in batches] == [(64, 5), (64, 5), (41, 5)]
    assert torch.equal(torch.cat([values for _, values in batches]), train.values)
    torch.manual_seed(3)
    shuffled = torch.cat([values for _, values in train.dataloader()])
    assert not torch.equal(shuffled, train.values)
    assert torch.equal(shuffled.sort(0).values, train.values.sort(0).values)
