"""Success rates of many more seeds than were published, of which counts are kept."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from scipy.stats import fisher_exact, norm

from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import published
from stable_nalu.result.document import UNKNOWN, plain, rate
from stable_nalu.result.stored import read_records
from stable_nalu.statistics.intervals import Estimate, difference, effect_of, holm, wilson
from stable_nalu.statistics.summary import solved_of

NAME = "power.csv"


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
        return effect_of(runs.loc[(runs["model"] == self.model)]) if len(self.solved_at) > 1 else 1

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


def read(folder: Path) -> list[Count]:
    return read_records(Count, folder / NAME)


def rows_of(counts: Sequence[Count], every: Mapping[str, pd.DataFrame]) -> list[dict[str, str]]:
    """Return the rows of the page's table: units of a figure by rate, equal ranks for ties.

    every: the stored runs of each key, of the seeds that were published.
    """
    keys = [key for key in dict.fromkeys(one.key for one in counts) if key in every]
    chances = {one: one.p(every[one.key]) for one in counts if one.key in keys}
    known = {one: p for one, p in chances.items() if p is not None}
    adjusted = dict(zip(known, holm(list(known.values())), strict=True))
    rows = []
    for key in keys:
        rates = {c: c.rate(every[key]) for c in counts if c.key == key}
        for one in sorted(rates, key=lambda c: -rates[c].mean):
            better = sum(difference(other, rates[one]).lower > 0 for other in rates.values())
            theirs, p = one.published, known.get(one)
            rows.append(
                {
                    "figure": f"[{EXPERIMENTS[key].title}](#{key})",
                    "rank": f"{1 + better}",
                    "unit": plain(EXPERIMENTS[key].model(one.model).label),
                    "published": "{}/{}".format(*theirs) if theirs else UNKNOWN,
                    "more seeds": rate(one.solved, one.runs, rates[one]),
                    "p": UNKNOWN if p is None else f"{p:.2g}",
                    "p by Holm": UNKNOWN if p is None else f"{adjusted[one]:.2g}",
                }
            )
    return rows
