"""Put the flags that a name of the papers stands for in the place of the name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stable_nalu.errors import OptionError

from ..flag import Flag
from . import MODELS, UNITS, found_in, registered


@dataclass(frozen=True)
class Script:
    """What has to be known of a script; `nac_mul_acts` as in its description."""

    name: str
    flags: tuple[Flag, ...]
    nac_mul_acts: bool


def flags_of(script: Script, word: str) -> list[str] | None:
    """Return the words that a name of the papers stands for in a script; None: it is no name."""
    table = MODELS if script.nac_mul_acts else UNITS
    name = found_in(table, word)
    if name is not None:
        return shlex.split(table[name])
    found = registered(word)
    if found is None:
        return None
    key, options = found
    unit = ["--layer-type", key]
    if script.nac_mul_acts and key.endswith("MNAC"):
        unit = ["--layer-type", f"{key.removesuffix('MNAC')}NAC", "--nac-mul", "mnac"]
    return unit + [word for item in options.items() for word in _option(script, *item)]


def _option(script: Script, option: str, value: object) -> list[str]:
    """Return the words that set an option of a layer."""
    names = (flag.name for flag in script.flags if option in (flag.layer_option, flag.dest))
    flag = next(names, f"--{option.replace('_', '-')}")
    return [flag] if value is True else [flag, str(value).replace(" ", "")]


def with_flags(script: Script, typed: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return what was typed, with the flags that names of the papers stand for in their place."""
    given = dict(typed)
    for flag in [f for f in script.flags if callable(f.choices) and f.dest in typed]:
        (word,) = typed[flag.dest]
        if word in (flag.allowed() or ()):
            if flag.dest == "layer_type" and script.nac_mul_acts:
                _refuse_ambiguous(word, typed)
            continue
        words = flags_of(script, word)
        if words is None:
            _refuse_pair(script, flag, word)
        elif flag.dest == "layer_type":
            given |= _read(script, word, words, typed)
        else:
            given[flag.dest] = [_one_unit(flag, word)]
    return given


def _read(
    script: Script, name: str, words: list[str], typed: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    """Return the values of the flags of a name, which nothing that was typed contradicts."""
    known = {flag.name: flag for flag in script.flags}
    read: dict[str, list[Any]] = {}
    for text in re.split(r" (?=--)", " ".join(words)):
        flag_name, *values = text.split(" ")
        flag = known.get(flag_name)
        if flag is None and flag_name == "--first-layer":
            continue  # A script with one cell.
        stands = f"{name} stands for {shlex.join(words)}"
        if flag is None:
            remedy = "train it by a script that has it, see docs/flags.md"
            raise OptionError("--layer-type", f"{stands}; {script.name} has no {flag_name}", remedy)
        allowed = flag.allowed()
        if values and allowed is not None and values[0] not in allowed:
            if flag.dest == "layer_type":
                raise flag.no_choice(name)
            raise OptionError("--layer-type", stands, f"{script.name} has no {text}")
        read[flag.dest] = flag.read(values)
        if flag.dest != "layer_type" and typed.get(flag.dest, read[flag.dest]) != read[flag.dest]:
            raise OptionError(flag.name, f"another value than {stands}", "leave one of them out")
    return read


def _one_unit(flag: Flag, word: str) -> str:
    """Return the key of a name, for a flag that names nothing but one unit."""
    unit = found_in(UNITS, word)
    text = shlex.split(UNITS[unit]) if unit is not None else None
    found = (text[1], text[2:]) if text else registered(word)
    if found is None:
        raise OptionError(flag.name, f"{word} is a pair of layers", "name one unit by its key")
    key, options = found
    if options:
        remedy = f"type the key, {key}, and its flags (docs/layers.md)"
        raise OptionError(flag.name, f"{word} is {key} with options", remedy)
    if key not in (flag.allowed() or ()):
        raise flag.no_choice(word)
    return key


def _refuse_pair(script: Script, flag: Flag, word: str) -> None:
    """Refuse a model of two layers, where there is one; or a word that is no name."""
    name = found_in(MODELS, word)
    if name is None:
        raise flag.no_choice(word)
    problem = f"{word} is a model of two layers, {script.name} trains one unit"
    remedy = f"type {MODELS[name]} for simple_function_static.py"
    raise OptionError(flag.name, problem, remedy)


def _refuse_ambiguous(word: str, typed: Mapping[str, list[Any]]) -> None:
    """Refuse a key that papers have for another model, unless the second layer is named, too."""
    from stable_nalu.layer import entries

    name = found_in(MODELS, word)
    entry = entries().get(word)
    if name is None or entry is None or entry.origin or {"nac_mul", "first_layer"} & set(typed):
        return
    if shlex.split(MODELS[name]) != ["--layer-type", word]:
        raise OptionError(
            "--layer-type",
            f"{word} alone has two meanings here",
            f"type {MODELS[name]} for the published model, or --layer-type {word} --nac-mul none "
            f"for two layers of {word}",
        )
