"""Readers of flag values: words of the command line to Python values, with their limits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from .flag import Kind

_LARGEST_SEED = 2**32 - 1
_SEEDS = re.compile(r"(\d+)(?:-(\d+))?")
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")


def each_word(metavar: str, read: Callable[[str], Any]) -> Kind:
    """A kind whose every word is one value."""
    return Kind(metavar, lambda words: [read(word) for word in words])


def integer(minimum: int | None = None) -> Kind:
    """Whole numbers from `minimum` on."""

    def read(word: str) -> int:
        try:
            value = int(word)
        except ValueError:
            raise ValueError(f"{word!r} is not a whole number; write one such as 10") from None
        if minimum is not None and value < minimum:
            raise ValueError(f"{value} is too small; the smallest value is {minimum}")
        return value

    return each_word("INT", read)


def number(
    minimum: float | None = None, *, above: float | None = None, maximum: float | None = None
) -> Kind:
    """Finite floats: at least `minimum`, greater than `above`, at most `maximum`."""

    def read(word: str) -> float:
        value = finite(word)
        if minimum is not None and value < minimum:
            raise ValueError(f"{word} is too small; the smallest value is {minimum:g}")
        if above is not None and value <= above:
            raise ValueError(f"{word} is too small; it must be greater than {above:g}")
        if maximum is not None and value > maximum:
            raise ValueError(f"{word} is too large; the largest value is {maximum:g}")
        return value

    return each_word("FLOAT", read)


def finite(word: str) -> float:
    """A word as a finite float."""
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{word!r} is not a number; write one such as 0.01 or 1e-3") from None
    if not math.isfinite(value):
        raise ValueError(f"{word} is not a finite number; write one such as 0.01 or 1e-3")
    return value


def text(metavar: str = "NAME") -> Kind:
    """Words as they are."""
    return each_word(metavar, str)


def truth() -> Kind:
    """`true` or `false`; the bare flag means true."""

    def read(word: str) -> bool:
        if word.lower() not in _YES + _NO:
            raise ValueError(f"{word!r} is neither true nor false; write true or false")
        return word.lower() in _YES

    return Kind("BOOL", lambda words: [read(word) for word in words] or [True])


def seeds() -> Kind:
    """Seeds as `7`, `0-24` (both ends included), `0,3,9` and mixtures, in one or more words."""
    return Kind("SEEDS", lambda words: [seed for word in words for seed in _read_seeds(word)])


def _read_seeds(word: str) -> list[int]:
    read: list[int] = []
    for part in word.split(","):
        match = _SEEDS.fullmatch(part)
        if match is None:
            raise ValueError(f"{word!r} is not a seed; write 7, 0-24 or 0,3,9")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise ValueError(f"{part!r} runs backwards; write {last}-{first}")
        if last > _LARGEST_SEED:
            raise ValueError(f"{last} is too large; the largest seed is {_LARGEST_SEED}")
        read.extend(range(first, last + 1))
    return read


def digits() -> Kind:
    """Different digits written together, `123456789`, as a list of numbers."""

    def read(word: str) -> list[int]:
        if not re.fullmatch("[0-9]+", word) or len(set(word)) != len(word):
            raise ValueError(
                f"{word!r} is not a string of different digits; write one such as 123456789"
            )
        return [int(digit) for digit in word]

    return each_word("DIGITS", read)


def name_prefix() -> Kind:
    """Folders below the log root: relative, not upwards."""

    def read(word: str) -> str:
        if not word or word.startswith("/") or any(p in ("", ".", "..") for p in word.split("/")):
            raise ValueError(
                f"{word!r} is not a folder below the log root; write a relative path such as a/b"
            )
        return word

    return each_word("PATH", read)
