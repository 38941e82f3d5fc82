"""Even digits of a picture counted by one network with different last layers.

Section 4.6 and table 4 of the NALU paper. The pictures and the network follow a public repository
that reimplements Segui, Pujol & Vitria (2015, arXiv:1505.08082). We infer that the paper uses the
same.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import images
from stable_nalu.functional import linear
from stable_nalu.layer.registry import GeneralizedLayer
from stable_nalu.network.dense import Convolution, Dense, pooled
from stable_nalu.options import Config, Flag, switch
from stable_nalu.options.flag import buildable_layers, each_word, integer
from stable_nalu.options.flags import MAX_ITERATIONS, refuse
from stable_nalu.training import floats
from stable_nalu.training.task import Batch, Kind, Task
from stable_nalu.writer.event_file import ACCURACY_TEST, ACCURACY_VALID, CONFUSION, RMSE_TEST

from .shared import DATA_DIR, DIGIT_SOURCE, TESTING, table, task_script

DIGIT = images.SIZES["mnist"]
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

    def rows(self, index: slice | np.ndarray) -> "Layouts":
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

        Centres are uniform; where two are too near, all of a picture are drawn again.
        """
        counts = random.integers(self.most + 1, size=count)
        corner = np.zeros((count, self.most, 2), dtype=np.int64)
        for k in range(1, self.most + 1):
            of_k = np.flatnonzero(counts == k)
            corner[of_k, :k] = self._sets(random, k, len(of_k))
        return Layouts(counts, corner, random.integers(digits, size=(count, self.most)))

    def _sets(self, random: np.random.Generator, k: int, count: int) -> np.ndarray:
        """Return `count` sets of k corners that are far enough from each other, or none."""
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
                break
        return np.concatenate([np.zeros((0, k, 2), dtype=np.int64), *found])

    def fits(self) -> bool:
        """Return whether pictures of the most digits are found by drawing."""
        return len(self._sets(np.random.default_rng(0), self.most, 1)) == 1


