"""A flag and a group of flags, declared once; the values that flags take; a run's configuration.

A flag that names a unit also takes the papers' names of models. A key of a layer always means that
layer. A name of the papers means flags: for the unit if a script has one unit, for the published
model if `--nac-mul` decides how a model multiplies. `flags.with_flags` replaces a name by its
flags.
"""

import argparse
import ast
import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from stable_nalu.base.errors import OptionError, did_you_mean
from stable_nalu.base.script import unknown_choice
from stable_nalu.layer.registry import Brought, LayerEntry, entries, owned, spelled

MOST_RUNS = 100_000
"""Runs of one command, whose configurations are all in memory."""
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


def found_in(table: Mapping[str, str], word: str) -> str | None:
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
    named = any(found_in(table, word) for table in (MODELS, UNITS)) or registered(word) is not None
    return word in UNITS or (named and _key_in_another_case(word) is None)


_LISTS_LAYERS = "--layer-type"

Choices = tuple[Any, ...] | Callable[[], tuple[Any, ...]]


@dataclass(frozen=True)
class Kind:
    """How words of the command line become values.

    `read_all` turns the words behind one occurrence of a flag into a list of values; it raises
    ValueError("what is wrong; what would be right"). bare: whether the flag may have no words.
    write: makes a word of one value.
    """

    metavar: str
    read_all: Callable[[list[str]], list[Any]]
    bare: bool = False
    write: Callable[[Any], str] = str

    def one(self, word: str) -> Any:
        """Read one word as one value: a `type` for argparse."""
        return self.several(word)[0]

    def several(self, word: str) -> list[Any]:
        """Read one word as several values: a `type` for argparse."""
        try:
            return self.read_all([word])
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None


