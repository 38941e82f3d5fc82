"""English number words and their values: 1 to 999 in published code, 0 to 999 in the NALU paper."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

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
PAPER = "paper"
VOCABULARIES = {"reference": VOCABULARY, PAPER: (*VOCABULARY, "zero")}
"""Words of each range of numbers: of published code, and of the paper."""

_UNITS = dict(enumerate(VOCABULARY[2:21], start=1))
_TENS = dict(enumerate(VOCABULARY[21:29], start=2))
_IDS = {word: i for i, word in enumerate(VOCABULARIES[PAPER])}

SENTENCE_LENGTH = 5
_LAST_TRAINED, _LAST = 19, 999
SPLIT_SIZES = {
    "reference": {"test": 630, "valid": 200, "train": 169},
    PAPER: {"train": 169, "valid": 200, "test": 631},
}
"""Numbers of each set, in the order in which the sets are filled."""


def words_of(number: int, number_range: str = "reference") -> list[str]:
    """Return the words of a number up to 999: 115 is one hundred and fifteen."""
    first = _first(number_range)
    if not first <= number <= _LAST:
        raise ValueError(f"Only numbers from {first} to {_LAST} have words here, got {number}.")
    if number == 0:
        return ["zero"]
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


def _first(number_range: str) -> int:
    return 0 if number_range == PAPER else 1


def split_numbers(seed: int | None, number_range: str = "reference") -> dict[str, list[int]]:
    """Draw disjoint numbers for training, validation and test; training has all words.

    Those up to 19 are training numbers. The others come in random order: one with a word that
    training lacks joins it; the rest fills up one set after the other.
    """
    always = range(_first(number_range), _LAST_TRAINED + 1)
    order = LegacyRandom(seed).permutation(_LAST - _LAST_TRAINED) + always.stop
    splits: dict[str, list[int]] = {"train": list(always), "valid": [], "test": []}
    missing = set(VOCABULARIES[number_range][1:])
    for number in always:
        missing -= set(words_of(number, number_range))
    rest: list[int] = []
    for number in order.tolist():
        words = set(words_of(number))
        (splits["train"] if missing & words else rest).append(number)
        missing -= words
    for name, size in SPLIT_SIZES[number_range].items():
        free = size - len(splits[name])
        splits[name] += rest[:free]
        rest = rest[free:]
    return splits


class NumberTranslationDataset:
    """Sentences of five word ids and the numbers they mean, in three disjoint subsets."""

    def __init__(self, seed: int | None = None, number_range: str = "reference"):
        self.number_range = number_range
        self.splits = split_numbers(seed, number_range)

    @staticmethod
    def encode(
        number: int, as_strings: bool = False, number_range: str = "reference"
    ) -> np.ndarray | list[str]:
        """Return the word ids of a number, int64 (5,), padded with 0; or its words."""
        words = words_of(number, number_range)
        if as_strings:
            return words
        ids = np.zeros(SENTENCE_LENGTH, dtype=np.int64)
        ids[: len(words)] = [_IDS[word] for word in words]
        return ids

    def fork(self, subset: str = "train") -> NumberTranslationSubset:
        """Return one of the subsets train, valid and test."""
        if subset not in self.splits:
            raise ValueError(f"subset {subset!r} is not one of {', '.join(self.splits)}.")
        return NumberTranslationSubset(self.splits[subset], self.number_range)


class NumberTranslationSubset:
    """Sentences and values of given numbers: ids int64 (n, 5), values float32 (n, 1)."""

    def __init__(self, numbers: Sequence[int], number_range: str = "reference"):
        encode = partial(NumberTranslationDataset.encode, number_range=number_range)
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
