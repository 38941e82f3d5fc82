"""What values flags take: readers of words, with their limits, and the names of units."""

import ast
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, cast

from stable_nalu.layer.registry import LayerEntry, entries

from .flag import Choices, Flag, Kind

_LARGEST_SEED, _MOST_SEEDS = 2**32 - 1, 10**6
_LARGEST, _LARGEST_OF_RANGE = 2**63 - 1, 10**12  # NumPy and torch count with 64 bits.
BATCH_NOISE = [1, 0]
_FORMS = "write [1,2], [[-6,-2],[2,6]] or [[-6,-2],[2,6],[]]"
_NUMPY_SCALAR = re.compile(r"\bnp\.(?:float|int|uint)\d+\(([^()]*)\)")
"""How NumPy 2 prints a number that stands in a list."""
_TRUTH = {**dict.fromkeys(("true", "yes", "1"), True), **dict.fromkeys(("false", "no", "0"), False)}


def each_word(metavar: str, read: Callable[[str], Any]) -> Kind:
    """Return a kind whose every word is one value."""
    return Kind(metavar, lambda words: [read(word) for word in words])


def integer(minimum: int = -_LARGEST, maximum: int = _LARGEST) -> Kind:
    """Return the kind of whole numbers from `minimum` to `maximum`."""

    def read(word: str) -> int:
        try:
            value = int(word)
        except ValueError:
            raise ValueError(f"{word!r} is not a whole number; write one such as 10") from None
        _within(word[:30], value, minimum, maximum)
        return value

    return each_word("INT", read)


def number(
    minimum: float | None = None, *, above: float | None = None, maximum: float | None = None
) -> Kind:
    """Return the kind of finite floats from `minimum`, or above `above`, up to `maximum`."""

    def read(word: str) -> float:
        value = finite(word)
        if above is not None and value <= above:
            raise ValueError(f"{word} is too small; it must be greater than {above:g}")
        _within(word, value, minimum, maximum)
        return value

    return each_word("FLOAT", read)


def _within(word: str, value: float, minimum: float | None, maximum: float | None) -> None:
    if minimum is not None and value < minimum:
        raise ValueError(f"{word} is too small; the smallest value is {minimum}")
    if maximum is not None and value > maximum:
        raise ValueError(f"{word} is too large; the largest value is {maximum}")


def finite(word: str) -> float:
    """Return a word as a finite float."""
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{word!r} is not a number; write one such as 0.01 or 1e-3") from None
    if not math.isfinite(value):
        raise ValueError(f"{word} is not a finite number; write one such as 0.01 or 1e-3")
    return value


def text(metavar: str = "NAME") -> Kind:
    """Return the kind of words that are taken as they are."""
    return each_word(metavar, str)


files = Kind("FILE [FILE ...]", lambda words: [tuple(dict.fromkeys(words))])
"""Paths of files; all words behind a flag make one value."""