@dataclass(frozen=True)
class Flag:
    """One command-line flag.

    The default is used as it stands, never converted: a run name prints an untouched `10` as `10`
    and a typed one, read as a float, as `10.0`.

    kind: reader of its words; None for a switch, which takes none and is False by default.
    choices: allowed values, or a function that returns them.
    layer_option: name of the layer option that it sets.
    sweep: several values may be given; the command then plans several runs.
    repeatable: the flag may be repeated, where all words behind it make one value.
    unnamed: why a run name does not hold it, where no name field does.
    result: whether it can change what a run computes or records.
    note: what the script at hand does with it, where that is not what the help says.
    young: whether runs were recorded before it was there; at its default, no record holds it.
    in_name: the pattern of its field in run names, at their end where a script has no other place
        for it, or what a switch that is on adds; see `run_names`.
    """

    name: str
    kind: Kind | None
    default: Any
    help: str
    choices: Choices | None = None
    aliases: tuple[str, ...] = ()
    layer_option: str | None = None
    sweep: bool = False
    repeatable: bool = False
    unnamed: str = "published run names of this script have no place for it"
    result: bool = True
    note: str | None = None
    young: bool = False
    in_name: str = ""

    @property
    def dest(self) -> str:
        """Return the attribute of the configuration that holds the flag's value."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def spellings(self) -> tuple[str, ...]:
        """Return the name and its aliases, each `regualizer` also spelled `regularizer`."""
        names = (self.name, *self.aliases)
        return tuple(dict.fromkeys([*names, *(n.replace("gual", "gular") for n in names)]))

    @property
    def default_text(self) -> str:
        default = self.default
        if self.kind is None:
            return "off"
        if default is None or default == ():
            return "none"
        if isinstance(default, tuple):
            return " ".join(map(str, cast("tuple[Any, ...]", default)))
        return str(default).replace(" ", "")

    def allowed(self) -> tuple[Any, ...] | None:
        return self.choices() if callable(self.choices) else self.choices

    def but(self, **changes: Any) -> "Flag":
        return replace(self, **changes)

    def describe(self) -> str:
        """Return the help sentence, what the script at hand does with it, choices and default."""
        parts = [self.help]
        if self.note:
            parts.append(f"Here: {self.note}.")
        if callable(self.choices) and self.name != _LISTS_LAYERS:
            parts.append(f"One of those of {_LISTS_LAYERS}.")
        elif self.choices is not None:
            parts.append(f"One of {', '.join(map(str, self.allowed() or ()))}.")
        parts.append(f"Default: {self.default_text}.")
        return " ".join([*parts, *(["[sweep]"] if self.sweep else [])])

    def no_choice(self, value: Any) -> OptionError:
        """Return what is wrong with a word that is not a choice."""
        allowed = self.allowed() or ()
        if callable(self.choices):
            if not any(allowed):
                problem = f"{value!r} is an unknown layer"
                return OptionError(self.name, problem, "for your own, pass --layer-file")
            key, known = _key_in_another_case(str(value)), registered(str(value))
            if known is not None and key != known[0] and {key, known[0]} <= set(allowed):
                remedy = f"type {known[0]} for what papers call {value}, {key} for the layer of "
                return OptionError(self.name, f"{value} has two meanings", f"{remedy}this key")
            own = sys.modules.get("stable_nalu.layer.own_layers")
            if own is not None and (reason := own.why_no_layer(str(value))):
                return OptionError(self.name, reason, "fix the file")
            labels = [entry.label for key, entry in entries().items() if key in allowed]
            if meant := did_you_mean(str(value), [*labels, *allowed], ""):
                return OptionError(self.name, f"{value!r} is not a choice", meant)
        return OptionError.of(self.name, unknown_choice(value, allowed))

    def read(self, words: list[str]) -> list[Any]:
        """Return the values of the words behind one occurrence, or raise OptionError."""
        if self.kind is None:
            if words:
                problem = f"takes no value, got {words[0]!r}"
                raise OptionError(self.name, problem, "leave it out to switch it off")
            return [True]
        if not words and not self.kind.bare:
            raise OptionError(self.name, "has no value", f"write {self.name} {self.kind.metavar}")
        try:
            values = self.kind.read_all(words)
        except ValueError as error:
            raise OptionError.of(self.name, str(error)) from None
        allowed = self.allowed()
        for value in [one for one in values if allowed is not None and one not in allowed]:
            if isinstance(owned(str(value)), Brought):
                continue  # Something of the program.
            # A script replaces names of the papers.
            if not (callable(self.choices) and is_paper_name(str(value))):
                raise self.no_choice(value)
        if len(values) > 1 and not self.sweep:
            remedy = "runs of one command share it, start one command per value"
            raise OptionError(self.name, f"takes one value, got {len(values)}", remedy)
        return values


def switch(name: str, help: str, **properties: Any) -> Flag:
    """Return a flag that takes no value and is off by default."""
    return Flag(name, None, False, help, **properties)


def choice(name: str, default: Any, help: str, choices: Choices, **properties: Any) -> Flag:
    return Flag(name, text(), default, help, choices, **properties)


class ReadFlag(argparse.Action):
    """Reads the words behind a flag as the flag says, into a list of its values."""

    def __init__(self, option_strings: Sequence[str], dest: str, flag: Flag):
        super().__init__(option_strings, dest, nargs="*", default=argparse.SUPPRESS, help=flag.help)
        self.flag = flag
        self.many, self.repeatable, self.describe = flag.sweep, flag.repeatable, flag.describe
        self.heading = flag.name + ("" if flag.kind is None else f" {flag.kind.metavar}")

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        before: list[Any] = getattr(namespace, self.dest, [])
        setattr(namespace, self.dest, [*before, *self.flag.read(values)])


class FlagGroup:
    """Flags that stand under one heading."""

    def __init__(self, title: str, *flags: Flag):
        self.title, self.flags = title, flags

    def __iter__(self) -> Iterator[Flag]:
        return iter(self.flags)

    def without(self, *names: str) -> "FlagGroup":
        self._require(set(names) - {f.name for f in self.flags})
        return FlagGroup(self.title, *(f for f in self.flags if f.name not in names))

    def only(self, *names: str) -> "FlagGroup":
        self._require(set(names) - {f.name for f in self.flags})
        return FlagGroup(self.title, *(f for f in self.flags if f.name in names))

    def but(self, **changes: dict[str, Any]) -> "FlagGroup":
        self._require(set(changes) - {f.dest for f in self.flags})
        return FlagGroup(self.title, *(f.but(**changes.get(f.dest, {})) for f in self.flags))

    def _require(self, missing: set[str]) -> None:
        if missing:
            raise KeyError(f"group {self.title!r} has no {', '.join(sorted(missing))}")


class Config:
    """The values of one run's flags as attributes: `config.layer_type`, `config.seed`.

    A flag that the script does not take reads as what the script does instead, usually the flag's
    default; `as_dict` lists the script's own flags only. `spec` is its `ScriptSpec`.
    """

    spec: Any
    script: str

    def __init__(self, spec: Any, values: Mapping[str, Any], typed: frozenset[str] = frozenset()):
        state = {"spec": spec, "script": spec.name, "_own": tuple(values), "_typed": typed}
        self.__dict__.update({**spec.fixed, **values, **state})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self.__dict__.get('script', 'a config')} has no option {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a config is read-only; use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("a config is read-only")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Config):
            return NotImplemented
        return self.script == other.script and self.as_dict() == other.as_dict()

    __hash__ = None  # pyright: ignore[reportAssignmentType] — values may be lists

    def __repr__(self) -> str:
        typed = ", ".join(f"{k}={v!r}" for k, v in self.as_dict().items() if k in self._typed)
        return f"Config({self.script}: {typed})"

    @property
    def inputs(self) -> int:
        """Return the number of elements of an input vector; the simple task has its own."""
        from stable_nalu.dataset.simple_function import SIMPLE_INPUT_SIZE

        return SIMPLE_INPUT_SIZE if self.simple else self.input_size

    def as_dict(self) -> dict[str, Any]:
        """Return the script's own flags and their values, in the order of declaration."""
        return {name: self.__dict__[name] for name in self._own}

    def is_typed(self, name: str) -> bool:
        return name in self._typed

    def replace(self, **changes: Any) -> "Config":
        """Return a copy with some of the script's own flags changed, as if they had been typed."""
        unknown = set(changes) - set(self._own)
        if unknown:
            raise AttributeError(f"{self.script} has no option {', '.join(sorted(unknown))}")
        return Config(self.spec, self.as_dict() | changes, self._typed | set(changes))


