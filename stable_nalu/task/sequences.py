"""Sequences of digit images: an image network and a cell that adds or multiplies what it reads.

The images of `sequential_mnist` are handwritten digits, those of `sequential_svhn` house numbers,
which a residual network of torchvision reads. `mnist_counting`, section 4.2 and table 2 of the NALU
paper, counts the digits of a sequence, or adds them up, beyond the length of training.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.dataset import images
from stable_nalu.dataset.distribution import IndexLoader, LegacyRandom
from stable_nalu.layer.base import TorchCell
from stable_nalu.layer.registry import GeneralizedCell
from stable_nalu.network.dense import Convolution, Dense, pooled
from stable_nalu.network.sequences import RegressionMnistNetwork, SequentialDigitNetwork
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import cell_names, choice, digits, each_word, integer, lengths, number
from stable_nalu.options.flags import LAYER_TYPE, refuse
from stable_nalu.training import floats
from stable_nalu.training.recorder import StepResult, TaggedValue
from stable_nalu.training.step import Penalties
from stable_nalu.training.task import EPOCHS, Batch, Goal, Kind, Logging, Observed, Results, Task
from stable_nalu.writer.event_file import (
    LOSS_ACCURACY,
    METRIC,
    METRIC_TEST,
    MSE_TRAIN,
    RESULT_VALID,
)

from . import shared
from .shared import TEST_SEED, TRAIN_SEED, VALID_SEED

LOG_EPOCHS = 5
LOG_UPDATES = 100
EVALUATION_BATCH = 64
IMAGES_AT_ONCE = 500
WHAT_FOR = {"train": "training", "valid": "validation", "test": "tests"}


class SequentialTask(Task):
    """The loss is the criterion over all steps of all sequences, plus penalties.

    Evaluation is in training mode, as published: noise and batch statistics stay on.

    smallest: sequences of a batch, as batch statistics need two images of a step.
    """

    family: ClassVar[str] = "mnist"
    smallest: ClassVar[int] = 1
    kind = Kind(EPOCHS, penalties=Penalties, exporter="sequential_mnist.py")
    logging = Logging(
        LOG_EPOCHS,
        updates=True,
        long=True,
        line="{loss:.5f}, valid: {valid:.5f}",
        results=(("metric_valid", RESULT_VALID),),
    )
    _logged: frozenset[int] = frozenset()

    @classmethod
    def goal(cls, config: Config) -> Goal:
        longest = max(config.extrapolation_lengths)
        return Goal(f"{METRIC}/valid/mse", f"{METRIC_TEST}/{longest}/mse")

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        used = getattr(config, f"{self.family}_digits")
        self._subsets: dict[str, images.DigitSubset] = {}
        for name in ("train", "valid", "test"):
            corpus = images.load_subset(self.family, config.data_source, name, config.data_dir)
            self._subsets[name] = images.DigitSubset(corpus, used, device)
        seed = int(LegacyRandom(config.seed).integers(0, 2**32 - 1))
        self._training = self._cut("train", seed)
        fixed = {"train": TRAIN_SEED, "valid": VALID_SEED}
        self.evaluated = {name: self._cut(name, seed) for name, seed in fixed.items()}
        for longer in config.extrapolation_lengths:
            self.evaluated[f"test/extrapolation/{longer}"] = self._cut("test", TEST_SEED, longer)

    def _cut(self, subset: str, seed: int, longer: int | None = None) -> images.DigitSequences:
        """Return sequences of a subset, of the length of training or a longer one."""
        config, own = self.config, self._subsets[subset]
        length = longer or config.interpolation_length
        found = images.DigitSequences(own, length, config.operation, seed, self.family)
        if len(found) < self.smallest:
            makes = "a single sequence" if len(found) else "no sequence"
            why = ", and the image network needs two images of a step" if len(found) else ""
            raise OptionError(
                "--extrapolation-lengths" if longer else "--interpolation-length",
                f"the {len(own)} images of these digits for {WHAT_FOR[subset]} make {makes} of "
                f"{length}{why}",
                f"give a shorter length, or more digits by --{self.family}-digits",
            )
        return found

    def image_network(self, outputs: int) -> torch.nn.Module:
        """Return the network that reads images: two convolutions and two linear layers."""
        return RegressionMnistNetwork(outputs)

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        outputs = getattr(config, f"{self.family}_outputs")
        kind = config.layer_type, outputs, config.nac_mul, config.model_simplification
        model = SequentialDigitNetwork(self.image_network, *kind, **layer_options)
        # Published logs have gradients of the cell alone, and none of it if it is torch's.
        cell = getattr(model, "recurent_cell", None)
        if cell is not None and not isinstance(cell.cell, TorchCell):
            self._logged = frozenset(map(id, cell.parameters()))
        return model

    def batches(self) -> IndexLoader:
        return self._training.dataloader(self.config.batch_size, True, self.smallest)

    def loss(self, model: Any, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        self._labels, self._answers = model(x)
        return criterion(self._answers.flatten(0, 1), t.flatten(0, 1))

    def observed(self, clock: int, *, at_log_point: bool) -> Observed:
        verbose, regularly = self.config.verbose, clock % LOG_UPDATES == 0
        modules = at_log_point or regularly
        verbosely = verbose and regularly, verbose and modules, verbose
        return Observed(modules, *verbosely, of=self._logged)

    def losses(
        self, model: ExtendedTorchModule, result: StepResult, batch: Batch, *, at_log_point: bool
    ) -> Iterator[TaggedValue]:
        t = batch[1]
        _, accuracy, accuracy_of_last = _metrics(self._answers.detach(), t)
        yield TaggedValue(f"{LOSS_ACCURACY}/all", accuracy)
        yield TaggedValue(f"{LOSS_ACCURACY}/last", accuracy_of_last)
        yield from result.losses()
        if at_log_point:
            shown = torch.cat((self._labels[:, 0], t[:, 0]), dim=-1)
            yield TaggedValue(f"{self.family.upper()}/train", shown, "tensor")

    def measures(self, model: Any) -> Iterator[tuple[str, torch.Tensor] | None]:
        read: dict[int, torch.Tensor] = {}
        for name, sequences in self.evaluated.items():
            key = id(sequences.subset)
            if model.reads_images_alone and key not in read:
                # Labels of all images of a subset, which sequences share.
                parts = sequences.subset.images.split(IMAGES_AT_ONCE)
                read[key] = torch.cat([model.image2label(sequences.table(p)) for p in parts])
            labels = read.get(key)
            metrics = torch.zeros(3, dtype=torch.float64)
            for x, t in sequences.dataloader(EVALUATION_BATCH, False, self.smallest, labels):
                y = model.accumulate(model.labels(x) if labels is None else x)
                metrics += len(t) * _metrics(y, t).cpu()
                yield None
            tags = (f"{METRIC}/{name}/{what}" for what in ("mse", "acc/all", "acc/last"))
            yield from zip(tags, metrics / len(sequences), strict=True)

    def report(self, model: ExtendedTorchModule, name: str, results: Results) -> Iterator[str]:
        yield from super().report(model, name, results)
        for own, parameter in model.named_parameters() if results is not None else ():
            if "recurent_cell" in own:
                yield f"{own}\n{parameter.data}"


def _metrics(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error, the share of right roundings, and that of the last step."""
    right = (y.round() == t).to(torch.float64)
    return torch.stack([((y - t) ** 2).mean().to(torch.float64), right.mean(), right[:, -1].mean()])


