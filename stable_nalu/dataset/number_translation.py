"""Numbers in words, up to 999, their ids, and their split into training, validation and test."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .distribution import IndexLoader, LegacyRandom, LoadedBatch, Places

_WORDS = (
    "<pad> and one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty "
    "ninety hundred"
)
VOCABULARY = tuple(_WORDS.split())
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


def encode(numbers: Sequence[int], number_range: str = "reference") -> torch.Tensor:
    """Return the word ids of numbers, int64 (n, 5), padded with 0."""
    ids = np.zeros((len(numbers), SENTENCE_LENGTH), dtype=np.int64)
    for row, number in zip(ids, numbers, strict=True):
        words = words_of(number, number_range)
        row[: len(words)] = [_IDS[word] for word in words]
    return torch.from_numpy(ids)


class NumberTranslationDataset:
    """Numbers from 1 to 999 in words; `seed` decides which train, validate and test."""

    def __init__(self, num_workers: int = 1, seed: int | None = None, use_cuda: bool = False):
        self._splits = split_numbers(seed)
        self._device = "cuda" if use_cuda else "cpu"

    @staticmethod
    def encode(number: int, as_strings: bool = False) -> Any:
        """Return the words of a number, or their five ids, padded with 0."""
        return words_of(number) if as_strings else encode([number])[0].numpy()

    def fork(self, subset: str = "train") -> "NumberWords":
        if subset not in self._splits:
            raise ValueError(f"subset {subset!r} is not one of {', '.join(self._splits)}")
        return NumberWords(self._splits[subset], self._device)


class NumberWords(torch.utils.data.Dataset):
    """The word ids, int64 (n, 5), and the values, float32 (n, 1), of some numbers."""

    def __init__(self, numbers: Sequence[int], device: str = "cpu"):
        self.ids = encode(numbers).to(device)
        self.values = torch.tensor(numbers, dtype=torch.float32, device=device).unsqueeze(1)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int | Places) -> LoadedBatch:
        return self.ids[index].clone(), self.values[index].clone()

    def dataloader(self, batch_size: int = 64, shuffle: bool = True) -> IndexLoader:
        """Return batches in torch's order; the last may be smaller."""
        return IndexLoader(len(self), batch_size, shuffle, self.__getitem__)
