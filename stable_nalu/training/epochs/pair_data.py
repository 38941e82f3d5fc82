"""The sets of pairs of digits that a run trains on and is judged by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from stable_nalu.dataset import IndexLoader
from stable_nalu.dataset.digit_pairs import draw_pair_sets, fold_pairs, hold_out
from stable_nalu.dataset.images import load_corpus
from stable_nalu.dataset.legacy_random import LegacyRandom
from stable_nalu.dataset.pair_images import Scattered, SideBySide, pair_loader
from stable_nalu.options import Config


@dataclass(frozen=True)
class PairData:
    """Batches of the sets that are evaluated, by name and in their order; `train` is the first.

    random: generator of the places of scattered digits, or of nothing.
    """

    sets: Mapping[str, IndexLoader]
    random: LegacyRandom


def build_pair_data(config: Config, device: torch.device, *, scattered: bool) -> PairData:
    """Draw the pairs of a configuration; the fold that is held out has the number of its seed.

    One generator draws the images and, later, their places.
    """
    folder = Path(config.data_dir) if config.data_dir else None
    corpora = [load_corpus("mnist", config.data_source, part, folder) for part in ("train", "test")]
    folds = fold_pairs(config.operation, config.num_folds, config.seed)
    random = LegacyRandom(config.seed)
    labels = [corpus.labels for corpus in corpora]
    samples = config.samples_per_permutation
    train, test = draw_pair_sets(random, config.seed, config.operation, folds, labels, samples)
    sets = {"train": (corpora[0], train)}
    if scattered:
        train, valid = hold_out(train, config.val_split)
        sets = {"train": (corpora[0], train), "valid": (corpora[0], valid)}
    sets["test"] = (corpora[1], test)
    arrange = Scattered(random, config.image_concat_dim) if scattered else SideBySide()
    loaders = {
        name: pair_loader(
            corpus, pairs, arrange, config.batch_size, shuffle=name == "train", device=device
        )
        for name, (corpus, pairs) in sets.items()
    }
    return PairData(loaders, random)


QUANTITIES = ("output", "label1", "label2")
DECIMALS = (4, 5)
CLASSES = 10


def pair_metrics(
    predicted: torch.Tensor, true: torch.Tensor, *, loss: str, decimals: bool
) -> Iterator[tuple[str, float]]:
    """Yield (name, value) pairs of predictions and true values, both (n, 3).

    The columns are the answer, the left digit and the right digit. Shares are percentages. Rounded
    predictions (halves to even numbers) are compared with true values as they are, as published: a
    quotient that is no whole number is never met.

    Args:
        predicted: what the network gives.
        true: what is right.
        loss: name of the mean squared error.
        decimals: whether to compare answers rounded to four and five decimals, too.
    """
    for name, squares in zip(QUANTITIES, _columns((predicted - true) ** 2), strict=True):
        yield f"{name}/{loss}", squares
    for name, share in zip(QUANTITIES, _percent(predicted == true), strict=True):
        yield f"{name}/acc", share
    for name, share in zip(QUANTITIES, _percent(predicted.round() == true), strict=True):
        yield f"{name}_rounded/acc", share
    for places in DECIMALS if decimals else ():
        equal = at_decimals(predicted[:, :1], places) == at_decimals(true[:, :1], places)
        yield f"output_rounded_{places}dp/acc", _percent(equal)[0]


def at_decimals(values: torch.Tensor, places: int) -> torch.Tensor:
    """Values rounded to decimal places, in their own precision."""
    return (values * 10**places).round() / 10**places


def _columns(values: torch.Tensor) -> list[float]:
    return values.double().mean(0).tolist()


def _percent(equal: torch.Tensor) -> list[float]:
    return [100 * share for share in _columns(equal)]


def class_counts(digits: np.ndarray, true: np.ndarray, *, rounded: bool) -> np.ndarray:
    """Rows: true digit; columns: predicted digit, rounded or cut off towards zero.

    Cut off, 2.9999 counts as a 2.
    """
    classes = (np.rint(digits) if rounded else np.trunc(digits)).astype(int)
    counts = np.zeros((CLASSES, CLASSES), dtype=int)
    np.add.at(counts, (true.astype(int).ravel(), classes.ravel()), 1)
    return counts
