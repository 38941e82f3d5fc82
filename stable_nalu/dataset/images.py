"""Images of digits in memory as bytes: their sources, sequences and pairs.

`mnist` and `svhn` are read by torchvision and downloaded when they are missing. `digits` are the
1,797 handwritten digits that scikit-learn ships, enlarged to the shape of the images that they
replace: the first 1,397 in file order are its training images, the other 400, of other writers, its
test images.

The target of a sequence is, at every step, the sum or product of the labels so far. Training and
test pairs of digits are disjoint: a network sees both digits of a test pair, but never together.
They are placed side by side, or turned, scaled and scattered at random over a canvas, a whole batch
at a time. An 8-bit nearest-neighbour transform in 16.16 fixed point about the centre of the image
makes their pixels, so a digit that is enlarged or turned beyond its own border is cut off.
"""

import contextlib
import hashlib
import io
import math
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.base.files import at_home, image_root

from .distribution import IndexLoader, LegacyRandom, LoadedBatch, Places

MNIST_MEAN, MNIST_DEVIATION = 0.1307, 0.3081
DIGITS = "digits"
SIZES = {"mnist": 28, "svhn": 32, DIGITS: 8}
VALIDATION_IMAGES = {"mnist": 5000, "svhn": 5000, DIGITS: 200}
"""How many of the last training images validate, where a task has a validation set."""

DIGITS_TRAINED = 1397
BRIGHTEST_DIGIT = 16

_PUBLISHED = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
"""The MD5 sums of the unpacked files of MNIST."""

_declared: list[torch.library.Library] = []


@dataclass(frozen=True)
class ImageCorpus:
    """Images, uint8 (n, height, width) or (n, height, width, 3), and labels, int64 (n,)."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def part(self, start: int | None, stop: int | None) -> "ImageCorpus":
        return ImageCorpus(self.images[start:stop], self.labels[start:stop])


class PixelTable:
    """The value of each of the 256 bytes: v / 255, then normalised if a mean is given.

    A look-up gives the same numbers as torchvision's transforms on every device.
    """

    def __init__(self, mean: float = 0.0, deviation: float = 1.0):
        values = torch.arange(256, dtype=torch.uint8).to(torch.float32) / 255
        self._values = values.sub(mean).div(deviation)

    @classmethod
    def mnist(cls) -> "PixelTable":
        """Return the table that is normalised by mean and deviation of the MNIST images."""
        return cls(MNIST_MEAN, MNIST_DEVIATION)

    def __call__(self, images: torch.Tensor) -> torch.Tensor:
        """Return float32 values of uint8 images, on the device of these."""
        if self._values.device != images.device:
            self._values = self._values.to(images.device)
        return self._values[images.long()]


@cache
def load_corpus(
    family: str, source: str, split: str, folder: Path | str | None = None
) -> ImageCorpus:
    """Load the images of one split, `train` or `test`, once per process.

    family: `mnist`, `svhn` or `digits`, which says what shape the images have.
    source: the family itself, or `digits`.
    """
    if source == DIGITS:
        return _load_digits(SIZES[family], split, coloured=family == "svhn")
    return {"mnist": _load_mnist, "svhn": _load_svhn}[family](split, Path(folder or image_root()))


def load_subset(
    family: str, source: str, subset: str, folder: Path | str | None = None
) -> ImageCorpus:
    """Load the images of `train`, `valid` or `test`; `valid` is the end of the training images."""
    if subset == "test":
        return load_corpus(family, source, "test", folder)
    validation = VALIDATION_IMAGES[source]
    corpus = load_corpus(family, source, "train", folder)
    return corpus.part(None, -validation) if subset == "train" else corpus.part(-validation, None)


def _load_mnist(split: str, folder: Path) -> ImageCorpus:
    raw = at_home(folder) / "MNIST" / "raw"
    # Where one is missing, torchvision unpacks all of them anew, and checks what it unpacks.
    with contextlib.suppress(OSError):  # which torchvision meets as well
        if all((raw / name).is_file() for name in _PUBLISHED):
            _check_unpacked(raw)
    found = _open("MNIST", folder, train=split == "train")
    return ImageCorpus(found.data.numpy(), found.targets.numpy())


@cache
def _check_unpacked(raw: Path) -> None:
    """Refuse unpacked files that are no images of digits with their labels.

    Other files than the published ones are good, with a warning: people train on variants.
    """
    others = []
    side = SIZES["mnist"]
    names = list(_PUBLISHED)
    for images, labels in zip(names[::2], names[1::2], strict=True):
        pixels = _read_idx(raw / images, (side, side))
        digits = _read_idx(raw / labels, ())
        if len(pixels) != len(digits) * side * side:
            count = len(pixels) // side**2
            raise UsageError(f"{raw / images} holds {count} images, {labels} {len(digits)} labels")
        if max(digits) > 9:
            raise _unreadable(raw / labels, f"a label is {max(digits)}, and no digit")
        for name in (images, labels):
            digest = hashlib.md5((raw / name).read_bytes(), usedforsecurity=False)
            others += [name] if digest.hexdigest() != _PUBLISHED[name] else []
    if others:
        sys.stderr.write(
            f"Warning: in {raw}, {', '.join(others)}: another checksum than the published one\n"
        )


def _read_idx(path: Path, shape: tuple[int, ...]) -> bytes:
    """Return the bytes of all items of `shape` in an idx file."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    header = struct.Struct(f">{2 + len(shape)}I")
    magic, *sizes = header.unpack(content[: header.size].ljust(header.size, b"\0"))
    right = 0x801 + len(shape)
    if magic != right:
        raise _unreadable(path, f"it begins with {magic:08x}, not with {right:08x}")
    if tuple(sizes[1:]) != shape:
        raise _unreadable(path, f"its images are of {sizes[1]} x {sizes[2]} pixels, not 28 x 28")
    expected = header.size + math.prod(sizes)
    if len(content) != expected or not sizes[0]:
        raise _unreadable(
            path, f"it has {len(content)} bytes, and {expected} by the {sizes[0]} that it announces"
        )
    return content[header.size :]


