"""A training script as data: its flags, their checks and the fields of its run names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NoReturn

from .command_line import read_values
from .config import Config, Plan
from .errors import OptionError
from .flag import Flag, FlagGroup
from .help_text import format_help
from .name_fields import NameField
from .run_name import format_leaf
from .sweep import describe, expand

_LONGEST_FOLDER = 255


@dataclass(frozen=True)
class ScriptSpec:
    """What one script accepts.

    name_fields: fields of the run name in order.
    checks: each raises OptionError for a configuration that cannot be run.
    refused: flags of published scripts that are not accepted, and why.
    fixed: what a configuration reads for flags that other scripts take and this one does not.
    folder: where the script is.
    trains: whether it does, or looks at what was trained.
    """

    name: str
    summary: str
    example: str
    groups: tuple[FlagGroup, ...]
    name_fields: tuple[NameField, ...]
    checks: tuple[Callable[[Config], None], ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    separator: str = "_"
    folder: str = "experiments"
    trains: bool = True

    @cached_property
    def flags(self) -> tuple[Flag, ...]:
        """All flags in the order of --help."""
        return tuple(flag for group in self.groups for flag in group.flags)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """Dest -> default."""
        return {flag.dest: flag.default for flag in self.flags}

    def parse(self, argv: Sequence[str] | None = None) -> Plan:
        """The plan of a command line; on --help or an error, say so and leave the process.

        An error is one line on stderr and exit status 2.
        """
        words = sys.argv[1:] if argv is None else list(argv)
        if "--help" in words or "-h" in words:
            sys.stdout.write(self.format_help())
            raise SystemExit(0)
        try:
            return self.plan(words)
        except OptionError as error:
            self._leave(error)

    def _leave(self, error: OptionError) -> NoReturn:
        sys.stderr.write(f"{self.name}.py: error: {error}\n")
        raise SystemExit(2)

    def plan(self, argv: Sequence[str]) -> Plan:
        """The plan of a command line; raises OptionError."""
        typed = read_values(self.flags, argv, self.refused.get)
        fixed = {k: v for k, v in self.fixed.items() if k not in self.defaults}
        configs = [
            Config(self.name, _settle_device(values), frozenset(typed), fixed)
            for values in expand(self.flags, typed)
        ]
        for config in configs:
            for check in self.checks:
                check(config)
            self._check_length(config)
        self._check_distinct(configs)
        return Plan(configs, describe(self.flags, typed, len(configs)))

    def leaf(self, config: Config) -> str:
        """The run's own folder name.

        One that no file system holds leaves out those of its later fields that are at their
        defaults; what is left is a name of the first published code, which had no such fields.
        """
        leaf = format_leaf(self.name_fields, config, self.defaults, self.separator)
        if len(leaf.encode()) <= _LONGEST_FOLDER:
            return leaf
        return format_leaf(self.name_fields, config, self.defaults, self.separator, short=True)

    def run_name(self, config: Config) -> str:
        """The run's folder below the log root: prefix/leaf."""
        return f"{config.name_prefix}/{self.leaf(config)}"

    def layer_options(self, config: Config) -> dict[str, Any]:
        """Layer option -> value, for those options that the script has a flag for."""
        return {
            flag.layer_option: getattr(config, flag.dest)
            for flag in self.flags
            if flag.layer_option is not None
        }

    @cached_property
    def partly_named(self) -> dict[str, str]:
        """Dest -> why the name does not always tell two of its values apart."""
        return {dest: why for f in self.name_fields for dest, why in f.partial.items()}

    @cached_property
    def fully_named(self) -> frozenset[str]:
        """Dests whose every value shows in the name."""
        shown = {dest for f in self.name_fields for dest in f.flags}
        return frozenset(shown - set(self.partly_named)) | {"name_prefix"}

    def unnamed(self, config: Config) -> dict[str, Any]:
        """Values that can change results and that the run name does not fully hold.

        Two configurations of one name are the same run exactly when these are equal.
        """
        return {
            flag.dest: getattr(config, flag.dest)
            for flag in self.flags
            if flag.result and flag.dest not in self.fully_named
        }

    def format_help(self) -> str:
        """Text of --help."""
        script = f"{self.folder}/{self.name}.py"
        return format_help(script, self.summary, self.example, self.groups, trains=self.trains)

    def _check_length(self, config: Config) -> None:
        length = len(self.leaf(config).encode())
        if length > _LONGEST_FOLDER:
            raise OptionError(
                None,
                f"the run name of these flags has {length} characters, a file name holds "
                f"{_LONGEST_FOLDER}",
                "write the numbers with fewer digits",
            )

    def _check_distinct(self, configs: Sequence[Config]) -> None:
        seen: dict[str, Config] = {}
        for config in configs:
            name = self.run_name(config)
            if name in seen:
                self._refuse_duplicate(seen[name], config)
            seen[name] = config

    def _refuse_duplicate(self, first: Config, second: Config) -> NoReturn:
        for flag in self.flags:
            one, other = (getattr(c, flag.dest) for c in (first, second))
            if one != other:
                raise OptionError(
                    flag.name,
                    f"{one} and {other} give two runs of the same name",
                    "start one command a value, each with its own --name-prefix",
                )
        raise OptionError(None, "the same run is asked for twice", "give every value once")


def _settle_device(values: dict[str, Any]) -> dict[str, Any]:
    """`--cuda false` is another way to write `--no-cuda`."""
    return values | {"no_cuda": True} if values.get("cuda") is False else values
