"""Layers on the command line: the user's files, options by name, and names of the papers.

Runs of them have short labels of what varies among them, such as `NMU U[1,2) lr=0.01 s3`.
"""

import ast
import inspect
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, cast

from stable_nalu.base.errors import OptionError, did_you_mean
from stable_nalu.base.files import installed_layers
from stable_nalu.base.script import plain
from stable_nalu.layer.registry import entries, spelled

_OTHERS, _LAYER = "--layer-option", "--layer-type"
_SEQUENCES = (list, tuple)
_KINDS = {float: (float, int), list: _SEQUENCES, tuple: _SEQUENCES}
"""Types that do for a default of another one."""


def load_own_layers(argv: Sequence[str]) -> None:
    """Load the layers of installed packages and of the files behind --layer-file."""
    paths: list[str] = []
    reads = False
    for word in argv:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            reads = name == "--layer-file"
            paths += [value] if reads and value else []
        elif reads:
            paths.append(word)
    if not paths and not installed_layers():
        return
    from stable_nalu.layer.own_layers import load_installed_layers, load_layer_file

    load_installed_layers()
    for path in paths:
        load_layer_file(path)


def units_of(config: Any) -> list[str]:
    names = (getattr(config, flag, None) for flag in ("layer_type", "first_layer", "nalm_name"))
    return [name for name in names if name]


def own_options(config: Any, by_flag: Mapping[str, str]) -> dict[str, Any]:
    """Return what --layer-option sets; refuse what no unit of the run takes.

    by_flag: the flags of the script by the option that each sets.
    """
    known: dict[str, inspect.Parameter] = {}
    units = units_of(config) if config.layer_option else []
    for entry in [entries()[unit] for unit in units if unit in entries()]:
        # Flags are read by layers that were written for them.
        taken = () if entry.is_plain else by_flag
        known |= {name: p for name, p in entry.parameters.items() if name not in taken}
    found: dict[str, Any] = {}
    for word in config.layer_option:
        name, _, value = word.partition("=")
        if name in known:
            found[name] = _converted(word, value, known[name].default)
            continue
        if name in by_flag:
            raise OptionError(_OTHERS, f"{name} has a flag", f"use {by_flag[name]}")
        empty = inspect.Parameter.empty
        shown = (n if p.default is empty else f"{n}={p.default}" for n, p in known.items())
        taken = f"it takes {', '.join(shown) or 'no options'}"
        remedy = f"{did_you_mean(name, known, '')} {taken}".strip()
        raise OptionError(_OTHERS, f"{[*units, 'the last layer'][0]} takes no {name!r}", remedy)
    return found


def _converted(word: str, value: str, default: Any) -> Any:
    """Return a value of the type of the default; without one, what Python reads it as."""
    if isinstance(default, str):
        return value
    truth = {"true": True, "false": False}
    try:
        read = truth[value.lower()] if value.lower() in truth else ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        read = value
    kind = cast("type[Any]", type(default))
    free = default is None or default is inspect.Parameter.empty
    if not free and type(read) not in _KINDS.get(kind, (kind,)):
        remedy = f"the default is {default!r}"
        raise OptionError(_OTHERS, f"{word} is of another kind", remedy)
    return read


MODELS = {
    "Linear": "--layer-type linear",
    "NAC+": "--layer-type NAC",
    "NAC•": "--layer-type NAC --nac-mul normal",
    "NAC•,σ": "--layer-type PosNAC --nac-mul normal --first-layer NAC",
    "NAC•,NMU": "--layer-type ReRegualizedLinearPosNAC --nac-mul normal "
    "--first-layer ReRegualizedLinearNAC",
    "NALU (separate)": "--layer-type NALU --nalu-two-nac",
    "NAU": "--layer-type ReRegualizedLinearNAC",
    "NMU": "--layer-type ReRegualizedLinearNAC --nac-mul mnac",
    "sNMU": "--layer-type ReRegualizedLinearNAC --nac-mul mnac --nmu-noise",
    "batch sNMU": "--layer-type ReRegualizedLinearNAC --nac-mul mnac --nmu-noise "
    "--noise-range [1,0]",
    "Gated NAU/NMU": "--layer-type ReRegualizedLinearNALU --nalu-two-nac --nalu-mul mnac",
    "NPU": "--layer-type ReRegualizedLinearNAC --nac-mul npu",
    "Real NPU": "--layer-type ReRegualizedLinearNAC --nac-mul real-npu",
}
"""Model -> its flags where --nac-mul decides how a model multiplies."""

