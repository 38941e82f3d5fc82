r"""Distribution of NAC weights, drawn at random: no file is read.

    W = tanh(W_hat) sigmoid(M_hat)

A start says what W_hat and M_hat are drawn from: both from one range, as an article has them, or as
a NAC of 100 inputs and 10 outputs begins its training.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .decoration import footnote
from .entry import INCH, Context, Product, kind
from .style import looks, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ARTICLE = "uniform"
STARTS = {
    ARTICLE: "Ŵ and M̂ from {range}",
    "nac": "Start of a NAC",
    "xavier-normal": "Xavier-normal start",
    "truncated-normal": "Start from a cut normal",
}
"""Start -> how its panel is called."""

INPUTS, OUTPUTS = 100, 10
COLUMNS = ("init", "bin.low", "bin.high", "count", "share")

_INITS = {"nac": "default", "xavier-normal": "xavier-normal", "truncated-normal": "truncated"}
"""Start -> the option `nalu_init` of the layer that begins so."""


@dataclass(frozen=True)
class Shares:
    """How many of the weights are close to the three values that they should have."""

    zero: float
    one: float
    minus_one: float
    deviation: float

    @classmethod
    def of(cls, w: np.ndarray) -> Shares:
        """Count weights within 0.05 of 0, above 0.95 and below -0.95."""
        zero, one, minus_one = (
            float(np.mean(near)) for near in (np.abs(w) < 0.05, w > 0.95, w < -0.95)
        )
        return cls(zero, one, minus_one, float(np.std(w)))

    def __str__(self) -> str:
        return (
            f"{100 * self.zero:.1f} % within 0.05 of 0, {100 * self.one:.1f} % above 0.95, "
            f"{100 * self.minus_one:.1f} % below −0.95, deviation {self.deviation:.3f}"
        )


@dataclass(frozen=True)
class Weights:
    """What weights are drawn from, and how many.

    ends: what the article's start draws from.
    """

    starts: tuple[str, ...] = tuple(STARTS)
    draws: int = 1000
    ends: tuple[float, float] = (-10, 10)
    bins: int = 100
    seed: int = 0

    def weights(self) -> dict[str, np.ndarray]:
        """Return the weights of every start."""
        return {start: self._of(start) for start in self.starts}

    def _of(self, start: str) -> np.ndarray:
        if start == ARTICLE:
            low, high = self.ends
            u = np.random.default_rng(self.seed).random((2, self.draws))
            u = low * (1 - u) + high * u  # Scaled so, ends may be as far apart as numbers go.
            # The tanh form of the sigmoid does not overflow.
            return np.tanh(u[1]) * (1 + np.tanh(u[0] / 2)) / 2
        import torch

        from stable_nalu.layer.nalu import NALULayer

        found: list[torch.Tensor] = []
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(self.seed)
            for _ in range(math.ceil(self.draws / (INPUTS * OUTPUTS))):
                layer = NALULayer(INPUTS, OUTPUTS, nalu_init=_INITS[start], dtype=torch.float64)
                found.append(layer.nac_add.weights().flatten())
        return torch.cat(found)[: self.draws].numpy()


@kind("weights", needs="nothing")
def weights(context: Context) -> Product:
    """Draw weights of every start, and then the figure."""
    part = Weights()
    return Product(context.stem, draw(part, part.weights()))


def edges(part: Weights) -> np.ndarray:
    """Return the ends of the bins, from -1 to 1."""
    return np.linspace(-1, 1, part.bins + 1)


def rows(part: Weights, weights: Mapping[str, np.ndarray]) -> list[dict[str, object]]:
    """Return the histogram of every start, a row per bin."""
    ends = edges(part)
    found: list[dict[str, object]] = []
    for start, w in weights.items():
        counts, _ = np.histogram(w, ends)
        for low, high, count in zip(ends, ends[1:], counts, strict=False):
            cells = (start, float(low), float(high), int(count), float(count / len(w)))
            found.append(dict[str, object](zip(COLUMNS, cells, strict=True)))
    return found


def draw(part: Weights, weights: Mapping[str, np.ndarray]) -> Figure:
    """Draw the first start large, and the others below each other at its right."""
    figure = new_figure((8 * INCH, 4 * INCH))
    others = len(weights) - 1
    ratios = (1.6, 1) if others else (1,)
    grid = figure.add_gridspec(max(others, 1), len(ratios), width_ratios=ratios)
    places = [grid[:, 0], *(grid[row, 1] for row in range(others))]
    shown = looks(tuple(weights))
    for number, ((start, w), place) in enumerate(zip(weights.items(), places, strict=True)):
        axes = figure.add_subplot(place)
        _histogram(axes, w, edges(part), shown[start].color)
        low, high = (f"{end:g}".replace("-", "−") for end in part.ends)
        title = STARTS[start].format(range=f"U({low}, {high})")
        of = Shares.of(w)
        axes.set_title(f"{title}: deviation {of.deviation:.3f}" if number else f"{title}\n{of}")
        if number in (0, others):
            axes.set_xlabel("Weight W")
        else:
            axes.tick_params(labelbottom=False)
    figure.axes[0].set_ylabel("Number of weights")
    footnote(
        figure,
        f"{part.draws:,} weights W = tanh(Ŵ) σ(M̂) each, {part.bins:,} bins.",
        f"A start is that of a layer of {INPUTS} inputs and {OUTPUTS} outputs."
        if set(weights) != {ARTICLE}
        else "",
    )
    return figure


def _histogram(axes: Axes, w: np.ndarray, ends: np.ndarray, color: str) -> None:
    counts, _ = np.histogram(w, ends)
    axes.stairs(counts, ends, fill=True, color=color)
    axes.set_xlim(-1.03, 1.03)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["−1", "−0.5", "0", "0.5", "1"])
    axes.grid(visible=False, axis="x")