def _unreadable(path: Path, reason: str) -> UsageError:
    return UsageError(f"{path} cannot be read as a file of MNIST: {reason}; delete it or repair it")


def _load_svhn(split: str, folder: Path) -> ImageCorpus:
    found = _open("SVHN", folder, split=split)
    return ImageCorpus(np.ascontiguousarray(found.data.transpose(0, 2, 3, 1)), found.labels)


def _open(name: str, folder: Path, **choice: Any) -> Any:
    """Open torchvision's data set of that name, and download it if it is missing."""
    data_set = getattr(torchvision().datasets, name)
    # The progress bar of a download is for a person who watches the terminal.
    watched, hidden = contextlib.nullcontext(), contextlib.redirect_stderr(io.StringIO())
    try:
        with watched if sys.stderr.isatty() else hidden:
            return data_set(str(folder), download=True, **choice)
    except (OSError, RuntimeError, ValueError, EOFError) as error:
        raise UsageError(_reason(name, folder, error)) from None


def _reason(name: str, folder: Path, error: Exception) -> str:
    text = " ".join(str(error).split())
    if "corrupted" in text:
        return (
            f"a file of {name} in {folder} has another checksum than the published one: it is "
            "damaged or incomplete; delete it to have it downloaded again"
        )
    if isinstance(error, OSError) and not _is_network(error):
        return f"cannot store {name} in {folder}: {error.strerror}; name another --data-dir"
    if _is_network(error) or "downloading" in text or "not found" in text:
        return (
            f"{name} is not in {folder}, or damaged there, and cannot be downloaded; use "
            "--data-source digits, which needs no download, or put its files there"
        )
    return f"a file of {name} in {folder} cannot be read ({text}); delete it and try again"


def _is_network(error: Exception) -> bool:
    from http.client import HTTPException
    from urllib.error import URLError

    return isinstance(error, URLError | ConnectionError | TimeoutError | HTTPException)


def _load_digits(size: int, split: str, *, coloured: bool) -> ImageCorpus:
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise UsageError(
            f"argument --data-source: digits needs scikit-learn ({error}); "
            "python3 -m pip install 'scikit-learn'"
        ) from None
    found: Any = load_digits()
    images = _enlarged(found.images, size)
    if coloured:
        images = np.repeat(images[..., None], 3, axis=-1)
    part = slice(0, DIGITS_TRAINED) if split == "train" else slice(DIGITS_TRAINED, None)
    return ImageCorpus(images[part], found.target.astype(np.int64)[part])


