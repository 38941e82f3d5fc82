"""Options: every flag, its default, help and place in the run name, declared once.

A training script is data: its `ScriptSpec` reads command lines into plans of read-only
configurations, checks them, names their runs and renders its help. `run_names` reads a run name
back.
"""

import argparse
import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import Any, cast

from stable_nalu.base.errors import CONTROL, OptionError, UsageError, did_you_mean
from stable_nalu.base.script import ScriptParser, adder, command_of

from .flag import MOST_RUNS, Config, Flag, FlagGroup, ReadFlag, each_word, integer, switch
from .flags import load_own_layers, own_options, short_leaf, with_flags
from .run_names import NameField, format_leaf, of_flags

__all__ = ["Config", "Flag", "FlagGroup", "OptionError", "Plan", "ScriptSpec", "switch"]

_LONGEST_FOLDER = 255
_RANGES = ("interpolation_range", "extrapolation_range")
_WIDTH = 98
_SWEEPS = (
    "Flags marked [sweep] take several values; the command then trains every combination of them, "
    "except that interpolation and extrapolation ranges are paired."
)


SCHEDULERS = ("local", "slurm", "lsf", "print")
SWEEP = "--sweep"


def time_limit(word: str) -> int:
    """Return the minutes of a time such as `12:00`, hours and minutes."""
    match = re.fullmatch(r"(\d+):([0-5]\d)", word)
    if match is None or not (minutes := 60 * int(match[1]) + int(match[2])):
        raise ValueError(f"{word!r} is not a time; write hours and minutes, such as 12:00")
    return minutes


def add_site_flags(parser: argparse.ArgumentParser) -> None:
    add = adder(parser.add_argument_group("jobs, over lfs_batch_jobs/site.toml"))
    add("--site FILE", "another site file", type=Path)
    add("--partition NAME", "SLURM partition")
    add("--queue NAME", "LSF queue")
    add("--account NAME", "SLURM account, LSF project")
    limit, text = each_word("", time_limit).one, "per job (that of the experiment, else {})"
    add("--time HOURS:MINUTES", f"limit {text}".format("12:00"), type=limit)
    add("--memory GB", text.format(2), type=integer(1).one)
    text = "per job (1 for image tasks of experiments, 0 for all others)"
    add("--gpus", text, type=integer(0).one, choices=(0, 1))
    add("--module NAME", "module to load", action="append", dest="modules")
    add("--setup LINE", "shell line before a job; repeatable", action="append")
    add("--log-dir DIR", "folder of the output (logs)")
    add("--python PATH", "interpreter of the jobs")


def add_sweep_flags(parser: argparse.ArgumentParser) -> None:
    """Add flags of sweeps to a training script; what is not given is not in its namespace."""
    before = len(parser._actions)
    add = adder(parser.add_argument_group("many runs; see docs/clusters.md"))
    add(f"{SWEEP} FILE.toml", "flags of the runs; those that are typed win", type=Path)
    add("--scheduler", "share the runs among tasks, of this machine or of a cluster",
        choices=SCHEDULERS)  # fmt: skip
    add("--tasks N", "number of tasks (a core each; on clusters 50 runs each)",
        type=integer(1).one)  # fmt: skip
    add("--shard N", "train the runs of task N of --tasks in this process", type=integer(0).one)
    add_site_flags(parser)
    for action in parser._actions[before:]:
        action.default = argparse.SUPPRESS


