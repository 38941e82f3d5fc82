"""Training on sequences of digit images: `sequential_mnist` and `sequential_svhn`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from stable_nalu.dataset.images import DigitSequences, SequentialDigitDataset
from stable_nalu.dataset.images.sources import torchvision
from stable_nalu.dataset.loader import Batch
from stable_nalu.layer.torch_cell import TorchCell
from stable_nalu.network import RegressionMnistNetwork, SequentialDigitNetwork
from stable_nalu.options import Config
from stable_nalu.tags import (
    LOSS_ACCURACY,
    LOSS_CRITERION,
    LOSS_REGULARIZER,
    LOSS_TOTAL,
    METRIC,
)

from ..logging.recorder import (
    TaggedValue,
    observe_gradients,
    observe_modules,
    observe_regualizers,
    scalar,
    start_trace,
    stop_trace,
)
from ..step.step import StepResult, TrainingStep
from .loop import EpochRun
from .script import EpochScript

LOG_EPOCHS = 5
LOG_UPDATES = 100
EVALUATION_BATCH = 64
IMAGES_AT_ONCE = 500
TRAIN_FULL_SEED, VALID_SEED, TEST_SEED = 62379872, 47430696, 88253339

ImageNetwork = Callable[[Config], Callable[[int], torch.nn.Module]]


class SequentialRun(EpochRun):
    """One run. The loss is the criterion over all steps of all sequences, plus penalties.

    Evaluation is in training mode, as published: noise and batch statistics stay on.
    """

    model: SequentialDigitNetwork

    def __init__(
        self,
        config: Config,
        layer_options: dict[str, Any],
        device: torch.device,
        family: str,
        image_network: ImageNetwork,
    ):
        self.config = config
        self.family = family
        torch.manual_seed(config.seed)
        self._fork(config, device)
        self.model = SequentialDigitNetwork(
            image_network(config),
            config.layer_type,
            getattr(config, f"{family}_outputs"),
            config.nac_mul,
            config.model_simplification,
            **layer_options,
        )
        # The constructor's values are not used: published runs train on the next draw.
        self.model.reset_parameters()
        self.model.to(device)
        configs: list[Any] = [config]
        self.step = TrainingStep(configs, self.model, stacked=False)
        # Batch statistics need two images of a step.
        self._smallest = 1 if self.model.reads_images_alone else 2
        self.batches = self.training.dataloader(config.batch_size, True, self._smallest)
        self._total = torch.tensor(math.nan)
        self._last = {"loss_train": math.nan, "metric_valid": math.nan}

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
        """Labels of all images of a subset, `(images, outputs)`: sequences share them."""
        images = sequences.subset.images.split(IMAGES_AT_ONCE)
        return torch.cat([self.model.image2label(sequences.table(part)) for part in images])

    def _write_metrics(self, name: str, metrics: torch.Tensor) -> None:
        tags = (f"{METRIC}/{name}/{what}" for what in ("mse", "acc/all", "acc/last"))
        self.write(scalar(*pair) for pair in zip(tags, metrics, strict=True))
        if name == "valid":
            self._last["metric_valid"] = metrics[0].item()

    def train(self, epoch: int, update: int, batch: Batch, *, at_log_point: bool) -> None:
        x, t = batch
        verbose = self.config.verbose
        modules = at_log_point or update % LOG_UPDATES == 0
        schedule = self.step.prepare(update)
        observed: list[TaggedValue] = []
        if modules:
            start_trace(self.model)
            # The published log has a value of every time step.
            self.model.step_ended = lambda: observed.extend(
                observe_modules(self.model, verbose=verbose)
            )
        labels, y = self.model(x)
        self.model.step_ended = None
        criterion, penalty, total = self.step.loss_of(y.flatten(0, 1), t.flatten(0, 1), *schedule)
        if modules and verbose and update % LOG_UPDATES == 0:
            observed += observe_regualizers(self.model, torch.zeros_like(criterion.detach()))
        stop_trace(self.model)
        self.write(observed)
        result = StepResult(criterion, penalty, total, self.step.gradients(total))
        self._write_losses(result, y.detach(), t)
        if at_log_point:
            shown = torch.cat((labels[:, 0], t[:, 0]), dim=-1)
            self.write([TaggedValue("tensor", f"{self.family.upper()}/train", shown)])
        self.step.update(result.gradients, criterion)
        if modules and verbose:
            self.write(self._gradients(result))
        self._total = total.detach()

    def _write_losses(self, result: StepResult, y: torch.Tensor, t: torch.Tensor) -> None:
        _, accuracy, accuracy_of_last = _metrics(y, t)
        penalty = torch.zeros(()) if result.penalty is None else result.penalty
        self.write(
            scalar(tag, value)
            for tag, value in (
                (f"{LOSS_ACCURACY}/all", accuracy),
                (f"{LOSS_ACCURACY}/last", accuracy_of_last),
                (LOSS_CRITERION, result.criterion),
                (LOSS_REGULARIZER, penalty),
                (LOSS_TOTAL, result.total),
            )
        )

    def _gradients(self, result: StepResult) -> list[TaggedValue]:
        """Of the cell alone, and not of torch's cells: published logs have no others."""
        cell = getattr(self.model, "recurent_cell", None)
        if cell is None or isinstance(cell.cell, TorchCell):
            return []
        own = set(map(id, cell.parameters()))
        pairs = zip(self.step.parameters, result.gradients, strict=True)
        by_parameter = {id(p): gradient for p, gradient in pairs if id(p) in own}
        return observe_gradients(self.model, by_parameter, run_dims=0)

    def summary(self) -> str:
        return f"{self._total.item():.5f}, valid: {self._last['metric_valid']:.5f}"

    def results(self) -> dict[str, float]:
        return self.get_state()

    def shown_parameters(self) -> Iterable[tuple[str, torch.Tensor]]:
        return ((n, p) for n, p in self.model.named_parameters() if "recurent_cell" in n)

    def get_state(self) -> dict[str, float]:
        return self._last | {"loss_train": self._total.item()}

    def set_state(self, state: Mapping[str, float]) -> None:
        self._last = dict(state)
        self._total = torch.tensor(state["loss_train"])


def _metrics(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Mean squared error, share of right roundings, and that of the last step."""
    right = (y.round() == t).to(torch.float64)
    return torch.stack([((y - t) ** 2).mean().to(torch.float64), right.mean(), right[:, -1].mean()])


def _regression(config: Config) -> Callable[[int], torch.nn.Module]:
    return RegressionMnistNetwork


def _residual(config: Config) -> Callable[[int], torch.nn.Module]:
    build = getattr(torchvision().models, config.resnet)
    return lambda outputs: build(num_classes=outputs)


MNIST = EpochScript(
    "sequential_mnist", partial(SequentialRun, family="mnist", image_network=_regression)
)
SVHN = EpochScript(
    "sequential_svhn", partial(SequentialRun, family="svhn", image_network=_residual)
)
