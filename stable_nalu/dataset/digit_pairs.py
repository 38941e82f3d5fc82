"""Pairs of images of two digits: which are trained on, and what networks see of them.

Training and test pairs are disjoint: a network sees both digits of a test pair, but never together.
The digits are side by side as they are, or scattered over a canvas: turned, scaled and placed at
random, a whole batch at a time. Their pixels are those of an 8-bit nearest-neighbour transform in
16.16 fixed point about the centre of the image, so a digit that is enlarged or turned beyond its
own border is cut off there.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from .distribution import IndexLoader, LegacyRandom, Places
from .images import ImageCorpus, PixelTable

SPLIT_SEED = 0
"""Folds and the validation part are the same for every run."""


def digits_of(operation: str) -> range:
    """Return the digits of an operation; zero is no divisor."""
    return range(1, 10) if operation == "div" else range(10)


def all_pairs(operation: str) -> np.ndarray:
    """Return all pairs (n, 2) of an operation's digits, in ascending order."""
    digits = np.array(digits_of(operation))
    return np.stack(np.meshgrid(digits, digits, indexing="ij"), -1).reshape(-1, 2)


def fold_pairs(operation: str, folds: int, fold: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test pairs of one of `folds` folds, each in ascending order.

    The folds are consecutive parts of one permutation of all pairs; the first are one pair longer
    when they cannot be equal.
    """
    pairs = all_pairs(operation)
    order = LegacyRandom(SPLIT_SEED).permutation(len(pairs))
    held_out = np.zeros(len(pairs), dtype=bool)
    held_out[np.array_split(order, folds)[fold]] = True
    return pairs[~held_out], pairs[held_out]


def answers(pairs: np.ndarray, operation: str) -> np.ndarray:
    """Return the answers float32 (n,) to pairs (n, 2) of digits, rounded once."""
    left, right = pairs[:, 0], pairs[:, 1]
    if operation == "div":
        return (left / right).astype(np.float32)
    return {"add": left + right, "mul": left * right}[operation].astype(np.float32)


def draw_images(
    random: LegacyRandom, pairs: np.ndarray, labels: np.ndarray, samples: int
) -> np.ndarray:
    """Draw for each pair, `samples` times, an image of its left and one of its right digit.

    Positions (len(pairs) * samples, 2) in `labels`, uniform with replacement.
    """
    positions = [np.flatnonzero(labels == digit) for digit in range(10)]
    lacking = sorted({int(digit) for digit in pairs.flat if not len(positions[digit])})
    if lacking:
        raise ValueError(f"the images lack the digits {', '.join(map(str, lacking))}.")
    counts = np.array([len(p) for p in positions])
    firsts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    wanted = np.repeat(pairs, samples, axis=0)
    chosen = random.integers(0, counts[wanted])
    return np.concatenate(positions)[firsts[wanted] + chosen]


@dataclass(frozen=True)
class PairSet:
    """Pairs of images: their positions, their digits and the answers, in the order of training."""

    images: np.ndarray
    digits: np.ndarray
    answers: np.ndarray

    def __len__(self) -> int:
        return len(self.images)

    def take(self, index: np.ndarray) -> "PairSet":
        return PairSet(self.images[index], self.digits[index], self.answers[index])


def draw_pair_sets(
    random: LegacyRandom,
    seed: int,
    operation: str,
    folds: Sequence[np.ndarray],
    labels: Sequence[np.ndarray],
    samples: int,
) -> list[PairSet]:
    """Draw a set for each of `folds`, one after another from `random`, in random order.

    labels: those of the images that each set is drawn from. The orders come from a generator of
    their own, begun with `seed`.
    """
    sets = []
    for pairs, own_labels in zip(folds, labels, strict=True):
        images = draw_images(random, pairs, own_labels, samples)
        digits = np.repeat(pairs, samples, axis=0)
        sets.append(PairSet(images, digits.astype(np.float32), answers(digits, operation)))
    orders = LegacyRandom(seed)
    return [one.take(orders.permutation(len(one))) for one in sets]


def hold_out(pairs: PairSet, share: float) -> tuple[PairSet, PairSet]:
    """Return what is left for training, and a validation set of that share (rounded up)."""
    order = LegacyRandom(SPLIT_SEED).permutation(len(pairs))
    count = int(np.ceil(share * len(pairs)))
    return pairs.take(order[count:]), pairs.take(order[:count])


Arrange = Callable[[torch.Tensor], torch.Tensor]
"""From bytes (batch, 2, height, width) to the numbers that a network sees."""

CANVAS = 42
ANGLES = (-45.0, 45.0)
SCALES = (0.7, 1.2)
_ONE = 1 << 16
_PIXELS = PixelTable.mnist()


def side_by_side(digits: torch.Tensor) -> torch.Tensor:
    """Return one image (1, height, 2 width) of each pair: the left digit, then the right one."""
    return _PIXELS(_joined(digits))


def scattered(random: LegacyRandom, concat_dim: str, digits: torch.Tensor) -> torch.Tensor:
    """Return pairs of digits turned, scaled and placed at random, anew whenever they are looked at.

    concat_dim: `colour` makes (2, 42, 42), a channel a digit; `width` makes (1, 42, 84).
    """
    images = digits.flatten(0, 1)
    angles, scales = (v.to(images.device) for v in draw_angles_and_scales(len(images)))
    offsets = torch.from_numpy(draw_offsets(random, len(images), images.shape[-1]))
    values = _PIXELS(turned(images, angles, scales))
    black = _PIXELS(images.new_zeros(()))
    shown = placed(values, offsets.to(images.device), black).unflatten(0, digits.shape[:2])
    return _joined(shown) if concat_dim == "width" else shown


def _joined(digits: torch.Tensor) -> torch.Tensor:
    return torch.cat(digits.unbind(1), dim=-1).unsqueeze(1)


def pair_loader(
    corpus: ImageCorpus,
    pairs: PairSet,
    arrange: Arrange,
    batch_size: int,
    *,
    shuffle: bool,
    device: torch.device,
) -> IndexLoader:
    """Return batches (images, answers (batch, 1), digits (batch, 2)) on a device."""
    images = torch.from_numpy(corpus.images).to(device)
    positions = torch.from_numpy(pairs.images).to(device)
    answers = torch.from_numpy(pairs.answers).to(device).unsqueeze(-1)
    digits = torch.from_numpy(pairs.digits).to(device)

    def take(index: Places) -> tuple[torch.Tensor, ...]:
        rows = index if isinstance(index, slice) else index.to(device)
        return arrange(images[positions[rows]]), answers[rows], digits[rows]

    return IndexLoader(len(pairs), batch_size, shuffle, take)


def draw_angles_and_scales(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw degrees and factors of `count` digits from torch's global generator."""
    unit = torch.empty(count, 2).uniform_()
    (low, high), (smallest, largest) = ANGLES, SCALES
    angles = unit[:, 0] * (high - low) + low
    return angles.double(), (unit[:, 1] * (largest - smallest) + smallest).double()


def draw_offsets(random: LegacyRandom, count: int, size: int) -> np.ndarray:
    """Draw rows and columns (count, 2) of upper left corners, all that fit but the largest.

    That the upper end never occurs is how the published transform was written.
    """
    return random.integers(0, CANVAS - size, (count, 2))


def turned(images: torch.Tensor, angles: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Turn images uint8 (n, size, size), each by its angle, and scale it by its factor."""
    size = images.shape[-1]
    centre = size / 2
    radians = angles * (math.pi / 180)
    cos, sin = radians.cos() / scales, radians.sin() / scales
    places = torch.arange(size, device=images.device, dtype=torch.int32)

    def source(by_column: torch.Tensor, by_row: torch.Tensor) -> torch.Tensor:
        """Return source coordinates (n, size, size), the image of each pixel's centre."""
        start = centre - (by_column + by_row) * centre + (by_column + by_row) * 0.5
        step, down, first = (_fixed(v)[:, None, None] for v in (by_column, by_row, start))
        return (first + step * places + down * places[:, None]) >> 16

    columns, rows = source(cos, sin), source(-sin, cos)
    inside = (columns >= 0) & (columns < size) & (rows >= 0) & (rows < size)
    flat = (rows * size + columns).clamp_(0, size * size - 1).flatten(1).long()
    return images.flatten(1).gather(1, flat).view_as(images) * inside


def _fixed(value: torch.Tensor) -> torch.Tensor:
    return torch.floor(value * _ONE + 0.5).int()


def placed(
    images: torch.Tensor, offsets: torch.Tensor, background: float | torch.Tensor = 0
) -> torch.Tensor:
    """Put images (n, size, size) on canvases (n, 42, 42), corners at `offsets` (n, 2)."""
    count, size = images.shape[0], images.shape[-1]
    canvas = images.new_empty(count, CANVAS, CANVAS)
    canvas[:] = background
    span = torch.arange(size, device=images.device)
    rows = (offsets[:, 0, None] + span)[:, :, None]
    columns = (offsets[:, 1, None] + span)[:, None, :]
    canvas[torch.arange(count, device=images.device)[:, None, None], rows, columns] = images
    return canvas
