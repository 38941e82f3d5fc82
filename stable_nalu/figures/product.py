"""What a kind gets, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stable_nalu.statistics.estimators import PUBLISHED, Estimators

from .entry import Series
from .source import Source
from .style import Palette

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Context:
    """The files of an entry and how a user wants it.

    setups: files of thresholds; none: the usual ones.
    stamp: text below every drawing, such as that the data are made up.
    memory: what parts of one entry share.
    """

    key: str
    series: Sequence[Series]
    source: Source
    setups: Sequence[Path] = ()
    estimators: Estimators = PUBLISHED
    palette: Palette = "safe"
    stamp: str = ""
    memory: dict[Any, Any] = field(default_factory=dict)

    def stem(self, pattern: str) -> str:
        """File name of a part, without ending."""
        return pattern.replace("{key}", self.key)


@dataclass(frozen=True)
class Product:
    """One drawing or table, not yet written.

    stem: its file name without ending.
    text: LaTeX, where it is a table.
    side: further tables by their whole file name without `.csv`.
    """

    stem: str
    figure: Figure | None = None
    text: str | None = None
    side: dict[str, pd.DataFrame] = field(default_factory=dict)
