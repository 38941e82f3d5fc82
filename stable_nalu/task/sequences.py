"""Sequences of digit images: an image network and a cell that adds or multiplies what it reads.

The images of `sequential_mnist` are handwritten digits. `sequential_svhn` has house numbers, which
a residual network of torchvision reads.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import torch

from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.base.errors import OptionError
from stable_nalu.dataset import images
from stable_nalu.dataset.distribution import IndexLoader, LegacyRandom
from stable_nalu.layer.base import TorchCell
from stable_nalu.network.sequences import RegressionMnistNetwork, SequentialDigitNetwork
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import cell_names, choice, digits, each_word, integer, lengths
from stable_nalu.training.recorder import LogRecord, StepLosses
from stable_nalu.training.step import Penalties
from stable_nalu.training.task import EPOCHS, Batch, Goal, Kind, Logging, Observed, Results, Task
from stable_nalu.writer.event_file import (
    LOSS_ACCURACY,
    METRIC,
    METRIC_TEST,
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
        return RegressionMnistNetwork(mnist_outputs=outputs)

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
        self, model: ExtendedTorchModule, result: StepLosses, batch: Batch, *, at_log_point: bool
    ) -> Iterator[LogRecord]:
        t = batch[1]
        _, accuracy, accuracy_of_last = _metrics(self._answers.detach(), t)
        yield LogRecord(f"{LOSS_ACCURACY}/all", accuracy)
        yield LogRecord(f"{LOSS_ACCURACY}/last", accuracy_of_last)
        yield from result.records()
        if at_log_point:
            shown = torch.cat((self._labels[:, 0], t[:, 0]), dim=-1)
            yield LogRecord(f"{self.family.upper()}/train", shown, "tensor")

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
    """Return the mean squared error, and the share of right roundings at all steps and the last."""
    right = (y.round() == t).to(torch.float64)
    return torch.stack([((y - t) ** 2).mean().to(torch.float64), right.mean(), right[:, -1].mean()])


class SequentialSvhnTask(SequentialTask):
    """Sequences of SVHN."""

    family = "svhn"
    smallest = 2
    kind = replace(SequentialTask.kind, all_cores=True)

    def image_network(self, outputs: int) -> torch.nn.Module:
        return getattr(images.torchvision().models, self.config.resnet)(num_classes=outputs)


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
    summary="Train an image network and a cell to add or multiply the digits of a sequence.",
    example=_EXAMPLE.format("mnist"),
    groups=(*_flags("mnist"), _weights("--nau-noise", "--beta-nau"), _NALU, _PENALTIES, _CRITERION,
        shared.epoch_files("sequence_mnist")),
    name_fields=(*name_fields("mnist"), nf.NMU_NOISE, nf.template("bA{beta_nau:bool}"),
        nf.CRITERION, _SOURCE),
    checks=_CHECKS, refused=_REFUSED,
)
SVHN = ScriptSpec(
    name="sequential_svhn", nac_mul_acts=True,
    summary="Train a residual network and a cell to add or multiply digits of house numbers.",
    example=_EXAMPLE.format("svhn"),
    groups=(*_flags("svhn", _RESNET), _weights(), _NALU, _PENALTIES,
        FlagGroup(_FILES.title, common.ID, *_FILES)),
    name_fields=(*name_fields("svhn", _NET), nf.ID, _SOURCE),
    checks=(*_CHECKS, _check_batch), refused=_REFUSED,
)
SCRIPTS = (MNIST, SequentialTask), (SVHN, SequentialSvhnTask)
"""Descriptions and tasks of both scripts."""
