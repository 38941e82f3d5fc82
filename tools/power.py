"""Success rates of many more seeds than were published: `python3 -m tools.power FOLDER`.

FOLDER has what `reproduce.py KEY --seeds 0-111 --keep --data FOLDER` kept. Its counts go to
docs/reproduction/data/power.csv; the runs are not stored, the same command trains them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom

from stable_nalu.errors import UsageError
from stable_nalu.options.kinds import seeds_text
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.paper.published import published
from stable_nalu.result import stored
from stable_nalu.result.document import UNKNOWN, plain, rate
from stable_nalu.result.stored import origin, read_records
from stable_nalu.script import ScriptParser, exit_code
from stable_nalu.statistics.intervals import difference, wilson
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

    @property
    def p(self) -> float | None:
        """Return how likely a count at least as unlikely as the published one is at our rates.

        Runs of a point are drawn at its own rate, (solved + ½) / (runs + 1).
        """
        known, at = self.published, self.solved_at
        if known is None:
            return None
        own, each, law = self.runs // len(at), known[1] // len(at), np.ones(1)
        for solved in at:
            chance = (solved + 0.5) / (own + 1)
            law = np.convolve(law, binom.pmf(np.arange(each + 1), each, chance))
        return float(law[law <= law[known[0]] * (1 + 1e-9)].sum())


def read(folder: Path) -> list[Count]:
    """Return all counts that lie in a folder."""
    return read_records(Count, folder / NAME)


def rows_of(counts: Sequence[Count], every: Mapping[str, pd.DataFrame]) -> list[dict[str, str]]:
    """Return the rows of the page's table: units of a figure by rate, equal ranks for ties.

    every: the stored runs of each key, of the seeds that were published.
    """
    keys = [key for key in dict.fromkeys(one.key for one in counts) if key in every]
    return [row for key in keys for row in _ranked(counts, key, every[key])]


def _ranked(
    counts: Sequence[Count], key: str, stored_runs: pd.DataFrame
) -> Iterator[dict[str, str]]:
    rates = {c: wilson(c.solved, c.runs) for c in counts if c.key == key}
    experiment = EXPERIMENTS[key]
    for one in sorted(rates, key=lambda c: -rates[c].mean):
        better = sum(difference(other, rates[one]).lower > 0 for other in rates.values())
        own = stored_runs.loc[stored_runs["model"] == one.model]
        known, p = one.published, one.p
        yield {
            "figure": f"[{experiment.title}](#{key})",
            "rank": f"{1 + better}",
            "unit": plain(experiment.model(one.model).label),
            "published": rate(*known) if known else UNKNOWN,
            "its seeds here": rate(solved_of(own), len(own)),
            "more seeds": rate(one.solved, one.runs),
            "p": UNKNOWN if p is None else f"{p:.2g}",
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
