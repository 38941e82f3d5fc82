"""Files of images that are damaged, exchanged, of another kind, or not there."""

import gzip
import struct
from collections.abc import Callable

from tests.attacks.harness import Attack, Place, attacks, quick
from tests.attacks.subjects import put

RAW = "data/MNIST/raw"
FILES = {
    "images": "train-images-idx3-ubyte",
    "labels": "train-labels-idx1-ubyte",
    "test_images": "t10k-images-idx3-ubyte",
    "test_labels": "t10k-labels-idx1-ubyte",
}
COUNT = 5100
"""Of which 5,000 are kept for validation, where a script does so."""
NOWHERE = {
    name: "http://127.0.0.1:9"
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
} | {"no_proxy": None, "NO_PROXY": None}
"""No attack downloads anything."""


def images(count: int = COUNT, side: int = 28) -> bytes:
    """An idx file of grey images."""
    pixels = (bytes(range(251)) * (count * side * side // 251 + 1))[: count * side * side]
    return struct.pack(">IIII", 0x803, count, side, side) + pixels


def labels(count: int = COUNT, largest: int = 10) -> bytes:
    """An idx file of labels."""
    return struct.pack(">II", 0x801, count) + bytes(i % largest for i in range(count))


def with_files(**other: bytes | None) -> Callable[[Place], object]:
    """A whole data set, but for the files that are given; None leaves one out."""

    def prepare(place: Place) -> None:
        whole = dict.fromkeys(FILES, images()) | {"labels": labels(), "test_labels": labels()}
        for key, content in (whole | other).items():
            if content is not None:
                place.file(f"{RAW}/{FILES[key]}", content)

    return prepare


def packed(content: bytes) -> Callable[[Place], object]:
    return lambda place: place.file(f"{RAW}/{FILES['images']}.gz", content)


DAMAGED: dict[str, Callable[[Place], object]] = {
    "of another magic": with_files(images=b"\0\0\x08\x07" + images()[4:]),
    "of a header alone": with_files(images=images()[:16]),
    "less one byte": with_files(images=images()[:-1]),
    "of fewer images than labels": with_files(images=images(COUNT - 50)),
    "of another size": with_files(images=images(side=20)),
    "of which the labels are images": with_files(labels=images()),
    "of which the labels are no digits": with_files(labels=labels(largest=200)),
    "still packed": with_files(images=gzip.compress(images())),
    "of which the test set is damaged": with_files(test_images=b""),
}
MNIST = "--data-source mnist --data-dir {tmp}/data"
SCRIPTS = {
    script: " ".join(quick(script, MNIST)) for script in ("two_digit_mnist", "sequential_mnist")
}
test_idx_files = attacks(
    Attack(f"{script}: images {what}", words, "MNIST", prepare, env=NOWHERE)
    for script, words in SCRIPTS.items()
    for what, prepare in DAMAGED.items()
    # Pairs are made of all images, and are no sequences: the test set is not looked at.
    if not (script == "two_digit_mnist" and "test set" in what)
)

REMEDY, FOLDER = "--data-source digits", "{tmp}/data"
test_folders_of_images = attacks(
    *(
        Attack(f"{script}: {what}", words, says, prepare, env=NOWHERE)
        for script, words in SCRIPTS.items()
        for what, says, prepare in (
            ("no images", REMEDY, lambda p: (p / "data").mkdir()),
            ("no folder of images", REMEDY, None),
            ("no labels", REMEDY, with_files(labels=None)),
            ("a file for a folder of images", FOLDER, put("data")),
            ("packed images that are damaged", FOLDER, packed(gzip.compress(images())[:-9])),
            ("packed images that are others", FOLDER, packed(gzip.compress(images()))),
        )
    ),
    *(
        Attack(
            f"house numbers: {what}",
            quick("sequential_svhn", "--data-source svhn --data-dir {tmp}/data"),
            says,
            prepare,
            env=NOWHERE,
        )
        for what, says, prepare in (
            ("none", REMEDY, None),
            ("a folder", "SVHN", lambda p: (p / "data/train_32x32.mat").mkdir(parents=True)),
        )
    ),
)

test_what_is_trained_on = attacks(
    Attack(
        "sequences longer than the images suffice for",
        quick("sequential_mnist", "--interpolation-length 5000"),
        "sequence",
    ),
    Attack(
        "a corpus of other people's images is trained on, with a warning",
        SCRIPTS["two_digit_mnist"],
        "checksum",
        with_files(),
        code=0,
        env=NOWHERE,
        writes=("tensorboard*", "save*"),
    ),
)
