"""Counting the digits of a sequence of images, and adding them up, beyond the length of training.

Section 4.2 and table 2 of the NALU paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.images import PixelTable, load_subset
from stable_nalu.dataset.images.counting import TASKS, fixed_places, training_places
from stable_nalu.dataset.images.sequential import ALL_DIGITS, DigitSubset
from stable_nalu.functional import mse
from stable_nalu.network.mnist_counting import CountingNetwork
from stable_nalu.options import Config
from stable_nalu.options.scripts_counting import OUTPUTS
from stable_nalu.tags import METRIC_TEST, MSE_TRAIN

from .training import EPOCHS, Batch, Task, kind

TRAIN_SEED, VALID_SEED, TEST_SEED = 62379872, 47430696, 88253339
"""Orders of the images that are measured: the same for all runs."""

IMAGES_AT_ONCE = 500
SHOWN_DIGITS = 10
"""The first images of the test, whose outputs are logged step by step."""

MSE_VALID = "metric/valid/mse"


class CountingTask(Task):
    """Learn what follows from all digits of a sequence, and be tested on other lengths."""

    valid = MSE_VALID

    def __init__(self, configs: Sequence[Config], device: torch.device, *, stacked: bool):
        super().__init__(configs, device, stacked=stacked)
        config = self.config
        flat = config.cnn == "mlp8"
        self._pixels = PixelTable() if flat else PixelTable.mnist()
        folder = Path(config.data_dir) if config.data_dir else None
        self._subsets: dict[str, DigitSubset] = {}
        for name in ("train", "valid", "test"):
            corpus = load_subset("digits" if flat else "mnist", config.digit_source, name, folder)
            self._subsets[name] = DigitSubset(corpus, ALL_DIGITS, device)
        self._labels = {
            name: torch.from_numpy(subset.labels).to(device)
            for name, subset in self._subsets.items()
        }
        self._target = TASKS[config.task]
        self._every = config.sequence_loss == "all"
        length = config.interpolation_length
        self.lengths = sorted({length, *config.extrapolation_lengths})
        # That of the longest sequences, which a flag says.
        longest = f"{METRIC_TEST}/{self.lengths[-1]}/mse"
        self.test = longest  # pyright: ignore[reportAttributeAccessIssue]
        # As many images of the training set as validate: all would take as long as an epoch's half.
        self._measured = len(self._subsets["valid"])
        self._fixed = {
            MSE_TRAIN: ("train", fixed_places(self._measured, length, TRAIN_SEED)),
            MSE_VALID: ("valid", fixed_places(self._measured, length, VALID_SEED)),
        }
        images = len(self._subsets["test"])
        self._tested = {
            length: self._places(fixed_places(images, length, TEST_SEED, config.test_repeats))
            for length in self.lengths
        }
        self._shown = self._tested[self.lengths[0]].flatten()[:SHOWN_DIGITS]
        training_places(len(self._subsets["train"]), length, 0, 0)

    @staticmethod
    def network(config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        outputs = OUTPUTS[config.task]
        return CountingNetwork(
            config.layer_type,
            outputs,
            config.cnn_outputs or outputs,
            config.cnn,
            config.cnn_dropout,
            **layer_options,
        )

    def _places(self, places: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(places).to(self.device)

    def _seen(self, name: str, places: torch.Tensor) -> torch.Tensor:
        """Return what networks see of the images at some places."""
        return self._pixels(self._subsets[name].images[places]).to(torch.get_default_dtype())

    def _answers(self, name: str, places: torch.Tensor) -> torch.Tensor:
        """Return what is true after each digit of sequences."""
        return self._target(self._labels[name][places]).to(torch.get_default_dtype())

    def batches(self, unit: int) -> Iterator[Batch]:
        count, length = len(self._subsets["train"]), self.config.interpolation_length
        of_runs = [training_places(count, length, c.seed, unit) for c in self.configs]
        places = self._places(np.stack(of_runs) if self.stacked else of_runs[0])
        for part in places.split(self.config.batch_size, -2):
            yield self._seen("train", part), self._answers("train", part)

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any) -> torch.Tensor:
        y = model(x, every=self._every)
        t = t if self._every else t[..., -1:, :]
        return mse(y.flatten(-3, -2), t.flatten(-3, -2))

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        model = cast("CountingNetwork", model)
        found: dict[str, torch.Tensor] = {}
        for tag, (name, fixed) in self._fixed.items():
            places = self._places(fixed)
            read = self._read(model, name, self._measured)
            found[tag] = self._errors(model, read, name, places)["mse"]
        read = self._read(model, "test", len(self._subsets["test"]))
        for length, places in self._tested.items():
            errors = self._errors(model, read, "test", places)
            found |= {f"{METRIC_TEST}/{length}/{tag}": error for tag, error in errors.items()}
        last = self.unit == self.config.max_epochs
        return found | (self._told(model, read) if last else {})

    def _told(self, model: CountingNetwork, read: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return digits of the test and, after each, the outputs of the cell."""
        outputs = model.accumulate(read[..., self._shown, :].unsqueeze(-3), every=True)
        digits = self._labels["test"][self._shown].to(outputs)
        found: dict[str, torch.Tensor] = {}
        for step, digit in enumerate(digits, start=1):
            found[f"metric/test/shown/{step}/digit"] = digit.expand(outputs.shape[:-3])
            for place in range(model.outputs):
                found[f"metric/test/shown/{step}/{place}"] = outputs[..., 0, step - 1, place]
        return found

    def _read(self, model: CountingNetwork, name: str, count: int) -> torch.Tensor:
        """Return what the image network makes of the first images, `(*runs, images, features)`."""
        parts = torch.arange(count, device=self.device).split(IMAGES_AT_ONCE)
        return torch.cat([model.reader(self._seen(name, part)) for part in parts], -2)

    def _errors(
        self, model: CountingNetwork, read: torch.Tensor, name: str, places: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Return errors after the last digit, and the share of sequences with the right answer.

        An answer is right if all outputs round to what is true; of the counts of one digit, if the
        largest is that of the digit.
        """
        y = model.accumulate(read[..., places, :]).squeeze(-2)
        t = self._answers(name, places)[..., -1, :]
        if places.shape[-1] == 1 and self.config.task == "count":
            right = y.argmax(-1) == t.argmax(-1)
        else:
            right = (y.round() == t).all(-1)
        error = y - t
        return {
            "mse": (error**2).mean((-2, -1)),
            "mae": error.abs().mean((-2, -1)),
            "acc": right.to(y).mean(-1),
        }

    def introduction(self) -> str:
        count = len(self._subsets["train"])
        return f"dataset: {count} training images of {self.config.digit_source}"


KINDS = {"mnist_counting": kind(CountingTask, EPOCHS, cost=20_000)}