class EvenDigitPictures:
    """Pictures of the digits of a corpus, as bytes, and the number of even digits in each."""

    def __init__(self, corpus: images.ImageCorpus, placement: Placement):
        self.placement = placement
        self._digits = corpus.images.astype(np.int16)
        self._even = corpus.labels % 2 == 0

    def draw(self, random: np.random.Generator, count: int) -> Layouts:
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
        self._seed, self._size, self._train_images = seed, batch_size, train_images
        self._block = -1
        if train_images:
            self._layouts = pictures.draw(np.random.default_rng((seed, 0)), train_images)

    def batch(self, update: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the pictures and labels of an update; it may be asked for any."""
        size, count = self._size, self._train_images
        if count:
            places = np.arange(update * size, (update + 1) * size)
            epochs, within = (part.tolist() for part in np.divmod(places, count))
            random = {e: np.random.default_rng((self._seed, 1 + e)) for e in epochs}
            orders = {e: own.permutation(count) for e, own in random.items()}
            index = np.array([orders[e][w] for e, w in zip(epochs, within, strict=True)])
            return self.pictures.batch(self._layouts.rows(index))
        block, place = divmod(update, UPDATES_AT_ONCE)
        if block != self._block:
            random = np.random.default_rng((self._seed, block))
            self._layouts, self._block = self.pictures.draw(random, UPDATES_AT_ONCE * size), block
        return self.pictures.batch(self._layouts.rows(slice(place * size, (place + 1) * size)))


HEADS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "linear": lambda w: w,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}
"""What dense last layers do to their weights; any other name is a unit's key."""

FEATURES = 32


class EvenDigitNetwork(ExtendedTorchModule):
    """Pictures x `(batch, size, size)` -> scores `(batch, classes)`.

    The network of a public repository that counts digits as Segui et al. (2015) do: convolutions
    of 8 kernels (7 x 7, stride 2, then the largest of 2 x 2), 16 (3 x 3, dilated by 2), 32 (3 x 3)
    and 1 (1 x 1), a dense layer of 32, each with a ReLU, and the head.

    Initial weights are torch's, but the last convolution takes absolute values: else its one
    channel is 0 everywhere in some networks, which never learn. Networks of one seed start alike
    except for their heads.
    """

    def __init__(self, c: Config, **layer_options: Any):
        super().__init__("network")
        self.first = HalvingConvolution(1, 8, 7, name="first")
        self.second = Convolution(8, 16, 3, name="second", padding=2, dilation=2)
        self.third = Convolution(16, 32, 3, name="third", padding=1)
        self.fourth = Dense(32, 1, "ReLU", "fourth")
        self.dense = Dense((math.ceil(c.image_size / 2) // 2) ** 2, FEATURES, "ReLU")
        with torch.random.fork_rng(devices=[]):
            self.head = Head(c.layer_type, c.max_digits + 1, not c.no_head_bias, **layer_options)

    def reset_parameters(self) -> None:
        for module in (self.first, self.second, self.third, self.fourth, self.dense):
            module.reset_parameters()
        with torch.no_grad():
            self.fourth.W.abs_()
            self.fourth.bias.zero_()
        # Heads draw different amounts of random numbers.
        with torch.random.fork_rng(devices=[]):
            self.head.reset_parameters()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))

    def features(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the head reads, `(batch, 32)`."""
        # Pooling and ReLU commute.
        h = torch.relu(pooled(self.first(x)))
        h = torch.relu(self.third(torch.relu(self.second(h))))
        # A kernel of 1 x 1 is a dense layer of the channels.
        h = h.movedim(-3, -1)
        pixels = self.fourth(h.flatten(0, 2))
        return self.dense(pixels.reshape(len(h), -1))


class HalvingConvolution(Convolution):
    """x `(batch, height, width)` -> `(batch, kernels, height / 2, width / 2)`.

    A convolution of stride 2 of pictures with one channel, padded by 3: computed on blocks of 2 x 2
    pixels as channels, which takes half the time.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        sides = [side for n in x.shape[:-3:-1] for side in (4, 2 + n % 2)]
        x = functional.pixel_unshuffle(functional.pad(x, sides).unsqueeze(-3), 2)
        W = functional.pixel_unshuffle(functional.pad(self.W, (1, 0, 1, 0)), 2)
        # Where channels lie side by side, all that follows is quicker.
        x = x.contiguous(memory_format=torch.channels_last)
        return functional.conv2d(x, W, self.bias)


class Head(ExtendedTorchModule):
    """h `(batch, 32)` -> scores `(batch, outputs)`: W h + b or unit(h) + b.

    unit_name: of `HEADS`, whose function makes W from the weights, or a unit's key. Weights start
    uniform in +-1 / sqrt(32), biases at 0, units as they do everywhere.
    """

    def __init__(self, unit_name: str, outputs: int, bias: bool, **layer_options: Any):
        super().__init__("head")
        self.unit_name, self.in_features, self.out_features = unit_name, FEATURES, outputs
        if unit_name in HEADS:
            self.W_hat = torch.nn.Parameter(torch.empty(outputs, FEATURES))
        else:
            self.layer = GeneralizedLayer(FEATURES, outputs, unit_name, **layer_options)
        own = torch.nn.Parameter(torch.empty(outputs)) if bias else None
        self.register_parameter("bias", own)

    def reset_parameters(self) -> None:
        if self.unit_name in HEADS:
            bound = 1 / math.sqrt(self.in_features)
            torch.nn.init.uniform_(self.W_hat, -bound, bound)
        else:
            self.layer.reset_parameters()
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, h: torch.Tensor) -> torch.Tensor:
        if self.unit_name in HEADS:
            return linear(h, HEADS[self.unit_name](self.W_hat), self.bias)
        y = self.layer(h)
        return y if self.bias is None else y + self.bias


SEEDS = {"valid": 20180801, "test": 20180802}
AT_ONCE = 500
"""Pictures of a test that the network is given together."""


class EvenDigitTask(Task):
    """Learn the number of even digits as a class.

    Pictures of training, validation and test are made of different digits. All networks are tested
    on the same pictures, and networks of one seed are trained on the same.
    """

    kind = Kind(cost=1000, errors=(ACCURACY_VALID, ACCURACY_TEST))

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        sizes = config.batch_size, config.train_images
        source = {"mnist": "MNIST", "digits": "scikit-learn"}[config.digit_source]
        self.about = f"dataset: pictures of none to {config.max_digits} digits of {source}"
        self._stream = TrainingStream(self._pictures("train"), config.seed, *sizes)

    def _pictures(self, subset: str) -> EvenDigitPictures:
        config = self.config
        corpus = images.load_subset("mnist", config.digit_source, subset, config.data_dir)
        placement = Placement(config.image_size, config.max_digits, config.min_distance)
        return EvenDigitPictures(corpus, placement)

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return EvenDigitNetwork(config, **layer_options)

    def batches(self) -> Iterator[Batch]:
        x, t = self._stream.batch(self.at)
        yield floats(x, self.device), t.to(self.device)

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        return -model(x).log_softmax(-1).gather(-1, t.unsqueeze(-1)).mean()

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor | str]:
        valid = self._confusion(model, "valid", self.config.valid_images)
        found: dict[str, torch.Tensor | str] = {ACCURACY_VALID: accuracy(valid)}
        if self.at < self.config.max_iterations:
            return found
        test = self._confusion(model, "test", self.config.test_images)
        measures = {ACCURACY_TEST: accuracy(test), RMSE_TEST: rmse(test)}
        columns = ("even digits \\ answer", *range(len(test)))
        rows = [(number, *counts) for number, counts in enumerate(test.cpu().long().tolist())]
        return found | measures | {CONFUSION: table(columns, rows)}

    def _confusion(self, model: ExtendedTorchModule, subset: str, count: int) -> torch.Tensor:
        """Return how many pictures of a number were taken for each, `(number, answer)`."""
        pictures = self._pictures(subset)
        layouts = pictures.draw(np.random.default_rng(SEEDS[subset]), count)
        classes = self.config.max_digits + 1
        found = torch.zeros(classes * classes, device=self.device)
        for first in range(0, count, AT_ONCE):
            x, t = pictures.batch(layouts.rows(slice(first, first + AT_ONCE)))
            place = t.to(self.device) * classes + model(floats(x, self.device)).argmax(-1)
            found.scatter_add_(-1, place, torch.ones_like(place, dtype=found.dtype))
        return found.unflatten(-1, (classes, classes))


