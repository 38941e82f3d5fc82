"""Random placement of digits against Pillow's own transform."""

import math

import numpy as np
import pytest
import torch

from stable_nalu.dataset.digit_pairs import (
    CANVAS,
    draw_angles_and_scales,
    draw_offsets,
    placed,
    turned,
)
from stable_nalu.dataset.legacy_random import LegacyRandom


def pillow_turned(image, angle, scale):
    """Rotation and scaling about the centre, by the inverse matrix that Pillow takes."""
    pillow = pytest.importorskip("PIL.Image")
    radians, centre = math.radians(angle), image.shape[0] / 2
    cos, sin = math.cos(radians) / scale, math.sin(radians) / scale
    matrix = (cos, sin, centre - (cos + sin) * centre, -sin, cos, centre - (cos - sin) * centre)
    size = image.shape[::-1]
    method, nearest = pillow.Transform.AFFINE, pillow.Resampling.NEAREST
    return np.asarray(pillow.fromarray(image).transform(size, method, matrix, nearest))


def test_pixels_of_pillow():
    images = torch.from_numpy(np.random.RandomState(3).randint(0, 256, (200, 28, 28), np.uint8))
    angles, scales = draw_angles_and_scales(200)
    found = turned(images, angles, scales)
    for image, angle, scale, own in zip(images, angles, scales, found, strict=True):
        expected = pillow_turned(image.numpy(), angle.item(), scale.item())
        assert np.array_equal(own.numpy(), expected)


def test_ranges_of_the_draws():
    angles, scales = draw_angles_and_scales(5000)
    assert -45 <= angles.min() < -44
    assert 44 < angles.max() <= 45
    assert 0.7 <= scales.min() < 0.71
    assert 1.19 < scales.max() <= 1.2
    torch.manual_seed(4)
    drawn = draw_angles_and_scales(2)
    torch.manual_seed(4)
    one_by_one = [torch.empty(1).uniform_(*ends).item() for ends in [(-45, 45), (0.7, 1.2)] * 2]
    pairs = torch.stack(drawn, -1).flatten().tolist()
    assert pairs == pytest.approx(one_by_one, abs=1e-5)


def test_offsets_never_reach_the_far_border():
    offsets = draw_offsets(LegacyRandom(5), 4000, 28)
    assert (offsets.min(), offsets.max()) == (0, 13)
    state = np.random.RandomState(5)
    assert offsets[:3].flatten().tolist() == [state.randint(0, 14) for _ in range(6)]


def test_placement():
    images = torch.arange(1, 3 * 28 * 28 + 1, dtype=torch.int32).view(3, 28, 28)
    offsets = torch.tensor([[0, 13], [5, 2], [13, 0]])
    canvas = placed(images, offsets)
    assert canvas.shape == (3, CANVAS, CANVAS)
    for image, own, (row, column) in zip(images, canvas, offsets.tolist(), strict=True):
        assert torch.equal(own[row : row + 28, column : column + 28], image)
        assert own.sum() == image.sum()
