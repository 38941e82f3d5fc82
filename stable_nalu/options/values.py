"""Values of flags that are no words of a command line, but of Python or a file."""
# pyright: basic

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stable_nalu.base.errors import (
    OptionError,
    UsageError,
    did_you_mean,
    in_words,
    is_text,
    named_as_in_python,
)
from stable_nalu.base.script import NEGATIVE_NUMBER

from .flag import MOST_RUNS, Flag
from .flags import load_own_layers


def typed_values(spec: Any, values: Mapping[str, Any]) -> list[dict[str, list[Any]]]:
    """Return the values of flags as a command line gives them, of as many as they need."""
    known: dict[str, Flag] = {flag.dest: flag for flag in spec.flags}
    for name in values:
        if name not in known:
            remedy = did_you_mean(name, known, f"see the flags of {spec.name}")
            raise UsageError(f"{spec.name} has no argument {name!r}; {remedy}")
    files = {name: values.get(name) for name in ("layer_file", "task_file")}
    given = {name: several(name, file) for name, file in files.items() if file is not None}
    load_own_layers([w for n, of in given.items() for w in (known[n].name, *_words(n, of))])
    read = {name: _read(known[name], value) for name, value in values.items() if value is not None}
    if (count := math.prod(map(len, read.values()))) > MOST_RUNS:
        raise UsageError(f"{count} combinations of values are too many; {_MOST}")
    every = (zip(read, chosen, strict=True) for chosen in product(*read.values()))
    return [{name: own for name, own in pairs if own} for pairs in every]


def _read(flag: Flag, value: Any) -> list[list[Any]]:
    """Return the values of a flag, for every command line that they need."""
    if isinstance(value, Mapping):
        pairs = [(name, _words(name, several(name, own))) for name, own in value.items()]
        words = [f"{name}={one}" for name, ones in pairs for one in ones]
        return [flag.read(_words(flag.dest, words)) if words else []]
    if flag.kind is not None and flag.kind.metavar.startswith(("RANGE", "[")):
        # A list of numbers is one value.
        if isinstance(value, str) or not isinstance(value, Iterable):
            problem = f"{value!r} is not a list of numbers; write such as [1, 2]"
            raise UsageError(f"{flag.dest}: {problem}")
        value = several(flag.dest, value)
        ranges = bool(value) and all(isinstance(part, tuple) for part in value)
        values = [str(_plain(part)).replace(" ", "") for part in (value if ranges else [value])]
    else:
        values = several(flag.dest, value)
    if flag.kind is None:
        for one in values or [value]:
            if not isinstance(one, bool | np.bool_):
                problem = f"{one!r} is not a value of a switch; write True or False"
                raise UsageError(f"{flag.dest}: {problem}")
        return [[True] if one else [] for one in values]
    if flag.repeatable and values and all(isinstance(one, tuple | list) for one in values):
        read = (flag.read(_words(flag.dest, list(one))) for one in values)
        return [list(chain.from_iterable(read))]
    words = _words(flag.dest, values)
    together = flag.sweep or "..." in flag.kind.metavar
    return [flag.read(words)] if together else [flag.read([word]) for word in words]


def _plain(value: Any) -> Any:
    """Replace NumPy numbers, also in lists, by Python's, which are written without a type."""
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _words(name: str, values: list[Any]) -> list[str]:
    """Return values as words, none of which is a flag to who reads them."""
    try:
        words = list(map(str, values))
    except ValueError as error:  # of a number of thousands of digits
        raise UsageError(f"{name}: {in_words(error)}") from None
    if not words:
        raise UsageError(f"{name}: an empty list holds no value; leave it out for the default")
    for word in words:
        if not is_text(word, of_path=True):
            raise UsageError(f"{name}: {ascii(word)} is not text; write it in UTF-8")
        if word.startswith("-") and not NEGATIVE_NUMBER.match(word):
            raise UsageError(f"{name}: {word!r} is not a value; a flag is an argument of its own")
    return words


def several(name: str, value: Any) -> list[Any]:
    """Return the values of a list, a range or an array, or the one value."""
    if isinstance(value, str | Path) or not isinstance(value, Iterable):
        return [value]
    if isinstance(value, np.ndarray | torch.Tensor):
        value = np.atleast_1d(np.asarray(value))
    values = list(islice(value, MOST_RUNS + 1))  # which may have no end
    if len(values) > MOST_RUNS:
        raise UsageError(f"{name}: more than {MOST_RUNS} values are too many; {_MOST}")
    return [v.tolist() if isinstance(v, np.ndarray | np.generic) else v for v in values]


_MOST = f"train {MOST_RUNS} runs at most by a call"


def blocks_of(spec: Any, words: Sequence[str]) -> list[dict[str, list[Any]]]:
    """Return the flags of every block of the --sweep of a command line.

    The first block is the top of the file. Each `[[also]]` is another, laid over the top.
    """
    flags = [word.partition("=") for word in words]
    paths = [
        value or after
        for (name, _, value), after in zip(flags, [*words, ""][1:], strict=True)
        if name == "--sweep"
    ]
    if not paths[0]:
        return [{}]
    import tomllib

    path = Path(paths[0])
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        also = content.pop("also", [])
        if not (isinstance(also, list) and all(isinstance(one, dict) for one in also)):
            raise ValueError("also is not a block; write [[also]] above its flags")
        kinds = {flag.dest: flag.kind.metavar for flag in spec.flags if flag.kind}
        ranged = {dest for dest, of in kinds.items() if of.startswith(("RANGE", "["))}
        with named_as_in_python():
            blocks = [_block(content | own, ranged) for own in ({}, *also)]
            return [one for block in blocks for one in typed_values(spec, block)]
    except OSError as error:
        problem = f"cannot read {path}: {error.strerror}"
        raise OptionError("--sweep", problem, "name a TOML file of flags") from None
    except (ValueError, UsageError) as error:
        raise UsageError(f"argument --sweep: {path}: {error}") from None


def _block(content: Mapping[str, Any], ranged: Set[str]) -> dict[str, Any]:
    """Return flags by their dests; lists of lists are several ranges."""
    block = {key.removeprefix("--").replace("-", "_"): value for key, value in content.items()}
    for name in ranged & block.keys():
        value = block[name]
        if isinstance(value, list) and value and all(isinstance(one, list) for one in value):
            block[name] = [tuple(one) for one in value]
    return block