def _enlarged(images: np.ndarray, size: int) -> np.ndarray:
    """Return images of values 0 to 16 as bytes, interpolated to `size` rows and columns."""
    brightness = torch.from_numpy(images).unsqueeze(1) * (255 / BRIGHTEST_DIGIT)
    enlarged = torch.nn.functional.interpolate(brightness, (size, size), mode="bilinear")
    return enlarged.squeeze(1).round().to(torch.uint8).numpy()


@cache
def torchvision() -> ModuleType:
    """Import the package torchvision.

    Where its compiled operations are missing, as in CPU environments without a build of them, two
    are declared so that it can be imported: data sets, transforms and models do not use them.
    """
    try:
        import torchvision as package

        return package
    except ImportError as error:
        raise UsageError(
            f"torchvision cannot be imported ({error}); python3 -m pip install 'torchvision'"
        ) from None
    except RuntimeError as error:
        if "does not exist" not in str(error):
            raise
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    # Declarations last as long as the library object.
    _declared.append(library)
    import torchvision as package

    return package


OPERATIONS: dict[str, Callable[..., np.ndarray]] = {
    **dict.fromkeys(("cumsum", "sum"), np.cumsum),
    **dict.fromkeys(("cumprod", "prod", "div"), np.cumprod),
    "cumdiv": lambda labels, axis: np.cumprod(_integer_reciprocal(labels), axis),
}
"""Operations on int64 labels, whose products wrap around above 2^63 as in published runs."""


def _integer_reciprocal(labels: np.ndarray) -> np.ndarray:
    return np.where(labels == 0, np.iinfo(np.int64).min, labels == 1)


class DigitSubset:
    """The images that have one of some labels.

    kept: their places in the corpus. images: uint8 (n, channels, height, width).
    labels: int64 (n,).
    """

    def __init__(self, corpus: ImageCorpus, digits: Sequence[int], device: torch.device):
        self.kept = np.flatnonzero(np.isin(corpus.labels, digits))
        self.labels = corpus.labels[self.kept]
        images = torch.from_numpy(corpus.images[self.kept])
        channels_first = images.unsqueeze(1) if images.ndim == 3 else images.permute(0, 3, 1, 2)
        self.images = channels_first.contiguous().to(device)

    def __len__(self) -> int:
        return len(self.labels)


class DigitSequences(torch.utils.data.Dataset):
    """A subset cut into sequences of one length, in an order drawn once from `seed`.

    family: `mnist`, whose pixels are normalised, or `svhn`.
    positions: places in the subset, (n, length). targets: float32 (n, length, 1).
    What is left at the end of the order, too short for a sequence, is not used.
    """

    def __init__(self, subset: DigitSubset, length: int, operation: str, seed: int, family: str):
        order = LegacyRandom(seed).permutation(len(subset))
        count = len(order) // length
        self.subset = subset
        self.table = PixelTable.mnist() if family == "mnist" else PixelTable()
        places = order[: count * length].reshape(count, length)
        targets = OPERATIONS[operation](subset.labels[places], axis=-1).astype(np.float32)
        device = subset.images.device
        self.positions = torch.from_numpy(places).to(device)
        self.targets = torch.from_numpy(targets).unsqueeze(-1).to(device)

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, index: int | Places) -> LoadedBatch:
        """Return images, float32 (batch, length, channels, height, width), and targets."""
        images = self.subset.images[self.positions[index]]
        return self.table(images), self.targets[index].clone()

    def dataloader(
        self,
        batch_size: int = 64,
        shuffle: bool = True,
        smallest: int = 1,
        labels: torch.Tensor | None = None,
    ) -> IndexLoader:
        """Return batches in torch's order; a last one below `smallest` joins the one before.

        labels: replace the images of the subset, one for each.
        """

        def take(index: Places) -> LoadedBatch:
            if labels is None:
                return self[index]
            return labels[self.positions[index]], self.targets[index]

        return IndexLoader(len(self), batch_size, shuffle, take, smallest)


class ItemShape(NamedTuple):
    """Shapes of an item as published code gives them, without the channels of an image."""

    input: tuple[int | None, ...]
    target: tuple[int | None, ...]


