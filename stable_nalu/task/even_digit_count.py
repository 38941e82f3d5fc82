"""Even digits of a picture counted by one network with different last layers.

Section 4.6 and table 4 of the NALU paper. The pictures and the network are those of Segui et al.
(2015) as a public repository has them; that they are the paper's is an inference.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.base.tags import ACCURACY_TEST, ACCURACY_VALID, CONFUSION, RMSE_TEST
from stable_nalu.dataset import images
from stable_nalu.network import digits as digit_networks
from stable_nalu.options import Config, Flag, switch
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import buildable_layers, each_word, integer
from stable_nalu.options.flags import MAX_ITERATIONS
from stable_nalu.training.surroundings import floats
from stable_nalu.training.task import Batch, Goal, Kind, Task

from .description import DATA_DIR, DIGIT_SOURCE, TESTING, table, task_script

SEEDS = {"valid": 20180801, "test": 20180802}
AT_ONCE = 500
"""Pictures of a test that the network is given together."""


class EvenDigitTask(Task):
    """Learn the number of even digits as a class.

    Pictures of training, validation and test are made of different digits. All networks are tested
    on the same pictures, and those of one seed are trained on the same.
    """

    kind = Kind(cost=1000)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        return Goal(ACCURACY_VALID, ACCURACY_TEST)

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        sizes = config.batch_size, config.train_images
        source = {"mnist": "MNIST", "digits": "scikit-learn"}[config.digit_source]
        self.about = f"dataset: pictures of none to {config.max_digits} digits of {source}"
        self._stream = images.TrainingStream(self._pictures("train"), config.seed, *sizes)

    def _pictures(self, subset: str) -> images.EvenDigitPictures:
        config = self.config
        corpus = images.load_subset("mnist", config.digit_source, subset, config.data_dir)
        placement = images.Placement(config.image_size, config.max_digits, config.min_distance)
        return images.EvenDigitPictures(corpus, placement)

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return digit_networks.EvenDigitNetwork(
            config.layer_type,
            config.image_size,
            config.max_digits + 1,
            bias=not config.no_head_bias,
            **layer_options,
        )

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
    """Return the part of right answers."""
    return confusion.diagonal().sum() / confusion.sum()


def rmse(confusion: torch.Tensor) -> torch.Tensor:
    """Return the root of the mean squared difference of answer and number."""
    number = torch.arange(len(confusion), device=confusion.device)
    squares = (number - number.unsqueeze(-1)) ** 2
    return ((confusion * squares).sum() / confusion.sum()).sqrt()


_HEADS = ("linear", "sigmoid", "tanh")


def _heads() -> tuple[str, ...]:
    """List the last layers by name.

    Units whose run names were those of others are left out: activations behind a dense layer.
    """
    return (*_HEADS, *(name for name in buildable_layers() if name.lower() not in _HEADS))


def _check_head_bias(c: Config) -> None:
    """Require that the bias is either there or not."""
    if c.head_bias and c.no_head_bias:
        raise OptionError("--head-bias", "contradicts --no-head-bias", "leave one of them out")


def _check_room(c: Config) -> None:
    """Require that the digits find room in a picture."""
    if c.image_size <= images.DIGIT:
        problem = f"{c.image_size} is no larger than a digit, which has {images.DIGIT} rows"
        raise OptionError("--image-size", problem, "give a larger one")
    if not images.Placement(c.image_size, c.max_digits, c.min_distance).fits():
        raise OptionError(
            "--min-distance",
            f"{c.max_digits} digits {c.min_distance} pixels apart find no room in pictures of "
            f"{c.image_size} x {c.image_size}",
            "give a smaller distance, fewer digits or larger pictures",
        )


SCRIPT = task_script(
    "even_digit_count",
    summary="Train a network to count the even digits of a picture, with different last layers.",
    example="--layer-type NAC --no-head-bias --seed 0-2",
    task=(
        Flag(
            "--layer-type",
            each_word("NAME", lambda word: word.upper() if word in ("nac", "nalu") else word),
            "linear",
            "Last layer: dense, with weights as they are (linear) or squashed by a sigmoid or a "
            "tanh, or a unit, by its key or name.",
            _heads,
            aliases=("--head-weight",),
        ),
        switch(
            "--head-bias",
            "Give the last layer a bias, as is done by default.",
            unnamed="it says what is done anyway",
            result=False,
        ),
        switch("--no-head-bias", "Give the last layer no bias."),
        DIGIT_SOURCE,
        DATA_DIR,
        Flag("--image-size", integer(1), 100, "Rows and columns of a picture."),
        Flag("--max-digits", integer(1), 5, "Most digits of a picture; it has none to so many."),
        Flag("--min-distance", integer(0), 28, "Least pixels between the centres of two digits."),
        Flag(
            "--train-images",
            integer(0),
            0,
            "Number of training pictures; 0: every batch is drawn anew.",
        ),
        MAX_ITERATIONS.but(default=10000),
        Flag(
            "--valid-images",
            integer(1),
            1000,
            "Pictures of a validation, which log points make.",
            unnamed=TESTING,
        ),
        Flag(
            "--test-images",
            integer(1),
            10000,
            "Pictures of the test, which the last update makes.",
            unnamed=TESTING,
        ),
    ),
    fragments=(
        nf.either("no_head_bias", "b-0", "b-1"),
        "n{max_digits} d{min_distance} i{image_size} t{train_images} {digit_source}",
    ),
    checks=(_check_head_bias, _check_room),
    batch_size=32,
    learning_rate=1e-3,
    log_interval=500,
)
TASK = EvenDigitTask
