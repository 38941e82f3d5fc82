"""Compact results that are kept: `<key>.csv`, one row per run, from which every number follows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from stable_nalu.cluster.shard import State, state_of
from stable_nalu.errors import OptionError, UsageError
from stable_nalu.files import locked
from stable_nalu.machine import data_file, tensorboard_root
from stable_nalu.paper.experiment import ExpectedRun, Experiment
from stable_nalu.paper.index import EXPERIMENTS

from .judged import compact, identifying, outcome_columns, point_columns
from .records import Session, add_sessions, read_sessions

if TYPE_CHECKING:
    import pandas as pd

DATA = data_file("docs/reproduction/data")


def path_of(key: str, data: Path = DATA) -> Path:
    """Return the file of the kept runs of an experiment."""
    return data / f"{EXPERIMENTS[key].stem}.csv"


def cost_of(key: str, data: Path = DATA) -> Path:
    """Return the file of what they cost."""
    return data / "cost" / f"{EXPERIMENTS[key].stem}.csv"


def kept_keys(data: Path = DATA, measured: bool | None = None) -> list[str]:
    """Return the keys of experiments with kept runs, in the order of the catalogue.

    measured: only those with measures, or only those with verdicts; None: both.
    """
    found = [one for one in EXPERIMENTS.values() if path_of(one.key, data).exists()]
    return [one.key for one in found if measured in (None, one.is_measured)]


def keep(
    experiment: Experiment,
    judged: pd.DataFrame,
    expected: Iterable[ExpectedRun],
    sessions: Iterable[Session],
    data: Path = DATA,
) -> pd.DataFrame:
    """Add the finished runs of a reproduction to what is kept of it, and return what is kept then.

    judged: one row per run. expected: the same runs, as planned, below the present log folder.
    """
    import pandas as pd

    root = tensorboard_root()
    states = {(run.model.key, run.leaf): state_of(run, root) for run in expected}
    rows = judged.to_dict("records")
    done = [row for row in rows if states[row["model"], row["name"]] is State.DONE]
    if not experiment.is_measured:
        done = list(map(compact, done))
    return add(experiment, pd.DataFrame(done), sessions, data)


def add(
    experiment: Experiment, new: pd.DataFrame, sessions: Iterable[Session], data: Path = DATA
) -> pd.DataFrame:
    """Add rows of runs to what is kept; a run that is there already is replaced."""
    from stable_nalu.statistics.table import write_plain_frame

    path = path_of(experiment.key, data)
    if new.empty and not path.exists():
        raise UsageError(f"no run of {experiment.key} is finished; there is nothing to keep")
    with locked(path):
        table = _merged(experiment, new, data)
        write_plain_frame(path, table.map(_whole))
    add_sessions(cost_of(experiment.key, data), sessions)
    return table


def _merged(experiment: Experiment, new: pd.DataFrame, data: Path) -> pd.DataFrame:
    """Return what is kept, in order, with other rows added or in place of the same runs."""
    import pandas as pd

    path = path_of(experiment.key, data)
    if path.exists():
        old = read(experiment.key, data)
        if len(new):
            _refuse_shorter(experiment, old, new, path)
        new = pd.concat([new, old], ignore_index=True) if len(new) else old
        new = new.drop_duplicates(identifying(experiment.key))
    columns = [*identifying(experiment.key), "iterations", *outcome_columns(experiment, new)]
    return _in_order(experiment, new.loc[:, columns])


def _refuse_shorter(
    experiment: Experiment, old: pd.DataFrame, new: pd.DataFrame, path: Path
) -> None:
    """Refuse to replace kept runs by shorter ones of the same seeds."""
    import pandas as pd

    both = pd.concat([new.assign(_new=True), old.assign(_new=False)], ignore_index=True)
    longest = both.groupby(identifying(experiment.key), dropna=False)["iterations"].transform("max")
    shorter = int((both["_new"] & (both["iterations"] < longest)).to_numpy().sum())
    if shorter:
        problem = f"{path} has {shorter} of these runs with more iterations"
        raise OptionError("--keep", problem, "name another folder with --data")


def _in_order(experiment: Experiment, table: pd.DataFrame) -> pd.DataFrame:
    """Sort by model as in the catalogue, then as the runs came, seeds ascending."""
    models = [model.key for model in experiment.models]
    points = ["model", *point_columns(experiment.key)]
    place = table.groupby(points, sort=False, dropna=False).ngroup()
    keyed = table.assign(_model=table["model"].map(models.index), _point=place)
    ordered = keyed.sort_values(["_model", "_point", "seed"], kind="stable")
    return ordered.drop(columns=["_model", "_point"]).reset_index(drop=True)


def _whole(value: object) -> object:
    """Return a cell, a whole number as text without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return value


def read(key: str, data: Path = DATA) -> pd.DataFrame:
    """Read the kept runs of an experiment, one per row."""
    from stable_nalu.statistics.table import numeric, read_table, refuse_rows, require

    path = path_of(key, data)
    table = read_table(path)
    told = outcome_columns(EXPERIMENTS[key], table)
    require(table, (*identifying(key), "iterations", *told), path, "a table of kept runs")
    table = numeric(table, ("seed", "iterations", *told), path)
    for column in ("seed", "iterations"):
        refuse_rows(table[column] % 1 != 0, table, column, path, "no whole number")
    for column in {"solved", "diverged"} & set(told):
        refuse_rows(~table[column].isin([0, 1]), table, column, path, "neither 0 nor 1")
    return table.astype({"seed": int, "iterations": int})


def sessions_of(key: str, data: Path = DATA) -> list[Session]:
    """Read when and where the kept runs were trained, as far as under this key."""
    return read_sessions(cost_of(key, data))
