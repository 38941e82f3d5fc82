"""A flag and a group of flags: everything that is known about an option, declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

INHERITED = "published run names of this script have no place for it"


@dataclass(frozen=True)
class Kind:
    """How words of the command line become values.

    `read_all` turns the words behind one occurrence of a flag into a list of values; it raises
    ValueError("what is wrong; what would be right").
    """

    metavar: str
    read_all: Callable[[list[str]], list[Any]]


@dataclass(frozen=True)
class Flag:
    """One command-line flag.

    The default is used as it stands, never converted: a run name prints an untouched `10` as `10`
    and a typed one, read as a float, as `10.0`.

    kind: reader of its words; None for a switch, which takes none and is False by default.
    choices: allowed values, or a function that returns them.
    layer_option: name of the layer option that it sets.
    sweep: several values may be given; the command then plans several runs.
    unnamed: why a run name does not hold it (needed where no name field does).
    result: whether it can change what a run computes or records.
    note: what the script at hand does with it, where that is not what the help says.
    """

    name: str
    kind: Kind | None
    default: Any
    help: str
    choices: tuple[Any, ...] | Callable[[], tuple[Any, ...]] | None = None
    aliases: tuple[str, ...] = ()
    layer_option: str | None = None
    sweep: bool = False
    unnamed: str | None = None
    result: bool = True
    note: str | None = None

    @property
    def dest(self) -> str:
        """Attribute of the parsed configuration."""
        return self.name.removeprefix("--").replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """Whether the flag takes no value."""
        return self.kind is None

    @property
    def spellings(self) -> tuple[str, ...]:
        """The flag's name and its aliases; `regularizer` is understood wherever `regualizer` is."""
        names = (self.name, *self.aliases)
        return names + tuple(
            n.replace("regualizer", "regularizer") for n in names if "regualizer" in n
        )

    def allowed(self) -> tuple[Any, ...] | None:
        """The choices, computed where they are a function."""
        return self.choices() if callable(self.choices) else self.choices

    def but(self, **changes: Any) -> Flag:
        """This flag with some properties changed, for a script that differs."""
        return replace(self, **changes)


@dataclass(frozen=True)
class FlagGroup:
    """Flags that stand under one heading."""

    title: str
    flags: tuple[Flag, ...] = field(default=())

    def without(self, *names: str) -> FlagGroup:
        """The group less some flags; a name that it lacks is an error."""
        missing = set(names) - {f.name for f in self.flags}
        if missing:
            raise KeyError(f"group {self.title!r} has no {', '.join(sorted(missing))}")
        return FlagGroup(self.title, tuple(f for f in self.flags if f.name not in names))

    def only(self, *names: str) -> FlagGroup:
        """Some flags of the group."""
        return self.without(*(f.name for f in self.flags if f.name not in names))

    def but(self, **changes: dict[str, Any]) -> FlagGroup:
        """The group with properties of some flags changed: dest -> changes."""
        unknown = set(changes) - {f.dest for f in self.flags}
        if unknown:
            raise KeyError(f"group {self.title!r} has no {', '.join(sorted(unknown))}")
        flags = tuple(f.but(**changes.get(f.dest, {})) for f in self.flags)
        return FlagGroup(self.title, flags)