class SequentialSvhnTask(SequentialTask):
    """Sequences of SVHN."""

    family = "svhn"
    smallest = 2
    kind = replace(SequentialTask.kind, all_cores=True)

    def image_network(self, outputs: int) -> torch.nn.Module:
        return getattr(images.torchvision().models, self.config.resnet)(num_classes=outputs)


READERS: dict[str, tuple[tuple[int, ...], int, int]] = {
    "small": ((10, 20), 320, 50),
    "large": ((20, 50), 800, 500),
    "mlp8": ((), 64, 64),
}
"""Image network -> filters of its convolutions, what the hidden layer reads, and its size.

The first two are PyTorch's examples of 2017 and of 2018, the last one reads images of 8 x 8.
"""


class DigitReader(ExtendedTorchModule):
    """x `(images, 1, side, side)` -> `(images, outputs)`, through a network of `READERS`.

    Convolutions of 5 x 5, each pooled by 2 x 2, if there are any, and a hidden layer, ReLU
    throughout. dropout: the probability with which whole channels of the second convolution, and
    units of the hidden layer, are left out of an update; PyTorch's example of 2017 has 0.5.
    """

    def __init__(self, outputs: int, cnn: str, dropout: float = 0.0):
        super().__init__("reader")
        self.dropout = dropout
        filters, flat, hidden = READERS[cnn]
        self.convolves = bool(filters)
        if filters:
            self.first = Convolution(1, filters[0], 5, name="first")
            self.second = Convolution(filters[0], filters[1], 5, name="second")
        self.hidden = Dense(flat, hidden, "ReLU", "hidden")
        self.output = Dense(hidden, outputs, name="output")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.convolves:
            x = self.second(torch.relu(pooled(self.first(x))))
            x = torch.relu(pooled(self._dropped(x, 2)))
        return self.output(self._dropped(self.hidden(x.flatten(-3)), 0))

    def _dropped(self, x: torch.Tensor, inner: int) -> torch.Tensor:
        """Return x without some of its channels, whose `inner` dimensions go as one.

        The rest is larger, so that the mean stays.
        """
        if not (self.dropout and self.allow_random):
            return x
        shape = x.shape[x.ndim - inner - 2 : x.ndim - inner]
        noise = self.random.uniform(tuple(shape), 0, 1, x)
        kept = (noise >= self.dropout).to(x) / (1 - self.dropout)
        return x * kept.reshape(*kept.shape, *[1] * inner)


