r"""Loss of a chain of two layers over one weight of each: computed, no file is read.

x = (1, 1.2, 1.8, 2),   t = (x1 + x2)(x1 + x2 + x3 + x4) = 13.2
z = ((w1, w1, 0, 0) x, (w1, w1, w1, w1) x),   y = unit(z; w2, w2)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..decoration import SMALL
from ..entry import INCH, Context, Drawn, Part, Size
from ..style import new_figure

X = np.array([1.0, 1.2, 1.8, 2.0])
TARGET = float((X[0] + X[1]) * X.sum())
STEP = 0.01
_STEEPNESS = 1000.0


@dataclass(frozen=True)
class Landscape(Part):
    """Loss over two weights, computed: no file is read."""

    KIND = "landscape"
    NEEDS = "nothing"

    loss: str
    epsilon: float
    title: str
    size: Size = (7 * INCH, 4.6 * INCH)

    def drawn(self, context: Context) -> Drawn:
        """Compute the loss on a grid and draw it."""
        weights = np.arange(-1.0, 1.0 - STEP / 2, STEP)
        w1, w2 = np.meshgrid(weights, weights, indexing="ij")
        return draw(self, w1, w2, loss(self, w1, w2)), {}


def predict(unit: str, z: np.ndarray, w2: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the output of a unit with both weights w2, for z of shape (2, ...)."""
    if unit == "nmu":
        return np.prod(z * w2 + 1 - w2, axis=0)
    power = (np.abs(z) + epsilon) ** w2
    if unit == "nac-mul":
        return np.prod(power, axis=0)
    gate = np.tanh(_STEEPNESS * w2) ** 2 if unit == "nru-tanh" else np.abs(w2)
    return np.prod(np.sign(z) * power * gate + 1 - gate, axis=0)


def loss(part: Landscape, w1: np.ndarray, w2: np.ndarray) -> np.ndarray:
    """Return |y - t|."""
    z = np.stack([w1 * X[:2].sum(), w1 * X.sum()])
    shift = np.abs(z) + part.epsilon if part.loss == "nmu" else z
    with np.errstate(over="ignore", divide="ignore"):
        return np.abs(predict(part.loss, shift, w2, part.epsilon) - TARGET)


def draw(part: Landscape, w1: np.ndarray, w2: np.ndarray, values: np.ndarray):
    """Draw a surface seen from a corner."""
    from mpl_toolkits.mplot3d.axes3d import Axes3D

    figure = new_figure(part.size, layout=None)
    axes = figure.add_subplot(projection="3d")
    assert isinstance(axes, Axes3D)
    surface = axes.plot_surface(
        w1, w2, values, cmap="Spectral", rcount=80, ccount=80, linewidth=0, rasterized=True
    )
    axes.view_init(elev=45, azim=-45)
    axes.set_xlabel("$w_1$")
    axes.set_ylabel("$w_2$")
    axes.set_zlabel("RMSE")
    axes.set_title(part.title)
    figure.colorbar(surface, ax=axes, shrink=0.6, pad=0.14)
    figure.text(
        0.5,
        0.02,
        f"Computed, no runs. Input {tuple(map(float, X))}, target {TARGET:g}.",
        ha="center",
        fontsize=SMALL,
        color="0.35",
    )
    return figure
