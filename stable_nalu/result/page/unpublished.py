"""What the kept runs show and no paper tells: tests of pairs of units, early and late success.

`python3 -m stable_nalu.result.page.unpublished` prints this part of the page.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stable_nalu.paper.index import find
from stable_nalu.statistics.intervals import holm, paired_difference, sign_test

from ..stored import DATA, identifying, path_of, read
from .markdown import bullets, heading, plain, points, rate, table

TITLE, ANCHOR = "What our numbers say that the papers do not", "unpublished"
COMMAND = "python3 -m stable_nalu.result.page.unpublished"
READING = (
    f"Computed from kept runs alone, by `{COMMAND}`. Rates by range and what hyper-parameters "
    "change are the papers' own topics, and stand at their figures.",
    "Pairs: two units of one experiment on the same ranges and seeds. All ranges share the "
    "seeds, and some ranges are mirror images of others, so that the runs of a seed are a cluster "
    "and no independent pairs. What is tested is in how many seeds each of the "
    "two is solved in more ranges; p is that of the sign test, corrected by Holm's method for all "
    "tests of the table. The difference of the rates has Newcombe's interval, which takes the runs "
    "as independent and hence is too narrow.",
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
"""Experiment and a unit, for early and late success."""
PAIR_HEAD = ("experiment", "units", "runs", "difference", "seeds: first ahead, second ahead", "p")
EARLY_HEAD = ("experiment", "unit", "solved, of early runs", "solved, of the others")
LATE_HEAD = ("experiment", "unit", "median step", "latest", "later than twice the median")
_OTHER = " of the other"
_EARLY = 0.2
_STEP = "extrapolation.step.solved"


def section(data: Path = DATA) -> list[str]:
    """Return the part of the page; nothing where none of the runs are kept."""
    keys = dict.fromkeys(key for key, *_ in (*PAIRS, *UNITS))
    runs = {key: read(key, data) for key in keys if path_of(key, data).exists()}
    kept = {(key, unit) for key, table in runs.items() for unit in table["model"].unique()}
    pairs = [pair for pair in PAIRS if {(pair[0], unit) for unit in pair[1:]} <= kept]
    units = [one for one in UNITS if one in kept]
    if not (pairs and units):
        return []
    found: dict[tuple[str, str], Any] = {
        (key, unit): runs[key][runs[key]["model"] == unit] for key, unit in units
    }
    return [
        heading(2, TITLE, ANCHOR),
        bullets(READING),
        table(PAIR_HEAD, _pairs(pairs, runs)),
        table(EARLY_HEAD, [[*_names(*of), *_early(own)] for of, own in found.items()]),
        table(LATE_HEAD, [[*_names(*of), *_late(own)] for of, own in found.items()]),
    ]


def _names(key: str, *models: str) -> list[str]:
    experiment = find(key)
    labels = ", ".join(experiment.model(model).label for model in models)
    return [f"[{plain(key)}](#{experiment.stem})", plain(labels)]


def _pairs(pairs: Sequence[tuple[str, str, str]], runs: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for every two units; seeds are the clusters of their tests."""
    rows, p = [], []
    for key, one, other in pairs:
        both = _paired(key, one, other, runs[key])
        outcomes = [(bool(a), bool(b)) for a, b in both.to_numpy()]
        of_seed = both.groupby("seed").sum()
        ahead = of_seed["solved"] - of_seed[f"solved{_OTHER}"]
        more, fewer = int((ahead > 0).sum()), int((ahead < 0).sum())
        gap, seeds = points(paired_difference(outcomes)), f"{more}, {fewer} of {len(ahead)}"
        rows.append([*_names(key, one, other), str(len(both)), gap, seeds])
        p.append(sign_test(more, fewer))
    return [[*row, f"{each:.2g}"] for row, each in zip(rows, holm(p), strict=True)]


def _paired(key: str, one: str, other: str, runs: Any) -> Any:
    """Return a row for each range and seed, with the outcomes of both units."""
    places = [column for column in identifying(key) if column != "model"]
    own, others = (
        runs[runs["model"] == model].set_index(places)[["solved"]].astype(int)
        for model in (one, other)
    )
    return own.join(others.add_suffix(_OTHER), how="inner")


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
