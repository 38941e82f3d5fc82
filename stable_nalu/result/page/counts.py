"""What the comparisons of success rates amount to: by source, and by what they can tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stable_nalu.paper.published import Published
from stable_nalu.statistics.summary import STEP

from ..compare import CANNOT_TELL, DIFFERS, EQUAL, WITHIN_POINTS, runs_at
from .markdown import PAPER, SOURCES, table
from .rows import MEASURES, Row
from .section import Result

HEAD = (
    "read in",
    "rates compared",
    "identical counts",
    "neither 0 % nor 100 %",
    "identical, of these",
)
_RATE = MEASURES[0]
_IN_PROSE = {
    WITHIN_POINTS: "are within 5 points",
    CANNOT_TELL: "are inconclusive at this sample size",
    DIFFERS: "differ",
}


def once(results: Sequence[Result]) -> dict[Published, Row]:
    """Return every published point with its row; figures that show the same runs share points."""
    rows = [row for found in results for row in found.rows]
    return {row.published: row for row in reversed(rows) if row.published}


def is_informative(point: Published) -> bool:
    """Return whether a rate is neither 0 nor 100 %."""
    return 0 < point.solved < point.runs


def counted(results: Sequence[Result]) -> list[str]:
    """Return the table of the sources of numbers, and what their sum hides."""
    rates = {point: row for point, row in once(results).items() if row.is_rate}
    if not rates:
        return ["No rate can be compared yet."]
    sources = dict(Counter(SOURCES[point.source] for point in rates).most_common())
    papers = {name: count for name, count in sources.items() if name.startswith(PAPER)}
    kinds = [(name, {name}) for name in sources if name not in papers]
    if papers:
        read = ", ".join(f"{count} {name.removeprefix(PAPER)}" for name, count in papers.items())
        kinds.insert(0, (f"papers ({read})", set(papers)))
    rows = [
        _counts(name, {p: r for p, r in rates.items() if SOURCES[p.source] in of})
        for name, of in kinds
    ]
    return [table(HEAD, rows), _told(results, rates)]


def _counts(name: str, rates: dict[Published, Row]) -> list[str]:
    telling = {point: row for point, row in rates.items() if is_informative(point)}
    return [
        name,
        str(len(rates)),
        str(_equal(rates)),
        str(len(telling)),
        f"{_equal(telling)} of {len(telling)}",
    ]


def _equal(rates: dict[Published, Row]) -> int:
    return sum(row.verdicts[_RATE] == EQUAL for row in rates.values())


def _told(results: Sequence[Result], rates: dict[Published, Row]) -> str:
    extreme = sum(not is_informative(point) for point in rates)
    kinds = Counter(row.verdicts[_RATE] for row in rates.values())
    left = "".join(f"; {kinds[kind]} {told}" for kind, told in _IN_PROSE.items() if kinds[kind])
    return (
        f"Each number is counted once, though several figures may show it. Of {len(rates)} rates, "
        f"{kinds[EQUAL]} have identical counts, the same number solved of the same number of runs"
        f"{left}. But {extreme} of the {len(rates)} are 0 % or 100 %, and they are not "
        f"independent: the runs behind them have {_patterns(results, rates)} different lists of "
        "outcomes (which seeds are solved, and at which step). *Published* is for papers. The "
        "report lies in a code "
        "repository and was not reviewed. The deck is of an earlier run of the authors: its rates "
        "were measured on its charts by pixel, and how the steps of its NMU compare is not shown, "
        "as only those of the sNMU were read."
    )


def _patterns(results: Sequence[Result], rates: dict[Published, Row]) -> int:
    runs_of = {id(row): found.runs for found in results for row in found.rows}
    found = set()
    for point, row in rates.items():
        runs = runs_at(point, runs_of[id(row)])
        columns = runs[["seed", "solved", STEP]].fillna(-1)
        found.add(tuple(sorted(map(tuple, columns.to_numpy().tolist()))))
    return len(found)
