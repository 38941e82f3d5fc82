"""Several runs in one command: which configurations the values of the flags ask for.

Interpolation and extrapolation ranges are paired and vary slowest; then every other flag with
several values, in order of declaration; the seed varies fastest.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from .errors import OptionError
from .flag import Flag

RANGES = ("interpolation_range", "extrapolation_range")


def expand(flags: Sequence[Flag], typed: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """All combinations, each a full dest -> value."""
    values = {flag.dest: typed.get(flag.dest, [flag.default]) for flag in flags}
    ranges = _pair_ranges(values)
    swept = [dest for dest in values if dest not in (*RANGES, "seed")]
    order = [*swept, *(["seed"] if "seed" in values else [])]
    return [
        {dest: chosen[dest] for dest in values}
        for pair in ranges
        for combination in itertools.product(*(values[dest] for dest in order))
        for chosen in [pair | dict(zip(order, combination, strict=True))]
    ]


def _pair_ranges(values: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    if RANGES[0] not in values:
        return [{}]
    inter, extra = (values[dest] for dest in RANGES)
    if len(inter) != len(extra) and 1 not in (len(inter), len(extra)):
        raise OptionError(
            "--extrapolation-range",
            f"{len(extra)} ranges cannot be paired with {len(inter)} interpolation ranges",
            f"give {len(inter)}, or one for all",
        )
    count = max(len(inter), len(extra))
    inter, extra = (v * count if len(v) == 1 else v for v in (inter, extra))
    return [dict(zip(RANGES, pair, strict=True)) for pair in zip(inter, extra, strict=True)]


def describe(flags: Sequence[Flag], typed: Mapping[str, list[Any]], runs: int) -> str:
    """Such as "225 runs = 25 seeds x 9 ranges"."""
    if runs == 1:
        return "1 run"
    counts = {flag.dest: len(typed.get(flag.dest, ())) for flag in flags}
    parts = [
        f"{counts[flag.dest]} values of {flag.name}"
        for flag in flags
        if counts[flag.dest] > 1 and flag.dest not in (*RANGES, "seed")
    ]
    if counts.get("seed", 0) > 1:
        parts.insert(0, f"{counts['seed']} seeds")
    range_count = max(counts.get(dest, 0) for dest in RANGES)
    if range_count > 1:
        parts.append(f"{range_count} ranges")
    return f"{runs} runs = {' x '.join(parts)}"
