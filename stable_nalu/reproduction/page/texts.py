"""Numbers as text."""

from __future__ import annotations

import math
from collections.abc import Mapping

from stable_nalu.catalogue.published import Interval, Published
from stable_nalu.statistics.intervals import Estimate, wilson

from .blocks import AGREES, DIFFERS, UNKNOWN

OVERLAP = {True: AGREES, False: DIFFERS, None: UNKNOWN}


def rate(solved: int, runs: int) -> str:
    """`92 % (23/25) [75–98]`."""
    found = wilson(solved, runs)
    ends = f"{100 * found.lower:.0f}–{100 * found.upper:.0f}"
    return f"{percent(found.mean)} ({solved}/{runs}) [{ends}]"


def published_rate(whole: Published, of_seeds: tuple[int, int] | None) -> str:
    """The rate of all published runs, and what became of the seeds at hand."""
    text = rate(whole.solved, whole.runs)
    return f"{text}; of the same seeds {of_seeds[0]}/{of_seeds[1]}" if of_seeds else text


def percent(share: float) -> str:
    """`85.3 %`, whole numbers without a point."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def points(found: Estimate) -> str:
    """A difference of rates: `+15.1 points [7.4–22.6]`."""
    mean, lower, upper = (f"{100 * x:+.1f}" for x in (found.mean, found.lower, found.upper))
    return f"{mean} points [{lower} to {upper}]"


def number(value: float | None) -> str:
    """Three digits."""
    if value is None or math.isnan(value):
        return UNKNOWN
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def interval(value: float | None, lower: float | None, upper: float | None) -> str:
    """`1,230 [1,100–1,400]`; an upper end alone is a limit."""
    if value is None and upper is not None:
        return f"below {number(upper)}"
    if UNKNOWN in (number(lower), number(upper)):
        return number(value)
    return f"{number(value)} [{number(lower)}–{number(upper)}]"


def known(found: Interval) -> str:
    """A published number."""
    return interval(found.value, found.lower, found.upper)


def measured(summary: Mapping[str, float], measure: str) -> str:
    """One of ours."""
    return interval(*(summary[f"{measure}.{end}"] for end in ("mean", "lower", "upper")))
