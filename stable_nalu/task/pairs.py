"""Pairs of digits whose labels are never shown: `two_digit_mnist` and `ST_mnist_labels`.

The loss is the squared error of the answer alone; the network has to find out what digits are.
They lie side by side, or anywhere in the channels of a picture, turned and scaled, where spatial
transformers find them. Penalties and learning rate follow epochs.
"""

import math
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset import images
from stable_nalu.dataset.distribution import IndexLoader, LegacyRandom
from stable_nalu.layer import own_entries
from stable_nalu.network import two_digits
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec, switch
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import BATCH_NOISE, choice, integer, number
from stable_nalu.options.flags import own_options
from stable_nalu.training.recorder import Gradients, LogRecord
from stable_nalu.training.step import Penalties, TrainingStep, clip_norm
from stable_nalu.training.task import EPOCHS, Goal, Kind, Logging, Observed, Task
from stable_nalu.writer.event_file import LABEL_WEIGHTS, METRIC

from . import shared

LAST_TEMPERATURE = 1e-3
QUANTITIES = ("output", "label1", "label2")
DECIMALS = (4, 5)
CLASSES = 10
_OF_ANSWER = (
    *("nmu_noise", "nau_noise", "noise_range", "beta_nau"),
    *("regualizer_npu_w", "regualizer_gate"),
)
"""Options of the last layer."""