@dataclass(frozen=True)
class ScriptSpec:
    """The flags of one script and their rules.

    name_fields: fields of the run name in order; fields of newer flags follow by themselves.
    checks: each raises OptionError for a configuration that cannot be run.
    refused: flags of published scripts that are not accepted, and why.
    fixed: what a configuration reads for flags that other scripts take and this one does not.
    folder: where the script is.
    counts_epochs: whether --max-epochs is how many are trained, and not the index of the last one.
    drawn_by: dests of the flags that decide on the inputs of every iteration; none where nothing is
        gained by drawing them once for several runs.
    of_data: dests of flags that decide on samples and initial weights, and on nothing else.
    nac_mul_acts: whether --nac-mul decides how the model multiplies.
    expand: adds the flags that given flags imply.
    """

    name: str
    summary: str
    example: str
    groups: tuple[FlagGroup, ...]
    name_fields: tuple[NameField, ...]
    checks: tuple[Callable[[Config], None], ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    folder: str = "experiments"
    counts_epochs: bool = False
    drawn_by: tuple[str, ...] = ()
    of_data: tuple[str, ...] = ()
    nac_mul_acts: bool = False
    expand: Callable[[Mapping[str, list[Any]]], Mapping[str, list[Any]]] = dict

    @cached_property
    def flags(self) -> tuple[Flag, ...]:
        return tuple(flag for group in self.groups for flag in group)

    @cached_property
    def fields(self) -> tuple[NameField, ...]:
        placed = {field.pattern for field in self.name_fields}
        young = of_flags(*(flag for flag in self.flags if flag.in_name not in placed))
        return (*self.name_fields, *young)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        return {flag.dest: flag.default for flag in self.flags}

    @cached_property
    def parser(self) -> ScriptParser:
        """Return the command line of the script, built from its groups of flags."""
        script = command_of(f"{self.folder}/{self.name}.py")
        *example, last = wrap(f"{script} {self.example}", _WIDTH - 6, break_on_hyphens=False)
        lines = [*wrap(self.summary, _WIDTH), "", "example:"]
        lines += [*(f"  {line} \\" for line in example), f"  {last}"]
        lines += ["", *wrap(_SWEEPS, _WIDTH)]
        parser = ScriptParser(
            prog=f"{self.name}.py",
            usage=f"{script} [--flag VALUE ...]",
            description="\n".join(lines),
            refused=self.refused,
            stray="every value follows a --flag",
        )
        for group in self.groups:
            section = parser.add_argument_group(group.title)
            for flag in group:
                section.add_argument(*flag.spellings, action=ReadFlag, flag=flag)
        add_sweep_flags(parser)
        return parser

    def parse(self, argv: Sequence[str] | None = None) -> "Plan":
        """Return the plan of a command line; on --help or an error, say so and leave the process.

        An error is one line on stderr and exit status 2. The runs of --dry-run are not looked at
        yet: `Plan.names` goes through them one by one.
        """
        return self.parsed(argv)[0][0]

    def parsed(self, argv: Sequence[str] | None = None) -> tuple[list["Plan"], dict[str, Any]]:
        """Return what `asked` returns; on --help or an error, say so and leave the process."""
        try:
            plans, how = self.asked(sys.argv[1:] if argv is None else argv)
            for plan in plans:
                if not plan.dry_run:
                    _ = plan.configs
        except UsageError as error:
            self.parser.refuse(error)
        return plans, how

    def plan(self, argv: Sequence[str]) -> "Plan":
        """Return the plan of a command line, all of whose runs can be run, or raise OptionError."""
        plan = self.asked(argv)[0][0]
        _ = plan.configs
        return plan

    def asked(self, argv: Sequence[str]) -> tuple[list["Plan"], dict[str, Any]]:
        """Return the plans of a command line, one for each block of --sweep, and its scheduling."""
        load_own_layers(argv)  # Before choices are read, which include them.
        blocks: list[dict[str, list[Any]]] = [{}]
        if any(word.partition("=")[0] == SWEEP for word in argv):
            from .values import blocks_of

            blocks = blocks_of(self, argv)
        read = vars(self.parser.read(argv))
        typed = {dest: values for dest, values in read.items() if dest in self.defaults}
        how = {dest: value for dest, value in read.items() if dest not in typed}
        plans = [self.plan_of(block | typed) for block in blocks]
        names = Counter(name for plan in plans[1:] and plans for name in plan.names())
        if twice := [name for name, count in names.items() if count > 1]:
            problem = f"two blocks have a run of the name {twice[0]}"
            raise OptionError("--sweep", problem, "give each block its own name-prefix")
        return plans, how

    def plan_of(self, typed: Mapping[str, list[Any]]) -> "Plan":
        """Return the plan of flags, by their dests, each with one value or several."""
        return Plan(self, with_flags(self, self.expand(typed)))

    def recorded(self, values: Mapping[str, Any], **changes: Any) -> Config:
        """Return the configuration that the record of a run holds; lists may have been tuples."""
        own = {name: value for name, value in values.items() if name in self.defaults}
        for name, default in self.defaults.items():
            if isinstance(default, tuple) and isinstance(own.get(name), list):
                own[name] = tuple(own[name])
        return Config(self, self.defaults | own | changes, frozenset(own))

    def epochs(self, max_epochs: int) -> int:
        return max_epochs + (0 if self.counts_epochs else 1)

    def max_epochs(self, epochs: int) -> int:
        return epochs - (0 if self.counts_epochs else 1)

    def leaf(self, config: Config) -> str:
        return self.published_leaf(config) if config.short_names is None else short_leaf(config)

    def published_leaf(self, config: Config) -> str:
        """Return the run's own folder name without --short-names, by which tables know it.

        A name too long for a file system omits its later fields that are at their defaults. It is
        then a name of the first published code, which had no such fields.
        """
        leaf = format_leaf(self.fields, config, self.defaults)
        if len(leaf.encode()) <= _LONGEST_FOLDER:
            return leaf
        return format_leaf(self.fields, config, self.defaults, short=True)

    def run_name(self, config: Config) -> str:
        return f"{config.name_prefix}/{self.leaf(config)}"

    def argv_of(self, config: Config) -> list[str]:
        """Return the words that repeat this run alone: the flags that were typed, each once."""
        words: list[str] = []
        for flag in [flag for flag in self.flags if config.is_typed(flag.dest)]:
            value: Any = getattr(config, flag.dest)
            if flag.kind is None:
                words += [flag.name] if value else []
            else:
                values = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
                words += [flag.name, *map(flag.kind.write, values)]
        return words

    def layer_options(self, config: Config) -> dict[str, Any]:
        """Return the options of layers by name, and those that --layer-option sets apart."""
        flags = {flag.layer_option: flag for flag in self.flags if flag.layer_option is not None}
        options = {name: getattr(config, flag.dest) for name, flag in flags.items()}
        by_flag = {name: flag.name for name, flag in flags.items()}
        return options | {"own_options": own_options(config, by_flag)}

    def samples_of(self, config: Config) -> str | None:
        """Return what is equal for runs that train on the same inputs; None: nothing to share."""
        values = [getattr(config, dest, None) for dest in self.drawn_by]
        return repr(values) if values else None

    @cached_property
    def partly_named(self) -> dict[str, str]:
        """Return why a name does not tell all values apart, by the dest of each such flag."""
        return {dest: why for f in self.fields for dest, why in f.partial.items()}

    @cached_property
    def fully_named(self) -> frozenset[str]:
        """Return the dests of the flags whose every value shows in the name."""
        shown = {dest for f in self.fields for dest in f.flags}
        return frozenset(shown - set(self.partly_named)) | {"name_prefix"}

    def unnamed(self, config: Config) -> dict[str, Any]:
        """Return the values that can change results and that the run name does not fully hold.

        Two configurations of one name are the same run exactly when these are equal.
        """
        dests = [flag.dest for flag in self.flags if flag.result]
        return {dest: getattr(config, dest) for dest in dests if dest not in self.fully_named}


class Plan:
    """The runs that one command asks for, in the order in which they are trained.

    Interpolation and extrapolation ranges are paired and vary slowest; then every other flag with
    several values, in order of declaration; the seed varies fastest.
    """

    def __init__(self, spec: ScriptSpec, typed: Mapping[str, list[Any]]):
        self._spec, self._typed = spec, typed
        values = {flag.dest: typed.get(flag.dest, [flag.default]) for flag in spec.flags}
        for flag in spec.flags:
            if flag.dest not in _RANGES:
                _refuse_repeated(flag.name, values[flag.dest])
        self._ranges = _pair_ranges(values)
        if "short_names" in values:
            values["short_names"] = [self._shown(*values["short_names"])]
        swept = [dest for dest in values if dest not in (*_RANGES, "seed")]
        order = [*swept, *(["seed"] if "seed" in values else [])]
        self._axes = [self._ranges, *([{dest: one} for one in values[dest]] for dest in order)]

    def __len__(self) -> int:
        return math.prod(map(len, self._axes))

    @property
    def dry_run(self) -> bool:
        return "dry_run" in self._typed

    @cached_property
    def configs(self) -> list[Config]:
        """Return all runs; raise OptionError where one cannot be run, or they are too many."""
        if len(self) > MOST_RUNS:
            flag = max(self._typed, key=lambda dest: len(self._typed[dest]))
            problem = f"{self.description} are too many for one command"
            name = f"--{flag.replace('_', '-')}"
            raise OptionError(name, problem, f"train {MOST_RUNS} at most, in several commands")
        return [config for _, config in self._named()]

    def names(self) -> Iterator[str]:
        return (name for name, _ in self._named())

    @property
    def description(self) -> str:
        """Return how many runs there are and why, such as "225 runs = 25 seeds x 9 ranges"."""
        if len(self) == 1:
            return "1 run"
        counts = {flag.name: len(self._typed.get(flag.dest, ())) for flag in self._spec.flags}
        ranges = [f"--{dest.replace('_', '-')}" for dest in _RANGES]
        seeds = counts.pop("--seed", 0)
        several = {n: count for n, count in counts.items() if count > 1 and n not in ranges}
        parts = [f"{seeds} seeds"] if seeds > 1 else []
        parts += [f"{count} values of {name}" for name, count in several.items()]
        if len(self._ranges) > 1:
            parts.append(f"{len(self._ranges)} ranges")
        return f"{len(self)} runs = {' x '.join(parts)}"

    def _shown(self, asked: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the flags that short names show: those asked for, or what varies and the seed."""
        known = self._spec.defaults
        for name in set(asked or ()) - set(known):
            remedy = did_you_mean(name, known, "see --help")
            raise OptionError("--short-names", f"{name} is no flag of this script", remedy)
        if asked is None or asked:
            return asked
        inter = [repr(pair[_RANGES[0]]) for pair in self._ranges if pair]
        derived = _RANGES[1] if len(set(inter)) == len(inter) else ""  # by the other range
        several = {dest for dest, values in self._typed.items() if len(values) > 1} - {derived}
        shown = [dest for dest in known if dest in several and dest != "seed"]
        ends = [dest for dest in ("seed", "id") if dest in known and dest in {"seed", *self._typed}]
        return (*shown, *ends)

    def _unchecked(self) -> Iterator[Config]:
        typed = frozenset(self._typed)
        for parts in itertools.product(*self._axes):
            values = self._spec.defaults.copy()  # in the order of declaration
            for part in parts:
                values |= part
            # `--cuda false` is another way to write `--no-cuda`.
            if values.get("cuda") is False:
                values["no_cuda"] = True
            yield Config(self._spec, values, typed)

    def _named(self) -> Iterator[tuple[str, Config]]:
        spec, places = self._spec, dict[str, int]()
        for place, config in enumerate(self._unchecked()):
            for check in spec.checks:
                check(config)
            if config.layer_option:
                spec.layer_options(config)
            name = spec.run_name(config)
            _check_name(spec, name, config)
            for one in {name, f"{config.name_prefix}/{spec.published_leaf(config)}"}:
                if places.setdefault(one, place) != place:
                    first = next(itertools.islice(self._unchecked(), places[one], None))
                    _refuse_same_name(spec, first, config)
            yield name, config


def _pair_ranges(values: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    if _RANGES[0] not in values:
        return [{}]
    inter, extra = (values[dest] for dest in _RANGES)
    if len(inter) != len(extra) and 1 not in (len(inter), len(extra)):
        problem = f"{len(extra)} ranges cannot be paired with {len(inter)} interpolation ranges"
        remedy = f"give {len(inter)}, or one for all"
        raise OptionError("--extrapolation-range", problem, remedy)
    count = max(len(inter), len(extra))
    pairs = list(zip(*(v * count if len(v) == 1 else v for v in (inter, extra)), strict=True))
    _refuse_repeated("--interpolation-range", pairs)
    return [dict(zip(_RANGES, pair, strict=True)) for pair in pairs]


def _refuse_repeated(flag: str, values: Sequence[Any]) -> None:
    seen: set[str] = set()
    for value in values:
        if repr(value) in seen:
            shown = " with ".join(map(str, value)) if flag == "--interpolation-range" else value
            raise OptionError(flag, f"{shown} is given twice", "give every value once")
        seen.add(repr(value))


def _check_name(spec: ScriptSpec, name: str, config: Config) -> None:
    """Refuse a name of more than one line, or longer than a file name."""
    if CONTROL.search(name):
        given = {flag.name: str(getattr(config, flag.dest)) for flag in spec.flags}
        flag = next((flag for flag, value in given.items() if CONTROL.search(value)), None)
        problem = f"the run name {name[:80]!r} has a line break or another control character"
        raise OptionError(flag, problem, "leave it out")
    length = len(name.rpartition("/")[2].encode())
    if length > _LONGEST_FOLDER:
        problem = f"the run name of these flags has {length} characters, a file name holds "
        remedy = "write the numbers with fewer digits"
        raise OptionError(None, f"{problem}{_LONGEST_FOLDER}", remedy)


def _refuse_same_name(spec: ScriptSpec, first: Config, second: Config) -> None:
    values = ((flag, getattr(first, flag.dest), getattr(second, flag.dest)) for flag in spec.flags)
    flag, one, other = next(pair for pair in values if pair[1] != pair[2])
    remedy = "start one command per value, each with its own --name-prefix"
    raise OptionError(flag.name, f"{one} and {other} give two runs of the same name", remedy)
