"""The papers' headline claims beside ours; the README shows them, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.batch.job_script import ROOT
from stable_nalu.catalogue.index import find
from stable_nalu.catalogue.published import Published, published
from stable_nalu.statistics.intervals import Estimate, difference, wilson

from ..compare import counts_of_seeds, runs_at, solved_of
from ..stored import DATA, cut_short, path_of, read
from . import texts
from .blocks import Table
from .drawing import Mark, panel

if TYPE_CHECKING:
    import pandas as pd

NOT_RUN = "not run"
HEAD = ("claim", "published", "here", "intervals")
README = ROOT / "README.md"
BEGIN = "<!-- Generated from docs/reproduction/data; rewrite with `make generated`. -->"
END = "<!-- End of the generated results. -->"


@dataclass(frozen=True)
class Claim:
    """A success rate, or how far it is above that of another model of the figure."""

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
        """Whether the intervals have a point in common."""
        if self.ours is None:
            return None
        return self.published.lower <= self.ours.upper and self.ours.lower <= self.published.upper


def findings(data: Path = DATA) -> list[Finding]:
    """Every claim."""
    return [_finding(claim, data) for claim in CLAIMS]


def table(found: Sequence[Finding]) -> Table:
    """One row a claim."""
    rows = [[f.claim.text, f.published_text, f.text, texts.OVERLAP[f.overlap]] for f in found]
    return Table(HEAD, rows)


def drawing(found: Sequence[Finding]) -> str:
    """Success rates of the claims, published and ours."""
    rates = [f for f in found if not f.claim.above]
    marks = [Mark(f.claim.text, f.published, f.ours) for f in rates]
    return panel("Success rate, published and reproduced", marks, horizontal=True)


def refreshed(document: str, data: Path = DATA) -> str:
    """The README with its headline table made anew."""
    from .markdown import table_lines

    head, rest = document.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    lines = "\n".join(table_lines(table(findings(data))))
    return f"{head}{BEGIN}\n\n{lines}\n\n{END}{tail}"


def _finding(claim: Claim, data: Path) -> Finding:
    known, runs = _known(claim, claim.model), _runs(claim, claim.model, data)
    of_seeds = None if runs is None else counts_of_seeds(known, runs)
    theirs, ours = wilson(*of_seeds) if of_seeds else _rate(known), _counts(runs)
    rate = wilson(*ours) if ours else None
    note = _note(claim, data)
    if not claim.above:
        text = texts.rate(*ours) + note if ours else NOT_RUN
        return Finding(claim, theirs, rate, texts.published_rate(known, of_seeds), text)
    gain = difference(theirs, _rate(_known(claim, claim.above)))
    others = _counts(_runs(claim, claim.above, data))
    found = difference(rate, wilson(*others)) if rate and others else None
    text = texts.points(found) + note if found else NOT_RUN
    return Finding(claim, gain, found, texts.points(gain), text)


def _note(claim: Claim, data: Path) -> str:
    """What has to be said of our runs."""
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


def _rate(point: Published) -> Estimate:
    return wilson(point.solved, point.runs)


def _runs(claim: Claim, model: str, data: Path) -> pd.DataFrame | None:
    """All kept runs; None without any."""
    if not path_of(claim.experiment, data).exists():
        return None
    chosen = runs_at(_known(claim, model), read(claim.experiment, data))
    return chosen if len(chosen) else None


def _counts(runs: pd.DataFrame | None) -> tuple[int, int] | None:
    """Solved of all."""
    return None if runs is None else (solved_of(runs), len(runs))
