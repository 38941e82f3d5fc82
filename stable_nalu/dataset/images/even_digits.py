"""Pictures of several digits that lie apart from each other, and how many of these are even.

The task of Segui, Pujol & Vitria (2015, arXiv:1505.08082), drawn as a public generator draws it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from .sources import SIZES, ImageCorpus

DIGIT = SIZES["mnist"]
"""Rows and columns of a digit."""

_SETS_AT_ONCE = 4096
_MOST_SETS = 40 * _SETS_AT_ONCE
"""Sets of centres that are drawn before a number of digits is taken to have no room."""

UPDATES_AT_ONCE = 64


class Layouts(NamedTuple):
    """What is where, for n pictures of up to m digits.

    count: number of digits (n,). corner: row and column of each digit's first pixel (n, m, 2).
    digit: its number in a corpus (n, m). Of a picture, the first `count` digits are there.
    """

    count: np.ndarray
    corner: np.ndarray
    digit: np.ndarray

    def rows(self, index: slice | np.ndarray) -> Layouts:
        """Return some of the pictures."""
        return Layouts(*(part[index] for part in self))


@dataclass(frozen=True)
class Placement:
    """Where digits lie: from none to `most` in a picture, `apart` pixels or more between centres.

    size: rows and columns of a picture, in which every digit lies as a whole.
    """

    size: int = 100
    most: int = 5
    apart: int = 28

    def draw(self, random: np.random.Generator, count: int, digits: int) -> Layouts:
        """Draw pictures of one of `digits` images each: every number of them is equally likely.

        Centres are uniform; where two are too near, all of a picture are drawn anew.
        """
        counts = random.integers(self.most + 1, size=count)
        corner = np.zeros((count, self.most, 2), dtype=np.int64)
        for k in range(1, self.most + 1):
            of_k = np.flatnonzero(counts == k)
            corner[of_k, :k] = self._sets(random, k, len(of_k))
        return Layouts(counts, corner, random.integers(digits, size=(count, self.most)))

    def _sets(self, random: np.random.Generator, k: int, count: int) -> np.ndarray:
        """Return `count` sets of k corners that are far enough from each other."""
        found: list[np.ndarray] = []
        missing, drawn = count, 0
        one, other = np.triu_indices(k, 1)
        while missing > 0:
            sets = random.integers(self.size - DIGIT, size=(_SETS_AT_ONCE, k, 2))
            squares = ((sets[:, one] - sets[:, other]) ** 2).sum(-1)
            good = sets[(squares >= self.apart**2).all(-1)]
            drawn += len(sets)
            found.append(good[:missing])
            missing -= len(found[-1])
            if drawn >= _MOST_SETS and missing == count:
                raise ValueError(f"no {k} digits {self.apart} pixels apart fit")
        return np.concatenate([np.zeros((0, k, 2), dtype=np.int64), *found])

    def fits(self) -> bool:
        """Return whether pictures of the most digits are found by drawing."""
        if self.size <= DIGIT:
            return False
        try:
            self._sets(np.random.default_rng(0), self.most, 1)
        except ValueError:
            return False
        return True


class EvenDigitPictures:
    """Pictures of the digits of a corpus, as bytes, and the number of even digits in each."""

    def __init__(self, corpus: ImageCorpus, placement: Placement):
        self.placement = placement
        self._digits = corpus.images.astype(np.int16)
        self._even = corpus.labels % 2 == 0

    def draw(self, random: np.random.Generator, count: int) -> Layouts:
        """Draw where which digits lie."""
        return self.placement.draw(random, count, len(self._even))

    def paint(self, layouts: Layouts) -> np.ndarray:
        """Return pictures, uint8 (n, size, size): digits added, and cut off at the brightest."""
        size = self.placement.size
        canvas = np.zeros((len(layouts.count), size, size), dtype=np.int16)
        parts = (layouts.count.tolist(), layouts.corner.tolist(), layouts.digit.tolist())
        for picture, count, corners, digits in zip(canvas, *parts, strict=True):
            for (y, x), digit in zip(corners[:count], digits, strict=False):
                picture[y : y + DIGIT, x : x + DIGIT] += self._digits[digit]
        return np.minimum(canvas, 255, out=canvas).astype(np.uint8)

    def labels(self, layouts: Layouts) -> np.ndarray:
        """Return the number of even digits, int64 (n,)."""
        there = np.arange(self.placement.most) < layouts.count[:, None]
        return (self._even[layouts.digit] & there).sum(-1)

    def batch(self, layouts: Layouts) -> tuple[torch.Tensor, torch.Tensor]:
        """Return pictures, float32 in [-1, 1], and labels."""
        pictures = torch.from_numpy(self.paint(layouts)).to(torch.float32)
        return pictures.div_(127.5).sub_(1), torch.from_numpy(self.labels(layouts))


class TrainingStream:
    """Batches for the updates of a seed, each found from its number alone.

    train_images: number of pictures, shown in a new order in each epoch; 0: always new ones.
    """

    def __init__(
        self, pictures: EvenDigitPictures, seed: int, batch_size: int, train_images: int = 0
    ):
        self.pictures = pictures
        self._seed = seed
        self._batch_size = batch_size
        self._block = -1
        self._layouts: Layouts | None = None
        self._orders: dict[int, np.ndarray] = {}
        self._train_images = train_images
        if train_images:
            self._layouts = pictures.draw(np.random.default_rng((seed, 0)), train_images)

    def batch(self, update: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the pictures and labels of an update; it may be asked for any."""
        layouts = self._kept(update) if self._train_images else self._new(update)
        return self.pictures.batch(layouts)

    def _new(self, update: int) -> Layouts:
        block, place = divmod(update, UPDATES_AT_ONCE)
        if block != self._block or self._layouts is None:
            random = np.random.default_rng((self._seed, block))
            self._layouts = self.pictures.draw(random, UPDATES_AT_ONCE * self._batch_size)
            self._block = block
        first = place * self._batch_size
        return self._layouts.rows(slice(first, first + self._batch_size))

    def _kept(self, update: int) -> Layouts:
        assert self._layouts is not None
        first = update * self._batch_size
        places = np.arange(first, first + self._batch_size)
        epochs, within = np.divmod(places, self._train_images)
        index = [self._order(e)[w] for e, w in zip(epochs.tolist(), within.tolist(), strict=True)]
        return self._layouts.rows(np.array(index))

    def _order(self, epoch: int) -> np.ndarray:
        if epoch not in self._orders:
            # A batch spans several epochs of a few pictures.
            self._orders = {e: o for e, o in self._orders.items() if e >= epoch - self._batch_size}
            random = np.random.default_rng((self._seed, 1 + epoch))
            self._orders[epoch] = random.permutation(self._train_images)
        return self._orders[epoch]
