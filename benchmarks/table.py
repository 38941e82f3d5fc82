"""One table of ratios."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from .clock import Cost

HEADER = ("what / compared to", "ratio", "target", "met", "this, CPU (wall)", "that, CPU (wall)")


@dataclass(frozen=True)
class Row:
    """A ratio, its aim, and the two figures behind it.

    at_least: whether the ratio should be at least the aim, and not at most.
    """

    title: str
    ratio: float
    aim: str
    own: str
    other: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Return whether the ratio is as it should be."""
        aim = float(Fraction(self.aim))
        return self.ratio >= aim if self.at_least else self.ratio <= aim


def compared(title: str, costs: tuple[Cost, Cost], aim: str, text: Callable[[Cost], str]) -> Row:
    """Return the ratio of two costs by CPU time, each as the function tells it."""
    own, other = costs
    return Row(title, own.cpu / other.cpu, aim, text(own), text(other))


def microseconds(cost: Cost) -> str:
    """Format CPU and wall time in microseconds."""
    return f"{cost.cpu * 1e6:.3g} us ({cost.wall * 1e6:.3g})"


def seconds(cost: Cost) -> str:
    """Format CPU and wall time in seconds."""
    return f"{cost.cpu:.3g} s ({cost.wall:.3g})"


def print_rows(rows: Iterable[Row]) -> None:
    """Print a Markdown table, each row as soon as it is measured."""
    _write(HEADER)
    _write(["---"] * len(HEADER))
    for row in rows:
        aim = f"{'>=' if row.at_least else '<='} {row.aim}"
        _write([row.title, _ratio(row), aim, "yes" if row.met else "NO", row.own, row.other])


def _ratio(row: Row) -> str:
    inverse = f" = 1/{1 / row.ratio:.0f}" if row.ratio < 0.5 else ""
    return f"{row.ratio:.2g}{inverse}" if inverse else f"{row.ratio:.2f}"


def _write(cells: Iterable[str]) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()
