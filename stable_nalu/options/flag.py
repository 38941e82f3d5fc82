"""A flag and a group of flags, declared once, and the configuration of one run that they make.

A flag that names a unit takes names that papers give to models, too. A key of a layer always means
that layer. A name of the papers stands for flags: where a script has one unit, for that unit; where
`--nac-mul` decides how a model multiplies, for the published model. `layer_options.with_flags` puts
them in the place of a name.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from stable_nalu.base.errors import OptionError, did_you_mean
from stable_nalu.base.script import unknown_choice
from stable_nalu.layer.registry import entries, spelled

INHERITED = "published run names of this script have no place for it"
_LISTS_LAYERS = "--layer-type"

Choices = tuple[Any, ...] | Callable[[], tuple[Any, ...]]


@dataclass(frozen=True)
class Kind:
    """How words of the command line become values.

    `read_all` turns the words behind one occurrence of a flag into a list of values; it raises
    ValueError("what is wrong; what would be right"). `bare`: whether the flag may have no words.
    """

    metavar: str
    read_all: Callable[[list[str]], list[Any]]
    bare: bool = False

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
    in_name: the pattern of its field at the end of run names, where a script has no other place
        for it; see `name_fields`.
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
    unnamed: str = INHERITED
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
        return names + tuple(
            n.replace("regualizer", "regularizer") for n in names if "regualizer" in n
        )

    @property
    def default_text(self) -> str:
        """Return the default as one would type it."""
        if self.kind is None:
            return "off"
        default = self.default
        if default is None or default == ():
            return "none"
        if isinstance(default, tuple):
            return " ".join(map(str, cast("tuple[Any, ...]", default)))
        return str(default).replace(" ", "")

    def allowed(self) -> tuple[Any, ...] | None:
        """Return the choices, computed where they are a function."""
        return self.choices() if callable(self.choices) else self.choices

    def but(self, **changes: Any) -> "Flag":
        """Return this flag with some properties changed, for a script that differs."""
        return replace(self, **changes)

    def describe(self) -> str:
        """Return the help sentence, what the script at hand does with it, choices and default."""
        parts = [self.help]
        if self.note:
            parts.append(f"Here: {self.note}.")
        if callable(self.choices) and self.name != _LISTS_LAYERS:
            parts.append(f"One of those of {_LISTS_LAYERS}.")
        elif self.choices is not None:
            try:
                parts.append(f"One of {', '.join(map(str, self.allowed() or ()))}.")
            except ModuleNotFoundError as error:
                parts.append(f"Its values are listed once {error.name} is installed.")
        parts.append(f"Default: {self.default_text}.")
        return " ".join([*parts, *(["[sweep]"] if self.sweep else [])])

    def no_choice(self, value: Any) -> OptionError:
        """Return what is wrong with a word that is none of the choices."""
        allowed = self.allowed() or ()
        if callable(self.choices):
            if not any(allowed):
                problem = f"{value!r} is an unknown layer"
                return OptionError(self.name, problem, "for your own, pass --layer-file")
            if both := two_meanings(str(value), allowed):
                return OptionError(self.name, f"{value} has two meanings", both)
            own = sys.modules.get("stable_nalu.layer.own_layers")
            if own is not None and (reason := own.why_no_layer(str(value))):
                return OptionError(self.name, reason, "fix the file")
            labels = [entry.label for key, entry in entries().items() if key in allowed]
            meant = did_you_mean(str(value), [*labels, *allowed], "")
            if meant:
                return OptionError(self.name, f"{value!r} is not a choice", meant)
        problem, _, remedy = unknown_choice(value, allowed).partition("; ")
        return OptionError(self.name, problem, remedy)

    def _takes(self, value: Any) -> bool:
        """Return whether a value is a choice, or a name of the papers, which a script replaces."""
        allowed = self.allowed()
        known = allowed is None or value in allowed
        return known or (callable(self.choices) and is_paper_name(str(value)))

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
            problem, _, remedy = str(error).partition("; ")
            raise OptionError(self.name, problem, remedy) from None
        for value in values:
            if not self._takes(value):
                raise self.no_choice(value)
        if len(values) > 1 and not self.sweep:
            remedy = "runs of one command share it, start one command per value"
            raise OptionError(self.name, f"takes one value, got {len(values)}", remedy)
        return values


def switch(name: str, help: str, **properties: Any) -> Flag:
    """Return a flag that takes no value and is off by default."""
    return Flag(name, None, False, help, **properties)


class ReadFlag(argparse.Action):
    """Reads the words behind a flag as the flag says, into a list of its values."""

    def __init__(self, option_strings: Sequence[str], dest: str, flag: Flag):
        super().__init__(option_strings, dest, nargs="*", default=argparse.SUPPRESS, help=flag.help)
        self.flag = flag
        self.many = flag.sweep
        self.repeatable = flag.repeatable
        self.heading = flag.name + ("" if flag.kind is None else f" {flag.kind.metavar}")
        self.describe = flag.describe

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Add the values of one occurrence."""
        before: list[Any] = getattr(namespace, self.dest, [])
        setattr(namespace, self.dest, [*before, *self.flag.read(values)])


