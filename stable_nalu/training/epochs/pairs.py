"""Training on pairs of digits whose labels are never shown: `two_digit_mnist`, `ST_mnist_labels`.

The loss is the squared error of the answer alone; the network has to find out what digits are.
Penalties and learning rate follow epochs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from stable_nalu.dataset import IndexLoader
from stable_nalu.dataset.digit_pairs import digits_of
from stable_nalu.dataset.loader import Batch
from stable_nalu.network.digit_answer import build_answer, two_weights
from stable_nalu.network.digit_reader import HalvesReader, build_reader
from stable_nalu.network.two_digits import TwoDigitNetwork
from stable_nalu.options import Config, ScriptSpec
from stable_nalu.options.layer_options import own_options
from stable_nalu.tags import LABEL_WEIGHTS, METRIC, RESULT_TEST, RESULT_VALID

from ..checkpoint import seed_generators
from ..recorder import scalar
from ..stack import Kind, Setup
from ..step import Observed, TrainingStep, clip_norm
from .pair_data import build_pair_data, pair_metrics
from .training import EPOCHS, PROGRESS, EpochTraining

LAST_TEMPERATURE = 1e-3

Predictions = tuple[torch.Tensor, torch.Tensor]


@dataclass(frozen=True)
class PairTask:
    """What the two scripts differ in.

    scattered: digits lie anywhere, and transformers have to find them; one more set is evaluated.
    loss: name of the squared error in tags. rounded: how published confusion matrices count.
    """

    scattered: bool
    loss: str
    rounded: bool

    def reader(self, config: Config) -> torch.nn.Module:
        """Build the part that reads digits."""
        if self.scattered:
            return build_reader(config.img2label_model, unbounded=config.tps_unbounded_stn)
        return HalvesReader(len(digits_of(config.operation)))

    def network(self, config: Config) -> TwoDigitNetwork:
        """Build the network of a configuration, drawn from its seed."""
        seed_generators(config.seed)
        answer = partial(
            build_answer,
            config.operation,
            learned=config.learn_labels2out,
            unit=config.use_nalm,
            divider=config.nalm_name,
            nmu_noise=config.nmu_noise,
            nau_noise=config.nau_noise,
            noise_range=config.noise_range,
            beta_nau=config.beta_nau,
            regualizer_npu_w=config.regualizer_npu_w,
            regualizer_gate=config.regualizer_gate,
            own_options=own_options(config, {}),
        )
        return TwoDigitNetwork(
            partial(self.reader, config),
            answer,
            digits_of(config.operation),
            argmax=config.use_argmax,
            identity_start=config.identity_start,
        )


ISOLATED = PairTask(scattered=False, loss="mse", rounded=False)
SCATTERED = PairTask(scattered=True, loss="loss", rounded=True)


class PairTraining(EpochTraining):
    """One run on pairs of digits."""

    def __init__(self, setup: Setup, task: PairTask):
        config = setup.configs[0]
        self.task = task
        self.data = build_pair_data(config, setup.device, scattered=task.scattered)
        self.network = task.network(config).to(setup.device)
        step = PairStep(config, self.network)
        super().__init__(setup, self.network, step, self.data.sets["train"])
        self._errors: dict[str, float] = {}
        error = f"output/{task.loss}"
        self.error_tags = {
            RESULT_VALID: f"{METRIC}/valid/{error}",
            RESULT_TEST: f"{METRIC}/test/{error}",
        }
        self._move_to(0)

    def _move_to(self, epoch: int) -> None:
        """Set learning rate and temperature, which stay the same for an epoch."""
        self._epoch = epoch
        config = self.config
        if not config.no_scheduler:
            # One factor after the other, as torch's StepLR rounds: a power may differ in a bit.
            drops = [0.1] * (epoch // config.scheduler_step_size)
            self.step.optimizer.learning_rate = math.prod(drops, start=config.learning_rate)
        if config.use_tau and config.max_epochs:
            fallen = (1 - LAST_TEMPERATURE) * epoch / config.max_epochs
            self.network.expected.temperature = max(LAST_TEMPERATURE, 1 - fallen)

    def is_log_point(self, epoch: int) -> bool:
        return epoch % self.config.log_interval == 0

    def evaluate(self) -> Iterator[None]:
        for name, loader in self.data.sets.items():
            predicted, true = yield from self.predictions(loader)
            places = self.config.operation == "div"
            for tag, value in pair_metrics(predicted, true, loss=self.task.loss, decimals=places):
                self.write([scalar(f"{METRIC}/{name}/{tag}", torch.tensor(value))])
                self._errors[f"{name}/{tag}"] = value
        weights = two_weights(self.network.answer) if self.config.operation != "div" else None
        for number, weight in enumerate([] if weights is None else weights):
            self.write([scalar(f"{LABEL_WEIGHTS}/w{number}", weight)])

    @torch.no_grad()
    def predictions(self, loader: IndexLoader) -> Generator[None, None, Predictions]:
        """Return answer, left and right digit of every pair, predicted and true: (n, 3)."""
        predicted, true = [], []
        for images, answers, digits in loader:
            self.network.eval()
            read = self.network.digits(images)
            predicted.append(torch.cat((self.network.answer(read), read), dim=1))
            true.append(torch.cat((answers, digits), dim=1))
            self.network.train()
            yield
        return torch.cat(predicted), torch.cat(true)

    def train_batch(self, epoch: int, update: int, batch: Batch, *, at_log_point: bool) -> None:
        images, answers, _ = batch
        logged = at_log_point or update % self.config.log_interval == 0
        verbose = self.config.verbose
        observed = Observed(logged, penalties=logged and verbose, verbose=verbose)
        result = self.step.run_logged(
            images, answers, self.step.prepare(epoch), self.recorder, observed, lambda result: ()
        )
        self.last_total = result.total.detach()

    def end_epoch(self, epoch: int) -> None:
        self._move_to(epoch + 1)

    def summary(self) -> str:
        error = f"output/{self.task.loss}"
        sets = (
            f"{name} {self._errors[f'{name}/{error}']:.6g} "
            f"({self._errors[f'{name}/output_rounded/acc']:.2f} %)"
            for name in self.data.sets
        )
        return ", ".join(sets)

    def results(self) -> dict[str, float]:
        return {"loss_train": math.nan if self.last_total is None else self.last_total.item()}

    def get_state(self) -> dict:
        state: dict[str, Any] = {"epoch": self._epoch, "random": self.data.random.get_state()}
        if self.device.type == "cuda":
            state["cuda"] = torch.cuda.get_rng_state(self.device)
        return state

    def set_state(self, state: dict) -> None:
        self._move_to(state["epoch"])
        self.data.random.set_state(state["random"])
        if "cuda" in state and self.device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda"], self.device)


class PairStep(TrainingStep):
    """A step with `--only-nalm-cgn` and `--weight-decay`.

    The decay is Adam's L2 penalty: a share of the weights, added to their clipped gradients.
    """

    def __init__(self, config: Config, model: TwoDigitNetwork):
        super().__init__([config], model, stacked=False)
        self._decay = float(getattr(config, "weight_decay", 0))
        last = {id(p) for p in model.answer.parameters()}
        self._last = [k for k, p in enumerate(self.parameters) if id(p) in last]
        self._clip_last = None
        if getattr(config, "only_nalm_cgn", False):
            self._clip_last, self._clip_norm = self._clip_norm, None

    def gradients(
        self, total: torch.Tensor, parameters: Sequence[torch.Tensor] | None = None
    ) -> Sequence[torch.Tensor | None]:
        gradients = list(super().gradients(total, parameters))
        last = [gradients[k] for k in self._last]
        if self._clip_last is not None:
            last = clip_norm(last, self._clip_last, self.run_dims)
        for k, gradient in zip(self._last, last, strict=True):
            if self._decay and gradient is not None:
                gradient = gradient.add(self.parameters[k].detach(), alpha=self._decay)
            gradients[k] = gradient
        return gradients


def pair_kind(task: PairTask, look: Callable[[ScriptSpec, Config], int] | None = None) -> Kind:
    """Return how a script on pairs of digits trains; `look` is what `--evaluate` does instead."""
    return Kind(partial(PairTraining, task=task), EPOCHS, PROGRESS, look=look)