UNITS = {
    "Linear": "--layer-type linear",
    "NAC+": "--layer-type NAC",
    "NAC•": "--layer-type MNAC",
    "NALU (separate)": "--layer-type NALU --nalu-two-nac",
    "Real NPU": "--layer-type RealNPU",
    "Sign NMRU": "--layer-type SignNMRU",
}
"""Model -> its flags where a script has one unit, beside the names in the table of layers."""


def _found(table: Mapping[str, str], word: str) -> str | None:
    return next((name for name in table if spelled(name) == spelled(word)), None)


def registered(word: str) -> tuple[str, Mapping[str, object]] | None:
    wanted = spelled(word)
    for key, entry in entries().items():
        if spelled(entry.label) == wanted:
            return key, {}
        for variant in entry.variants:
            if spelled(variant.label) == wanted:
                return key, variant.options
    return None


def _key_in_another_case(word: str) -> str | None:
    return next((key for key in entries() if key.lower() == word.lower()), None)


def is_paper_name(word: str) -> bool:
    """Return whether papers call a model so, in any script; a key in another case is a slip."""
    if word in UNITS:
        return True
    named = any(_found(table, word) for table in (MODELS, UNITS)) or registered(word) is not None
    return named and _key_in_another_case(word) is None


def two_meanings(word: str, allowed: Sequence[Any]) -> str | None:
    """Return what to type for a word that is a key but for its case, and another unit's name."""
    key, found = _key_in_another_case(word), registered(word)
    if found is None or key == found[0] or not {key, found[0]} <= set(allowed):
        return None
    return f"type {found[0]} for what papers call {word}, {key} for the layer of this key"


def _flags_of(flags: Sequence[Any], word: str, *, pairs: bool) -> list[str] | None:
    """Return the words that a name of the papers stands for; None: it is not a name.

    pairs: whether --nac-mul decides how the model multiplies, or a name is one unit.
    """
    table = MODELS if pairs else UNITS
    name, found = _found(table, word), registered(word)
    if name is not None:
        return table[name].split()
    if found is None:
        return None
    key, options = found
    unit = [_LAYER, key]
    if pairs and key.endswith("MNAC"):
        unit = [_LAYER, f"{key.removesuffix('MNAC')}NAC", "--nac-mul", "mnac"]
    return unit + option_words(flags, options)


def option_words(flags: Sequence[Any], options: Mapping[str, object]) -> list[str]:
    """Return the words that set layer options; of those without a flag, by --layer-option."""
    names = {flag.layer_option or flag.dest: flag.name for flag in flags}
    words: dict[str, list[str]] = {}
    for option, value in options.items():
        if option in names:
            words[names[option]] = [] if value is True else [f"{value}".replace(" ", "")]
        else:
            words.setdefault(_OTHERS, []).append(f"{option}={value}")
    return [word for flag, given in words.items() for word in (flag, *given)]


