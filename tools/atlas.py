"""What the networks of kept runs compute, and why runs failed: tables and a picture of the page."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from stable_nalu.base.papers import FLAT
from stable_nalu.inspection.formula import EXACT_VERDICTS, VERDICTS
from stable_nalu.inspection.saved_model import FAILURES, UNCLASSIFIED
from stable_nalu.layer import entries
from stable_nalu.options.flags import units_of
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.result.document import UNKNOWN, plain, rate
from stable_nalu.result.judged import identifying, identity_of, options_of, places, runs_of
from stable_nalu.result.stored import Cells, formulas_of
from stable_nalu.statistics import intervals as by_seed
from stable_nalu.statistics.intervals import Estimate
from stable_nalu.statistics.table import TEST, groups
from stable_nalu.task.table import TASKS
from stable_nalu.training.task import Task

from . import grouped, rows_in

_INPUT = re.compile(r"\bx\d+\b")
Rows = list[dict[str, Any]]

CLASSES = (*FAILURES, UNCLASSIFIED)
NUDGED = "failures_nudged.csv"
"""The classes of runs that were trained again from start weights changed in the last bit."""


def by_run(key: str, rows: Iterable[Cells]) -> dict[tuple[str, ...], Cells]:
    """Return rows by what tells the runs of an experiment apart."""
    names = identifying(key)
    return {tuple(row[name] for name in names): row for row in rows}


def name_of(identity: Iterable[str]) -> str:
    """Return what tells a run apart from others of its model, as one text."""
    _, *place = identity
    return " ".join(filter(None, place))


def explained_runs(every: Mapping[str, pd.DataFrame], data: Path) -> pd.DataFrame:
    """Return a row for each kept run whose network was read, with its point as text."""
    rows: Rows = []
    for key, runs in every.items():
        experiment, explained = EXPERIMENTS[key], by_run(key, rows_in(formulas_of(key, data)))
        if not explained:
            continue
        for model, point, _, group in places(experiment, runs):
            of = {"key": key, "model": model, "point": point}
            of["unit"] = unit_of(key, model)
            settings = settings_of(key, model)
            for run in group.to_dict("records"):
                *place, seed = identity_of(experiment, run)
                if found := explained.get((*place, seed)):
                    own = {"run": (settings[*place], run["iterations"], seed), **found}
                    own["name"] = name_of((*place, seed))
                    # A run that is not judged is solved if its error beyond is flat.
                    solved = run.get("solved", run.get(TEST, math.inf) < FLAT) == 1
                    rows.append(of | {"solved": solved} | own | {"model": model})
    always = ["key", "model", "point", "unit", "name", "run", "seed", "failure"]
    return pd.DataFrame(rows, columns=None if rows else always).fillna({"failure": ""})


_NO_SETTING = {"name_prefix", "id", "seed", "log_interval", "max_iterations", "engine", "no_cuda"}


@cache
def settings_of(key: str, model: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return all that decides a run but its seed and length, by what tells runs apart."""
    experiment, found = EXPERIMENTS[key], {}
    chosen = experiment.model(model)
    for run in runs_of(chosen, chosen.seeds[:1], None):
        place = identity_of(experiment, options_of(experiment, run) | {"model": model})
        config = {k: v for k, v in run.config.as_dict().items() if k not in _NO_SETTING}
        found[place[:-1]] = (chosen.script, *map(str, config.items()))
    return found


