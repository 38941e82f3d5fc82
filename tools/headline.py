"""The headline claims of the papers beside ours; the README shows them, too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stable_nalu.files import with_part
from stable_nalu.machine import CHECKOUT
from stable_nalu.paper.index import find
from stable_nalu.paper.published import Published, published
from stable_nalu.result.compare import (
    WITHIN_POINTS,
    RatePoint,
    equivalence,
    rate_point,
    runs_at,
)
from stable_nalu.result.document import UNKNOWN, points, rate, table
from stable_nalu.result.records import read_records
from stable_nalu.result.stored import DATA, path_of, read
from stable_nalu.statistics.intervals import Estimate, difference, wilson

from .drawing import Mark, draw
from .rates import SOURCES, rate_here

NOT_RUN = "not run"
PAGE = "[docs/reproduction](docs/reproduction/README.md)"
README = CHECKOUT / "README.md"
BEGIN = "<!-- Generated from docs/reproduction/data; rewrite with `make generated`. -->"
END = "<!-- End of the generated results. -->"


@dataclass(frozen=True)
class Claim:
    """A claim about a success rate, or about how far it is above that of another model.

    above: the other model, if any. brief: 1 for those that stand in the README, too.
    """

    text: str
    experiment: str
    model: str
    operation: str
    above: str
    brief: int


CLAIMS = read_records(Claim, Path(__file__).parent / "templates" / "claims.csv")


@dataclass(frozen=True)
class Finding:
    """A claim with the published numbers and, where there are runs, ours, as estimates and text.

    gap: our number less the published one.
    """

    claim: Claim
    published: Estimate
    ours: Estimate | None
    published_text: str
    source: str
    text: str = NOT_RUN
    gap: str = UNKNOWN
    verdict: str = UNKNOWN


def findings(data: Path = DATA) -> list[Finding]:
    """Return the finding about every claim."""
    return [_finding(claim, data) for claim in CLAIMS]


def rows_of(found: Sequence[Finding]) -> list[dict[str, str]]:
    """Return the rows of the table, one per claim."""
    return [
        {
            "claim": one.claim.text,
            "published": one.published_text,
            "source": one.source,
            "here": one.text,
            "difference": one.gap,
            "verdict": one.verdict,
        }
        for one in found
    ]


def brief_table(found: Sequence[Finding]) -> str:
    """Return the table for a README, of five rows and four short columns, of what was run."""
    rows = rows_of([one for one in found if one.claim.brief and one.text != NOT_RUN])
    columns = ("claim", "published", "here", "verdict")
    return table([{name: row[name].partition(" [")[0] for name in columns} for row in rows])


def drawing(found: Sequence[Finding]) -> str:
    """Draw the success rates of the claims, published and ours, as SVG."""
    rates = [f for f in found if not f.claim.above]
    marks = [Mark(f.claim.text, f.published, f.ours) for f in rates]
    title = "Success rate, published and reproduced"
    return draw([(title, marks)], horizontal=True, theirs="published")


def refreshed(document: str, data: Path = DATA) -> str:
    """Return the README with its headline made anew: the counts from the page, and the table."""
    page = (data.parent / "README.md").read_text(encoding="utf-8")
    # The table between the introduction of the page and its list, and how many rates are equal.
    *_, counts, sentences = page.partition("\n\n- ")[0].split("\n\n")
    equal = re.search(r"Of \d.*?independent", sentences)
    found = findings(data)
    more = f"Intervals, and {len(found) - sum(f.claim.brief for f in found)} more claims: {PAGE}."
    said = [f"{equal[0]}."] if equal else []
    text = "\n\n".join((counts, *said, brief_table(found), more))
    return with_part(document, BEGIN, END, f"{text}\n\n")


def _finding(claim: Claim, data: Path) -> Finding:
    known, found = _known(claim, claim.model), _comparison(claim, claim.model, data)
    theirs = wilson(known.solved, known.runs)
    ours = wilson(found.solved, found.runs) if found and not found.chosen else None
    source = SOURCES[known.source]
    if claim.above:
        return _gain(claim, theirs, ours, data)
    text = rate(known.solved, known.runs)
    if found is None:
        return Finding(claim, theirs, None, text, source)
    here = rate_here(found)
    gap = points(found.gap) if found.gap else UNKNOWN
    return Finding(claim, theirs, ours, text, source, here, gap, _verdict(found))


def _verdict(found: RatePoint) -> str:
    """Return the verdict; of chosen seeds also at which steps they are solved."""
    steps = found.chosen and found.steps and found.chosen.steps
    return f"{found.verdict}; {steps.steps}" if steps else str(found.verdict)


def _gain(claim: Claim, theirs: Estimate, ours: Estimate | None, data: Path) -> Finding:
    """Return the finding about how far a model is above another one."""
    known, found = _known(claim, claim.above), _comparison(claim, claim.above, data)
    gain = difference(theirs, wilson(known.solved, known.runs))
    text, source = points(gain), "derived from both"
    if ours is None or found is None:
        return Finding(claim, gain, None, text, source)
    here = difference(ours, wilson(found.solved, found.runs))
    gap = difference(here, gain)
    told, verdict = points(gap), equivalence(gap, WITHIN_POINTS)
    return Finding(claim, gain, here, text, source, points(here), told, verdict)


def _known(claim: Claim, model: str) -> Published:
    return next(
        point
        for point in published(claim.experiment)
        if (point.model, point.operation) == (model, claim.operation)
    )


def _comparison(claim: Claim, model: str, data: Path) -> RatePoint | None:
    """Compare all kept runs of a model with the claim; return None where there are none."""
    if not path_of(claim.experiment, data).exists():
        return None
    experiment, runs = find(claim.experiment), read(claim.experiment, data)
    known = _known(claim, model)
    own = runs_at(known, runs)
    return None if own.empty else rate_point(experiment, own, known=known)
