"""Ten digits of the test, and what cells have counted after each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stable_nalu.statistics.names import plain

from ..decoration import SMALL, footnote
from ..entry import Context, Drawn, Part, Size
from ..source import read_csv
from ..style import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DIGITS = Path(__file__).with_name("ten_digits.png")
"""The ten images of MNIST, beside each other, that runs on MNIST are shown at their end."""

_SHOWN = re.compile(r"metric\.test\.shown\.(\d+)\.(digit|\d+)")
_WRONG = "#D55E00"


@dataclass(frozen=True)
class RunningCounts(Part):
    """The images, below them a table for each model: its count of every digit after each image.

    models: labels of series. seed, loss: of the run.
    """

    KIND = "running counts"

    models: tuple[str, ...]
    seed: int = 0
    loss: str = "all"
    size: Size = (18.0, 13.0)

    def drawn(self, context: Context) -> Drawn:
        """Read what one run of each model told, and draw it below the images."""
        columns = ("name", "step", "seed", "sequence.loss")
        tables = context.tables(lambda path, _: read_csv(path, columns))
        told = {
            model: found
            for model in self.models
            if (found := self._told(tables.get(model))) is not None
        }
        figure = new_figure(self.size)
        grid = figure.subplots(
            2, max(1, len(told)), squeeze=False, height_ratios=(1, 9), sharex="col"
        )
        strip = np.hsplit(_strip(), 10)
        for (model, (labels, counts)), above, axes in zip(
            told.items(), grid[0], grid[1], strict=False
        ):
            above.set_title(model, fontweight="bold")
            _draw_images(above, strip)
            _draw_counts(axes, counts, _truth(labels))
        footnote(
            figure,
            "What cells tell of ten images of the test after each of them: how often each digit "
            f"was there. Orange: not the true count when rounded. Seed {self.seed}, "
            + ("trained on every step." if self.loss == "all" else "trained on the last step."),
        )
        side = pd.DataFrame(
            {"model": plain(model), "step": step + 1, "digit": digit, "count": counts[digit, step]}
            for model, (_, counts) in told.items()
            for digit in range(counts.shape[0])
            for step in range(counts.shape[1])
        )
        return figure, {f"{self.stem}_plot_data": side}

    def _told(self, table: pd.DataFrame | None) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the digits that were shown, and counts of each digit (10, 10) after each."""
        if table is None:
            return None
        own = table.loc[(table["seed"] == self.seed) & (table["sequence.loss"] == self.loss)]
        if own.empty:
            return None
        row = own.sort_values("step", kind="stable").iloc[-1]
        labels, counts = np.zeros(10, int), np.zeros((10, 10))
        for name, value in row.items():
            match = _SHOWN.fullmatch(str(name))
            if match and match[2] == "digit":
                labels[int(match[1]) - 1] = round(value)
            elif match:
                counts[int(match[2]), int(match[1]) - 1] = value
        return labels, counts


def _strip() -> np.ndarray:
    from PIL import Image

    with Image.open(DIGITS) as image:
        return np.asarray(image)


def _truth(labels: np.ndarray) -> np.ndarray:
    """Return how often each digit was there after each step, (10, steps)."""
    return (labels == np.arange(10)[:, None]).cumsum(1)


def _draw_images(axes: Axes, images: list[np.ndarray]) -> None:
    axes.set_axis_off()
    axes.set(ylim=(0.5, -0.5))
    for step, image in enumerate(images):
        box = (step - 0.46, step + 0.46, 0.5, -0.5)
        axes.imshow(image, cmap="gray_r", extent=box, aspect="auto", interpolation="antialiased")


def _draw_counts(axes: Axes, counts: np.ndarray, truth: np.ndarray) -> None:
    """Draw a cell for each digit and step, darker for higher counts."""
    axes.imshow(np.clip(counts, 0, None), cmap="Blues", vmin=0, vmax=2 * truth.max(), aspect="auto")
    axes.grid(visible=False)
    axes.set(xlim=(-0.5, 9.5), xticks=range(10), yticks=range(10), ylabel="Digit")
    axes.set_xticklabels([str(step) for step in range(1, 11)])
    axes.set_xlabel("Images seen")
    for digit, step in np.ndindex(*counts.shape):
        count, true = float(counts[digit, step]), int(truth[digit, step])
        right = np.isfinite(count) and round(count) == true
        if right and not true:
            continue
        axes.text(
            step, digit, f"{count:.1f}".replace("-", "−"), ha="center", va="center",
            fontsize=SMALL, color="black" if right else _WRONG,
            fontweight="normal" if right else "bold",
        )  # fmt: skip