class PairTask(Task):
    """Answer pairs of digits that were never seen together, side by side.

    loss_tag: name of the squared error in tags. rounded: how published confusion matrices count.
    """

    loss_tag: ClassVar[str] = "mse"
    rounded: ClassVar[bool] = False
    _exporter = "two_digit_mnist/two_digit_mnist_reader.py"
    kind = Kind(EPOCHS, penalties=Penalties, by_unit=True, exporter=_exporter)
    logging = Logging(updates=True, long=True, draws=True)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        valid, test = (f"{METRIC}/{s}/output/{cls.loss_tag}" for s in ("valid", "test"))
        return Goal(valid, test)

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        source, folder = config.data_source, config.data_dir
        corpora = [images.load_corpus("mnist", source, s, folder) for s in ("train", "test")]
        # The fold that is held out has the number of the seed.
        folds = images.fold_pairs(config.operation, config.num_folds, config.seed)
        # It draws the images and, later, their places.
        self.random = LegacyRandom(config.seed)
        labels, count = [corpus.labels for corpus in corpora], config.samples_per_permutation
        drawn = self.random, config.seed, config.operation, folds, labels, count
        train, test = images.draw_pair_sets(*drawn)
        sets, arrange = self.arranged(train)
        self.sets: dict[str, IndexLoader] = {}
        for name, pairs in {**sets, "test": test}.items():
            seen = corpora[name == "test"], pairs, arrange, config.batch_size
            self.sets[name] = images.pair_loader(*seen, shuffle=name == "train", device=device)
        shown = (
            f"{name} {{measured[{METRIC}/{name}/output/{self.loss_tag}]:.6g}} "
            f"({{measured[{METRIC}/{name}/output_rounded/acc]:.2f}} %)"
            for name in self.sets
        )
        self.logging = replace(self.logging, line=", ".join(shown))

    def arranged(self, train: images.PairSet) -> tuple[dict[str, images.PairSet], images.Arrange]:
        """Return the sets that are drawn from training images, and what is seen of pairs."""
        return {"train": train}, images.side_by_side

    def reader(self) -> torch.nn.Module:
        """Return the part of the network that reads digits: one head for both halves."""
        return two_digits.HalvesReader(len(images.digits_of(self.config.operation)))

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        own = shared.settings(config, *_OF_ANSWER) | {"own_options": own_options(config, {})}
        own |= {"learned": config.learn_labels2out, "unit": config.use_nalm}
        build = partial(two_digits.build_answer, config.operation, divider=config.nalm_name, **own)
        digits, start = images.digits_of(config.operation), config.identity_start
        self.model = two_digits.TwoDigitNetwork(
            self.reader, build, digits, argmax=config.use_argmax, identity_start=start
        )
        return self.model

    def initialized(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        """Return the model, whose parameters are drawn once, as published."""
        return self.network(config, layer_options)

    def begin(self, step: TrainingStep) -> None:
        """Set learning rate and temperature, which stay the same for an epoch."""
        config = self.config
        step.limited = partial(self._limited, step)
        if not config.no_scheduler:
            # One factor after the other, as torch's StepLR rounds: a power may differ in a bit.
            drops = [0.1] * (self.at // config.scheduler_step_size)
            step.optimizer.learning_rate = math.prod(drops, start=config.learning_rate)
        if config.use_tau and config.max_epochs:
            fallen = (1 - LAST_TEMPERATURE) * self.at / config.max_epochs
            self.model.expected.temperature = max(LAST_TEMPERATURE, 1 - fallen)

    def batches(self) -> IndexLoader:
        return self.sets["train"]

    def _limited(self, step: TrainingStep, gradients: Gradients) -> Gradients:
        """Return gradients under --only-nalm-cgn and --weight-decay.

        The decay is Adam's L2 penalty: a share of the weights, added to their clipped gradients.
        """
        config, own = self.config, {id(p) for p in self.model.answer.parameters()}
        last = [k for k, p in enumerate(step.parameters) if id(p) in own]
        if config.only_nalm_cgn:
            found = list(gradients)
            of_last = clip_norm([found[k] for k in last], config.clip_grad_norm)
            for k, gradient in zip(last, of_last, strict=True):
                found[k] = gradient
        else:
            found = list(step.clipped(gradients))
        for k in last if config.weight_decay else ():
            gradient = found[k]
            if gradient is not None:
                decay = float(config.weight_decay)
                found[k] = gradient.add(step.parameters[k].detach(), alpha=decay)
        return found

    def observed(self, clock: int, *, at_log_point: bool) -> Observed:
        logged = at_log_point or clock % self.config.log_interval == 0
        verbose = self.config.verbose
        return Observed(logged, penalties=logged and verbose, verbose=verbose)

    def losses(self, *_: Any, **__: Any) -> Iterable[LogRecord]:
        return ()

    def measures(self, model: ExtendedTorchModule) -> Iterator[tuple[str, torch.Tensor] | None]:
        for name, batches in self.sets.items():
            predicted, true = yield from self.predictions(model, batches)
            places = self.config.operation == "div"
            for tag, value in pair_metrics(predicted, true, loss=self.loss_tag, decimals=places):
                yield f"{METRIC}/{name}/{tag}", torch.tensor(value)
        weights = two_digits.two_weights(model.answer) if self.config.operation != "div" else None
        for place, weight in enumerate([] if weights is None else weights):
            yield f"{LABEL_WEIGHTS}/w{place}", weight

    def predictions(
        self, model: ExtendedTorchModule, batches: IndexLoader
    ) -> Generator[None, None, tuple[torch.Tensor, torch.Tensor]]:
        """Return answer, left and right digit of every pair, predicted and true: (n, 3)."""
        predicted, true = [], []
        for x, answers, digits in batches:
            model.eval()
            read = model.digits(x)
            predicted.append(torch.cat((model.answer(read), read), dim=1))
            true.append(torch.cat((answers, digits), dim=1))
            model.train()
            yield
        return torch.cat(predicted), torch.cat(true)

    def get_state(self, run: int) -> dict[str, Any]:
        return {"random": self.random}


class ScatteredTask(PairTask):
    """Digits scattered over a canvas; one more set is evaluated."""

    loss_tag, rounded = "loss", True

    def arranged(self, train: images.PairSet) -> tuple[dict[str, images.PairSet], images.Arrange]:
        train, valid = images.hold_out(train, self.config.val_split)
        arrange = partial(images.scattered, self.random, self.config.image_concat_dim)
        return {"train": train, "valid": valid}, arrange

    def reader(self) -> torch.nn.Module:
        config = self.config
        return two_digits.build_reader(config.img2label_model, unbounded=config.tps_unbounded_stn)


def pair_metrics(
    predicted: torch.Tensor, true: torch.Tensor, *, loss: str, decimals: bool
) -> Iterator[tuple[str, float]]:
    """Yield (name, value) pairs of predictions and true values, both (n, 3).

    The columns are the answer, the left digit and the right digit. Shares are percentages. Rounded
    predictions (halves to even numbers) are compared with true values as they are, as published: a
    quotient that is not a whole number is never met.

    loss: name of the mean squared error. decimals: whether to compare answers rounded to four and
    five decimals, too.
    """
    errors = ((predicted - true) ** 2).double().mean(0).tolist()
    for name, squares in zip(QUANTITIES, errors, strict=True):
        yield f"{name}/{loss}", squares
    for name, share in zip(QUANTITIES, _percent(predicted == true), strict=True):
        yield f"{name}/acc", share
    for name, share in zip(QUANTITIES, _percent(predicted.round() == true), strict=True):
        yield f"{name}_rounded/acc", share
    for places in DECIMALS if decimals else ():
        equal = at_decimals(predicted[:, :1], places) == at_decimals(true[:, :1], places)
        yield f"output_rounded_{places}dp/acc", _percent(equal)[0]


def at_decimals(values: torch.Tensor, places: int) -> torch.Tensor:
    return (values * 10**places).round() / 10**places


def _percent(equal: torch.Tensor) -> list[float]:
    return [100 * share for share in equal.double().mean(0).tolist()]


def class_counts(digits: np.ndarray, true: np.ndarray, *, rounded: bool) -> np.ndarray:
    """Rows: true digit; columns: predicted digit, rounded or cut off towards zero.

    Cut off, 2.9999 counts as a 2.
    """
    classes = (np.rint(digits) if rounded else np.trunc(digits)).astype(int)
    counts = np.zeros((CLASSES, CLASSES), dtype=int)
    np.add.at(counts, (true.astype(int).ravel(), classes.ravel()), 1)
    return counts


def own_units() -> tuple[str, ...]:
    return tuple(entry.key for entry in own_entries())


MOST_FOLDS = 100


# A flag is a few lines of a table.
# fmt: off
def _check_pairs(c: Config) -> None:
    common.refuse(not 2 <= c.num_folds <= MOST_FOLDS, "--num-folds",
        f"{MOST_FOLDS} pairs cannot be cut into {c.num_folds} folds", f"use 2 to {MOST_FOLDS}")
    common.refuse(c.seed >= c.num_folds, "--seed",
        f"{c.seed} is not a fold, there are {c.num_folds}",
        f"the seed is the fold: 0 to {c.num_folds - 1}")
    common.refuse(c.use_nalm and not c.learn_labels2out, "--use-nalm",
        "a unit has parameters to learn", "add --learn-labels2out")
    common.refuse(c.nalm_name in own_units() and not c.use_nalm, "--nalm-name",
        f"{c.nalm_name} would not be used", "add --use-nalm --learn-labels2out")
    multiplies = c.operation == "mul" or c.nalm_name == "nmru-sign"
    for flag, noisy, fits in (("--nmu-noise", c.nmu_noise, multiplies),
                              ("--nau-noise", c.nau_noise, c.operation == "add")):
        common.refuse(noisy and not (c.use_nalm and fits), flag,
            "the last layer is not a unit that has this noise", "leave it out")


def _check_isolated(c: Config) -> None:
    common.refuse(c.num_folds != 10, "--num-folds", f"{c.num_folds} is not possible here", "use 10")
    divides = c.operation == "div" and c.use_nalm
    common.refuse(c.nalm_name not in own_units() and divides != bool(c.nalm_name), "--nalm-name",
        "names the unit that divides, no more and no less",
        "give it with --operation div --use-nalm, and only then")
    common.refuse(c.only_nalm_cgn and not (c.use_nalm and c.clip_grad_norm), "--only-nalm-cgn",
        "there is nothing to clip", "add --use-nalm --learn-labels2out --clip-grad-norm 1")
    common.refuse(c.nalm_name == "nmru-sign" and c.noise_range == BATCH_NOISE, "--noise-range",
        "nmru-sign reads it as plain bounds and cannot draw from [1,0]",
        "write the low end first; only the NMU knows [1,0]")


def _check_reader(c: Config) -> None:
    common.refuse(c.val_split == 1, "--val-split", "1 leaves nothing to train on", "use less")
    wanted = "width" if c.img2label_model.startswith("width") else "colour"
    common.refuse(c.image_concat_dim != wanted, "--image-concat-dim",
        f"{c.img2label_model} cannot read images joined by {c.image_concat_dim}", f"use {wanted}")
    common.refuse(c.tps_unbounded_stn and not c.img2label_model.startswith("TPS"),
        "--tps-unbounded-stn", f"{c.img2label_model} has no thin-plate splines",
        "use --img2label-model TPS-no-concat-conv")


_PAIRS = FlagGroup(
    "Pairs of digits",
    common.OPERATION.but(choices=("add", "mul", "div"),
        help="What the network computes of two digits; div has no digit 0."),
    common.SEED.but(
        help="Seed of the data and of the start weights, and the fold that is held out; 0-9 "
        "or 0,3,9 plan one run per seed."),
    Flag("--num-folds", integer(1), 10,
        "Number of folds that the pairs of digits are cut into; one is the test set."),
    Flag("--samples-per-permutation", integer(1), 1000, "Number of images of each pair."),
    Flag("--val-split", number(above=0, maximum=1), 0.15,
        "Share of the training images that is kept for validation."),
    choice("--image-concat-dim", "colour",
        "How an image holds its two digits: in channels, or side by side.", ("colour", "width")),
)
_NETWORK = FlagGroup(
    "Network of two digits",
    switch("--use-nalm",
        "Make the last layer an arithmetic unit: NAU for add, NMU for mul, --nalm-name for "
        "div; needs --learn-labels2out."),
    switch("--learn-labels2out",
        "Give the last layer parameters; without it, it is the operation itself."),
    choice("--nalm-name", "",
        "Unit that divides: modified Real NPU, NRU or NMRU. A layer of --layer-file may be named "
        "for any operation.", lambda: ("", *two_digits.DIVIDERS, *own_units())),
    switch("--use-tau",
        "Let the temperature of the softmax over digits fall from 1 to 0.001 over all epochs."),
    switch("--use-argmax", "In evaluation, read the likeliest digit instead of the expected one."),
    choice("--img2label-model", "concat",
        "Network that reads the digits; all but TPS-no-concat-conv have affine transformers.",
        lambda: tuple(two_digits.READERS)),
    switch("--tps-unbounded-stn", "Let the control points of thin-plate splines leave the image."),
    switch("--identity-start",
        "Start spatial transformers at the identity; published runs do not."),
)
_RAMP = "--regualizer", "--regualizer-scaling-start", "--regualizer-scaling-end"
_PENALTIES = FlagGroup(
    common.PENALTIES.title,
    *common.PENALTIES.only(*_RAMP).but(
        regualizer_scaling_start={"default": 50,
            "help": "Epoch at which the linear ramp of the penalties leaves 0."},
        regualizer_scaling_end={"default": 75,
            "help": "Epoch at which the linear ramp of the penalties reaches 1."}),
    *common.NPU_PENALTIES.only("--regualizer-npu-w", "--regualizer-gate"),
)
_OWN_OPTIMIZER = FlagGroup(
    "Optimizer of two digits",
    switch("--only-nalm-cgn", "Apply --clip-grad-norm to the gradients of the last layer alone."),
    Flag("--weight-decay", number(0), 0,
        "Share of a weight that is added to its gradient, in the last layer."),
    Flag("--scheduler-step-size", integer(1), 30,
        "Epochs after which the learning rate is divided by 10, again and again."),
    switch("--no-scheduler", "Keep the learning rate as it is."),
)
_NOISE = common.WEIGHTS.only(*shared.NOISE)
_OPTIMIZER = common.OPTIMIZER.without("--momentum", "--clip-grad-value")
_FILES = shared.epoch_files("two_digit_mnist")
_LOG_INTERVAL = common.LOGGING.only("--log-interval").but(log_interval={"default": 1,
    "help": "Epochs between two evaluations, and updates between two looks at the last layer."})
_IMAGES = FlagGroup(
    "Images and length",
    *(shared.data_source("mnist"), shared.DATA_DIR, shared.DATASET_WORKERS.but(default=0)),
    *(*common.TASK.only("--batch-size"), shared.MAX_EPOCHS.but(default=100)),
)
_CONTROL = FlagGroup(_FILES.title, common.ID, *_FILES, *_LOG_INTERVAL), shared.EVALUATION
_SCRIPT = partial(
    ScriptSpec,
    refused={
        "--rgb": "no network takes three channels a digit",
        "--mb-log-interval": "it had no effect in the published code either, leave it out",
        "--dummy-writer": "use --dry-run to see what would be trained",
    },
    fixed={
        "regualizer_scaling": "linear", "reg_scale_type": "madsen",
        **{flag.dest: flag.default
           for group in (_PAIRS, _NETWORK, _PENALTIES, _OWN_OPTIMIZER, common.OPTIMIZER)
           for flag in group},
        "no_scheduler": True,
    },
)
NAME = (
    nf.template("{id}"), nf.template("f{seed}"), nf.OPERATION, nf.template("nalm{use_nalm:bool}"),
    nf.template("learnL{learn_labels2out:bool}"), nf.SEED,
)
"""What the names of runs of both scripts begin with."""
_SOURCE = nf.trailing(nf.template("{data_source}"))
_CHECKS = _check_pairs, common.check_schedule, common.check_files
_NALM = nf.NameField(
    lambda c: f"mod-{c.nalm_name}" if c.operation == "div" or c.nalm_name else None, ("nalm_name",))
TWO_DIGITS = _SCRIPT(
    name="two_digit_mnist",
    summary="Train a network on the sum, product or quotient of the images of two digits.",
    example="--operation mul --use-nalm --learn-labels2out --seed 0-9",
    groups=(
        _PAIRS.without("--val-split", "--image-concat-dim"), _IMAGES,
        _NETWORK.without("--img2label-model", "--tps-unbounded-stn", "--identity-start"),
        common.OWN_LAYERS, _NOISE, _PENALTIES, _OPTIMIZER.without("--optimizer"),
        _OWN_OPTIMIZER.only("--only-nalm-cgn", "--weight-decay"), *_CONTROL,
    ),
    name_fields=(*NAME, _NALM, _SOURCE), checks=(*_CHECKS, _check_isolated),
)
SCATTERED = _SCRIPT(
    name="ST_mnist_labels",
    summary="Train a network on the sum or product of two digits in the channels of an image.",
    example="--operation mul --img2label-model TPS-no-concat-conv --num-folds 3 --seed 0-2",
    groups=(
        _PAIRS.but(operation={
            "choices": ("add", "mul"), "help": "What is computed of two digits."}),
        _IMAGES,
        _NETWORK.without("--use-tau", "--use-argmax").but(nalm_name={
            "help": "Unit of the last layer, of --layer-file; empty for NAU or NMU.",
            "choices": lambda: ("", *own_units())}),
        common.OWN_LAYERS, _NOISE,
        _PENALTIES.without("--regualizer-npu-w", "--regualizer-gate").but(
            regualizer={"default": 100}, regualizer_scaling_start={"default": 30},
            regualizer_scaling_end={"default": 40}),
        _OPTIMIZER.but(optimizer={"default": "sgd"}),
        _OWN_OPTIMIZER.only("--scheduler-step-size", "--no-scheduler"), *_CONTROL,
    ),
    name_fields=(*NAME, _SOURCE, nf.trailing(nf.template("mod-{nalm_name}"))),
    checks=(*_CHECKS, _check_reader),
)
SCRIPTS = (TWO_DIGITS, PairTask), (SCATTERED, ScatteredTask)
"""Descriptions and tasks of both scripts."""