def accuracy(confusion: torch.Tensor) -> torch.Tensor:
    return confusion.diagonal().sum() / confusion.sum()


def rmse(confusion: torch.Tensor) -> torch.Tensor:
    number = torch.arange(len(confusion), device=confusion.device)
    squares = (number - number.unsqueeze(-1)) ** 2
    return ((confusion * squares).sum() / confusion.sum()).sqrt()


def _last_layers() -> tuple[str, ...]:
    """List the last layers by name.

    Units that would share the run name of others are left out: activations behind a dense layer.
    """
    return (*HEADS, *(name for name in buildable_layers() if name.lower() not in HEADS))


# A flag is a few lines of a table.
# fmt: off
def _check_head_bias(c: Config) -> None:
    refuse(c.head_bias and c.no_head_bias, "--head-bias", "contradicts --no-head-bias",
        "leave one of them out")


def _check_room(c: Config) -> None:
    refuse(c.image_size <= DIGIT, "--image-size",
        f"{c.image_size} is no larger than a digit, which has {DIGIT} rows", "give a larger one")
    refuse(not Placement(c.image_size, c.max_digits, c.min_distance).fits(), "--min-distance",
        f"{c.max_digits} digits {c.min_distance} pixels apart find no room in pictures of "
        f"{c.image_size} x {c.image_size}",
        "give a smaller distance, fewer digits or larger pictures")


_TASK = (
    Flag("--layer-type",
        each_word("NAME", lambda word: word.upper() if word in ("nac", "nalu") else word), "linear",
        "Last layer: dense, with weights as they are (linear) or squashed by a sigmoid or a "
        "tanh, or a unit, by its key or name.", _last_layers, aliases=("--head-weight",)),
    switch("--head-bias", "Give the last layer a bias, as is done by default.",
        unnamed="it says what is done anyway", result=False),
    switch("--no-head-bias", "Give the last layer no bias.", in_name="b-0"),
    Flag("--max-digits", integer(1), 5, "Most digits of a picture; it has none to so many.",
        in_name="n{max_digits}"),
    Flag("--min-distance", integer(0), 28, "Least pixels between the centres of two digits.",
        in_name="d{min_distance}"),
    Flag("--image-size", integer(1), 100, "Rows and columns of a picture.",
        in_name="i{image_size}"),
    Flag("--train-images", integer(0), 0,
        "Number of training pictures; 0: new ones in every batch.", in_name="t{train_images}"),
    *(DIGIT_SOURCE.but(in_name="{digit_source}"), DATA_DIR),
    MAX_ITERATIONS.but(default=10000),
    Flag("--valid-images", integer(1), 1000, "Pictures of a validation, which log points make.",
        unnamed=TESTING),
    Flag("--test-images", integer(1), 10000, "Pictures of the test, which the last update makes.",
        unnamed=TESTING),
)
SCRIPT = task_script(
    "even_digit_count",
    summary="Train networks with different last layers to count the even digits of a picture.",
    example="--layer-type NAC --no-head-bias --seed 0-2",
    task=_TASK,
    checks=(_check_head_bias, _check_room), batch_size=32, learning_rate=1e-3, log_interval=500,
)
TASK = EvenDigitTask