class CountingNetwork(ExtendedTorchModule):
    """Digit images, in sequences, -> what a cell has counted or added up.

    f_t = reader(x_t); h_t = cell(f_t, h_{t-1}) from h = 0; y_t = h_t or, for a cell of torch
    (LSTM, GRU, RNN), a dense layer of it without an activation.

    Shapes: x `(batch, time, 1, side, side)`, f `(batch, time, features)`,
    y `(batch, time or 1, outputs)`.
    """

    def __init__(self, c: Config, **layer_options: Any):
        super().__init__("network")
        self.unit_name, self.outputs = c.layer_type, OUTPUTS[c.task]
        outputs, features = self.outputs, c.cnn_outputs or self.outputs
        self.reader = DigitReader(features, c.cnn, c.cnn_dropout)
        self.cell = GeneralizedCell(features, outputs, c.layer_type, name="cell", **layer_options)
        is_torch = isinstance(self.cell.cell, TorchCell)
        self.read_out = Dense(outputs, outputs, name="read_out") if is_torch else None

    def read(self, x: torch.Tensor) -> torch.Tensor:
        """Return what the image network makes of x, all images in one pass."""
        return self.reader(x.flatten(-5, -4)).unflatten(-2, x.shape[-5:-3])

    def accumulate(self, features: torch.Tensor, *, every: bool = False) -> torch.Tensor:
        """Return the outputs of the last step alone, or of every one."""
        h = features.new_zeros(*features.shape[:-2], self.outputs)
        state: Any = (h, h) if self.unit_name == "LSTM" else h
        states = []
        for step in features.unbind(-2):
            state = self.cell(step, state)
            h = state[0] if isinstance(state, tuple) else state
            if every:
                states.append(h)
        found = torch.stack(states, -2) if every else h.unsqueeze(-2)
        if self.read_out is None:
            return found
        return self.read_out(found.flatten(-3, -2)).unflatten(-2, found.shape[-3:-1])

    def forward(self, x: torch.Tensor, *, every: bool = False) -> torch.Tensor:
        return self.accumulate(self.read(x), every=every)


SHOWN_DIGITS = 10
"""The first images of the test, whose outputs are logged step by step."""