_LARGEST_SEED, _MOST_SEEDS = 2**32 - 1, 10**6
_LARGEST, _LARGEST_OF_RANGE = 2**63 - 1, 10**12  # NumPy and torch count with 64 bits.
BATCH_NOISE = [1, 0]
_FORMS = "write [1,2], [[-6,-2],[2,6]] or [[-6,-2],[2,6],[]]"
_NUMPY_SCALAR = re.compile(r"\bnp\.(?:float|int|uint)\d+\(([^()]*)\)")
"""How NumPy 2 prints a number that stands in a list."""
_TRUTH = {**dict.fromkeys(("true", "yes", "1"), True), **dict.fromkeys(("false", "no", "0"), False)}


def each_word(metavar: str, read: Callable[[str], Any]) -> Kind:
    return Kind(metavar, lambda words: [read(word) for word in words])


def _fitting(
    metavar: str, fits: Callable[[str], Any], problem: str, make: Callable[[str], Any] = str
) -> Kind:
    """Return a kind of words that fit; the problem is said of a word that does not."""

    def read(word: str) -> Any:
        if not fits(word):
            raise ValueError(f"{word!r} {problem}")
        return make(word)

    return each_word(metavar, read)


def integer(minimum: int = -_LARGEST, maximum: int = _LARGEST) -> Kind:
    def read(word: str) -> int:
        try:
            value = int(word)
        except ValueError:
            raise ValueError(f"{word!r} is not a whole number; write one such as 10") from None
        return _within(word[:30], value, minimum, maximum)

    return each_word("INT", read)