def _read_layer_options(words: list[str]) -> list[tuple[str, ...]]:
    by_name: dict[str, list[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name.isidentifier() and equals and value) or "/" in value:
            raise ValueError(f"{word!r} is not an option of a layer; write one such as power=2")
        by_name.setdefault(name, []).append(word)
    return list(itertools.product(*by_name.values()))


layer_option = Kind("NAME=VALUE [...]", _read_layer_options)
"""Options `name=value`; a value holds one of each name."""


def _read_file_name(word: str) -> str:
    if word in ("", ".", "..") or "/" in word:
        raise ValueError(f"{word!r} is not the name of a file; write one without a folder")
    return word


file_name = each_word("NAME", _read_file_name)
"""Names of files, without a folder."""


def _read_truth(word: str) -> bool:
    if word.lower() not in _TRUTH:
        raise ValueError(f"{word!r} is neither true nor false; write true or false")
    return _TRUTH[word.lower()]


truth = Kind("BOOL", lambda words: [*map(_read_truth, words)] or [True], bare=True)
"""`true` and `false`; the bare flag means true."""


def _read_seeds(words: list[str]) -> list[int]:
    read = [seed for word in words for seed in _read_range_of_seeds(word)]
    if len(set(read)) < len(read):
        twice = next(seed for seed, count in Counter(read).items() if count > 1)
        raise ValueError(f"{twice} is given twice; give every seed once")
    return read


def _read_range_of_seeds(word: str) -> list[int]:
    read: list[int] = []
    for part in word.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if match is None:
            raise ValueError(f"{word!r} is not a seed; write 7, 0-24 or 0,3,9")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if last < first:
            raise ValueError(f"{part!r} runs backwards; write {last}-{first}")
        if last > _LARGEST_SEED:
            raise ValueError(f"{last} is too large; the largest seed is {_LARGEST_SEED}")
        if last - first >= _MOST_SEEDS:
            raise ValueError(f"{part!r} is too many; give {_MOST_SEEDS} seeds at most")
        read.extend(range(first, last + 1))
    return read


seeds = Kind("SEEDS", _read_seeds)
"""Seeds: `7`, `0-24` with both ends, `0,3,9`, or several of these words."""


def seeds_text(seeds: Iterable[int]) -> str:
    """Return seeds in the shortest form that the scripts read: `0-24`, `0,3,9`, `0-4,7`."""
    ordered, start = sorted(seeds), 0
    parts: list[str] = []
    for index, seed in enumerate(ordered):
        if index + 1 < len(ordered) and ordered[index + 1] == seed + 1:
            continue
        parts.append(str(seed) if ordered[start] == seed else f"{ordered[start]}-{seed}")
        start = index + 1
    return ",".join(parts)


def _read_digits(word: str) -> list[int]:
    if not re.fullmatch("[0-9]+", word) or len(set(word)) != len(word):
        raise ValueError(
            f"{word!r} is not a string of different digits; write one such as 123456789"
        )
    return [int(digit) for digit in word]


digits = each_word("DIGITS", _read_digits)
"""Different digits written together: `123456789` becomes a list."""


def choice(name: str, default: Any, help: str, choices: Choices, **properties: Any) -> Flag:
    """Return a flag that takes one of several words."""
    return Flag(name, text(), default, help, choices, **properties)


def _read_name_prefix(word: str) -> str:
    if any(part in ("", ".", "..") for part in word.split("/")):
        raise ValueError(
            f"{word!r} is not a folder below the log root; write a relative path such as a/b"
        )
    return word


name_prefix = each_word("PATH", _read_name_prefix)
"""Folders below the log root: relative paths that do not lead upwards."""


def _read_flags_shown(words: list[str]) -> list[tuple[str, ...]]:
    names = [word.lower().removeprefix("--").replace("-", "_") for word in words]
    return [() if names == ["true"] else tuple(names)]


flags_shown = Kind("FLAG ...", _read_flags_shown, bare=True)
"""Names of flags, all of which make one value; none: those that vary."""


def _literals(metavar: str, check: Any, what: str = "a range") -> Kind:
    """Return a kind whose words are lists in brackets, each checked."""

    def read_all(words: list[str]) -> list[Any]:
        whole = all(w.count("[") == w.count("]") and not w.endswith(",") for w in words)
        if len(words) > 1 and not whole:
            raise ValueError(f"{' '.join(words)!r} was split at a blank; write {''.join(words)}")
        return [check(word, _literal(word, what)) for word in words]

    return Kind(metavar, read_all)


def _literal(word: str, what: str) -> list[Any]:
    try:
        value: object = ast.literal_eval(_NUMPY_SCALAR.sub(r"\1", word))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, list | tuple):
        raise ValueError(f"{word!r} is not {what}; write one such as [1,2]")
    return list(cast("Iterable[Any]", value))


def _check_data_range(word: str, value: list[Any]) -> list[Any]:
    # The generators import torch, which a mere look at --help should not wait for.
    from stable_nalu.dataset.distribution import SampleRange

    if not value:
        raise ValueError(f"{word} is a range without numbers; {_FORMS}")
    if any(isinstance(part, tuple) for part in value):
        raise ValueError(f"{word} holds tuples; {_FORMS}, in square brackets")
    if any(isinstance(part, list) for part in value) and not isinstance(value[0], list):
        raise ValueError(f"{word} mixes numbers and lists; {_FORMS}")
    try:
        SampleRange.parse(value)
    except ValueError as error:
        raise ValueError(f"{as_clause(error)}; {_FORMS}") from None
    return value


def _check_interval(word: str, value: list[Any]) -> list[Any]:
    _check_pair(word, value, "[-5,5]")
    if value[0] >= value[1]:
        how = "is empty" if value[0] == value[1] else "has its low end above its high end"
        raise ValueError(f"{word} {how}; write one such as [-5,5]")
    return value