class _SequentialDataset:
    """Digits in sequences, with an operation on the labels so far at each step."""

    family: ClassVar[str]
    operations: ClassVar[tuple[str, ...]] = ("cumsum", "sum", "cumprod", "prod")

    def __init__(self, operation: str, digits: Sequence[int], seed: int | None, use_cuda: bool):
        if operation not in self.operations:
            known = ", ".join(self.operations)
            raise ValueError(f"operation {operation!r} is not one of {known}")
        self._operation, self._digits = operation, tuple(digits)
        self._parent = LegacyRandom(seed)
        self._device = torch.device("cuda" if use_cuda else "cpu")
        self._subsets: dict[str, DigitSubset] = {}

    def fork(
        self, seq_length: int = 10, subset: str = "train", seed: int | None = None
    ) -> DigitSequences:
        """Return sequences of images of a subset; without a seed, the parent draws one."""
        if subset not in ("train", "valid", "test"):
            raise ValueError(f"subset {subset!r} is not one of train, valid, test")
        if seed is None:
            seed = int(self._parent.integers(0, 2**32 - 1))
        if subset not in self._subsets:
            corpus = load_subset(self.family, self.family, subset)
            self._subsets[subset] = DigitSubset(corpus, self._digits, self._device)
        return DigitSequences(self._subsets[subset], seq_length, self._operation, seed, self.family)

    def get_item_shape(self) -> ItemShape:
        return ItemShape((None, 28, 28), (None, 1))

    def is_cum_task(self) -> bool:
        return self._operation.startswith("cum")


class SequentialMnistDataset(_SequentialDataset):
    """Sequences of MNIST images, float32 (L, 1, 28, 28), with targets (L, 1).

    `div` is the product, and the reciprocals of `cumdiv` are whole numbers, as in published code.
    """

    family = "mnist"
    operations = (*_SequentialDataset.operations, "div", "cumdiv")

    def __init__(
        self,
        operation: str,
        num_workers: int = 1,
        mnist_digits: Sequence[int] = range(10),
        seed: int | None = None,
        use_cuda: bool = False,
    ):
        super().__init__(operation, mnist_digits, seed, use_cuda)


class SequentialSvhnDataset(_SequentialDataset):
    """Sequences of SVHN images, float32 (L, 3, 32, 32), with targets (L, 1)."""

    family = "svhn"

    def __init__(
        self,
        operation: str,
        num_workers: int = 1,
        svhn_digits: Sequence[int] = range(10),
        seed: int | None = None,
        use_cuda: bool = False,
    ):
        super().__init__(operation, svhn_digits, seed, use_cuda)


SPLIT_SEED = 0
"""Folds and the validation part are the same for every run."""


def digits_of(operation: str) -> range:
    """Return the digits of an operation; zero is no divisor."""
    return range(1, 10) if operation == "div" else range(10)


def all_pairs(operation: str) -> np.ndarray:
    """Return all pairs (n, 2) of an operation's digits, in ascending order."""
    return np.array([*product(digits_of(operation), repeat=2)])


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
    function = {"add": np.add, "mul": np.multiply, "div": np.true_divide}[operation]
    return function(pairs[:, 0], pairs[:, 1]).astype(np.float32)


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

    labels: labels of the images of each fold. The orders come from a separate generator with the
    seed `seed`.
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
_PIXELS = PixelTable.mnist()


def side_by_side(digits: torch.Tensor) -> torch.Tensor:
    """Return one image (1, height, 2 width) of each pair: the left digit, then the right one."""
    return _PIXELS(_joined(digits))


def scattered(random: LegacyRandom, concat_dim: str, digits: torch.Tensor) -> torch.Tensor:
    """Return pairs of digits turned, scaled and placed at random whenever they are read.

    concat_dim: `colour` makes (2, 42, 42), a channel a digit; `width` makes (1, 42, 84).
    """
    images = digits.flatten(0, 1)
    angles, scales = (v.to(images.device) for v in draw_angles_and_scales(len(images)))
    # Corners lie anywhere but at the upper end: so the published transform was written.
    offsets = torch.from_numpy(random.integers(0, CANVAS - images.shape[-1], (len(images), 2)))
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
        fixed = torch.stack((by_column, by_row, start))[..., None, None] * (1 << 16) + 0.5
        step, down, first = fixed.floor().int()
        return (first + step * places + down * places[:, None]) >> 16

    columns, rows = source(cos, sin), source(-sin, cos)
    inside = (columns >= 0) & (columns < size) & (rows >= 0) & (rows < size)
    flat = (rows * size + columns).clamp_(0, size * size - 1).flatten(1).long()
    return images.flatten(1).gather(1, flat).view_as(images) * inside


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
