"""What the kept runs show and no paper tells: pairs of units, ranges, early and late success.

`python3 -m stable_nalu.reproduction.page.unpublished` prints this part of the page.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stable_nalu.catalogue.index import find
from stable_nalu.statistics.intervals import paired_difference

from ..stored import DATA, identifying, path_of, read
from .markdown import bullets, heading, percent, plain, points, rate, table

TITLE, ANCHOR = "What our numbers say that the papers do not", "unpublished"
COMMAND = "python3 -m stable_nalu.reproduction.page.unpublished"
READING = (
    f"Computed from kept runs alone, by `{COMMAND}`. The comparisons were chosen for this page; "
    "intervals and tests hold for each by itself, and none is corrected for their number.",
    "Pairs: two units of one experiment on the same ranges and seeds. The "
    "difference has Newcombe's interval for pairs, the test is McNemar's exact one.",
    "Ranges: those in which a unit is solved most and least often, and how many of the ranges lie "
    "in between, with more than no seed solved and less than all.",
    "Early success: of runs whose test error was below the threshold within the first fifth of "
    "their iterations, and of the others, how many end as solved.",
    "Late seeds: of solved runs, the share that was solved later than at twice the median.",
)
PAIRS = (
    ("nips-sltr-in2", "realnpu_modified", "realnpu_baseline"),
    ("nips-sltr-in10", "sign-nmru", "realnpu_modified"),
    ("nips-sltr-in10", "sign-nmru", "nru"),
    ("benchmark_sltr_div", "RealNPU", "NPU"),
    ("benchmark_sltr_mul", "NMU", "RealNPU"),
    ("benchmark_sltr_mul_mcfc", "MulMCFC", "NMU"),
)
"""Experiment, a unit, and the one that it is compared with."""
UNITS = (
    ("nips-sltr-in2", "realnpu_modified"),
    ("nips-sltr-in10", "sign-nmru"),
    ("nips-sltr-in10", "realnpu_modified"),
    ("benchmark_sltr_add", "NAU"),
    ("benchmark_sltr_mul", "NMU"),
    ("benchmark_sltr_mul", "RealNPU"),
)
"""Experiment and a unit, for ranges, early and late success."""
PAIR_HEAD = ("experiment", "units", "pairs", "only the first", "only the second", "difference", "p")
RANGE_HEAD = ("experiment", "unit", "most often", "least often", "in between")
EARLY_HEAD = ("experiment", "unit", "solved, of early runs", "solved, of the others")
LATE_HEAD = ("experiment", "unit", "median step", "latest", "later than twice the median")
_EARLY = 0.2
_STEP = "extrapolation.step.solved"


def section(data: Path = DATA) -> list[str]:
    """Return the part of the page; nothing where none of the runs are kept."""
    keys = dict.fromkeys(key for key, *_ in (*PAIRS, *UNITS))
    runs = {key: read(key, data) for key in keys if path_of(key, data).exists()}
    kept = {(key, unit) for key, table in runs.items() for unit in table["model"].unique()}
    pairs = [(key, *both) for key, *both in PAIRS if {(key, unit) for unit in both} <= kept]
    units = [one for one in UNITS if one in kept]
    if not (pairs and units):
        return []
    found: dict[tuple[str, str], Any] = {
        (key, unit): runs[key][runs[key]["model"] == unit] for key, unit in units
    }
    return [
        heading(2, TITLE, ANCHOR),
        bullets(READING),
        table(PAIR_HEAD, [_pair(key, one, other, runs[key]) for key, one, other in pairs]),
        table(RANGE_HEAD, [[*_names(*of), *_ranges(own)] for of, own in found.items()]),
        table(EARLY_HEAD, [[*_names(*of), *_early(own)] for of, own in found.items()]),
        table(LATE_HEAD, [[*_names(*of), *_late(own)] for of, own in found.items()]),
    ]


def _names(key: str, *models: str) -> list[str]:
    experiment = find(key)
    labels = ", ".join(experiment.model(model).label for model in models)
    return [f"[{plain(key)}](#{experiment.stem})", plain(labels)]


def _pair(key: str, one: str, other: str, runs: Any) -> list[str]:
    """Return the row of two units whose runs are paired by range and seed."""
    from scipy.stats import binomtest

    places = [column for column in identifying(key) if column != "model"]
    sides = [runs[runs["model"] == m].set_index(places)["solved"] for m in (one, other)]
    both = sides[0].to_frame("one").join(sides[1].to_frame("other"), how="inner")
    pairs = [(bool(a), bool(b)) for a, b in both.to_numpy()]
    won = sum(a and not b for a, b in pairs)
    lost = sum(b and not a for a, b in pairs)
    p = float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
    gap = points(paired_difference(pairs))
    return [*_names(key, one, other), str(len(pairs)), str(won), str(lost), gap, f"{p:.2g}"]


def _ranges(own: Any) -> list[str]:
    """Return the ranges that are solved most and least often, and how many are undecided."""
    by = own.groupby("interpolation.range", sort=False)["solved"].agg(["sum", "size"])
    shares = by["sum"] / by["size"]
    told: list[str] = []
    for share in (shares.max(), shares.min()):
        names = [str(name) for name in shares.index[shares == share]]
        if len(names) == len(shares):
            told.append(f"all alike: {percent(float(share))}")
            continue
        first = by.loc[names[0]]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        told.append(f"{plain(names[0])}{more}: {rate(int(first['sum']), int(first['size']))}")
    undecided = int(((shares > 0) & (shares < 1)).sum())
    return [*told, f"{undecided} of {len(shares)}"]


def _early(own: Any) -> list[str]:
    early = own[_STEP] <= _EARLY * own["iterations"]
    return [_solved(own[early]), _solved(own[~early])]


def _solved(runs: Any) -> str:
    return rate(int(runs["solved"].sum()), len(runs)) if len(runs) else "no such run"


def _late(own: Any) -> list[str]:
    steps = own.loc[own["solved"] == 1, _STEP]
    if steps.empty:
        return ["no run is solved"] * 3
    late = int((steps > 2 * steps.median()).sum())
    return [f"{steps.median():,.0f}", f"{steps.max():,.0f}", rate(late, len(steps))]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the part of the page."""
    del argv
    sys.stdout.write("\n\n".join(section()) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