def with_flags(script: Any, typed: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return what was typed, with the flags that names of the papers stand for in their place.

    script: its description, a `ScriptSpec`.
    """
    given = dict(typed)
    for flag in [f for f in script.flags if callable(f.choices) and f.dest in typed]:
        (word,) = typed[flag.dest]
        if word in (flag.allowed() or ()):
            if flag.dest == "layer_type" and script.nac_mul_acts:
                _refuse_ambiguous(word, typed)
        elif flag.dest == "layer_type":
            words = _flags_of(script.flags, word, pairs=script.nac_mul_acts)
            given |= _read_name(script, word, words or _refuse_pair(script, flag, word), typed)
        else:
            given[flag.dest] = [_one_unit(script, flag, word)]
    return given


def _read_name(
    script: Any, name: str, words: list[str], typed: Mapping[str, list[Any]]
) -> dict[str, list[Any]]:
    """Return the values of the flags of a name, which nothing that was typed contradicts."""
    known = {flag.name: flag for flag in script.flags}
    stands = f"{name} stands for {shlex.join(words)}"
    named: dict[str, list[str]] = {}
    for word in words:
        if word.startswith("--"):
            named[word] = []
        else:
            named[list(named)[-1]].append(word)
    read: dict[str, list[Any]] = {}
    for flag_name, values in named.items():
        flag = known.get(flag_name)
        if flag is None and flag_name == "--first-layer":
            continue  # A script with one cell.
        if flag is None:
            remedy = "train it by a script that has it, see docs/flags.md"
            raise OptionError(_LAYER, f"{stands}; {script.name} has no {flag_name}", remedy)
        allowed = flag.allowed()
        if values and allowed is not None and values[0] not in allowed:
            if flag_name == _LAYER:
                raise flag.no_choice(name)
            raise OptionError(_LAYER, stands, f"{script.name} has no {flag_name} {values[0]}")
        read[flag.dest] = flag.read(values)
        if flag_name == _OTHERS:
            own = typed.get(flag.dest, [()])
            read[flag.dest] = [(*more, *one) for more in own for one in read[flag.dest]]
        elif flag_name != _LAYER and typed.get(flag.dest, read[flag.dest]) != read[flag.dest]:
            raise OptionError(flag.name, f"another value than {stands}", "leave one of them out")
    return read


def _one_unit(script: Any, flag: Any, word: str) -> str:
    """Return the key of a name, for a flag that names nothing but one unit."""
    if _flags_of(script.flags, word, pairs=script.nac_mul_acts) is None:
        _refuse_pair(script, flag, word)
    words = _flags_of(script.flags, word, pairs=False)
    if words is None:
        raise OptionError(flag.name, f"{word} is a pair of layers", "name one unit by its key")
    _, key, *options = words
    if options:
        remedy = f"type the key, {key}, and its flags (docs/layers.md)"
        raise OptionError(flag.name, f"{word} is {key} with options", remedy)
    if key not in (flag.allowed() or ()):
        raise flag.no_choice(word)
    return key


def _refuse_pair(script: Any, flag: Any, word: str) -> Any:
    """Refuse a model of two layers, where there is one; or a word that is not a name."""
    name = _found(MODELS, word)
    if name is None:
        raise flag.no_choice(word)
    problem = f"{word} is a model of two layers, {script.name} trains one unit"
    remedy = f"type {MODELS[name]} for simple_function_static.py"
    raise OptionError(flag.name, problem, remedy)


def _refuse_ambiguous(word: str, typed: Mapping[str, list[Any]]) -> None:
    """Refuse a key that papers have for another model, unless the second layer is named, too."""
    name = _found(MODELS, word)
    entry = entries().get(word)
    if name is None or entry is None or entry.origin or {"nac_mul", "first_layer"} & set(typed):
        return
    if MODELS[name] != f"--layer-type {word}":
        alone = f"--layer-type {word} --nac-mul none for two layers of {word}"
        remedy = f"type {MODELS[name]} for the published model, or {alone}"
        raise OptionError(_LAYER, f"{word} alone has two meanings here", remedy)


_SHORT = {"seed": "s{}", "learning_rate": "lr={}", "operation": "{}", "id": "#{}"}
_HOW = {"verbose", "name_prefix", "id"}
"""Flags that say how runs are recorded."""


def varying(flags: Sequence[Any], configs: Sequence[Any]) -> list[str]:
    """Return the flags in which runs differ; of two that differ together, the first."""
    found: dict[str, list[str]] = {}
    for flag in flags:
        values = [repr(getattr(config, flag.dest)) for config in configs]
        if not flag.result or flag.dest in _HOW or len(set(values)) == 1:
            continue
        pairs = (set(zip(values, others, strict=True)) for others in found.values())
        if not any(len(both) == len(set(values)) for both in pairs):
            found[flag.dest] = values
    return list(found)


def label(config: Any, dests: Sequence[str]) -> str:
    """Return the values of these flags in one short text."""
    parts: list[str] = []
    for dest in dests:
        value = getattr(config, dest)
        if dest == "layer_type":
            parts.append(layer_label(value))
        elif dest.endswith("_range"):
            parts.append(range_label(value))
        else:
            if isinstance(value, tuple):
                value = ",".join(map(str, cast("tuple[Any, ...]", value)))
            parts.append(_SHORT.get(dest, f"{dest}={{}}").format(value))
    return " ".join(parts)


def short_leaf(config: Any) -> str:
    """Return the folder name of a run with --short-names: its layers, and the flags it shows."""
    names = [(layer_label(key).replace(" ", ""), key) for key in units_of(config)]
    shown = (name if name.replace("-", "").isalnum() else key for name, key in names)
    layers = "+".join(shown) or config.script
    mul = getattr(config, "nac_mul", "none")
    parts = [layers + ("" if mul == "none" else f"+{mul}"), label(config, config.short_names)]
    return " ".join(filter(None, parts)).replace("/", "|")


def layer_label(key: str) -> str:
    entry = entries().get(key)
    return plain(entry.label) if entry is not None and entry.label else key


def range_label(value: Any) -> str:
    """Return `U[1,2)` for the text or the list of a range."""
    label = f"U{value}".replace(" ", "")
    return half_open(label) if label.count("[") == 1 else label


def half_open(label: str) -> str:
    """Return a range as every axis and table prints it: `U[1,2)`, which has no upper end."""
    return label.replace("]", ")")


def units_label(config: Any) -> str:
    """Return the layers of a run, each with its key where that is another word."""
    named = {key: layer_label(key) for key in units_of(config)}
    return " + ".join(name if name == key else f"{name} ({key})" for key, name in named.items())
