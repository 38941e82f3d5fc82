"""The headline claims of the papers next to ours, on the page and in the README."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
from scipy.stats import fisher_exact, norm

from stable_nalu.base.files import cells_of
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import published
from stable_nalu.result.document import UNKNOWN, plain, points, rate, table
from stable_nalu.result.judged import CHOSEN, WITHIN_POINTS, equivalence, point_columns
from stable_nalu.result.stored import DATA, read_records
from stable_nalu.statistics import intervals as by_seed
from stable_nalu.statistics.intervals import Estimate, difference, holm, wilson
from stable_nalu.statistics.summary import solved_of

from . import FOLDER, grouped
from .drawing import draw, mark
from .long_table import MEAN_STEP, RATE, Kept, Line, Lines

MORE_SEEDS = "power.csv"
"""The counts of more seeds than were published, in the folder of results."""
MANY = "some 1,000 runs"
"""The column of claims with more seeds than were published."""


@dataclass(frozen=True)
class Count:
    """How many runs of a model are solved, in all and at each point of its figure."""

    key: str
    model: str
    operation: str
    seeds: str
    runs: int
    solved: int
    points: str
    versions: str
    git_revision: str

    @property
    def solved_at(self) -> list[int]:
        return [int(count) for count in self.points.split()]

    @property
    def published(self) -> tuple[int, int] | None:
        """Return how many of how many runs are published as solved, if that is known.

        Of a figure with counts by point alone, all points together.
        """
        own = self.model, self.operation
        found = [p for p in published(self.key) if (p.model, p.operation) == own]
        known = [p for p in found if p.column in ("", "operation")][:1] or found
        return (sum(p.solved for p in known), sum(p.runs for p in known)) if known else None

    def rate(self, runs: pd.DataFrame) -> Estimate:
        """Return the rate with its interval; stored runs of the model tell the effect of seeds."""
        return wilson(self.solved, self.runs, self._effect(runs))

    def _effect(self, runs: pd.DataFrame) -> float:
        own = runs.loc[(runs["model"] == self.model)]
        return by_seed.effect_of(own) if len(self.solved_at) > 1 else 1

    def p(self, runs: pd.DataFrame) -> float | None:
        """Return how likely a count as far from ours as the published one is, by whole seeds.

        The published seeds are the first of ours. At one point it is Fisher's exact test against
        the others; at several, whose counts by seed are not kept, a normal one.
        """
        known, points = self.published, len(self.solved_at)
        if known is None:
            return None
        (solved, n), more = known, self.runs - known[1]
        if points == 1:
            others = self.solved - solved_of(runs.loc[runs["model"] == self.model])
            return float(fisher_exact([[solved, n - solved], [others, more - others]]).pvalue)
        share = self.solved / self.runs
        variance = n * share * (1 - share) * self._effect(runs) * more / self.runs
        off = abs(solved - n * share)
        return float(2 * norm.sf(off / math.sqrt(variance))) if variance else float(off == 0)


def counts_of(folder: Path) -> list[Count]:
    return read_records(Count, folder / MORE_SEEDS)


def ranked(counts: Sequence[Count], every: Kept) -> list[dict[str, str]]:
    """Return the rows of the page's table: units of a figure by rate, equal ranks for ties.

    every: the stored runs of each key, of the seeds that were published.
    """
    chances = {one: one.p(every[one.key]) for one in counts if one.key in every}
    known = {one: p for one, p in chances.items() if p is not None}
    adjusted = dict(zip(known, holm(list(known.values())), strict=True))
    rows = []
    for key, own in grouped(chances, lambda one: one.key):
        rates = {one: one.rate(every[key]) for one in own}
        for one in sorted(rates, key=lambda c: -rates[c].mean):
            better = sum(difference(other, rates[one]).lower > 0 for other in rates.values())
            theirs, ps = one.published, [of[one] for of in (known, adjusted) if one in of]
            row = {
                **{"figure": f"[{EXPERIMENTS[key].title}](#{key})", "rank": f"{1 + better}"},
                "unit": plain(EXPERIMENTS[key].model(one.model).label),
                "published": "{}/{}".format(*theirs) if theirs else UNKNOWN,
                "more seeds": rate(one.solved, one.runs, rates[one]),
            }
            shown = [f"{p:.2g}" for p in ps] or [UNKNOWN] * 2
            rows.append(row | dict(zip(("p", "p by Holm"), shown, strict=True)))
    return rows


CLAIMS = [SimpleNamespace(**row) for row in cells_of(FOLDER / "claims.csv")]
"""Claims about a success rate, or about its distance from the rate of the model `above`."""


def rows_of(lines: Lines, every: Kept, counts: Sequence[Count] = ()) -> list[dict[str, str]]:
    """Return a row for each claim that has runs; counts: of more seeds than were published."""
    more, rows = {(one.key, one.model, one.operation): one for one in counts}, []
    for claim in CLAIMS:
        line, other = (_line(claim, model, lines) for model in (claim.model, claim.above))
        if line is None or (claim.above and other is None):
            continue
        runs, of_many, source, gap = every[claim.experiment], UNKNOWN, line.source, line.gap_ends
        models = claim.model, claim.above
        many, less = (more.get((claim.experiment, m, claim.operation)) for m in models)
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
        row = {"claim": claim.text, "published": published, "here": here}
        row |= {"difference in points": in_points(gap) if gap else UNKNOWN, "verdict": verdict}
        rows.append(row | ({MANY: of_many} if more else {}) | {"source": source})
    return rows


def in_points(gap: Estimate) -> str:
    return points(gap).replace(" points", "")


def _line(claim: Any, model: str, lines: Lines) -> Line | None:
    wanted = (claim.experiment, model, claim.operation, RATE)
    found = (o for o in lines if (o.key, o.model, o.operation, o.measure) == wanted)
    return next((line for line in found if line.source), None)


def _paired(claim: Any, runs: pd.DataFrame) -> Estimate:
    """Return how far our rate is above the rate of the other model, of the same seeds."""
    by, models = [*point_columns(claim.experiment), "seed"], (claim.model, claim.above)
    runs = runs.loc[runs["operation"] == claim.operation]
    one, other = (runs.loc[runs["model"] == model] for model in models)
    return by_seed.paired_test(models, one, other, [c for c in by if c in runs]).difference


def drawing(lines: Lines) -> str:
    found = [(one.text, _line(one, one.model, lines)) for one in CLAIMS if not one.above]
    marks = [mark(line, text) for text, line in found if line]
    return draw([("Success rate, published and reproduced", marks)], horizontal=True)


def of_the_readme() -> str:
    """Return what the README has of the page: its first paragraph that counts, and its claims."""
    page = (DATA.parent / "README.md").read_text(encoding="utf-8").split("\n\n")
    first = next(place for place, part in enumerate(page) if part.startswith("| read in |"))
    claims = next(part for part in page if part.startswith("| claim |"))
    head, _, *rows = [re.split(r" *(?<!\\)\| *", line)[1:-1] for line in claims.splitlines()]
    cells = [dict(zip(head, row, strict=True)) for row in rows]
    columns = ("claim", "published", "here", "verdict", MANY)
    short = [{name: re.sub(r" \[[^]]*\]", "", row[name]) for name in columns} for row in cells]
    more = "p: whether the published seeds differ from the others, of each row alone."
    return "\n\n".join((page[first - 1], table(short), more))
