"""One table of costs and goals."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

HEADER = ("row", "what", "engine", "hand-written loop", "bare PyTorch loop", "goal", "met")


@dataclass(frozen=True)
class Row:
    """A line of the table: what something costs, what it was compared to, and its goal."""

    name: str
    title: str
    engine: str
    goal: str
    met: bool
    loop: str = ""
    bare: str = ""


@dataclass(frozen=True)
class Measurement:
    """What measures the row of a name; a slow one is measured under --all, or by its name.

    measure: takes a share of the usual work, 1 or less.
    """

    name: str
    measure: Callable[[float], Row]
    slow: bool = False


def print_table(rows: Iterable[Row]) -> None:
    """Print a Markdown table, each row as soon as it is measured."""
    _write(HEADER)
    _write(["---"] * len(HEADER))
    for row in rows:
        loop, bare = row.loop or "–", row.bare or "–"
        met = "yes" if row.met else "NO"
        _write([f"`{row.name}`", row.title, row.engine, loop, bare, row.goal, met])


def _write(cells: Iterable[str]) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def processor() -> str:
    """Return the vector instructions of the processor that matter here."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        return "unknown"
    known = {"avx2": "AVX2", "avx512f": "AVX-512"}
    return (
        ", ".join(text for flag, text in known.items() if flag in flags) or "neither AVX2 nor -512"
    )
