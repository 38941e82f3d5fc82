"""Where a reproduction keeps its files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Workspace:
    """Folders below `out`; a shortened reproduction has a set of its own."""

    out: Path
    max_iterations: int | None = None

    @property
    def base(self) -> Path:
        """The folder that holds everything."""
        if self.max_iterations is None:
            return self.out.absolute()
        return self.out.absolute() / f"iterations-{self.max_iterations}"

    @property
    def tensorboard(self) -> Path:
        """Run folders."""
        return self.base / "tensorboard"

    @property
    def save(self) -> Path:
        """Models and checkpoints."""
        return self.base / "save"

    @property
    def csv(self) -> Path:
        """Exported tables; the figures' commands call it the CSV folder."""
        return self.base / "csv"

    @property
    def figures(self) -> Path:
        """Figures and tables."""
        return self.base / "figures"

    @property
    def summaries(self) -> Path:
        """Summaries and comparisons."""
        return self.base / "summary"

    @property
    def logs(self) -> Path:
        """Output of the training processes."""
        return self.base / "logs"

    def use(self) -> None:
        """Let this process and those it starts log and save here."""
        os.environ["TENSORBOARD_DIR"] = str(self.tensorboard)
        os.environ["SAVE_DIR"] = str(self.save)