class FlagGroup:
    """Flags that stand under one heading."""

    def __init__(self, title: str, *flags: Flag):
        self.title = title
        self.flags = flags

    def __iter__(self) -> Iterator[Flag]:
        return iter(self.flags)

    def without(self, *names: str) -> "FlagGroup":
        """Return the group less some flags; a name that it lacks is an error."""
        self._require(set(names) - {f.name for f in self.flags})
        return FlagGroup(self.title, *(f for f in self.flags if f.name not in names))

    def only(self, *names: str) -> "FlagGroup":
        """Return the group with some of its flags only; a name that it lacks is an error."""
        return self.without(*(f.name for f in self.flags if f.name not in names))

    def but(self, **changes: dict[str, Any]) -> "FlagGroup":
        """Return the group with properties of some flags changed: dest -> changes."""
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
        """Return whether the flag stood on the command line."""
        return name in self._typed

    def replace(self, **changes: Any) -> "Config":
        """Return a copy with some of the script's own flags changed, as if they had been typed."""
        unknown = set(changes) - set(self._own)
        if unknown:
            raise AttributeError(f"{self.script} has no option {', '.join(sorted(unknown))}")
        values = self.as_dict() | changes
        return Config(self.spec, values, self._typed | set(changes))


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
    """Return the name in a table that a word means."""
    return next((name for name in table if spelled(name) == spelled(word)), None)


def is_paper_name(word: str) -> bool:
    """Return whether papers call a model so, in any script; a key in another case is a slip."""
    if word in UNITS:
        return True
    if key_in_another_case(word) is not None:
        return False
    return any(found_in(table, word) for table in (MODELS, UNITS)) or registered(word) is not None


def key_in_another_case(word: str) -> str | None:
    """Return the key that differs from a word in its case alone, if in anything."""
    return next((key for key in entries() if key.lower() == word.lower()), None)


def two_meanings(word: str, allowed: Sequence[Any]) -> str | None:
    """Return what to type for a word that is a key but for its case, and another unit's name."""
    key, found = key_in_another_case(word), registered(word)
    if found is None or key == found[0] or not {key, found[0]} <= set(allowed):
        return None
    return f"type {found[0]} for what papers call {word}, {key} for the layer of this key"


def registered(word: str) -> tuple[str, Mapping[str, object]] | None:
    """Return the key and the options of a name in the table of layers."""
    wanted = spelled(word)
    for key, entry in entries().items():
        if spelled(entry.label) == wanted:
            return key, {}
        for variant in entry.variants:
            if spelled(variant.label) == wanted:
                return key, variant.options
    return None
