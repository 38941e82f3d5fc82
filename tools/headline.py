"""The headline claims of the papers next to ours, on the page and in the README."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from stable_nalu.result.compare import CHOSEN, WITHIN_POINTS, equivalence
from stable_nalu.result.document import UNKNOWN, plain, points, rate, table
from stable_nalu.result.judged import point_columns
from stable_nalu.result.stored import DATA, read_records
from stable_nalu.statistics.intervals import Estimate, difference, paired_test

from .drawing import Mark, draw
from .long_table import MEAN_STEP, RATE, Line
from .power import Count

MANY = "some 1,000 runs"
"""The column of claims with more seeds than were published."""


@dataclass(frozen=True)
class Claim:
    """A claim about a success rate, or about its distance from the rate of the model `above`."""

    text: str
    experiment: str
    model: str
    operation: str
    above: str


CLAIMS = read_records(Claim, Path(__file__).parent / "templates" / "claims.csv")


def rows_of(
    lines: Sequence[Line], every: Mapping[str, pd.DataFrame], counts: Sequence[Count] = ()
) -> list[dict[str, str]]:
    """Return a row for each claim that has runs.

    every: the stored runs by key. counts: of more seeds than were published.
    """
    more = {(one.key, one.model, one.operation): one for one in counts}
    return [row for claim in CLAIMS for row in _rows(claim, lines, every, more)]


def _rows(
    claim: Claim,
    lines: Sequence[Line],
    every: Mapping[str, pd.DataFrame],
    more: Mapping[tuple[str, str, str], Count],
) -> list[dict[str, str]]:
    line, other = (_line(claim, model, lines) for model in (claim.model, claim.above))
    if line is None or (claim.above and other is None):
        return []
    runs = every[claim.experiment]
    told = {
        "published": rate(line.published_solved or 0, line.published_n or 1, line.there),
        "source": line.source,
        "here": rate(line.solved or 0, line.n, line.here),
    }
    many, less = (
        more.get((claim.experiment, m, claim.operation)) for m in (claim.model, claim.above)
    )
    of_many = UNKNOWN if many is None else _of_many(many, runs)
    if other is not None:
        over = [difference(line.there, other.there), _paired(claim, runs)]
        gap = difference(over[1], over[0])
        told = {
            "published": points(over[0]),
            "source": "derived from both",
            "here": points(over[1]),
        }
        if many and less:
            of_many = in_points(difference(*(c.rate(runs) for c in (many, less))))
        told |= {"difference in points": in_points(gap), "verdict": equivalence(gap, WITHIN_POINTS)}
    elif line.verdict == CHOSEN:
        steps = [one.test for one in lines if one.measure == MEAN_STEP and _same(one, line)]
        verdict = "; ".join(filter(None, (line.test, *steps)))
        told |= {
            "here": f"{line.solved}/{line.n} of same seeds",
            "difference in points": UNKNOWN,
        }
        told |= {"verdict": plain(verdict)}
    else:
        ends = (line.gap, line.gap_lower, line.gap_upper)
        gap = None if line.gap is None else Estimate(*(float(end or 0) for end in ends))
        told |= {"difference in points": in_points(gap) if gap else UNKNOWN}
        told |= {"verdict": "; ".join(filter(None, (line.verdict, line.test)))}
    told |= {MANY: of_many} if more else {}
    source = told.pop("source")
    return [{"claim": claim.text} | told | {"source": source}]


def _of_many(many: Count, runs: pd.DataFrame) -> str:
    """Return the rate of many seeds; p: whether the published seeds differ from all others."""
    p = many.p(runs)
    shown = re.sub(r" \(.*\)", "", rate(many.solved, many.runs, many.rate(runs)))
    return shown if p is None else f"{shown}, p {p:.2g}"


def in_points(gap: Estimate) -> str:
    """Return a difference in points, as the head of its column says."""
    return points(gap).replace(" points", "")


def _line(claim: Claim, model: str, lines: Sequence[Line]) -> Line | None:
    wanted = (claim.experiment, model, claim.operation, RATE)
    found = (
        line for line in lines if (line.key, line.model, line.operation, line.measure) == wanted
    )
    return next((line for line in found if line.source), None)


def _same(one: Line, other: Line) -> bool:
    return (one.key, one.model, one.point) == (other.key, other.model, other.point)


def _paired(claim: Claim, runs: pd.DataFrame) -> Estimate:
    """Return how far our rate is above the rate of the other model, of the same seeds."""
    by = [*point_columns(claim.experiment), "seed"]
    one, other = (
        runs.loc[(runs["model"] == model) & (runs["operation"] == claim.operation)]
        for model in (claim.model, claim.above)
    )
    test = paired_test((claim.model, claim.above), one, other, [c for c in by if c in runs])
    return test.difference


def drawing(lines: Sequence[Line]) -> str:
    """Draw the success rates of the claims, published and ours, as SVG."""
    marks = []
    for claim in CLAIMS:
        line = None if claim.above else _line(claim, claim.model, lines)
        if line is not None:
            ours = None if line.verdict == CHOSEN else line.here
            marks.append(Mark(claim.text, line.there, ours))
    return draw([("Success rate, published and reproduced", marks)], horizontal=True)


def of_the_readme() -> str:
    """Return what the README has of the page: its first paragraph that counts, and its claims."""
    page = (DATA.parent / "README.md").read_text(encoding="utf-8").split("\n\n")
    first = next(place for place, part in enumerate(page) if part.startswith("| read in |"))
    claims = next(part for part in page if part.startswith("| claim |"))
    head, _, *rows = [re.split(r" *(?<!\\)\| *", line)[1:-1] for line in claims.splitlines()]
    cells = [dict(zip(head, row, strict=True)) for row in rows]
    columns = ("claim", "published", "here", "verdict", MANY)
    short = table(
        [{name: re.sub(r" \[[^]]*\]", "", row[name]) for name in columns} for row in cells]
    )
    more = "p: whether the published seeds differ from the others, of each row alone."
    return "\n\n".join((page[first - 1], short, more))
