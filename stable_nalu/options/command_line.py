"""From words of a command line to the values of each flag."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import OptionError
from .flag import Flag


def split_words(argv: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Group words by the flag they stand behind: `--a 1 2 --b=3` -> (--a, [1, 2]), (--b, [3])."""
    groups: list[tuple[str, list[str]]] = []
    for word in argv:
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word.partition("=")
            groups.append((name, [value] if equals else []))
        elif not groups:
            raise OptionError(None, f"unexpected word {word!r}", "every value follows a --flag")
        else:
            groups[-1][1].append(word)
    return groups


def read_values(
    flags: Sequence[Flag], argv: Sequence[str], explain: Callable[[str], str | None]
) -> dict[str, list[Any]]:
    """Dest -> values of the flags that are on the command line.

    explain: what to say of a flag that the script does not have, if anything special.
    """
    by_spelling = {s: flag for flag in flags for s in flag.spellings}
    values: dict[str, list[Any]] = {}
    for name, words in split_words(argv):
        flag = by_spelling.get(name)
        if flag is None:
            raise _unknown(name, by_spelling, explain(name))
        read = _read_flag(flag, words)
        if flag.dest in values:
            if flag.name != "--sample-distribution":
                remedy = "give it once" + (", with all values behind it" if flag.sweep else "")
                raise OptionError(flag.name, "given twice", remedy)
            read = values[flag.dest] + read
        values[flag.dest] = read
    return values


def _unknown(name: str, known: Mapping[str, Flag], reason: str | None) -> OptionError:
    if reason is not None:
        return OptionError(name, "not accepted", reason)
    near = difflib.get_close_matches(name, known, n=1)
    remedy = f"did you mean {near[0]}?" if near else "see --help for the flags of this script"
    return OptionError(name, "there is no such flag", remedy)


def _read_flag(flag: Flag, words: list[str]) -> list[Any]:
    if flag.kind is None:
        if words:
            raise OptionError(
                flag.name, f"takes no value, got {words[0]!r}", "leave it out to switch it off"
            )
        return [True]
    if not words and flag.kind.metavar != "BOOL":
        raise OptionError(flag.name, "has no value", f"write {flag.name} {flag.kind.metavar}")
    try:
        read = flag.kind.read_all(words)
    except ValueError as error:
        problem, _, remedy = str(error).partition("; ")
        raise OptionError(flag.name, problem, remedy) from None
    for value in read:
        _check_choice(flag, value)
    if len(read) > 1 and not flag.sweep:
        raise OptionError(
            flag.name,
            f"takes one value, got {len(read)}",
            "runs of one command share it, start one command a value",
        )
    return read


def _check_choice(flag: Flag, value: object) -> None:
    allowed = flag.allowed()
    if allowed is None or value in allowed:
        return
    choices = [str(choice) for choice in allowed]
    by_lower = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(str(value).lower(), by_lower, n=1)
    listed = f"choose one of {', '.join(choices)}"
    remedy = f"did you mean {by_lower[near[0]]}?" if near else listed
    raise OptionError(flag.name, f"{value!r} is not a choice", remedy)
