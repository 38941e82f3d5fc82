"""Ranges, lists and distributions as flags: `[1,2]`, `[[-6,-2],[2,6]]`, `benford`."""

from __future__ import annotations

import ast
import math
from typing import Any, cast

from .flag import Kind
from .kinds import each_word, finite

BATCH_NOISE = [1, 0]
_FORMS = "write [1,2], [[-6,-2],[2,6]] or [[-6,-2],[2,6],[]]"


def data_range() -> Kind:
    """A pair, two pairs (each element from either), or two pairs and `[]` (half the columns)."""
    return _literals("RANGE", _check_data_range)


def noise_range() -> Kind:
    """A pair of bounds, or `[1,0]`: from 1 to 1 + 1 / standard deviation of the batch."""
    return _literals("[LOW,HIGH]", _check_noise_range)


def distribution() -> Kind:
    """A family and its numbers; all words of an occurrence make one value."""
    return Kind("NAME [NUMBER ...]", lambda words: [_read_distribution(words)])


def lengths() -> Kind:
    """A list of different lengths: `[100,1000]`."""
    return _literals("[L,...]", _check_lengths, "a list of lengths")


def _literals(metavar: str, check: Any, what: str = "a range") -> Kind:
    def read(word: str) -> list[Any]:
        return check(word, _literal(word, what))

    one_by_one = each_word(metavar, read)

    def read_all(words: list[str]) -> list[Any]:
        joined = "".join(words)
        if len(words) > 1 and not all(_is_balanced(word) for word in words):
            raise ValueError(f"{' '.join(words)!r} was split at a blank; write {joined}")
        return one_by_one.read_all(words)

    return Kind(metavar, read_all)


def _is_balanced(word: str) -> bool:
    return word.count("[") == word.count("]") and not word.endswith(",")


def _literal(word: str, what: str) -> list[Any]:
    try:
        value: object = ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(f"{word!r} is not {what}; write one such as [1,2]") from None
    if isinstance(value, tuple):
        value = list(cast("tuple[Any, ...]", value))
    if not isinstance(value, list):
        raise ValueError(f"{word!r} is not {what}; write one such as [1,2]")
    return cast("list[Any]", value)


def _check_data_range(word: str, value: list[Any]) -> list[Any]:
    # The generators import torch, which a mere look at --help should not wait for.
    from stable_nalu.dataset.distribution import SampleRange

    if any(isinstance(part, tuple) for part in value):
        raise ValueError(f"{word} holds tuples; {_FORMS}, in square brackets")
    if any(isinstance(part, list) for part in value) and not isinstance(value[0], list):
        raise ValueError(f"{word} mixes numbers and lists; {_FORMS}")
    try:
        SampleRange.parse(value)
    except ValueError as error:
        raise ValueError(f"{as_clause(error)}; {_FORMS}") from None
    return value


def _check_noise_range(word: str, value: list[Any]) -> list[Any]:
    numbers = [end for end in value if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(numbers) != 2 or len(value) != 2 or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{word} is not a pair of numbers; write one such as [1,5]")
    if value[0] > value[1] and value != BATCH_NOISE:
        raise ValueError(
            f"{word} has its low end above its high end; the low end comes first, or write [1,0] "
            "for noise from 1 to 1 + 1/std of the batch"
        )
    return value


def _check_lengths(word: str, value: list[Any]) -> list[Any]:
    whole = [n for n in value if isinstance(n, int) and not isinstance(n, bool) and n > 0]
    if not value or len(whole) != len(value) or len(set(whole)) != len(whole):
        raise ValueError(
            f"{word} is not a list of different lengths above 0; write one such as [100,1000]"
        )
    return value


def _read_distribution(words: list[str]) -> tuple[Any, ...]:
    from stable_nalu.dataset.distribution import PARAMETER_NAMES, check_dist_params

    family, *parameters = words
    if family not in PARAMETER_NAMES:
        known = ", ".join(PARAMETER_NAMES)
        raise ValueError(f"{family!r} is not a distribution; choose one of {known}")
    try:
        return check_dist_params((family, *map(finite, parameters)))
    except ValueError as error:
        names = " ".join(name.replace(" ", "_").upper() for name in PARAMETER_NAMES[family])
        raise ValueError(f"{as_clause(error)}; write {family} {names}") from None


def as_clause(error: Exception) -> str:
    """An error's sentence as a part of another: no capital, no full stop, no semicolon."""
    text = str(error).rstrip(".").replace("; ", ", ")
    return text[:1].lower() + text[1:]
