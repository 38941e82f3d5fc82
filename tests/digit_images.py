"""Image files and corpora made by tests: real formats, made-up content."""

import gzip
import hashlib
import os
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import torch

from stable_nalu.dataset import images as sources
from stable_nalu.dataset.distribution import LegacyRandom
from stable_nalu.dataset.images import DigitSequences, DigitSubset, ImageCorpus

MNIST = Path(os.environ.get("STABLE_NALU_MNIST", ""))
"""A folder with the published images, in torchvision's layout; the tests have none of their own."""

needs_mnist = pytest.mark.skipif(
    "STABLE_NALU_MNIST" not in os.environ, reason="STABLE_NALU_MNIST names no folder with MNIST"
)


def labels_of(count: int, step: int, first: int) -> np.ndarray:
    """(step i + first) mod 10."""
    return (step * np.arange(count) + first) % 10


def published_sizes(monkeypatch, shape: tuple[int, ...], sizes: tuple[int, int]) -> None:
    """Corpora of black images in the published numbers, labels (7i+3) and (3i+1) mod 10."""
    train, test = sizes
    corpora = {
        "train": ImageCorpus(np.zeros((train, *shape), np.uint8), labels_of(train, 7, 3)),
        "test": ImageCorpus(np.zeros((test, *shape), np.uint8), labels_of(test, 3, 1)),
    }
    monkeypatch.setattr(
        sources, "load_corpus", lambda family, source, split, folder: corpora[split]
    )


def first_seed(seed: int) -> int:
    """What a run of this seed orders its training images by."""
    return int(LegacyRandom(seed).integers(0, 2**32 - 1))


def digit_sequences(
    family: str,
    operation: str,
    length: int,
    seed: int,
    subset: str = "train",
    digits: Sequence[int] = range(10),
    source: str | None = None,
) -> DigitSequences:
    """Images of some digits, cut into sequences in the order of a seed."""
    corpus = sources.load_subset(family, source or family, subset)
    used = DigitSubset(corpus, digits, torch.device("cpu"))
    return DigitSequences(used, length, operation, seed, family)


def images(count: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Random bytes."""
    return np.random.RandomState(seed).randint(0, 256, (count, *shape)).astype(np.uint8)


def write_mnist(folder: Path, monkeypatch, train: ImageCorpus, test: ImageCorpus) -> None:
    """The four files as the publisher packs them, known to torchvision by their checksums."""
    from stable_nalu.dataset.images import torchvision

    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    resources = []
    for prefix, corpus in (("train", train), ("t10k", test)):
        for kind, array, code in (
            ("images-idx3", corpus.images, 3),
            ("labels-idx1", corpus.labels, 1),
        ):
            header = struct.pack(f">HBB{code}I", 0, 8, code, *array.shape)
            content = gzip.compress(header + array.astype(np.uint8).tobytes(), 1)
            name = f"{prefix}-{kind}-ubyte.gz"
            (raw / name).write_bytes(content)
            resources.append((name, hashlib.md5(content).hexdigest()))
    monkeypatch.setattr(torchvision().datasets.MNIST, "resources", resources)


def write_svhn(folder: Path, monkeypatch, split: str, corpus: ImageCorpus) -> None:
    """One .mat file: images last axis first, labels 1 to 10 where 10 is the digit 0."""
    from stable_nalu.dataset.images import torchvision

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{split}_32x32.mat"
    labels = np.where(corpus.labels == 0, 10, corpus.labels).astype(np.uint8)[:, None]
    scipy.io.savemat(path, {"X": corpus.images.transpose(1, 2, 3, 0), "y": labels})
    svhn = torchvision().datasets.SVHN
    digest = hashlib.md5(path.read_bytes()).hexdigest()
    known = {**svhn.split_list, split: [f"http://localhost:9/{path.name}", path.name, digest]}
    monkeypatch.setattr(svhn, "split_list", known)