def once(explained: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each run; figures that share runs repeat them."""
    return explained.drop_duplicates("run")


def read_of(every: Mapping[str, pd.DataFrame], explained: pd.DataFrame) -> dict[str, Any]:
    """Return how many kept runs have a task with a formula, how many were read, and keys left."""
    tasks = {key: {TASKS[m.script] for m in EXPERIMENTS[key].models} for key in every}
    seek = [key for key, own in tasks.items() if any(t.target is not Task.target for t in own)]
    counts = Counter(explained["key"])
    left = [f"`{key}`" for key in seek if counts[key] < len(every[key])]
    sums = {"rows": sum(len(every[k]) for k in seek), "explained": len(explained)}
    return sums | {"runs": len(once(explained)), "left": left}


@cache
def unit_of(key: str, model: str) -> str:
    """Return the label of a model; of one that names a setting, not a unit, that of its layer."""
    chosen = EXPERIMENTS[key].model(model)
    if any(entry.label in chosen.label for entry in entries().values()):
        return chosen.label
    (run, *_) = runs_of(chosen, chosen.seeds[:1], None)
    return entries()[units_of(run.config)[-1]].label


def verdicts(explained: pd.DataFrame, *by: str) -> Rows:
    """Return how many runs have each verdict beside how many are solved, and how seeds agree."""
    rows: Rows = []
    for values, own in groups(explained, by):
        counts, is_exact = Counter(own["verdict"]), own["verdict"].isin(EXACT_VERDICTS)
        agree = sum(_most(one["formula"]) for _, one in groups(own, ["key", "model", "point"]))
        row = dict(zip(by, values, strict=True))
        row |= {"runs": len(own), "solved": int(own["solved"].sum())}
        row |= {verdict: counts[verdict] for verdict in VERDICTS}
        row["no formula"] = counts[""] or UNKNOWN
        row["solved, not exact"] = int((own["solved"] & ~is_exact).sum())
        row["exact, not solved"] = int((~own["solved"] & is_exact).sum())
        rows.append(row | {"seeds agree": f"{100 * agree / len(own):.0f}"})
    return rows


def _most(formulas: pd.Series) -> int:
    """Return how many seeds have the commonest formula; one that is not kept is like no other.

    Names of inputs count in their order only: a task reads others for each seed.
    """
    counts: Counter[str] = Counter()
    for formula in filter(None, formulas):
        names = {name: f"x{k}" for k, name in enumerate(dict.fromkeys(_INPUT.findall(formula)))}
        counts[_INPUT.sub(lambda found, names=names: names[found[0]], formula)] += 1
    return max(counts.values(), default=0)


def failures(explained: pd.DataFrame, *by: str) -> Rows:
    """Return how many failed runs are of each class, with shares and their 95 % intervals."""
    rows: Rows = []
    for values, own in groups(explained.loc[explained["failure"].ne("")], by):
        for failure in CLASSES:
            share = _share(own, failure)
            ends = {"share": share.mean, "lower": share.lower, "upper": share.upper}
            row = dict(zip(by, values, strict=True)) | {"failure": failure}
            row |= {"runs": int(own["failure"].eq(failure).sum()), "failed": len(own)}
            rows.append(row | {name: f"{end:.4f}" for name, end in ends.items()})
    return rows


def _share(failed: pd.DataFrame, failure: str) -> Estimate:
    """Return the share of a class, with the interval of whole seeds."""
    return by_seed.rate(failed["seed"].tolist(), failed["failure"].eq(failure).tolist())


def by_unit(explained: pd.DataFrame) -> Rows:
    """Return a row for each unit with the share of each class, in percent with its interval."""
    found, failed = [], once(explained.loc[explained["failure"].ne("")])
    for unit, own in grouped(failures(failed, "unit"), lambda row: row["unit"]):
        found.append({"unit": plain(unit), "failed": own[0]["failed"]})
        for row in own:
            ends = (100 * float(row[name]) for name in ("share", "lower", "upper"))
            text = "{:.0f} [{:.0f}–{:.0f}]".format(*ends) if row["runs"] else UNKNOWN
            found[-1][row["failure"]] = text
    return sorted(found, key=lambda row: -row["failed"])


def summed(explained: pd.DataFrame) -> dict[str, Any]:
    """Return how many rows and runs failed, how many runs have a class, and how many each."""
    rows = explained.loc[explained["failure"].ne("")]
    failed = once(rows)
    counts, n = Counter(failed["failure"]), len(failed)
    classes = [
        {"class": why, "rule": rule, "failed runs": rate(counts[why], n, _share(failed, why))}
        for why, rule in FAILURES.items()
        if counts[why]
    ]
    classified = n - counts[UNCLASSIFIED]
    return {"rows": len(rows), "failed": n, "classified": classified, "classes": classes}


def nudged(explained: pd.DataFrame, data: Path) -> dict[str, Any]:
    """Return how many runs keep their class when a start weight changes in its last bit."""
    rows = rows_in(data / NUDGED) if len(explained) else []
    runs = explained.set_index(["key", "model", "name"])["run"].to_dict() if rows else {}
    found = {runs.get((row["key"], row["model"], row["run"]), row["run"]): row for row in rows}
    same = [row["failure"] == row["nudged"] for row in found.values()]
    seeds = [row["run"].rpartition(" ")[2] for row in found.values()]
    shown = rate(sum(same), len(same), by_seed.rate(seeds, same)) if rows else ""
    return {"runs": len(same), "same": shown, "experiments": len({row["key"] for row in rows})}