def _check_span(word: str, value: list[Any]) -> list[Any]:
    _check_pair(word, value, "[5,12]")
    if not all(isinstance(end, int) and end >= 1 for end in value):
        raise ValueError(f"{word} has other ends than whole numbers from 1 on; write [5,12]")
    if value[0] > value[1]:
        raise ValueError(f"{word} has its low end above its high end; write one such as [5,12]")
    return value


def _check_whole_range(word: str, value: list[Any]) -> list[Any]:
    _check_interval(word, value)
    if not all(isinstance(end, int) and 0 <= end <= _LARGEST_OF_RANGE for end in value):
        raise ValueError(f"{word} has other ends than whole numbers from 0 to 10^12; write [0,100]")
    return value


def _check_whole_ranges(word: str, value: list[Any]) -> list[Any]:
    example = "[[100,1000],[1000,10000]]"
    if not value or not all(isinstance(part, list) for part in value):
        raise ValueError(f"{word} is not a list of ranges; write one such as {example}")
    for place, part in enumerate(value):
        _check_whole_range(str(part).replace(" ", ""), part)
        if part in value[:place]:
            raise ValueError(f"{part} is given twice in {word}; give every range once")
    return value


def _check_pair(word: str, value: list[Any], example: str) -> None:
    numbers = [end for end in value if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(numbers) != 2 or len(value) != 2 or not all(map(math.isfinite, numbers)):
        raise ValueError(f"{word} is not a pair of numbers; write one such as {example}")


def _check_noise_range(word: str, value: list[Any]) -> list[Any]:
    _check_pair(word, value, "[1,5]")
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


data_range = _literals("RANGE", _check_data_range)
"""Of samples: a pair, two pairs (each element from either), or two pairs and `[]` (half the columns
from each)."""
interval = _literals("[LOW,HIGH]", _check_interval)
"""Plain ranges, with the low end first."""
span = _literals("[LOW,HIGH]", _check_span)
"""Ranges of whole numbers from 1 on, with both ends."""
whole_range = _literals("[LOW,HIGH]", _check_whole_range)
"""Ranges of whole numbers from 0 on, without the high end."""
whole_ranges = _literals("[[LOW,HIGH],...]", _check_whole_ranges, "a list of ranges")
"""Lists of different such ranges, `[[100,1000],[1000,10000]]`."""
noise_range = _literals("[LOW,HIGH]", _check_noise_range)
"""Bounds of noise; `[1,0]` means from 1 to 1 + 1 / deviation of the batch."""
lengths = _literals("[L,...]", _check_lengths, "a list of lengths")
"""Lists of different lengths, such as `[100,1000]`."""


def _read_distribution(words: list[str]) -> list[tuple[Any, ...]]:
    from stable_nalu.dataset.distribution import PARAMETER_NAMES, check_dist_params

    family, *parameters = words
    if family not in PARAMETER_NAMES:
        known = ", ".join(PARAMETER_NAMES)
        raise ValueError(f"{family!r} is not a distribution; choose one of {known}")
    try:
        return [check_dist_params((family, *map(finite, parameters)))]
    except ValueError as error:
        names = " ".join(name.replace(" ", "_").upper() for name in PARAMETER_NAMES[family])
        raise ValueError(f"{as_clause(error)}; write {family} {names}") from None


distribution = Kind("NAME [NUMBER ...]", _read_distribution)
"""Distributions; all words behind a flag make one value."""


def as_clause(error: Exception) -> str:
    """Return an error's sentence as a part of another: no capital, full stop or semicolon."""
    text = str(error).rstrip(".").replace("; ", ", ")
    return text[:1].lower() + text[1:]


def _keys(allowed: Callable[[LayerEntry], bool]) -> Callable[[], tuple[str, ...]]:
    """Return a function that lists the keys of those units that are `allowed`."""

    def names() -> tuple[str, ...]:
        return tuple(key for key, entry in entries().items() if allowed(entry))

    return names


layer_names = _keys(lambda entry: bool(entry.layer) or not entry.has_cell)
"""List every key of a layer, and the keys that only name a pair of layers."""

buildable_layers = _keys(lambda entry: bool(entry.layer))
cell_names = _keys(lambda entry: entry.has_cell)


def and_layers(own: Callable[[], Iterable[str]]) -> Callable[[], tuple[str, ...]]:
    """Return a function that lists a task's own networks, and all layers."""

    def names() -> tuple[str, ...]:
        return tuple(dict.fromkeys((*own(), *buildable_layers())))

    return names
