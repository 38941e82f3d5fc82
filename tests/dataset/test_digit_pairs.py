"""Pairs of digits: published folds, draws and orders, and placement against Pillow's transform."""

import math

import numpy as np
import pytest
import torch

from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.dataset.images import (
    CANVAS,
    all_pairs,
    answers,
    draw_angles_and_scales,
    draw_images,
    draw_pair_sets,
    fold_pairs,
    placed,
    turned,
)

TEN = """02 16 26 54 55 73 75 86 93 95; 07 08 13 22 24 30 33 53 78 92;
03 06 43 45 48 62 71 76 82 99; 18 27 51 56 60 63 68 74 80 90;
01 04 05 15 17 38 40 41 42 61; 00 11 23 28 34 35 50 52 59 91;
10 14 31 32 57 66 79 84 85 89; 19 20 29 49 69 72 77 94 97 98; 12 25 37 39 46 58 65 70 81 88;
09 21 36 44 47 64 67 83 87 96"""
TEN_DIV = """25 35 41 44 69 72 78 89 93; 13 39 47 57 64 66 74 92; 14 18 55 56 84 87 95 99;
15 17 19 29 58 76 81 91; 22 23 36 42 48 53 71 73; 12 26 45 46 61 68 86 97; 11 31 32 37 43 49 65 77;
16 27 28 33 67 79 94 98; 24 38 52 54 62 75 83 88; 21 34 51 59 63 82 85 96"""
THREE = """02 03 06 07 08 13 16 22 24 26 30 33 43 45 48 53 54 55 60 62 68 71 73 75 76 78 80 82 86 90
92 93 95 99; 00 01 04 05 10 11 15 17 18 23 27 28 31 32 34 35 38 40 41 42 50 51 52 56 57 59 61 63 66
74 79 85 91; 09 12 14 19 20 21 25 29 36 37 39 44 46 47 49 58 64 65 67 69 70 72 77 81 83 84 87 88 89
94 96 97 98"""
LABELS = ((7 * np.arange(60000) + 3) % 10, (3 * np.arange(10000) + 1) % 10)


def names(pairs):
    return [f"{left}{right}" for left, right in pairs]


@pytest.mark.parametrize(
    ("operation", "folds", "table"), [("mul", 10, TEN), ("div", 10, TEN_DIV), ("add", 3, THREE)]
)
def test_published_folds(operation, folds, table):
    for fold, line in enumerate(table.split(";")):
        train, test = fold_pairs(operation, folds, fold)
        assert names(test) == line.split()
        assert sorted(names(train) + names(test)) == names(all_pairs(operation))


def test_answers_are_exact():
    pairs = np.array([[9, 7], [2, 3], [1, 3]])
    assert answers(pairs, "add").tolist() == [16, 5, 4]
    assert answers(pairs, "mul").tolist() == [63, 6, 3]
    assert answers(pairs, "div").tolist() == [np.float32(v) for v in (9 / 7, 2 / 3, 1 / 3)]


@pytest.mark.parametrize(
    ("fold", "first", "last", "first_test", "shuffled", "shuffled_test"),
    [
        (
            0,
            [[27321, 26071], [16531, 32641], [49311, 48594], [58271, 10334]],
            [40118, 18478],
            [[5083, 7867], [9413, 8557]],
            ([7706, 56595], [5, 8]),
            ([7209, 5345], [8, 6]),
        ),
        (
            2,
            [[25751, 57041], [36061, 25141], [10991, 33354], [47701, 4334]],
            [52828, 33505],
            [[8753, 2564], [9183, 6664]],
            ([2551, 13495], [0, 8]),
            ([2476, 9496], [9, 9]),
        ),
    ],
)
def test_published_draws(fold, first, last, first_test, shuffled, shuffled_test):
    folds = fold_pairs("mul", 10, fold)
    random = LegacyRandom(fold)
    train, test = (draw_images(random, p, own, 2) for p, own in zip(folds, LABELS, strict=True))
    assert train[:4].tolist() == first
    assert train[-1].tolist() == last
    assert test[:2].tolist() == first_test
    sets = draw_pair_sets(LegacyRandom(fold), fold, "mul", folds, LABELS, 2)
    for one, (images, digits) in zip(sets, (shuffled, shuffled_test), strict=True):
        assert one.images[0].tolist() == images
        assert one.digits[0].tolist() == digits
        assert one.answers[0] == digits[0] * digits[1]


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


def test_placement():
    images = torch.arange(1, 3 * 28 * 28 + 1, dtype=torch.int32).view(3, 28, 28)
    offsets = torch.tensor([[0, 13], [5, 2], [13, 0]])
    canvas = placed(images, offsets)
    assert canvas.shape == (3, CANVAS, CANVAS)
    for image, own, (row, column) in zip(images, canvas, offsets.tolist(), strict=True):
        assert torch.equal(own[row : row + 28, column : column + 28], image)
        assert own.sum() == image.sum()