MSE_VALID = "metric/valid/mse"

OUTPUTS = {"count": 10, "sum": 1}
"""Task -> outputs of the cell, and those of the image network by default."""


class CountingTask(Task):
    """Learn what follows from all digits of a sequence, and be tested on other lengths.

    Sequences are cut from orders of images: of training in another order in each epoch, of tests in
    orders that are the same for all runs and lengths.
    """

    kind = Kind(EPOCHS, cost=20_000)

    @classmethod
    def goal(cls, config: Config) -> Goal:
        longest = max(config.interpolation_length, *config.extrapolation_lengths)
        return Goal(MSE_VALID, f"{METRIC_TEST}/{longest}/mse")

    def __init__(self, config: Config, device: torch.device):
        super().__init__(config, device)
        flat = config.cnn == "mlp8"
        self._pixels = images.PixelTable() if flat else images.PixelTable.mnist()
        family, source = "digits" if flat else "mnist", config.digit_source
        self._subsets: dict[str, images.DigitSubset] = {}
        for name in ("train", "valid", "test"):
            corpus = images.load_subset(family, source, name, config.data_dir)
            self._subsets[name] = images.DigitSubset(corpus, range(10), device)
        count = len(self._subsets["train"])
        self.about = f"dataset: {count} training images of {source}"
        labels = {name: torch.from_numpy(subset.labels) for name, subset in self._subsets.items()}
        self._labels = {name: own.to(device) for name, own in labels.items()}
        self._every = config.sequence_loss == "all"
        length = config.interpolation_length
        self.lengths = sorted({length, *config.extrapolation_lengths})
        # As many images of the training set as validate: all would take as long as an epoch's half.
        self._measured = len(self._subsets["valid"])
        self._fixed = {}
        for tag, name, seed in ((MSE_TRAIN, "train", TRAIN_SEED), (MSE_VALID, "valid", VALID_SEED)):
            self._fixed[tag] = name, self._places(fixed_places(self._measured, length, seed))
        tested = len(self._subsets["test"])
        self._tested = {
            length: self._places(fixed_places(tested, length, TEST_SEED, config.test_repeats))
            for length in self.lengths
        }
        self._shown = self._tested[self.lengths[0]].flatten()[:SHOWN_DIGITS]
        training_places(count, length, 0, 0)

    def network(self, config: Config, layer_options: dict[str, Any]) -> ExtendedTorchModule:
        return CountingNetwork(config, **layer_options)

    def _places(self, places: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(places).to(self.device)

    def _seen(self, name: str, places: torch.Tensor) -> torch.Tensor:
        return floats(self._pixels(self._subsets[name].images[places]), self.device)

    def _answers(self, name: str, places: torch.Tensor) -> torch.Tensor:
        """Return what is true after each digit of sequences, `(..., time, outputs)`."""
        labels = self._labels[name][places]
        if self.config.task == "sum":
            return floats(labels.cumsum(-1).unsqueeze(-1), self.device)
        return floats(torch.nn.functional.one_hot(labels, 10).cumsum(-2), self.device)

    def batches(self) -> Iterator[Batch]:
        config, count = self.config, len(self._subsets["train"])
        places = training_places(count, config.interpolation_length, config.seed, self.at)
        for part in self._places(places).split(config.batch_size):
            yield self._seen("train", part), self._answers("train", part)

    def loss(self, model: ExtendedTorchModule, x: Any, t: Any, criterion: Any) -> torch.Tensor:
        y = model(x, every=self._every)
        t = t if self._every else t[:, -1:]
        return criterion(y.flatten(0, 1), t.flatten(0, 1))

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, torch.Tensor]:
        found: dict[str, torch.Tensor] = {}
        for tag, (name, places) in self._fixed.items():
            read = self._read(model, name, self._measured)
            found[tag] = self._errors(model, read, name, places)["mse"]
        read = self._read(model, "test", len(self._subsets["test"]))
        for length, places in self._tested.items():
            errors = self._errors(model, read, "test", places)
            found |= {f"{METRIC_TEST}/{length}/{tag}": error for tag, error in errors.items()}
        return found | (self._examples(model, read) if self.at == self.config.max_epochs else {})

    def _examples(self, model: ExtendedTorchModule, read: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return digits of the test and, after each, the outputs of the cell."""
        outputs = model.accumulate(read[self._shown].unsqueeze(0), every=True)[0]
        digits = self._labels["test"][self._shown].to(outputs)
        found: dict[str, torch.Tensor] = {}
        for step, digit in enumerate(digits):
            found[f"metric/test/shown/{step + 1}/digit"] = digit
            for place in range(model.outputs):
                found[f"metric/test/shown/{step + 1}/{place}"] = outputs[step, place]
        return found

    def _read(self, model: ExtendedTorchModule, name: str, count: int) -> torch.Tensor:
        """Return what the image network makes of the first images, `(images, features)`."""
        parts = torch.arange(count, device=self.device).split(IMAGES_AT_ONCE)
        return torch.cat([model.reader(self._seen(name, part)) for part in parts])

    def _errors(
        self, model: ExtendedTorchModule, read: torch.Tensor, name: str, places: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Return errors after the last digit, and the share of sequences with the right answer.

        An answer is right if all outputs round to what is true; of the counts of one digit, if the
        largest is that of the digit.
        """
        y = model.accumulate(read[places]).squeeze(-2)
        t = self._answers(name, places)[:, -1]
        if places.shape[-1] == 1 and self.config.task == "count":
            right = y.argmax(-1) == t.argmax(-1)
        else:
            right = (y.round() == t).all(-1)
        error = y - t
        return {"mse": (error**2).mean(), "mae": error.abs().mean(), "acc": right.to(y).mean()}


def training_places(count: int, length: int, seed: int, epoch: int) -> np.ndarray:
    """Return places of `count` images cut into sequences, in another order in each epoch."""
    return _cut(np.random.default_rng((seed, epoch)).permutation(count), length)


def fixed_places(count: int, length: int, seed: int, repeats: int = 1) -> np.ndarray:
    """Return places of `count` images, `repeats` times over in a new order, cut into sequences.

    Orders follow `seed` alone: those of all lengths are cut from the same.
    """
    random = LegacyRandom(seed)
    return _cut(np.concatenate([random.permutation(count) for _ in range(repeats)]), length)


def _cut(order: np.ndarray, length: int) -> np.ndarray:
    count = len(order) // length
    if count == 0:
        raise ValueError(f"{len(order)} images make no sequence of {length}; ask for shorter ones")
    return order[: count * length].reshape(count, length)


_NO_DIVISION = {
    "div": "it is a product in the published code",
    "cumdiv": "it multiplies whole-number reciprocals in the published code, which are 0 above 1",
}


def _read_operation(word: str) -> str:
    if word in _NO_DIVISION:
        raise ValueError(f"{word} divides nothing, {_NO_DIVISION[word]}; choose cumsum or cumprod")
    return word


# A flag is a few lines of a table.
# fmt: off
def _check_batch(c: Config) -> None:
    common.refuse(c.batch_size < SequentialSvhnTask.smallest, "--batch-size",
        "the image network needs two images of a step", "use 2 or more")


def _flags(data: str, *more: Flag) -> tuple[FlagGroup, FlagGroup, FlagGroup]:
    (nac_mul,) = common.NETWORK.only("--nac-mul")
    task = FlagGroup(
        "Task and data",
        Flag("--operation", each_word("NAME", _read_operation), "cumsum",
            "Running sum or product of the labels, the target at every step; sum and prod are "
            "other names of cumsum and cumprod.", choices=("cumsum", "sum", "cumprod", "prod")),
        Flag(f"--{data}-digits", digits, list(range(10)),
            "Labels of the images that are used, such as 123456789."),
        Flag("--interpolation-length", integer(1), 10,
            "Length of the sequences of training and validation.", sweep=True),
        Flag("--extrapolation-lengths", lengths, [100, 1000], "Lengths of the test sequences.",
            sweep=True),
        *(shared.data_source(data), shared.DATA_DIR, shared.DATASET_WORKERS),
        Flag("--batch-size", integer(1), 64, "Number of sequences in a training batch."),
        *(common.SEED, shared.MAX_EPOCHS),
    )
    network = FlagGroup(
        "Network",
        common.LAYER_TYPE.but(choices=cell_names,
            help="Unit of the recurrent cell, by its key or name."),
        nac_mul.but(choices=("none", "normal", "mnac"),
            help="How the cell multiplies: in log space (normal), or as the multiplicative "
            "form of the unit (mnac)."),
        Flag(f"--{data}-outputs", integer(1), 1,
            "Number of outputs of the image network, the inputs of the cell.", sweep=True),
        choice("--model-simplification", "none",
            "A reference in place of the cell: exact sums or products of the outputs "
            "(solved-accumulator), or the outputs themselves (pass-through).",
            ("none", "solved-accumulator", "pass-through")),
        *more,
    )
    return task, network, common.OWN_LAYERS


def _weights(*more: str) -> FlagGroup:
    (oob,) = common.WEIGHTS.only("--oob-mode").but(oob_mode={"name": "--nac-oob"})
    noise = common.WEIGHTS.only("--mnac-epsilon", "--nmu-noise", "--noise-range", *more)
    return FlagGroup(common.WEIGHTS.title, oob, *noise)


_PENALTIES = common.PENALTIES.but(
    regualizer_scaling={
        "help": "How the sparsity penalty grows: a linear ramp, or 1 - exp(-1e-5 update)."},
    regualizer_scaling_start={
        "default": 10000, "help": "Update at which the linear ramp leaves 0."},
    regualizer_scaling_end={
        "default": 100000, "help": "Update at which the linear ramp reaches 1."},
    regualizer_shape={
        "choices": ("squared", "linear"),
        "help": "Shape of the sparsity and out-of-bounds penalties."},
)
_CRITERION = common.CRITERION.but(pcc2mse_iteration={
    "default": 7500, "help": "First update of the mse phase of criterion pcc-mse."})
_RESNET = choice("--resnet", "resnet18", "Image network, untrained at the start.",
    ("resnet18", "resnet34", "resnet50", "resnet101", "resnet152"), sweep=True)


def name_fields(data: str, *network: nf.NameField) -> tuple[nf.NameField, ...]:
    """Return the fields that the names of both scripts begin with."""
    head = "m-l-" if data == "mnist" else "m-"
    return (
        nf.RECURRENT_MODEL, nf.template(f"d-{{{data}_digits:joined}}"),
        nf.template(f"h-{{{data}_outputs:int}}"), nf.OPERATION, *network,
        nf.template("oob-{nac_oob:control}"), *nf.PENALTY_FIELDS,
        nf.NameField(lambda c: head + c.model_simplification[0], ("model_simplification",)),
        nf.template("i-{interpolation_length:int}"),
        nf.template("e-{extrapolation_lengths:lengths}"), nf.BATCH_SIZE, nf.SEED,
    )


_SOURCE = nf.trailing(nf.template("{data_source}"))
_NET = nf.NameField(lambda c: f"net-{c.resnet.removeprefix('resnet')}", ("resnet",))
_REFUSED = {"--softmax-transform": "the published code stops with it for any number of outputs"}
_CHECKS = common.check_cell, common.check_nalu, common.check_schedule, common.check_files
_EXAMPLE = (
    "--operation cumprod --layer-type ReRegualizedLinearNAC --nac-mul mnac --{}-digits 123456789 "
    "--interpolation-length 2 --extrapolation-lengths [1,2,5] --data-source digits"
)
_NALU = common.NALU.without("--nac-weight")
_FILES = shared.epoch_files("sequence_svhn")
MNIST = ScriptSpec(
    name="sequential_mnist", nac_mul_acts=True,
    summary="Train an image network and a cell that adds or multiplies the digits of a sequence.",
    example=_EXAMPLE.format("mnist"),
    groups=(*_flags("mnist"), _weights("--nau-noise", "--beta-nau"), _NALU, _PENALTIES, _CRITERION,
        shared.epoch_files("sequence_mnist")),
    name_fields=(*name_fields("mnist"), nf.NMU_NOISE, nf.template("bA{beta_nau:bool}"),
        nf.CRITERION, _SOURCE),
    checks=_CHECKS, refused=_REFUSED,
)
SVHN = ScriptSpec(
    name="sequential_svhn", nac_mul_acts=True,
    summary="Train a residual network and a cell that adds or multiplies house number digits.",
    example=_EXAMPLE.format("svhn"),
    groups=(*_flags("svhn", _RESNET), _weights(), _NALU, _PENALTIES,
        FlagGroup(_FILES.title, common.ID, *_FILES)),
    name_fields=(*name_fields("svhn", _NET), nf.ID, _SOURCE),
    checks=(*_CHECKS, _check_batch), refused=_REFUSED,
)
SCRIPTS = (MNIST, SequentialTask), (SVHN, SequentialSvhnTask)
"""Descriptions and tasks of both scripts."""
def _check_images(c: Config) -> None:
    refuse(c.cnn == "mlp8" and c.digit_source != "digits", "--cnn",
        f"mlp8 reads images of 8 x 8, those of --digit-source {c.digit_source} are larger",
        "use --cnn small, or --digit-source digits")
    refuse(c.cnn != "small" and c.cnn_dropout, "--cnn-dropout", f"--cnn {c.cnn} has no dropout",
        "leave it out, or use --cnn small")
    refuse(c.cnn_dropout == 1, "--cnn-dropout", "1 leaves everything out", "give less than 1")


_COUNTING = (
    choice("--task", "count", "Count how often each digit was seen, or add the digits up.",
        tuple(OUTPUTS)),
    LAYER_TYPE.but(default="NAC", choices=cell_names,
        help="Recurrent cell, by its key or name; an output layer follows LSTM, GRU and RNNs."),
    choice("--cnn", "small",
        "Image network: PyTorch's example of 2017, with filters of 10 and 20 and a hidden "
        "layer of 50 (small); that of 2018, with 20, 50 and 500 (large); or a hidden layer of "
        "64 on digits of 8 x 8 (mlp8).", tuple(READERS)),
    Flag("--cnn-outputs", integer(1), None,
        "Outputs of the image network, the inputs of the cell; by default 10 for count and 1 "
        "for sum."),
    Flag("--cnn-dropout", number(0, maximum=1), 0.0,
        "Part of the small image network that each update leaves out: whole channels of its "
        "second convolution, and hidden units. PyTorch's example has 0.5."),
    choice("--sequence-loss", "last", "Compute the loss at the last step only, or at every step.",
        ("last", "all")),
    Flag("--interpolation-length", integer(1), 10,
        "Length of the sequences of training and validation."),
    Flag("--extrapolation-lengths", lengths, [1, 100, 1000],
        "Lengths of further test sequences, besides those of training."),
    *(shared.DIGIT_SOURCE, shared.DATA_DIR),
    Flag("--test-repeats", integer(1, 10**6), 10,
        "How often all test images are tested, each time in a new order.", unnamed=shared.TESTING),
    shared.MEASURED_EPOCHS.but(default=100),
)
COUNTING = shared.task_script(
    "mnist_counting",
    summary="Train an image network and a cell that count the digits of a sequence, or add them "
    "up, and measure the error of longer sequences.",
    example="--task count --layer-type NAC --seed 0-2",
    task=_COUNTING,
    fragments=(
        "t-{task} c-{cnn} l-{sequence_loss} d-{digit_source} i-{interpolation_length}",
        nf.NameField(lambda c: "-".join(["e", *map(str, c.extrapolation_lengths)]),
            ("extrapolation_lengths",)),
        "h-{cnn_outputs} do-{cnn_dropout}",
    ),
    checks=(_check_images,), batch_size=64, learning_rate=1e-3, clip_grad_norm=1, log_interval=1,
    unit="Epochs",
)