def number(
    minimum: float = -math.inf, *, above: float = -math.inf, maximum: float = math.inf
) -> Kind:
    """Return the kind of finite floats from `minimum`, or above `above`, up to `maximum`."""

    def read(word: str) -> float:
        value = finite(word)
        if value <= above:
            raise ValueError(f"{word} is too small; it must be greater than {above:g}")
        return _within(word, value, minimum, maximum)

    return each_word("FLOAT", read)


def _within(word: str, value: Any, minimum: float, maximum: float) -> Any:
    if value < minimum:
        raise ValueError(f"{word} is too small; the smallest value is {minimum}")
    if value > maximum:
        raise ValueError(f"{word} is too large; the largest value is {maximum}")
    return value


def finite(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{word!r} is not a number; write one such as 0.01 or 1e-3") from None
    if not math.isfinite(value):
        raise ValueError(f"{word} is not a finite number; write one such as 0.01 or 1e-3")
    return value


def text(metavar: str = "NAME") -> Kind:
    return each_word(metavar, str)


files = Kind("FILE [FILE ...]", lambda words: [tuple(dict.fromkeys(words))])
"""Paths of files; all words behind a flag make one value."""
# fmt: off
file_name = _fitting("NAME", lambda word: word not in ("", ".", "..") and "/" not in word,
    "is not the name of a file; write one without a folder")
name_prefix = _fitting("PATH", lambda word: not {"", ".", ".."} & {*word.split("/")},
    "is not a folder below the log root; write a relative path such as a/b")
digits = replace(_fitting("DIGITS", lambda word: re.fullmatch(r"(?:([0-9])(?!.*\1))+", word),
    "is not a string of different digits; write one such as 123456789",
    lambda word: [int(digit) for digit in word]), write=lambda value: "".join(map(str, value)))
_one_truth = _fitting("BOOL", lambda word: word.lower() in _TRUTH,
    "is neither true nor false; write true or false", lambda word: _TRUTH[word.lower()])
# fmt: on
truth = Kind("BOOL", lambda words: _one_truth.read_all(words or ["true"]), bare=True)
"""`true` and `false`; the bare flag means true."""


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


def _read_flags_shown(words: list[str]) -> list[tuple[str, ...]]:
    names = [word.lower().removeprefix("--").replace("-", "_") for word in words]
    return [() if names == ["true"] else tuple(names)]


flags_shown = Kind("FLAG ...", _read_flags_shown, bare=True)
"""Names of flags, all of which make one value; none: those that vary."""


def _read_seeds(words: list[str]) -> list[int]:
    read: list[int] = []
    for word, part in [(whole, part) for whole in words for part in whole.split(",")]:
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
    if len(set(read)) < len(read):
        twice = next(seed for seed, count in Counter(read).items() if count > 1)
        raise ValueError(f"{twice} is given twice; give every seed once")
    return read


seeds = Kind("SEEDS", _read_seeds)
"""Seeds: `7`, `0-24` with both ends, `0,3,9`, or several of these words."""


def seeds_text(seeds: Iterable[int]) -> str:
    """Return seeds in the shortest form that the scripts read: `0-24`, `0,3,9`, `0-4,7`."""
    ordered = sorted(seeds)
    parts: list[str] = []
    for _, places in itertools.groupby(range(len(ordered)), lambda place: ordered[place] - place):
        first, *rest = (ordered[place] for place in places)
        parts.append(f"{first}-{rest[-1]}" if rest else str(first))
    return ",".join(parts)


def _literals(metavar: str, check: Callable[[str, Any], Any], what: str = "a range") -> Kind:
    """Return a kind whose words are lists in brackets, each checked."""

    def read(word: str) -> list[Any]:
        try:
            value: object = ast.literal_eval(_NUMPY_SCALAR.sub(r"\1", word))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            value = None
        if not isinstance(value, list | tuple):
            raise ValueError(f"{word!r} is not {what}; write one such as [1,2]")
        read = list(cast("Iterable[Any]", value))
        check(word, read)
        return read

    def read_all(words: list[str]) -> list[Any]:
        whole = all(w.count("[") == w.count("]") and not w.endswith(",") for w in words)
        if len(words) > 1 and not whole:
            raise ValueError(f"{' '.join(words)!r} was split at a blank; write {''.join(words)}")
        return [read(word) for word in words]

    return Kind(metavar, read_all)


def _check_data_range(word: str, value: list[Any]) -> None:
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


def _pair(
    example: str, whole: tuple[int, float, str] | None = None, *, closed: bool = False
) -> Callable[[str, list[Any]], None]:
    """Return a check of two numbers in order; of a closed range, they may be equal.

    whole: the least and the largest of whole numbers, and these limits in words.
    """

    def check(word: str, value: list[Any]) -> None:
        ends = [end for end in value if isinstance(end, int | float) and not isinstance(end, bool)]
        if len(ends) != 2 or len(value) != 2 or not all(map(math.isfinite, ends)):
            problem = "is not a pair of numbers"
        elif ends[0] > ends[1]:
            problem = "has its low end above its high end"
        elif ends[0] == ends[1] and not closed:
            problem = "is empty"
        elif whole and not all(isinstance(e, int) and whole[0] <= e <= whole[1] for e in ends):
            problem = f"has other ends than whole numbers from {whole[2]}"
        else:
            return
        raise ValueError(f"{word} {problem}; write one such as {example}")

    return check


_check_whole = _pair("[0,100]", (0, _LARGEST_OF_RANGE, "0 to 10^12"))
_check_noise = _pair("[1,5], or [1,0] for noise from 1 to 1 + 1/std of the batch", closed=True)


def _check_whole_ranges(word: str, value: list[Any]) -> None:
    example = "[[100,1000],[1000,10000]]"
    if not value or not all(isinstance(part, list) for part in value):
        raise ValueError(f"{word} is not a list of ranges; write one such as {example}")
    for place, part in enumerate(value):
        _check_whole(str(part).replace(" ", ""), part)
        if part in value[:place]:
            raise ValueError(f"{part} is given twice in {word}; give every range once")


def _check_lengths(word: str, value: list[Any]) -> None:
    whole = [n for n in value if isinstance(n, int) and not isinstance(n, bool) and n > 0]
    if not value or len(whole) != len(value) or len(set(whole)) != len(whole):
        what = "is not a list of different lengths above 0"
        raise ValueError(f"{word} {what}; write one such as [100,1000]")


data_range = _literals("RANGE", _check_data_range)
"""Of samples: a pair, two pairs (each element from either), or two pairs and `[]` (half the columns
from each)."""
interval = _literals("[LOW,HIGH]", _pair("[-5,5]"))
"""Plain ranges, with the low end first."""
span = _literals("[LOW,HIGH]", _pair("[5,12]", (1, math.inf, "1 on"), closed=True))
"""Ranges of whole numbers from 1 on, with both ends."""
whole_range = _literals("[LOW,HIGH]", _check_whole)
"""Ranges of whole numbers from 0 on, without the high end."""
whole_ranges = _literals("[[LOW,HIGH],...]", _check_whole_ranges, "a list of ranges")
"""Lists of different such ranges, `[[100,1000],[1000,10000]]`."""
noise_range = _literals("[LOW,HIGH]", lambda w, v: v == BATCH_NOISE or _check_noise(w, v))
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
    return lambda: tuple(key for key, entry in entries().items() if allowed(entry))


layer_names = _keys(lambda entry: bool(entry.layer) or entry.cell is None)
"""List every key of a layer, and the keys that only name a pair of layers."""

buildable_layers = _keys(lambda entry: bool(entry.layer))
cell_names = _keys(lambda entry: entry.cell is not None)


def and_layers(own: Callable[[], Iterable[str]]) -> Callable[[], tuple[str, ...]]:
    return lambda: tuple(dict.fromkeys((*own(), *buildable_layers())))
