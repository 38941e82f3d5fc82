"""Several models on the same tasks and seeds: compared pair by pair, and ranked."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from . import latex
from .intervals import PairedTest, holm, p_value
from .setups import LEVEL


class Comparison(pd.DataFrame):
    """One row per pair of models; `p_holm` and `verdict` allow for the number of pairs."""

    def to_latex(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, *, caption: str | None = None, label: str | None = None
    ) -> str:
        """Return a table for a paper, which needs the package booktabs."""
        return latex.of_tests(self.to_dict("records"), caption, label)

    def __repr__(self) -> str:
        return self.to_string()


def compared(tests: Sequence[PairedTest]) -> Comparison:
    adjusted = holm([test.p for test in tests])
    pairs = zip(tests, adjusted, strict=True)
    return Comparison([test.row | replace(test, p=p).row | {"p": test.p} for test, p in pairs])


class Ranks(NamedTuple):
    """Mean ranks, the best first, and p of each pair of models, adjusted by Holm's method."""

    mean: pd.Series
    p: dict[tuple[str, str], float]

    @property
    def alike(self) -> list[tuple[str, ...]]:
        """Return the largest groups of neighbours of which no two differ significantly."""
        models, found = list(self.mean.index), list[tuple[str, ...]]()
        for first in range(len(models)):
            last = first
            while last + 1 < len(models) and self._agree(models[first : last + 2]):
                last += 1
            group = tuple(models[first : last + 1])
            if len(group) > 1 and not (found and set(group) <= set(found[-1])):
                found.append(group)
        return found

    def _agree(self, models: Sequence[str]) -> bool:
        return all(self.p[pair] >= LEVEL for pair in itertools.combinations(models, 2))


def ranked(steps: pd.DataFrame) -> Ranks:
    """Return ranks by the step at which tasks are solved; equal ones share their mean rank.

    p is exact: it exchanges the ranks of two models in whole seeds, of one seed in whole tasks.

    steps: a row per task and seed, the last level of the index, and a column per model. A run that
        did not solve its task is missing, and stands behind those that did.
    """
    ranks = steps.fillna(np.inf).rank(axis=1)
    mean = ranks.mean().sort_values(kind="stable")
    seeds = [str(key) for key in steps.index.get_level_values(-1)]
    units = seeds if len(set(seeds)) > 1 else list(map(str, range(len(seeds))))
    # Twice a rank is a whole number.
    twice = (2 * ranks).astype(int)
    pairs = list(itertools.combinations(mean.index, 2))
    tests = [p_value(units, [*zip(twice[a], twice[b], strict=True)]) for a, b in pairs]
    return Ranks(mean, dict(zip(pairs, holm(tests), strict=True)))
