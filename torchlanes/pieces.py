"""Long functions in pieces, which compilers are done with much sooner than with a whole one.

What several pieces read or set is no variable of theirs, but lies in memory that they share.
"""

import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from .graph import BATCH, Loop

PIECE, WHOLE = 400, 4000
"""Statements of a piece, and of the longest function that is left whole."""
_NAMES = re.compile(r"\b[av]\d+\b")
_GIVEN = "s, q, w, z, x, t, p, o, first, count"


@dataclass(frozen=True)
class Declaration:
    """What declares a variable, and gives it a value if that is known.

    samples: how many are side by side, which a function may do in two ways.
    """

    name: str
    kind: str
    dims: str
    value: str
    samples: int

    @property
    def size(self) -> int:
        """Return how many vectors it holds."""
        return math.prod(map(int, re.findall(r"\d+", self.dims)))

    def line(self, shared: Collection[str]) -> str:
        """Return it in C++; where it is shared, it is declared elsewhere."""
        if self.name in shared:
            return f"{self.name} = {self.value};" if self.value else ""
        value = f" = {self.value}" if self.value else ""
        return f"{self.kind} {self.name}{self.dims}{value};"


TextLine = tuple[int, str | Declaration]
"""How deep a line is, and what it says."""


def is_batch(part: Any) -> bool:
    """Return whether part of a function is its loop over samples."""
    return isinstance(part, Loop) and part.axis == BATCH


def _size(part: Any, samples: int) -> int:
    """Return how many statements there are, those for each sample as often as side by side."""
    if not isinstance(part, Loop):
        return len(part)
    inside = sum(_size(inner, samples) for inner in part.body)
    return inside * samples if is_batch(part) else inside


def is_long(region: Sequence, samples: int) -> bool:
    """Return whether a function is cut into pieces."""
    return sum(_size(part, samples) for part in region) > WHOLE


def cut(region: list, samples: int, most: int | None = None) -> None:
    """Cut the lists of statements of a function so that each fits into a piece."""
    most = most or PIECE
    for part in filter(is_batch, region):
        cut(part.body, samples, PIECE // samples)
    region[:] = [
        inner
        for part in region
        for inner in (
            [part]
            if isinstance(part, Loop)
            else [part[k : k + most] for k in range(0, len(part), most)]
        )
    ]


@dataclass
class Pieces:
    """The pieces of a function; `prefix` begins their names."""

    prefix: str
    bodies: list[tuple[int, list[TextLine]]] = field(default_factory=list)

    def grouped(self, region: Sequence, samples: int) -> Iterator[list]:
        """Yield parts of a function, as many as fit into a piece; its loop over samples alone."""
        group: list = []
        for part in region:
            full = sum(_size(p, 1) for p in (*group, part)) > PIECE // max(1, samples)
            if group and (full or is_batch(part) or is_batch(group[0])):
                yield group
                group = []
            group.append(part)
        if group:
            yield group

    def add(self, body: list[TextLine], samples: int) -> str:
        """Take a piece, for so many samples side by side, and return the call of it."""
        self.bodies.append((samples, body))
        b = "b" if samples else "0"
        return f"{self.prefix}_{len(self.bodies)}({_GIVEN}, {b}, n_, m_);"

    def text(self, lines: list[TextLine]) -> tuple[str, str]:
        """Return all pieces, and the lines of the function that calls them."""
        if not self.bodies:
            return "", _text(lines, ())
        every = [lines, *(body for _, body in self.bodies)]
        where: dict[str, int] = {}
        shared = {
            name
            for number, body in enumerate(every)
            for name in _names(_text(body, ()))
            if where.setdefault(name, number) != number
        }
        sizes = {"N": 1, "M": 1}
        references: dict[tuple[str, int], str] = {}
        for _, d in chain(*every):
            if isinstance(d, Declaration) and d.name in shared:
                kind = d.kind.split()[-1]
                at, sizes[kind] = sizes[kind], sizes[kind] + d.size
                place = f"*({kind} (*){d.dims})({kind.lower()}_ + {at})"
                references[d.name, d.samples] = f"  {kind} (&{d.name}){d.dims} = {place};"

        def function(samples: int, body: list[TextLine]) -> str:
            text = _text(body, shared)
            used = sorted(_names(text) & shared)
            known = [references.get((n, samples)) or references[n, 0] for n in used]
            return "\n".join([*known, text])

        pieces = [
            f"PIECE({self.prefix}_{k + 1}) {{\n{function(samples, body)}\n}}\n\n"
            for k, (samples, body) in enumerate(self.bodies)
        ]
        memory = [
            f"  static thread_local {kind} {kind.lower()}_[{size}];" for kind, size in sizes.items()
        ]
        return "".join(pieces), "\n".join([*memory, function(0, lines)])


def _names(text: str) -> set[str]:
    return set(_NAMES.findall(text))


def _text(lines: Sequence[TextLine], shared: Collection[str]) -> str:
    every = ((d, n.line(shared) if isinstance(n, Declaration) else n) for d, n in lines)
    return "\n".join("  " * depth + line for depth, line in every if line)
