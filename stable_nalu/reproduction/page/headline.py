"""The headline claims of the papers beside ours; the README shows them, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stable_nalu.catalogue.index import find
from stable_nalu.catalogue.published import Published, published
from stable_nalu.machine import CHECKOUT
from stable_nalu.statistics.intervals import Estimate, difference, wilson

from ..compare import Comparison, compare
from ..stored import DATA, cut_short, path_of, read
from . import markdown
from .drawing import Mark, draw

NOT_RUN = "not run"
HEAD = ("claim", "published", "here", "intervals")
README = CHECKOUT / "README.md"
BEGIN = "<!-- Generated from docs/reproduction/data; rewrite with `make generated`. -->"
END = "<!-- End of the generated results. -->"


@dataclass(frozen=True)
class Claim:
    """A claim about a success rate, or about how far it is above that of another model."""

    text: str
    experiment: str
    model: str
    operation: str
    above: str = ""


CLAIMS = (
    Claim("Division, 10 inputs: modified Real NPU", "nips-sltr-in10", "realnpu_modified", "div"),
    Claim("Division, 10 inputs: Real NPU", "nips-sltr-in10", "realnpu_baseline", "div"),
    Claim(
        "Division, 10 inputs: gain by the modifications",
        "nips-sltr-in10",
        "realnpu_modified",
        "div",
        above="realnpu_baseline",
    ),
    Claim("Division, 10 inputs: NMRU", "nips-sltr-in10", "sign-nmru", "div"),
    Claim("(x1+x2)(x1+x2+x3+x4): NMU", "simple_mul", "nmu", "mul"),
    Claim("(x1+x2)(x1+x2+x3+x4): NALU", "simple_mul", "nalu", "mul"),
    Claim("(x1+x2)(x1+x2+x3+x4): NAC•", "simple_mul", "nac-mul", "mul"),
    Claim("Product of two sums of 100 inputs: NMU", "function_task_static", "nmu", "mul"),
    Claim("Product of two sums of 100 inputs: NAC•", "function_task_static", "nac-mul", "mul"),
    Claim("Sum of two sums of 100 inputs: NAU", "function_task_static", "nau", "add"),
    Claim("Sum of two sums of 100 inputs: NALU", "function_task_static", "nalu", "add"),
)


@dataclass(frozen=True)
class Finding:
    """A claim with the published numbers and, where there are runs, ours."""

    claim: Claim
    published: Estimate
    ours: Estimate | None
    published_text: str
    text: str

    @property
    def overlap(self) -> bool | None:
        """Return whether the intervals have a point in common; None where we have no runs."""
        if self.ours is None:
            return None
        return self.published.lower <= self.ours.upper and self.ours.lower <= self.published.upper


def findings(data: Path = DATA) -> list[Finding]:
    """Return the finding about every claim."""
    return [_finding(claim, data) for claim in CLAIMS]


def table(found: Sequence[Finding]) -> str:
    """Return the Markdown table of one row per claim."""
    rows = [[f.claim.text, f.published_text, f.text, markdown.OVERLAP[f.overlap]] for f in found]
    return markdown.table(HEAD, rows)


def drawing(found: Sequence[Finding]) -> str:
    """Draw the success rates of the claims, published and ours, as SVG."""
    rates = [f for f in found if not f.claim.above]
    marks = [Mark(f.claim.text, f.published, f.ours) for f in rates]
    return draw([("Success rate, published and reproduced", marks)], horizontal=True)


def refreshed(document: str, data: Path = DATA) -> str:
    """Return the README with its headline table made anew."""
    head, rest = document.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    return f"{head}{BEGIN}\n\n{table(findings(data))}\n\n{END}{tail}"


def _finding(claim: Claim, data: Path) -> Finding:
    known, found = _known(claim, claim.model), _comparison(claim, claim.model, data)
    theirs, ours = _rates(known, found)
    note = _note(claim, data)
    if not claim.above:
        text = markdown.rate(found.solved, found.runs) + note if found else NOT_RUN
        published_text = markdown.published_rate(known, found.of_seeds if found else None)
        return Finding(claim, theirs, ours, published_text, text)
    their_other, our_other = _rates(
        _known(claim, claim.above), _comparison(claim, claim.above, data)
    )
    their_gain = difference(theirs, their_other)
    our_gain = difference(ours, our_other) if ours and our_other else None
    text = markdown.points(our_gain) + note if our_gain else NOT_RUN
    return Finding(claim, their_gain, our_gain, markdown.points(their_gain), text)


def _note(claim: Claim, data: Path) -> str:
    """Return what has to be said of our runs."""
    if not path_of(claim.experiment, data).exists():
        return ""
    model, runs = find(claim.experiment).model(claim.model), read(claim.experiment, data)
    length = cut_short(model, runs)
    return f" after {length} iterations" if length else ""


def _known(claim: Claim, model: str) -> Published:
    return next(
        point
        for point in published(claim.experiment)
        if (point.model, point.operation) == (model, claim.operation)
    )


def _comparison(claim: Claim, model: str, data: Path) -> Comparison | None:
    """Compare all kept runs of a model with the claim; return None where there are none."""
    if not path_of(claim.experiment, data).exists():
        return None
    return next(iter(compare([_known(claim, model)], read(claim.experiment, data))), None)


def _rates(known: Published, found: Comparison | None) -> tuple[Estimate, Estimate | None]:
    """Return the published rate and ours."""
    if found is None:
        return wilson(known.solved, known.runs), None
    return wilson(*found.counts), wilson(found.solved, found.runs)
