"""Ranges and distributions of the data as flags: `[1,2]`, `[[-6,-2],[2,6]]`, `benford` …"""

from __future__ import annotations

import ast
import math
from typing import Any, cast

from .flag import Kind
from .kinds import each_word, finite

BATCH_NOISE = [1, 0]
_FORMS = "write [1,2], [[-6,-2],[2,6]] or [[-6,-2],[2,6],[]]"
_PARAMETERS = {
    "uniform": (0, "nothing"),
    "truncated-normal": (4, "mean and deviation in training, then mean and deviation in the test"),
    "exponential": (1, "the scale"),
    "benford": (0, "nothing"),
}


def data_range() -> Kind:
    """A pair, two pairs (each element from either), or two pairs and `[]` (half the columns)."""
    return _literals("RANGE", _check_data_range)


def noise_range() -> Kind:
    """A pair of bounds, or `[1,0]`: from 1 to 1 + 1 / standard deviation of the batch."""
    return _literals("[LOW,HIGH]", _check_noise_range)


def distribution() -> Kind:
    """A family and its numbers; all words of an occurrence make one value."""
    return Kind("NAME [NUMBER ...]", lambda words: [_read_distribution(words)])


def _literals(metavar: str, check: Any) -> Kind:
    def read(word: str) -> list[Any]:
        return check(word, _literal(word))

    one_by_one = each_word(metavar, read)

    def read_all(words: list[str]) -> list[Any]:
        joined = "".join(words)
        if len(words) > 1 and not all(_is_balanced(word) for word in words):
            raise ValueError(f"{' '.join(words)!r} was split at a blank; write {joined}")
        return one_by_one.read_all(words)

    return Kind(metavar, read_all)


def _is_balanced(word: str) -> bool:
    return word.count("[") == word.count("]") and not word.endswith(",")


def _literal(word: str) -> list[Any]:
    try:
        value: object = ast.literal_eval(word)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(f"{word!r} is not a range; write one such as [1,2]") from None
    if isinstance(value, tuple):
        value = list(cast("tuple[Any, ...]", value))
    if not isinstance(value, list):
        raise ValueError(f"{word!r} is not a range; write one such as [1,2]")
    return cast("list[Any]", value)


def _check_data_range(word: str, value: list[Any]) -> list[Any]:
    if any(isinstance(part, tuple) for part in value):
        raise ValueError(f"{word} holds tuples; {_FORMS}, in square brackets")
    if not any(isinstance(part, list) for part in value):
        _check_pair(word, value)
        return value
    if len(value) not in (2, 3) or not all(isinstance(part, list) for part in value):
        raise ValueError(f"{word} has {len(value)} parts where two or three make sense; {_FORMS}")
    if len(value) == 3 and value[2] != []:
        raise ValueError(f"the third part of {word} is only a marker; it must be []")
    first, second = value[:2]
    _check_pair(word, first)
    _check_pair(word, second)
    # The same exact float comparison as the sampler of two ranges makes.
    if first[0] - first[1] != second[0] - second[1]:
        raise ValueError(
            f"the parts of {word} have different widths, {first[1] - first[0]:g} and "
            f"{second[1] - second[0]:g}; both must be equally wide"
        )
    return value


def _check_pair(word: str, pair: list[Any]) -> None:
    _check_numbers(word, pair)
    if pair[0] > pair[1]:
        raise ValueError(f"{word} has a low end above its high end; the low end comes first")


def _check_numbers(word: str, pair: list[Any]) -> None:
    if len(pair) != 2:
        raise ValueError(f"{word} is not a pair of numbers; write one such as [1,2]")
    for end in pair:
        if isinstance(end, bool) or not isinstance(end, int | float):
            raise ValueError(f"{end!r} in {word} is not a number; write one such as [1,2]")
        if not math.isfinite(end):
            raise ValueError(f"{word} is not finite; write two finite numbers")


def _check_noise_range(word: str, value: list[Any]) -> list[Any]:
    _check_numbers(word, value)
    if value[0] > value[1] and value != BATCH_NOISE:
        raise ValueError(
            f"{word} has a low end above its high end; the low end comes first, or write [1,0] "
            "for noise from 1 to 1 + 1/std of the batch"
        )
    return value


def _read_distribution(words: list[str]) -> tuple[str | float, ...]:
    family, *parameters = words
    if family not in _PARAMETERS:
        known = ", ".join(_PARAMETERS)
        raise ValueError(f"{family!r} is not a distribution; choose one of {known}")
    numbers = [finite(word) for word in parameters]
    count, what = _PARAMETERS[family]
    if len(numbers) != count:
        raise ValueError(
            f"{family} takes {count} numbers, not {len(numbers)}; behind the name belongs {what}"
        )
    positive = numbers[1::2] if family == "truncated-normal" else numbers
    if any(value <= 0 for value in positive):
        raise ValueError(f"{' '.join(words)} has a scale that is not positive; write one above 0")
    return (family, *numbers)
