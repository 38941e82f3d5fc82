"""What the kept runs show and no paper tells: pairs of units, ranges, early success, changes.

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
    "Hyper-parameters: what a change does on the same ranges and seeds, as difference of the rates "
    "behind and before it. Ranges: in how many of them more seeds are solved, and in how many "
    "fewer; the sign test asks whether both are equally likely. Where neither is 0, the change "
    "helps in one range and harms in another.",
    "Sooner: of the seeds that are solved before and behind the change, and not at the same step, "
    "how many are solved earlier behind it.",
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
EFFECTS = (
    *(
        ("nips-realnpu-L1_sweep", "penalty", "1e-9_1e-7", end)
        for end in ("1e-11_1e-9", "1e-7_1e-5")
    ),
    ("nips-realnpu-L1_sweep", "penalty", "1e-7_1e-5", "1e-5_1e-3"),
    ("nips-realnpu-L2", "norm of the penalty", "realnpu_baseline", "L2"),
    *(
        ("nips-realnpu-clipping", "clipping", "realnpu_baseline", clip)
        for clip in ("clip-G", "clip-W", "clip-GW")
    ),
    ("nips-realnpu-discretisation", "penalty that makes discrete", "clip-GW", "G1"),
    ("nips-realnpu-discretisation", "penalty that makes discrete", "G1", "G1-W1"),
    ("nips-realnpu-init", "start weights", "G1-W1", "XUC"),
    ("nips-in2-realnpu-lr", "learning rate", "realnpu-lr-5e-4", "realnpu_modified"),
    ("nips-in2-realnpu-lr", "learning rate", "realnpu_modified", "realnpu-lr-5e-2"),
    ("nips-in2-realnpu-lr", "learning rate", "realnpu-lr-5e-2", "realnpu-lr-5e-1"),
    ("nips-in2-nru-lr", "learning rate", "nru-lr-1e-3", "nru-lr-1e-2"),
    ("nips-in2-nru-lr", "learning rate", "nru-lr-1e-2", "nru-lr-1e-1"),
    ("nips-in2-nru-lr", "learning rate", "nru-lr-1e-1", "nru"),
    ("nips-in10-nmru-lr", "learning rate", "nmru-lr-1e-3", "sign-nmru"),
    ("nips-in10-nmru-lr", "learning rate", "sign-nmru", "nmru-lr-1e-1"),
    ("nips-in10-nmru-optimiser", "optimiser", "nmru-sgd", "sign-nmru"),
    ("nips-in10-nmru-ablation", "clipping of gradients", "sign-nmru_gnc-F", "sign-nmru"),
    ("nips-in10-nmru-ablation", "sign", "nmru_gnc-1", "sign-nmru"),
    ("nips-in10-nmru-ablation", "gate", "sign-nmru", "sign-nmru_gnc-1_gate-1"),
    (
        "nips-in10-realnpu-W-reg",
        "targets of the penalty",
        "realnpu_modified",
        "realnpu_modified_W-nau-reg",
    ),
    ("nips-in10-nru-separate-mag-sign", "magnitude and sign", "nru", "nru-sepSign"),
    *(
        (f"nips-sltr-in10-losses-{name}", "loss", unit, f"{unit}_{loss}")
        for name, unit in (("realnpu", "realnpu_modified"), ("nru", "nru"), ("nmru", "sign-nmru"))
        for loss in ("pcc", "mape")
    ),
)
"""Experiment, a hyper-parameter in words, and the models before and behind its change."""
PAIR_HEAD = ("experiment", "units", "pairs", "only the first", "only the second", "difference", "p")
RANGE_HEAD = ("experiment", "unit", "most often", "least often", "in between")
EARLY_HEAD = ("experiment", "unit", "solved, of early runs", "solved, of the others")
LATE_HEAD = ("experiment", "unit", "median step", "latest", "later than twice the median")
EFFECT_HEAD = ("experiment", "change", "difference", "ranges: more, fewer", "sign test", "sooner")
_OTHER = " of the other"
_EARLY = 0.2
_STEP = "extrapolation.step.solved"


def section(data: Path = DATA) -> list[str]:
    """Return the part of the page; nothing where none of the runs are kept."""
    keys = dict.fromkeys(key for key, *_ in (*PAIRS, *UNITS, *EFFECTS))
    runs = {key: read(key, data) for key in keys if path_of(key, data).exists()}
    kept = {(key, unit) for key, table in runs.items() for unit in table["model"].unique()}
    pairs = [(key, *both) for key, *both in PAIRS if {(key, unit) for unit in both} <= kept]
    units = [one for one in UNITS if one in kept]
    effects = [each for each in EFFECTS if {(each[0], unit) for unit in each[2:]} <= kept]
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
        table(EFFECT_HEAD, [_effect(*each, runs[each[0]]) for each in effects]),
    ]


def _names(key: str, *models: str) -> list[str]:
    experiment = find(key)
    labels = ", ".join(experiment.model(model).label for model in models)
    return [f"[{plain(key)}](#{experiment.stem})", plain(labels)]


def _pair(key: str, one: str, other: str, runs: Any) -> list[str]:
    """Return the row of two units whose runs are paired by range and seed."""
    pairs = _outcomes(_paired(key, one, other, runs))
    won = sum(a and not b for a, b in pairs)
    lost = sum(b and not a for a, b in pairs)
    gap = points(paired_difference(pairs))
    counts = str(len(pairs)), str(won), str(lost)
    return [*_names(key, one, other), *counts, gap, _sign_test(won, lost)]


def _paired(key: str, one: str, other: str, runs: Any) -> Any:
    """Return a row for each range and seed, with the columns of both units."""
    places = [column for column in identifying(key) if column != "model"]
    sides = [runs[runs["model"] == m].set_index(places) for m in (one, other)]
    own, others = (side[["solved", _STEP]] for side in sides)
    return own.join(others.add_suffix(_OTHER), how="inner")


def _outcomes(both: Any) -> list[tuple[bool, bool]]:
    return [(bool(a), bool(b)) for a, b in both[["solved", f"solved{_OTHER}"]].to_numpy()]


def _sign_test(more: int, fewer: int) -> str:
    """Return McNemar's exact p of discordant pairs, which is that of the sign test."""
    from scipy.stats import binomtest

    return f"{float(binomtest(more, more + fewer).pvalue) if more + fewer else 1.0:.2g}"


def _effect(key: str, what: str, before: str, behind: str, runs: Any) -> list[str]:
    """Return the row of a change, whose sign is that of `behind` less `before`."""
    both = _paired(key, behind, before, runs)
    of_range = both.groupby("interpolation.range")
    gains = of_range["solved"].sum() - of_range[f"solved{_OTHER}"].sum()
    more, fewer = int((gains > 0).sum()), int((gains < 0).sum())
    steps = both[(both["solved"] == 1) & (both[f"solved{_OTHER}"] == 1)]
    sooner = int((steps[_STEP] < steps[f"{_STEP}{_OTHER}"]).sum())
    later = int((steps[_STEP] > steps[f"{_STEP}{_OTHER}"]).sum())
    experiment, (link, _) = find(key), _names(key)
    labels = " → ".join(plain(experiment.model(model).label) for model in (before, behind))
    return [
        link,
        f"{what}: {labels}",
        points(paired_difference(_outcomes(both))),
        f"{more}, {fewer} of {len(gains)}",
        _sign_test(more, fewer),
        rate(sooner, sooner + later) if sooner + later else "none",
    ]


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
