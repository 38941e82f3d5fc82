"""Thin-plate splines in float64: published numbers, affine maps, bending."""

import math

import pytest
import torch

from stable_nalu.functional.thin_plate_spline import (
    control_points,
    features,
    pixel_places,
    radial_basis,
    system,
    warp_matrix,
)

POINTS = control_points(0.9, 4)
PIXELS = pixel_places(42, 42)
WARP = warp_matrix(PIXELS, POINTS)


def test_kernel():
    squared = torch.tensor([0.0, 0.36, 4.0], dtype=torch.float64)
    values = radial_basis(squared).tolist()
    assert values == pytest.approx([0, -0.1838972, 4 * math.log(2)], abs=5e-8)


def test_points_and_pixels():
    assert POINTS.shape == (16, 2)
    torch.testing.assert_close(POINTS[:2], torch.tensor([[-0.9, -0.9], [-0.3, -0.9]]).double())
    assert PIXELS[0].tolist() == [-1, -1]
    assert PIXELS[1].tolist() == pytest.approx([2 / 41 - 1, -1])
    assert PIXELS[-1].tolist() == [1, 1]


def test_published_numbers_of_the_system():
    matrix = system(POINTS)
    inverse = torch.linalg.inv(matrix)
    assert inverse[0, :4].tolist() == pytest.approx([1.3229, -1.1704, 0.2123, -0.0580], abs=6e-5)
    assert inverse[16, :4].tolist() == pytest.approx([-0.4978, 0.2891, 0.2891, -0.4978], abs=6e-5)
    assert torch.linalg.cond(matrix).item() == pytest.approx(141, abs=0.5)
    assert torch.equal(matrix, matrix.T)


def test_one_moved_point():
    sources = torch.zeros(16, 2, dtype=torch.float64)
    sources[5] = torch.tensor([0.1, 0.2])
    warped = (WARP @ sources).view(42, 42, 2)
    for row, column, x, y in (
        (0, 0, -0.0097, -0.0194),
        (21, 21, 0.0279, 0.0557),
        (41, 41, 0.0018, 0.0035),
    ):
        assert warped[row, column].tolist() == pytest.approx([x, y], abs=6e-5)


def test_identity_and_affine_maps_are_reproduced():
    torch.testing.assert_close(WARP @ POINTS, PIXELS, atol=1e-12, rtol=0)
    matrix = torch.tensor([[0.8, -0.3], [0.2, 1.1]], dtype=torch.float64)
    shift = torch.tensor([0.1, -0.4], dtype=torch.float64)
    warped = WARP @ (POINTS @ matrix.T + shift)
    torch.testing.assert_close(warped, PIXELS @ matrix.T + shift, atol=1e-12, rtol=0)
    single = WARP.float() @ (POINTS @ matrix.T + shift).float()
    torch.testing.assert_close(single.double(), PIXELS @ matrix.T + shift, atol=1e-6, rtol=0)


def test_it_interpolates_the_points():
    sources = torch.randn(16, 2, dtype=torch.float64)
    through = warp_matrix(POINTS, POINTS) @ sources
    torch.testing.assert_close(through, sources, atol=1e-12, rtol=0)


def test_coefficients_bend_without_force_or_moment():
    sources = torch.randn(16, 2, dtype=torch.float64)
    padded = torch.cat((sources, sources.new_zeros(3, 2)))
    coefficients = torch.linalg.solve(system(POINTS), padded)
    bending = coefficients[:16]
    torch.testing.assert_close(bending.sum(0), torch.zeros(2).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(POINTS.T @ bending, torch.zeros(2, 2).double(), atol=1e-12, rtol=0)
    torch.testing.assert_close(features(PIXELS, POINTS) @ coefficients, WARP @ sources)
