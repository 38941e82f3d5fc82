"""What the kept runs show and no paper tells: tests of pairs of units, early and late success.

`python3 -m tools.unpublished` prints this part of the page.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stable_nalu.paper.index import find
from stable_nalu.result.document import filled, plain, points, rate
from stable_nalu.result.judged import identifying
from stable_nalu.result.stored import DATA, path_of, read
from stable_nalu.statistics.intervals import holm, paired_difference, sign_test

TEMPLATE = Path(__file__).parent / "templates" / "unpublished.md"
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
_OTHER = " of the other"
_EARLY = 0.2
_STEP = "extrapolation.step.solved"


def section(data: Path = DATA) -> str:
    """Return the part of the page; nothing where none of the runs are kept."""
    keys = dict.fromkeys(key for key, *_ in (*PAIRS, *UNITS))
    runs = {key: read(key, data) for key in keys if path_of(key, data).exists()}
    kept = {(key, unit) for key, table in runs.items() for unit in table["model"].unique()}
    pairs = [pair for pair in PAIRS if {(pair[0], unit) for unit in pair[1:]} <= kept]
    units = [one for one in UNITS if one in kept]
    if not (pairs and units):
        return ""
    found = {(key, unit): runs[key][runs[key]["model"] == unit] for key, unit in units}
    return filled(
        TEMPLATE,
        pairs=_pairs(pairs, runs),
        early=[_named("unit", *of) | _early(own) for of, own in found.items()],
        late=[_named("unit", *of) | _late(own) for of, own in found.items()],
    )


def _named(column: str, key: str, *models: str) -> dict[str, str]:
    experiment = find(key)
    labels = ", ".join(experiment.model(model).label for model in models)
    return {"experiment": f"[{plain(key)}](#{experiment.stem})", column: plain(labels)}


def _pairs(pairs: Sequence[tuple[str, str, str]], runs: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return a row for every two units; seeds are the clusters of their tests."""
    rows, p = [], []
    for key, one, other in pairs:
        both = _paired(key, one, other, runs[key])
        of_seed = both.groupby("seed").sum()
        ahead = of_seed["solved"] - of_seed[f"solved{_OTHER}"]
        more, fewer = int((ahead > 0).sum()), int((ahead < 0).sum())
        gap = paired_difference([(bool(a), bool(b)) for a, b in both.to_numpy()])
        cells = {"runs": str(len(both)), "difference": points(gap)}
        cells["seeds: first ahead, second ahead"] = f"{more}, {fewer} of {len(ahead)}"
        rows.append(_named("units", key, one, other) | cells)
        p.append(sign_test(more, fewer))
    return [row | {"p": f"{each:.2g}"} for row, each in zip(rows, holm(p), strict=True)]


def _paired(key: str, one: str, other: str, runs: Any) -> Any:
    """Return a row for each range and seed, with the outcomes of both units."""
    places = [column for column in identifying(key) if column != "model"]
    own, others = (
        runs[runs["model"] == model].set_index(places)[["solved"]].astype(int)
        for model in (one, other)
    )
    return own.join(others.add_suffix(_OTHER), how="inner")


def _early(own: Any) -> dict[str, str]:
    early = own[_STEP] <= _EARLY * own["iterations"]
    parts = {"solved, of early runs": own[early], "solved, of the others": own[~early]}
    return {
        name: rate(int(runs["solved"].sum()), len(runs)) if len(runs) else "no such run"
        for name, runs in parts.items()
    }


def _late(own: Any) -> dict[str, str]:
    names = ("median step", "latest", "later than twice the median")
    steps = own.loc[own["solved"] == 1, _STEP]
    if steps.empty:
        return dict.fromkeys(names, "no run is solved")
    late = rate(int((steps > 2 * steps.median()).sum()), len(steps))
    cells = (f"{steps.median():,.0f}", f"{steps.max():,.0f}", late)
    return dict(zip(names, cells, strict=True))


if __name__ == "__main__":
    sys.stdout.write(section())
