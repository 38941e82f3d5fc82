"""What the networks of kept runs compute: `formula/<key>.csv`, a row for each saved model."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from stable_nalu.inspection.formula import Certificate

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
    root = tensorboard_root()
    done = [run for run in runs if state_of(run, root) is State.DONE]
    for run in bar(done, unit="runs", what="formulas"):
        options = options_of(experiment, run) | {"model": run.model.key, "seed": run.seed}
        certificate = _certificate(run, root)
        told[identity_of(experiment, options)] = {} if certificate is None else _row(certificate)
    path, points = formulas_of(experiment.key, data), identifying(experiment.key)
    with locked(path):
        for row in cells_of(path) if path.exists() else []:
            told.setdefault(tuple(row[c] for c in points), dict(list(row.items())[len(points) :]))
        order = [tuple(row[c] for c in points) for row in cells_of(path_of(experiment.key, data))]
        rows = [dict(zip(points, one, strict=True)) | told[one] for one in order if told.get(one)]
        if rows:
            write_plain_frame(path, pd.DataFrame(rows))
    return path if rows else None


def _certificate(run: ExpectedRun, root: Path) -> Certificate | None:
    from stable_nalu.inspection.saved_model import load

    if run.config.script not in ARITHMETIC:
        return None
    try:
        return load(root / run.name).formula()
    except UsageError:
        return None


def _row(found: Certificate) -> dict[str, str]:
    row = found.row
    formula = row["formula"] if len(row["formula"]) <= LONGEST else ""
    return row | {"formula": formula, "largest.rounding": f"{found.change:.3g}"}
