"""Success rates of many more seeds than were published: `python3 -m tools.power FOLDER`.

FOLDER has what `reproduce.py KEY --seeds 0-111 --keep --data FOLDER` kept. Its counts go to
docs/reproduction/data/power.csv; the runs are not stored, the same command trains them again.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
from scipy.stats import fisher_exact, norm

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import ScriptParser, exit_code
from stable_nalu.options.flag import seeds_text
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import published
from stable_nalu.result import stored
from stable_nalu.result.document import UNKNOWN, plain, rate
from stable_nalu.result.stored import origin, read_records
from stable_nalu.statistics.intervals import Estimate, difference, effect_of, holm, wilson
from stable_nalu.statistics.summary import solved_of
from stable_nalu.statistics.table import groups, write_plain_frame

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
        """Return the solved runs at each point."""
        return [int(count) for count in self.points.split()]

    @property
    def published(self) -> tuple[int, int] | None:
        """Return how many of how many runs are published as solved, if that is known.

        Of a figure with counts by point alone, all points together.
        """
        found = [p for p in published(self.key) if (p.model, p.operation) == self._whose]
        known = [p for p in found if p.column in ("", "operation")][:1] or found
        return (sum(p.solved for p in known), sum(p.runs for p in known)) if known else None

    @property
    def _whose(self) -> tuple[str, str]:
        return self.model, self.operation

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
    """Return all counts that lie in a folder."""
    return read_records(Count, folder / NAME)


def rows_of(counts: Sequence[Count], every: Mapping[str, pd.DataFrame]) -> list[dict[str, str]]:
    """Return the rows of the page's table: units of a figure by rate, equal ranks for ties.

    every: the stored runs of each key, of the seeds that were published.
    """
    keys = [key for key in dict.fromkeys(one.key for one in counts) if key in every]
    chances = {one: one.p(every[one.key]) for one in counts if one.key in keys}
    known = {one: p for one, p in chances.items() if p is not None}
    adjusted = dict(zip(known, holm(list(known.values())), strict=True))
    return [row for key in keys for row in _ranked(counts, key, every[key], chances, adjusted)]


def _ranked(
    counts: Sequence[Count],
    key: str,
    stored_runs: pd.DataFrame,
    chances: Mapping[Count, float | None],
    adjusted: Mapping[Count, float],
) -> Iterator[dict[str, str]]:
    rates = {c: c.rate(stored_runs) for c in counts if c.key == key}
    experiment = EXPERIMENTS[key]
    for one in sorted(rates, key=lambda c: -rates[c].mean):
        better = sum(difference(other, rates[one]).lower > 0 for other in rates.values())
        known, p = one.published, chances[one]
        yield {
            "figure": f"[{experiment.title}](#{key})",
            "rank": f"{1 + better}",
            "unit": plain(experiment.model(one.model).label),
            "published": "{}/{}".format(*known) if known else UNKNOWN,
            "more seeds": rate(one.solved, one.runs, rates[one]),
            "p": UNKNOWN if p is None else f"{p:.2g}",
            "p by Holm": UNKNOWN if p is None else f"{adjusted[one]:.2g}",
        }


def main(argv: Sequence[str] | None = None) -> int:
    """Add the counts of a folder to the table; a model that is there already is replaced."""
    parser = ScriptParser(prog="tools.power", description=__doc__)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    args = parser.parse_args(argv)
    return exit_code(parser.prog, lambda: _add(args.folder))


def _add(data: Path) -> None:
    old, new = read(stored.DATA), list[Count]()
    keys = stored.kept_keys(data, measured=False)
    if not keys:
        raise UsageError(f"FOLDER: no kept runs in {data}; reproduce.py --keep --data writes them")
    for key in keys:
        parameter = EXPERIMENTS[key].parameter
        sessions = stored.sessions_of(key, data)
        made_with = asdict(sessions[-1]) if sessions else origin()
        told = made_with["versions"], made_with["git_revision"]
        for (model, operation), runs in groups(stored.read(key, data), ["model", "operation"]):
            points = (
                [runs]
                if parameter not in runs
                else [group for _, group in groups(runs, [parameter])]
            )
            whose = key, f"{model}", f"{operation}", seeds_text(set(runs["seed"]))
            at = " ".join(str(solved_of(group)) for group in points)
            new.append(Count(*whose, len(runs), solved_of(runs), at, *told))
    trained = {(count.key, count.model, count.operation) for count in new}
    kept = [one for one in old if (one.key, one.model, one.operation) not in trained]
    frame = pd.DataFrame([asdict(count) for count in kept + new])
    write_plain_frame(stored.DATA / NAME, frame)


if __name__ == "__main__":
    raise SystemExit(main())
