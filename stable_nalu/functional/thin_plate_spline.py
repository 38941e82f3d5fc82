"""Thin-plate splines: the smoothest warp that moves given control points.

With points t_k and U(r) = r^2 ln r, a warp is q -> sum_k c_k U(|q - t_k|) + a + B q. Its
coefficients for sources s_k of the points solve

    [ A   1   P ] [ c   ]   [ s ]
    [ 1'  0   0 ] [ a   ] = [ 0 ],    A_kl = U(|t_k - t_l|),  P_k = t_k
    [ P'  0   0 ] [ B'  ]   [ 0 ]

so the warped place of every fixed q is linear in the sources.
"""

import torch


def radial_basis(squared: torch.Tensor) -> torch.Tensor:
    """Return U(r) of squared distances r^2, which is zero at zero."""
    return 0.5 * torch.xlogy(squared, squared)


def control_points(span: float, side: int) -> torch.Tensor:
    """Return a square grid (side * side, 2) of (x, y) in [-span, span], row by row."""
    line = torch.linspace(-span, span, side, dtype=torch.float64)
    y, x = torch.meshgrid(line, line, indexing="ij")
    return torch.stack((x.flatten(), y.flatten()), -1)


def pixel_places(height: int, width: int) -> torch.Tensor:
    """Return the centres (height * width, 2) of pixels as (x, y), from -1 to 1, row by row."""
    y, x = torch.meshgrid(
        torch.linspace(-1, 1, height, dtype=torch.float64),
        torch.linspace(-1, 1, width, dtype=torch.float64),
        indexing="ij",
    )
    return torch.stack((x.flatten(), y.flatten()), -1)


def features(places: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """Return rows [U(|q - t_1|), ..., U(|q - t_K|), 1, x, y] of places (n, 2): (n, K + 3)."""
    squared = ((places[:, None] - points[None]) ** 2).sum(-1)
    return torch.cat((radial_basis(squared), torch.ones_like(places[:, :1]), places), dim=1)


def system(points: torch.Tensor) -> torch.Tensor:
    """Return the matrix of the equations above, (K + 3, K + 3)."""
    rows = features(points, points)
    below = rows[:, len(points) :].T
    return torch.cat((rows, torch.cat((below, below.new_zeros(3, 3)), dim=1)))


def warp_matrix(places: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """Return the matrix (n, K) that maps sources (K, 2) of the points to those of the places."""
    inverse = torch.linalg.inv(system(points))
    return features(places, points) @ inverse[:, : len(points)]
