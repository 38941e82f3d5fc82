"""What the networks of kept runs compute, and why runs failed: `formula/<key>.csv`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from stable_nalu.cluster.shard import State, state_of
from stable_nalu.console import bar
from stable_nalu.errors import UsageError
from stable_nalu.files import locked
from stable_nalu.machine import tensorboard_root
from stable_nalu.paper.experiment import ExpectedRun, Experiment
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.statistics.table import write_plain_frame
from stable_nalu.task import ARITHMETIC

from .judged import identifying, identity_of, options_of
from .records import cells_of
from .stored import path_of

CURVES = "failure_curves.csv"
"""The file of the error in the training range over the steps of one failed run of each class."""
COLUMNS = "verdict", "formula", "largest.rounding", "proof"
LONGEST = 120
"""Characters of a formula that is kept; a longer one says nothing to a reader."""


def formulas_of(key: str, data: Path) -> Path:
    """Return the file of what the kept runs of an experiment compute."""
    return data / "formula" / f"{EXPERIMENTS[key].stem}.csv"


def keep_formulas(experiment: Experiment, runs: Iterable[ExpectedRun], data: Path) -> Path | None:
    """Add what finished runs compute, and return the file; None where no run has a formula.

    What is kept of the same run is replaced; of others, and of runs that still train, it stays.
    """
    import pandas as pd

    told: dict[tuple[str, ...], dict[str, str]] = {}
    examples: dict[str, tuple[tuple[str, ...], Path]] = {}
    root, points = tensorboard_root(), identifying(experiment.key)
    kept = {tuple(r[c] for c in points): r for r in cells_of(path_of(experiment.key, data))}
    done = [run for run in runs if state_of(run, root) is State.DONE]
    for run in bar(done, unit="runs", what="formulas"):
        options = options_of(experiment, run) | {"model": run.model.key, "seed": run.seed}
        identity = identity_of(experiment, options)
        told[identity] = row = _row(root / run.name, kept.get(identity, {}))
        examples.setdefault(row.get("failure", ""), (identity, root / run.name))
    path = formulas_of(experiment.key, data)
    with locked(path):
        for row in cells_of(path) if path.exists() else []:
            told.setdefault(tuple(row[c] for c in points), dict(list(row.items())[len(points) :]))
        rows = [dict(zip(points, one, strict=True)) | told[one] for one in kept if told.get(one)]
        if rows:
            write_plain_frame(path, pd.DataFrame(rows))
    examples.pop("", None)
    _keep_curves(experiment, examples, data)
    return path if rows else None


def _keep_curves(
    experiment: Experiment, examples: Mapping[str, tuple[tuple[str, ...], Path]], data: Path
) -> None:
    """Keep the curve of a failed run of each class that has none yet."""
    import pandas as pd

    from stable_nalu.inspection.failures import UNCLASSIFIED, curve

    path, points = data / CURVES, identifying(experiment.key)
    with locked(path):
        rows: list[Mapping[str, object]] = list(cells_of(path)) if path.exists() else []
        for why in sorted({*examples} - {UNCLASSIFIED} - {row["failure"] for row in rows}):
            identity, folder = examples[why]
            of = dict(zip(points, identity, strict=True))
            run = " ".join(filter(None, (cell for name, cell in of.items() if name != "model")))
            told = {"failure": why, "key": experiment.key, "model": of["model"], "run": run}
            steps, errors = curve(folder)
            pairs = zip(steps, errors, strict=True)
            rows += [told | {"step": f"{at:.0f}", "error": f"{e:.4g}"} for at, e in pairs]
        if rows:
            write_plain_frame(path, pd.DataFrame(rows))


def _row(folder: Path, kept: Mapping[str, str]) -> dict[str, str]:
    """Return what the network of a run computes, and why it failed, if it did."""
    from stable_nalu.inspection.failures import curve, failure
    from stable_nalu.inspection.saved_model import load

    try:
        trained = load(folder)
    except UsageError:
        return {}
    if trained.config.script not in ARITHMETIC:
        return {}
    try:
        found = trained.formula()
    except UsageError:
        found, row = None, dict.fromkeys(COLUMNS, "")
    else:
        row = found.row | {"largest.rounding": f"{found.change:.3g}"}
        row["formula"] = row["formula"] if len(row["formula"]) <= LONGEST else ""
    failed = kept.get("solved") == "0"
    sparsity = float(kept.get("sparse.error.max") or "nan")
    why = (
        failure(trained.module, trained.inside, curve(folder)[1], found, sparsity) if failed else ""
    )
    return row | {"failure": why} if why or found else {}
