"""The cubic spline of R's `splinefun(method = "fmm")`, after Forsythe, Malcolm and Moler (1977).

Its end pieces follow the cubic through the four outermost points. `scipy.interpolate.CubicSpline`
has other end conditions (not-a-knot, clamped, natural), and other values near the ends.
"""

from __future__ import annotations

import numpy as np


def end_cubic_spline(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Interpolate at least four points (x, y), x rising, at the places `at`.

    The third derivative of the first (last) piece is that of the cubic through the first (last)
    four points.
    """
    curvature = np.linalg.solve(*_curvature_equations(x, y))
    width = np.diff(x)
    piece = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    h, left, right = width[piece], at - x[piece], x[piece + 1] - at
    bend = curvature[piece] * right**3 + curvature[piece + 1] * left**3
    level_left = y[piece] / h - curvature[piece] * h / 6
    level_right = y[piece + 1] / h - curvature[piece + 1] * h / 6
    return bend / (6 * h) + level_left * right + level_right * left


def _curvature_equations(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return matrix and right-hand side of the equations of the curvatures at the points."""
    size = len(x)
    width = np.diff(x)
    slope = np.diff(y) / width
    matrix, side = np.zeros((size, size)), np.zeros(size)
    for i in range(1, size - 1):
        matrix[i, i - 1 : i + 2] = width[i - 1] / 6, (width[i - 1] + width[i]) / 3, width[i] / 6
        side[i] = slope[i] - slope[i - 1]
    matrix[0, :2] = matrix[-1, -2:] = -1, 1
    side[0] = 6 * width[0] * _third_difference(x[:4], y[:4])
    side[-1] = 6 * width[-1] * _third_difference(x[-4:], y[-4:])
    return matrix, side


def _third_difference(x: np.ndarray, y: np.ndarray) -> float:
    first = np.diff(y) / np.diff(x)
    second = np.diff(first) / (x[2:] - x[:-2])
    return (second[1] - second[0]) / (x[3] - x[0])
