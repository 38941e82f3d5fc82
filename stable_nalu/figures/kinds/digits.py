"""What the figures of pairs of digits share: reading, and one row a run."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from stable_nalu.errors import UsageError

from ..product import Context
from ..source import read_csv, with_names

LAST_ROWS = 10


def read_digits(context: Context) -> tuple[pd.DataFrame, list[str], tuple[str, ...]]:
    """Rows of all files, labels in their order, and those without data."""
    tables, labels, missing = [], [], []
    for one in context.series:
        label = one.label or one.files[0]
        labels.append(label)
        path = context.source.expect(one.files, (label,))
        if path is None:
            missing.append(label)
            continue
        table = with_names(read_csv(path, ("name", "epoch")), "two-digit", path)
        table["model"] = label
        tables.append(table)
    if not tables:
        raise UsageError(f"nothing to draw: {'; '.join(context.source.warnings)}")
    return pd.concat(tables, ignore_index=True), labels, tuple(missing)


def chosen_rows(rows: pd.DataFrame, best: str | None) -> pd.DataFrame:
    """One row a run: the last epoch, or the largest value of a column among the last rows."""
    picked = []
    for _, run in rows.sort_values("epoch", kind="stable").groupby(["model", "name"], sort=False):
        if best is None or best not in run or bool(run.loc[:, best].isna().all()):
            picked.append(run.iloc[-1])
        else:
            last = run.iloc[-LAST_ROWS:]
            picked.append(last.loc[last[best].idxmax()])
    return pd.DataFrame(picked).reset_index(drop=True)


def model_places(labels: Sequence[str], order: Sequence[str]) -> list[str]:
    """Labels in a fixed order; those that it lacks come after."""
    return [m for m in order if m in labels] + [m for m in labels if m not in order]
