"""English number words and their values, 1 to 999."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from .legacy_random import LegacyRandom
from .loader import TensorLoader

VOCABULARY = (
    "<pad>", "and",
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen",
    "eighteen", "nineteen",
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
    "hundred",
)  # fmt: skip
"""Words in the order of their ids; id 0 pads a sentence."""

_UNITS = dict(enumerate(VOCABULARY[2:21], start=1))
_TENS = dict(enumerate(VOCABULARY[21:29], start=2))
_IDS = {word: i for i, word in enumerate(VOCABULARY)}

SENTENCE_LENGTH = 5
ALWAYS_TRAINED = range(1, 20)
SPLIT_SIZES = {"train": 169, "valid": 200, "test": 630}


def words_of(number: int) -> list[str]:
    """Return the words of a number from 1 to 999: 115 is one hundred and fifteen."""
    if not 1 <= number <= 999:
        raise ValueError(f"Only numbers from 1 to 999 have words here, got {number}.")
    hundreds, rest = divmod(number, 100)
    words = [_UNITS[hundreds], "hundred"] if hundreds else []
    if hundreds and rest:
        words.append("and")
    if rest >= 20:
        words.append(_TENS[rest // 10])
        rest %= 10
    if rest:
        words.append(_UNITS[rest])
    return words


def split_numbers(seed: int | None) -> dict[str, list[int]]:
    """Draw disjoint numbers for training, validation and test; training has all words.

    1 to 19 are training numbers. The others come in random order: one with a word that training
    lacks joins it; else the test set fills up first, then validation, then training.
    """
    order = LegacyRandom(seed).permutation(999 - ALWAYS_TRAINED.stop + 1) + ALWAYS_TRAINED.stop
    splits: dict[str, list[int]] = {"train": list(ALWAYS_TRAINED), "valid": [], "test": []}
    missing = set(VOCABULARY[1:])
    for number in ALWAYS_TRAINED:
        missing -= set(words_of(number))
    for number in order.tolist():
        words = set(words_of(number))
        if missing & words:
            splits["train"].append(number)
            missing -= words
            continue
        open_splits = (s for s in ("test", "valid", "train") if len(splits[s]) < SPLIT_SIZES[s])
        splits[next(open_splits)].append(number)
    return splits


class NumberTranslationDataset:
    """Sentences of five word ids and the numbers they mean, in three disjoint subsets."""

    def __init__(self, seed: int | None = None):
        self.splits = split_numbers(seed)

    @staticmethod
    def encode(number: int, as_strings: bool = False) -> np.ndarray | list[str]:
        """Return the word ids of a number, int64 (5,), padded with 0; or its words."""
        words = words_of(number)
        if as_strings:
            return words
        ids = np.zeros(SENTENCE_LENGTH, dtype=np.int64)
        ids[: len(words)] = [_IDS[word] for word in words]
        return ids

    def fork(self, subset: str = "train") -> NumberTranslationSubset:
        """Return one of the subsets train, valid and test."""
        if subset not in self.splits:
            raise ValueError(f"subset {subset!r} is not one of {', '.join(self.splits)}.")
        return NumberTranslationSubset(self.splits[subset])


class NumberTranslationSubset:
    """Sentences and values of given numbers: ids int64 (n, 5), values float32 (n, 1)."""

    def __init__(self, numbers: Sequence[int]):
        encode = NumberTranslationDataset.encode
        self.ids = torch.from_numpy(np.stack([encode(number) for number in numbers]))
        self.values = torch.tensor(numbers, dtype=torch.float32).unsqueeze(-1)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.ids)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return word ids (5,) and value (1,)."""
        return self.ids[index], self.values[index]

    def dataloader(self, batch_size: int = 64, shuffle: bool = True) -> TensorLoader:
        """Return batches in an order from torch's global generator; the last may be smaller."""
        return TensorLoader((self.ids, self.values), batch_size, shuffle)
