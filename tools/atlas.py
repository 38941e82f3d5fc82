"""What the networks of kept runs compute, and why runs failed: tables and a picture of the page."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from stable_nalu.files import cells_of
from stable_nalu.inspection.failures import FAILURES, UNCLASSIFIED
from stable_nalu.inspection.formula import EXACT_VERDICTS, VERDICTS
from stable_nalu.layer import entries
from stable_nalu.options.layer_options import units_of
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.papers import FLAT
from stable_nalu.result.compare import places
from stable_nalu.result.document import UNKNOWN, plain, rate
from stable_nalu.result.judged import identifying, identity_of, runs_of
from stable_nalu.result.stored import formulas_of
from stable_nalu.statistics.intervals import wilson
from stable_nalu.statistics.judge import TEST
from stable_nalu.statistics.table import groups
from stable_nalu.task.run import task_of
from stable_nalu.training.task import Task

_INPUT = re.compile(r"\bx\d+\b")
Rows = list[dict[str, Any]]

CLASSES = (*FAILURES, UNCLASSIFIED)
NUDGED = "failures_nudged.csv"
"""The classes of runs that were trained again from start weights changed in the last bit."""


def by_run(key: str, path: Path) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the rows of a file about the runs of an experiment, by what tells runs apart."""
    names = identifying(key)
    return {tuple(row[name] for name in names): row for row in cells_of(path)}


def told_of(every: Mapping[str, pd.DataFrame], data: Path) -> pd.DataFrame:
    """Return a row for each kept run whose network was read, with its point as text."""
    rows: Rows = []
    for key, runs in every.items():
        path = formulas_of(key, data)
        if not path.exists():
            continue
        experiment, told = EXPERIMENTS[key], by_run(key, path)
        for model, point, _, group in places(experiment, runs):
            of = {"key": key, "model": model, "point": point}
            of["unit"] = unit_of(key, model)
            for run in group.to_dict("records"):
                if found := told.get(identity_of(experiment, run)):
                    rows.append(of | {"solved": _is_solved(run)} | found | {"model": model})
    return pd.DataFrame(rows).fillna({"failure": ""}) if rows else pd.DataFrame()


def read_of(every: Mapping[str, pd.DataFrame], told: pd.DataFrame) -> dict[str, Any]:
    """Return how many kept runs have a task with a formula, how many were read, and keys left."""
    tasks = {key: map(task_of, {m.script for m in EXPERIMENTS[key].models}) for key in every}
    seek = [key for key, own in tasks.items() if any(t.sought is not Task.sought for t in own)]
    counts = Counter(told["key"]) if len(told) else Counter()
    left = [f"`{key}`" for key in seek if counts[key] < len(every[key])]
    return {"rows": sum(len(every[k]) for k in seek), "told": len(told), "left": left}


def _is_solved(run: Mapping[Any, Any]) -> bool:
    """Return whether a run is solved; one that is not judged is, if its error beyond is flat."""
    return run["solved"] == 1 if "solved" in run else run.get(TEST, math.inf) < FLAT


@cache
def unit_of(key: str, model: str) -> str:
    """Return the label of a model; of one that names a setting, not a unit, that of its layer."""
    chosen = EXPERIMENTS[key].model(model)
    if any(entry.label in chosen.label for entry in entries().values()):
        return chosen.label
    (run, *_) = runs_of(chosen, chosen.seeds[:1], None)
    return entries()[units_of(run.config)[-1]].label


def verdicts(told: pd.DataFrame, *by: str) -> Rows:
    """Return how many runs have each verdict beside how many are solved, and how seeds agree."""
    rows: Rows = []
    for values, own in groups(told, list(by)) if len(told) else ():
        counts, is_exact = Counter(own["verdict"]), own["verdict"].isin(EXACT_VERDICTS)
        agree = sum(_most(one["formula"]) for _, one in groups(own, ["key", "model", "point"]))
        rows.append(
            dict(zip(by, values, strict=True))
            | {"runs": len(own), "solved": int(own["solved"].sum())}
            | {verdict: counts[verdict] for verdict in VERDICTS}
            | {"no formula": counts[""] or UNKNOWN}
            | {"solved, not exact": int((own["solved"] & ~is_exact).sum())}
            | {"exact, not solved": int((~own["solved"] & is_exact).sum())}
            | {"seeds agree": _percent(agree, len(own))}
        )
    return rows


def _percent(count: int, total: int) -> str:
    """Return a share in percent with its interval."""
    found = wilson(count, total)
    ends = (100 * share for share in (found.mean, found.lower, found.upper))
    return "{:.0f} [{:.0f}–{:.0f}]".format(*ends)


def _most(formulas: pd.Series) -> int:
    """Return how many seeds have the commonest formula; one that is not kept is like no other.

    Names of inputs count in their order only: a task reads others for each seed.
    """
    counts = Counter(_INPUT.sub(_Names(), formula) for formula in formulas if formula)
    return max(counts.values(), default=0)


class _Names(dict[str, str]):
    """New names of inputs, in the order in which they are asked for."""

    def __call__(self, found: re.Match[str]) -> str:
        return self.setdefault(found[0], f"x{len(self) + 1}")


def failures(told: pd.DataFrame, *by: str) -> Rows:
    """Return how many failed runs are of each class, with shares and their 95 % intervals."""
    failed = told.loc[told["failure"].ne("")] if len(told) else told
    rows: Rows = []
    for values, own in groups(failed, list(by)) if len(failed) else ():
        counts = Counter(own["failure"])
        for failure in CLASSES:
            found = wilson(counts[failure], len(own))
            ends = {"lower": f"{found.lower:.4f}", "upper": f"{found.upper:.4f}"}
            rows.append(
                dict(zip(by, values, strict=True))
                | {"failure": failure, "runs": counts[failure], "failed": len(own)}
                | {"share": f"{found.mean:.4f}"}
                | ends
            )
    return rows


def by_unit(told: pd.DataFrame) -> Rows:
    """Return a row for each unit with the share of each class, in percent with its interval."""
    found: dict[str, dict[str, Any]] = {}
    for row in failures(told, "unit"):
        of = found.setdefault(row["unit"], {"unit": plain(row["unit"]), "failed": row["failed"]})
        of[row["failure"]] = _percent(row["runs"], row["failed"]) if row["runs"] else UNKNOWN
    return sorted(found.values(), key=lambda row: -row["failed"])


def summed(told: pd.DataFrame) -> dict[str, Any]:
    """Return how many runs were read, failed, and failed with a class; and how many of each."""
    failed = told.loc[told["failure"].ne(""), "failure"].tolist() if len(told) else []
    counts = Counter(failed)
    classified = len(failed) - counts[UNCLASSIFIED]
    rows = [
        {"class": why, "rule": rule, "failed runs": rate(counts[why], len(failed))}
        for why, rule in FAILURES.items()
        if counts[why]
    ]
    return {"failed": len(failed), "classified": classified, "classes": rows}


def nudged(data: Path) -> dict[str, Any]:
    """Return how many runs keep their class when a start weight changes in its last bit."""
    path = data / NUDGED
    rows = cells_of(path) if path.exists() else []
    same = sum(row["failure"] == row["nudged"] for row in rows)
    keys = len({row["key"] for row in rows})
    return {"runs": len(rows), "same": rate(same, len(rows)) if rows else "", "experiments": keys}
