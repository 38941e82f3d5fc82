"""Markdown of the page: headings, tables, links' anchors, escaped text, and numbers as text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from stable_nalu.paper.published import Interval
from stable_nalu.statistics.intervals import Estimate, wilson

from ..compare import Comparison

UNKNOWN = "–"
"""What stands where nothing is known."""

PAPER = "paper, "
SOURCES = {
    "table": f"{PAPER}table",
    "figure": f"{PAPER}figure",
    "abstract": f"{PAPER}abstract",
    "report": "report of 2023 in a code repository, not reviewed",
    "talk": "slide deck of January 2021, measured by pixel",
    "derived": f"{PAPER}derived",
}
"""Where a number was read, in words; published are those of papers."""

_OPEN_BAR, _BAR = re.compile(r"(?<!\\)\|"), r"\\|"
_MARKUP = re.compile(r"[\\`*<|~]|&(?=#?\w+;)|(?<=\])\(|!(?=\[)|(?<![^\W_])_|_(?![^\W_])")


def plain(text: object) -> str:
    """Return text in which nothing is markup; what could be is escaped."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(str(text).split()))


def heading(level: int, text: str, anchor: str) -> str:
    """Return a heading behind an anchor that links lead to."""
    return f'<a id="{anchor}"></a>\n\n{"#" * level} {plain(text)}'


def commands(key: str) -> str:
    """Return the commands that train an experiment, and that train some of its kept runs again."""
    words = (f"{key} --keep", f"--verify {key} --rows 5")
    return "\n".join(f"    python3 experiments/reproduce.py {each}" for each in words)


def bullets(items: Iterable[str]) -> str:
    """Return a list of Markdown texts."""
    return "\n".join(f"- {item}" for item in items)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, all_columns: bool = True) -> str:
    """Return a table of Markdown cells.

    all_columns: whether to keep columns in which nothing is known.
    """
    places = range(len(head))
    kept = [i for i in places if all_columns or any(row[i] != UNKNOWN for row in rows)]
    lines = [_line(head[i] for i in kept), f"|{'---|' * len(kept)}"]
    return "\n".join([*lines, *(_line(row[i] for i in kept) for row in rows)])


def _line(cells: Iterable[str]) -> str:
    # A bar written by hand must not end the cell; `plain` has escaped all others.
    return f"| {' | '.join(_OPEN_BAR.sub(_BAR, cell) for cell in cells)} |"


def rate(solved: int, runs: int) -> str:
    """Return `92 % (23/25) [75–98]`."""
    found = wilson(solved, runs)
    ends = f"{100 * found.lower:.0f}–{100 * found.upper:.0f}"
    return f"{percent(found.mean)} ({solved}/{runs}) [{ends}]"


def rate_here(solved: int, runs: int, found: Comparison | None) -> str:
    """Return our rate; of chosen seeds only the counts, for they are no sample of all."""
    chosen = found is not None and found.chosen is not None
    return f"{solved}/{runs} of chosen seeds" if chosen else rate(solved, runs)


def percent(share: float) -> str:
    """Return `85.3 %`; whole numbers have no point."""
    return f"{100 * share:.1f}".removesuffix(".0") + " %"


def points(found: Estimate) -> str:
    """Return a difference of rates as `+15.1 points [+7.4 to +22.6]`."""
    mean, lower, upper = (f"{100 * x:+.1f}" for x in (found.mean, found.lower, found.upper))
    return f"{mean} points [{lower} to {upper}]"


def number(value: float | None) -> str:
    """Return a number in three digits."""
    if value is None or math.isnan(value):
        return UNKNOWN
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def interval(value: float | None, lower: float | None, upper: float | None) -> str:
    """Return `1,230 [1,100–1,400]`; an upper end alone is a limit."""
    if value is None and upper is not None:
        return f"below {number(upper)}"
    if UNKNOWN in (number(lower), number(upper)):
        return number(value)
    return f"{number(value)} [{number(lower)}–{number(upper)}]"


def known(found: Interval) -> str:
    """Return a published number with its interval."""
    return interval(found.value, found.lower, found.upper)


def measured(summary: Mapping[str, float], measure: str) -> str:
    """Return one of our numbers with its interval."""
    return interval(*(summary[f"{measure}.{end}"] for end in ("mean", "lower", "upper")))
