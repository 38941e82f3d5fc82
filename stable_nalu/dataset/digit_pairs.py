"""Pairs of images of two digits for the static tasks, as indices of the images.

Training and test pairs are disjoint: a network sees both digits of a test pair, but never together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .legacy_random import LegacyRandom

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

    def take(self, index: np.ndarray) -> PairSet:
        """Return the pairs at `index`."""
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
