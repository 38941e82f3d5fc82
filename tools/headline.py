"""The headline claims of the papers next to ours, on the page and in the README."""

import re
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd

from stable_nalu.base.files import cells_of
from stable_nalu.result.document import UNKNOWN, plain, points, rate, table
from stable_nalu.result.judged import CHOSEN, WITHIN_POINTS, equivalence, point_columns
from stable_nalu.result.stored import DATA
from stable_nalu.statistics.intervals import Estimate, difference, paired_test

from .drawing import Mark, draw
from .long_table import MEAN_STEP, RATE, Kept, Line, Lines
from .power import Count

MANY = "some 1,000 runs"
"""The column of claims with more seeds than were published."""


_CLAIMS = Path(__file__).parent / "templates" / "claims.csv"
CLAIMS = [SimpleNamespace(**row) for row in cells_of(_CLAIMS)]
"""Claims about a success rate, or about its distance from the rate of the model `above`."""


def rows_of(lines: Lines, every: Kept, counts: Sequence[Count] = ()) -> list[dict[str, str]]:
    """Return a row for each claim that has runs; counts: of more seeds than were published."""
    more, rows = {(one.key, one.model, one.operation): one for one in counts}, []
    for claim in CLAIMS:
        line, other = (_line(claim, model, lines) for model in (claim.model, claim.above))
        if line is None or (claim.above and other is None):
            continue
        runs, of_many, source, gap = every[claim.experiment], UNKNOWN, line.source, line.gap_ends
        many, less = (
            more.get((claim.experiment, m, claim.operation)) for m in (claim.model, claim.above)
        )
        published = rate(line.published_solved or 0, line.published_n or 1, line.there)
        here = rate(line.solved or 0, line.n, line.here)
        verdict = "; ".join(filter(None, (line.verdict, line.test)))
        if many is not None:
            # p: whether the published seeds differ from all others.
            p = many.p(runs)
            of_many = re.sub(r" \(.*\)", "", rate(many.solved, many.runs, many.rate(runs)))
            of_many += "" if p is None else f", p {p:.2g}"
        if other is not None:
            theirs, ours = difference(line.there, other.there), _paired(claim, runs)
            gap = difference(ours, theirs)
            published, source, here = points(theirs), "derived from both", points(ours)
            verdict = equivalence(gap, WITHIN_POINTS)
            if many and less:
                of_many = in_points(difference(many.rate(runs), less.rate(runs)))
        elif line.verdict == CHOSEN:
            place = line.key, line.model, line.point, MEAN_STEP
            steps = [o.test for o in lines if (o.key, o.model, o.point, o.measure) == place]
            verdict, gap = plain("; ".join(filter(None, (line.test, *steps)))), None
            here = f"{line.solved}/{line.n} of same seeds"
        rows.append(
            {"claim": claim.text, "published": published, "here": here}
            | {"difference in points": in_points(gap) if gap else UNKNOWN, "verdict": verdict}
            | ({MANY: of_many} if more else {})
            | {"source": source}
        )
    return rows


def in_points(gap: Estimate) -> str:
    return points(gap).replace(" points", "")


def _line(claim: Any, model: str, lines: Lines) -> Line | None:
    wanted = (claim.experiment, model, claim.operation, RATE)
    found = (o for o in lines if (o.key, o.model, o.operation, o.measure) == wanted)
    return next((line for line in found if line.source), None)


def _paired(claim: Any, runs: pd.DataFrame) -> Estimate:
    """Return how far our rate is above the rate of the other model, of the same seeds."""
    by = [*point_columns(claim.experiment), "seed"]
    one, other = (
        runs.loc[(runs["model"] == model) & (runs["operation"] == claim.operation)]
        for model in (claim.model, claim.above)
    )
    test = paired_test((claim.model, claim.above), one, other, [c for c in by if c in runs])
    return test.difference


def drawing(lines: Lines) -> str:
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
