"""The sets of pairs of digits that a run trains on and is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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
