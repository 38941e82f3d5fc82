"""Groups of rows of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast

import pandas as pd

Key = tuple[Any, ...]


def groups(table: pd.DataFrame, by: Iterable[str]) -> Iterator[tuple[Key, pd.DataFrame]]:
    """Values of the columns `by` and the rows that have them, in order of appearance.

    A missing value is a value.
    """
    for key, group in table.groupby(list(by), sort=False, dropna=False, observed=True):
        yield cast(Key, key), group
