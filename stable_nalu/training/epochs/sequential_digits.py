"""Training on sequences of digit images: `sequential_mnist` and `sequential_svhn`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import torch

from stable_nalu.dataset.images import DigitSequences, SequentialDigitDataset
from stable_nalu.dataset.images.sources import torchvision
from stable_nalu.dataset.loader import Batch
from stable_nalu.layer.torch_cell import TorchCell
from stable_nalu.network import RegressionMnistNetwork, SequentialDigitNetwork
from stable_nalu.options import Config
from stable_nalu.tags import LOSS_ACCURACY, METRIC, METRIC_TEST, RESULT_TEST, RESULT_VALID

from ..checkpoint import seed_generators
from ..recorder import TaggedValue, observe_gradients, observe_modules, scalar
from ..stack import Kind, Setup
from ..step import Observed, StepResult, TrainingStep
from .training import EPOCHS, PROGRESS, EpochTraining

LOG_EPOCHS = 5
LOG_UPDATES = 100
EVALUATION_BATCH = 64
IMAGES_AT_ONCE = 500
TRAIN_FULL_SEED, VALID_SEED, TEST_SEED = 62379872, 47430696, 88253339

ImageNetwork = Callable[[Config], Callable[[int], torch.nn.Module]]


class SequentialStep(TrainingStep):
    """A step whose model reads sequences and gives an answer at every time step.

    The last labels, answers and, where they are traced, observations are kept for the log.
    """

    verbose = False
    labels: torch.Tensor
    answers: torch.Tensor

    def loss(self, x: torch.Tensor, t: torch.Tensor, criterion, weights):
        model = cast("SequentialDigitNetwork", self.model)
        self._observed: list[TaggedValue] = []
        if model.trace is not None:
            # The published log has a value of every time step.
            model.step_ended = lambda: self._observed.extend(
                observe_modules(model, verbose=self.verbose)
            )
        self.labels, self.answers = model(x)
        model.step_ended = None
        return self.loss_of(self.answers.flatten(0, 1), t.flatten(0, 1), criterion, weights)

    def observe(self, verbose: bool) -> list[TaggedValue]:
        return self._observed

    def observe_gradients(self, gradients: Sequence[torch.Tensor | None]) -> list[TaggedValue]:
        """Return those of the cell, unless it is torch's: published logs have no others."""
        cell = getattr(self.model, "recurent_cell", None)
        if cell is None or isinstance(cell.cell, TorchCell):
            return []
        own = set(map(id, cell.parameters()))
        pairs = zip(self.parameters, gradients, strict=True)
        by_parameter = {id(p): gradient for p, gradient in pairs if id(p) in own}
        return observe_gradients(self.model, by_parameter, run_dims=0)


