"""Even digits of a picture counted by one network with different last layers.

Section 4.6 and table 4 of the NALU paper. The pictures and the network are those of Segui et al.
(2015) as a public repository has them; that they are the paper's is an inference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.images import EvenDigitPictures, Placement, TrainingStream, load_subset
from stable_nalu.network.even_digits import EvenDigitNetwork
from stable_nalu.options import Config
from stable_nalu.tags import ACCURACY_TEST, ACCURACY_VALID, CONFUSION, RMSE_TEST

from .training import Batch, Task, kind

SEEDS = {"valid": 20180801, "test": 20180802}
AT_ONCE = 500
"""Pictures of a test that the network is given together."""


class EvenDigitTask(Task):
    """Learn the number of even digits as a class.

    Pictures of training, validation and test are made of different digits. All networks are tested
    on the same pictures, and those of one seed are trained on the same.
    """

    valid, test = ACCURACY_VALID, ACCURACY_TEST

    def __init__(self, configs: Sequence[Config], device: torch.device, *, stacked: bool):
        super().__init__(configs, device, stacked=stacked)
        training = self._pictures("train")
        self._streams = [
            TrainingStream(training, c.seed, c.batch_size, c.train_images) for c in configs
        ]
        self._last: dict[str, Any] = {}

    def _pictures(self, subset: str) -> EvenDigitPictures:
        config = self.config
        folder = Path(config.data_dir) if config.data_dir else None
        corpus = load_subset("mnist", config.digit_source, subset, folder)
        placement = Placement(config.image_size, config.max_digits, config.min_distance)
        return EvenDigitPictures(corpus, placement)

    @staticmethod
    def network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return EvenDigitNetwork(
            config.layer_type,
            config.image_size,
            config.max_digits + 1,
            bias=not config.no_head_bias,
            **layer_options,
        )

    def batches(self, unit: int) -> Iterator[Batch]:
        x, t = zip(*(stream.batch(unit) for stream in self._streams), strict=True)
        yield self.joined(x), self._labels(t)

    def _labels(self, of_runs: Sequence[torch.Tensor]) -> torch.Tensor:
        return (torch.stack(list(of_runs)) if self.stacked else of_runs[0]).to(self.device)

    def loss(self, model: ExtendedTorchModule, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        log_p = torch.log_softmax(model(x), -1)
        return -log_p.gather(-1, t.unsqueeze(-1)).squeeze(-1).mean(-1)

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        found = {
            ACCURACY_VALID: _accuracy(self._confusion(model, "valid", self.config.valid_images))
        }
        if self.unit == self.config.max_iterations:
            confusion = self._confusion(model, "test", self.config.test_images)
            self._last = {"confusion": confusion}
            found |= {ACCURACY_TEST: _accuracy(confusion), RMSE_TEST: _rmse(confusion)}
        return found

    def _confusion(self, model: ExtendedTorchModule, subset: str, count: int) -> torch.Tensor:
        """Return how many pictures of a number were taken for each, `(*runs, number, answer)`."""
        pictures = self._pictures(subset)
        layouts = pictures.draw(np.random.default_rng(SEEDS[subset]), count)
        runs = (len(self.configs),) if self.stacked else ()
        classes = self.config.max_digits + 1
        found = torch.zeros(*runs, classes * classes, device=self.device)
        for first in range(0, count, AT_ONCE):
            x, t = pictures.batch(layouts.rows(slice(first, first + AT_ONCE)))
            y = model(x.to(self.device, torch.get_default_dtype())).argmax(-1)
            place = t.to(self.device) * classes + y
            found.scatter_add_(-1, place, torch.ones_like(place, dtype=found.dtype))
        return found.unflatten(-1, (classes, classes))

    def texts(
        self, model: ExtendedTorchModule, *, first: bool, last: bool
    ) -> Mapping[str, Sequence[str]]:
        if not last:
            return {}
        confusion = self._last["confusion"].cpu().long()
        return {CONFUSION: [_table(one) for one in (confusion if self.stacked else [confusion])]}

    def introduction(self) -> str:
        config = self.config
        source = {"mnist": "MNIST", "digits": "scikit-learn"}[config.digit_source]
        return f"dataset: pictures of none to {config.max_digits} digits of {source}"


def _accuracy(confusion: torch.Tensor) -> torch.Tensor:
    """Return the part of right answers."""
    return confusion.diagonal(dim1=-2, dim2=-1).sum(-1) / confusion.sum((-2, -1))


def _rmse(confusion: torch.Tensor) -> torch.Tensor:
    """Return the root of the mean squared difference of answer and number."""
    number = torch.arange(confusion.shape[-1], device=confusion.device)
    squares = (number - number.unsqueeze(-1)) ** 2
    return ((confusion * squares).sum((-2, -1)) / confusion.sum((-2, -1))).sqrt()


def _table(confusion: torch.Tensor) -> str:
    """Return a table that TensorBoard shows as one."""
    numbers = range(len(confusion))
    head = [f"| even digits \\ answer | {' | '.join(map(str, numbers))} |"]
    rows = [f"| {k} | {' | '.join(map(str, confusion[k].tolist()))} |" for k in numbers]
    return "\n".join([*head, "|---" * (len(confusion) + 1) + "|", *rows])


# Stacks of convolutions are slower than the same runs one by one.
KINDS = {"even_digit_count": kind(EvenDigitTask, cost=1000)}