class SequentialTraining(EpochTraining):
    """One run, whose loss is the criterion over all steps of all sequences, plus penalties.

    Evaluation is in training mode, as published: noise and batch statistics stay on.
    """

    model: SequentialDigitNetwork
    step: SequentialStep

    def __init__(self, setup: Setup, family: str, image_network: ImageNetwork):
        config = setup.configs[0]
        self.family = family
        seed_generators(config.seed)
        self._fork(config, setup.device)
        model = SequentialDigitNetwork(
            image_network(config),
            config.layer_type,
            getattr(config, f"{family}_outputs"),
            config.nac_mul,
            config.model_simplification,
            **setup.layer_options[0],
        )
        # The constructor's values are not used: published runs train on the next draw.
        model.reset_parameters()
        model.to(setup.device)
        step = SequentialStep([config], model, stacked=False)
        step.verbose = config.verbose
        # Batch statistics need two images of a step.
        self._smallest = 1 if model.reads_images_alone else 2
        batches = self.training.dataloader(config.batch_size, True, self._smallest)
        super().__init__(setup, model, step, batches)
        longest = max(config.extrapolation_lengths)
        self.error_tags = {
            RESULT_VALID: f"{METRIC}/valid/mse",
            RESULT_TEST: f"{METRIC_TEST}/{longest}/mse",
        }
        self._valid = math.nan

    def _fork(self, config: Config, device: torch.device) -> None:
        dataset = SequentialDigitDataset(
            self.family,
            config.operation,
            getattr(config, f"{self.family}_digits"),
            config.seed,
            config.data_source,
            Path(config.data_dir) if config.data_dir else None,
            device,
        )
        length = config.interpolation_length
        self.training = dataset.fork(length)
        self.evaluated: dict[str, DigitSequences] = {
            "train": dataset.fork(length, "train", TRAIN_FULL_SEED),
            "valid": dataset.fork(length, "valid", VALID_SEED),
        }
        for longer in config.extrapolation_lengths:
            name = f"test/extrapolation/{longer}"
            self.evaluated[name] = dataset.fork(longer, "test", TEST_SEED)

    def is_log_point(self, epoch: int) -> bool:
        return epoch % LOG_EPOCHS == 0

    @torch.no_grad()
    def evaluate(self) -> Iterator[None]:
        read: dict[int, torch.Tensor] = {}
        with self.model.no_random():
            for name, sequences in self.evaluated.items():
                if self.model.reads_images_alone and id(sequences.subset) not in read:
                    read[id(sequences.subset)] = self._read(sequences)
                labels = read.get(id(sequences.subset))
                metrics = torch.zeros(3, dtype=torch.float64)
                for x, t in sequences.dataloader(EVALUATION_BATCH, False, self._smallest, labels):
                    y = self.model.accumulate(self.model.labels(x) if labels is None else x)
                    metrics += len(t) * _metrics(y, t).cpu()
                    yield
                self._write_metrics(name, metrics / len(sequences))

    def _read(self, sequences: DigitSequences) -> torch.Tensor:
        """Return labels of all images of a subset, `(images, outputs)`, which sequences share."""
        images = sequences.subset.images.split(IMAGES_AT_ONCE)
        return torch.cat([self.model.image2label(sequences.table(part)) for part in images])

    def _write_metrics(self, name: str, metrics: torch.Tensor) -> None:
        tags = (f"{METRIC}/{name}/{what}" for what in ("mse", "acc/all", "acc/last"))
        self.write(scalar(*pair) for pair in zip(tags, metrics, strict=True))
        if name == "valid":
            self._valid = metrics[0].item()

    def train_batch(self, epoch: int, update: int, batch: Batch, *, at_log_point: bool) -> None:
        x, t = batch
        verbose = self.config.verbose
        regularly = update % LOG_UPDATES == 0
        modules = at_log_point or regularly
        observed = Observed(modules, verbose and regularly, verbose and modules, verbose)

        def on_result(result: StepResult) -> Iterator[TaggedValue]:
            _, accuracy, accuracy_of_last = _metrics(self.step.answers.detach(), t)
            yield scalar(f"{LOSS_ACCURACY}/all", accuracy)
            yield scalar(f"{LOSS_ACCURACY}/last", accuracy_of_last)
            yield from result.losses()
            if at_log_point:
                shown = torch.cat((self.step.labels[:, 0], t[:, 0]), dim=-1)
                yield TaggedValue("tensor", f"{self.family.upper()}/train", shown)

        schedule = self.step.prepare(update)
        result = self.step.run_logged(x, t, schedule, self.recorder, observed, on_result)
        self.last_total = result.total.detach()

    def summary(self) -> str:
        return f"{self._loss():.5f}, valid: {self._valid:.5f}"

    def results(self) -> dict[str, float]:
        return {"loss_train": self._loss(), "metric_valid": self._valid}

    def shown_parameters(self) -> Iterable[tuple[str, torch.Tensor]]:
        return ((n, p) for n, p in self.model.named_parameters() if "recurent_cell" in n)

    def get_state(self) -> dict[str, float]:
        return {"metric_valid": self._valid}

    def _loss(self) -> float:
        return math.nan if self.last_total is None else self.last_total.item()

    def set_state(self, state: Mapping[str, float]) -> None:
        self._valid = state["metric_valid"]


def _metrics(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error, the share of right roundings, and that of the last step."""
    right = (y.round() == t).to(torch.float64)
    return torch.stack([((y - t) ** 2).mean().to(torch.float64), right.mean(), right[:, -1].mean()])


def _regression(config: Config) -> Callable[[int], torch.nn.Module]:
    return RegressionMnistNetwork


def _residual(config: Config) -> Callable[[int], torch.nn.Module]:
    build = getattr(torchvision().models, config.resnet)
    return lambda outputs: build(num_classes=outputs)


def _kind(family: str, image_network: ImageNetwork, *, all_cores: bool) -> Kind:
    build = partial(SequentialTraining, family=family, image_network=image_network)
    return Kind(build, EPOCHS, PROGRESS, all_cores=all_cores)


KINDS = {
    "sequential_mnist": _kind("mnist", _regression, all_cores=False),
    "sequential_svhn": _kind("svhn", _residual, all_cores=True),
}
