"""What several tasks share: flags of layers, files, images and models; rows that Python makes."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from stable_nalu import abstract
from stable_nalu.abstract import ExtendedTorchModule
from stable_nalu.dataset.simple_function import SampleStream
from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import integer, text, truth
from stable_nalu.options.flags import check_files, check_nalu
from stable_nalu.training.task import Batch, Drawn, EngineTask

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv}
}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
TESTING = "it changes what is measured, not how a run is trained"

# The published scripts passed no layer options: their defaults are those of the layers.
NOISE = "--nmu-noise", "--nau-noise", "--noise-range", "--beta-nau"
_WEIGHTS = common.WEIGHTS.only("--oob-mode", "--mnac-epsilon", *NOISE)
LAYER_OPTIONS = (
    common.OWN_LAYERS,
    FlagGroup(
        common.WEIGHTS.title,
        *_WEIGHTS.but(oob_mode={"default": "regualized"}),
        common.REGUALIZER_SHAPE.but(default="squared"),
    ),
    common.NALU.without("--nac-weight"),
)

# 1 - exp(-1e-5 i); the ends belong to the linear ramp of other scripts.
_ENDS = {"regualizer_scaling_start": 0, "regualizer_scaling_end": 1}
PENALTY_RAMP = {"regualizer_scaling": "exp", **_ENDS}
_OPTIMIZER = common.OPTIMIZER.without("--momentum", "--clip-grad-value", "--schedule").but(
    optimizer={"choices": ("adam", "rmsprop", "flux-rmsprop", "sgd")}
)
# The published recurrent scripts had no flags of an optimiser.
YOUNG_OPTIMIZER = [
    flag.but(young=True) for flag in common.OPTIMIZER.without("--clip-grad-value", "--schedule")
]
_BATCH_SIZE = Flag("--batch-size", integer(1), 64, "Number of examples in a training batch.")
DENSITY = "it changes how densely a run is recorded, not what it computes"


def table(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a table that TensorBoard shows as one, and that exporters read."""
    head, *lines = (f"| {' | '.join(map(str, cells))} |" for cells in (columns, *rows))
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *lines])


def settings(config: Config, *names: str) -> dict[str, Any]:
    """Return what a configuration says of some names."""
    return {name: getattr(config, name) for name in names}


def lower(flag: str) -> nf.NameField:
    return nf.NameField(lambda c: getattr(c, flag).lower(), (flag,))


# A script or a flag is a few lines of a table.
# fmt: off
def task_script(
    name: str, *, summary: str, example: str, task: tuple[Flag, ...],
    fragments: tuple[nf.NameField | str, ...] = (),
    checks: tuple[Callable[[Config], None], ...] = (),
    batch_size: int | None, learning_rate: float, clip_grad_norm: float | None = None,
    log_interval: int = 1000, unit: str = "Iterations", nalu_init: str = "default",
    look: FlagGroup | None = None, inputs: int | None = None, criterion: str = "mse",
) -> ScriptSpec:
    """Return the description of a task's script.

    fragments: name fields behind the task's own, which also vanish at their defaults.
    batch_size: None for a task that says itself what a batch is. unit: what the task counts its
    training in. nalu_init: default of --nalu-init, for units that have it. look: flags that look at
    a trained model. inputs: of a network that the engine trains. criterion: that it trains by.
    """
    batch = () if batch_size is None else (_BATCH_SIZE.but(default=batch_size),)
    start = {"nalu_init": {"default": nalu_init}}
    by_engine = {"simple": False, "input_size": inputs, "train_criterion": criterion}
    control = common.RUN_CONTROL if inputs else common.PLAIN_RUN_CONTROL
    saved = f"{unit} between two saved states to resume from; 0 saves at the end only."
    logged = f"{unit} between two points of the log."
    return ScriptSpec(
        name=name, summary=summary, example=example,
        groups=(
            FlagGroup("Task", *task, *batch, common.SEED),
            *(g.but(**start) if g.title == common.NALU.title else g for g in LAYER_OPTIONS),
            _OPTIMIZER.but(learning_rate={"default": learning_rate},
                clip_grad_norm={"default": clip_grad_norm}),
            common.LOGGING.without("--save-best-model").but(
                name_prefix={"default": name},
                log_interval={"default": log_interval, "unnamed": DENSITY, "help": logged}),
            control.but(checkpoint_interval={"help": saved}),
            *((look,) if look else ()),
        ),
        name_fields=(
            *(lower("layer_type"), *nf.of_flags(*task), *nf.all_trailing(*fragments)),
            *((nf.template("b{batch_size}"),) if batch else ()),
            *(nf.template("s{seed}"), nf.template("lr-{optimizer}-{learning_rate:rate}")),
            *(nf.trailing(nf.GRAD_NORM), *nf.LAYER_OPTIONS_TRAILING, nf.trailing(nf.ID)),
        ),
        checks=(partial(check_nalu, init=nalu_init), check_files, *checks),
        fixed=PENALTY_RAMP | (by_engine if inputs else {}),
    )


_LOOKS_AT_A_MODEL = "it looks at a trained model, nothing is trained"
EVALUATION = FlagGroup(
    "Looking at a trained model",
    Flag("--evaluate", text("CHECKPOINT"), None,
        "Train nothing: write the confusion matrix, the accuracy of each digit and the path of the "
        "last layer's weights of this saved model. Its own flags are used, and its log is only "
        "read.", unnamed=_LOOKS_AT_A_MODEL, result=False),
    Flag("--evaluation-dir", text("PATH"), None,
        "Where --evaluate writes; by default two_digit_mnist_plots in SAVE_DIR.",
        unnamed=_LOOKS_AT_A_MODEL, result=False),
    Flag("--rounded", truth, None,
        "Count the nearest digit (true) or cut off the decimals (false) in --evaluate; by default "
        "as published. The other choice shows in the file names.", unnamed=_LOOKS_AT_A_MODEL,
        result=False),
)

TRAIN_SEED, VALID_SEED, TEST_SEED = 62379872, 47430696, 88253339
"""Orders of the images that are measured: the same for all runs."""

_WHERE = "it changes where images are read from, not what is computed"

DATA_DIR = Flag("--data-dir", text("PATH"), None,
    "Folder of the image files, which are downloaded if they are missing; by default the "
    "environment variable IMAGE_DIR, else stable_nalu/dataset/data in the checkout.",
    aliases=("--data-path",), unnamed=_WHERE, result=False)
DATASET_WORKERS = Flag("--dataset-workers", integer(0), 1,
    "Loader processes of the published scripts; images are in memory and need none.",
    unnamed=_WHERE, result=False, note="accepted without effect")


def data_source(published: str) -> Flag:
    """Return the flag for the source of images: the published one, or digits without a download."""
    return Flag("--data-source", text(), published,
        f"Images: {published.upper()}, or the 1,797 handwritten digits of scikit-learn, enlarged, "
        "which need no download.", choices=(published, "digits"))


DIGIT_SOURCE = data_source("mnist").but(
    name="--digit-source", default="digits", aliases=("--data-source",))
MAX_EPOCHS = Flag("--max-epochs", integer(0), 1000,
    "Index of the last epoch; counting starts at 0, so N asks for N+1 epochs.",
    unnamed="a run that is resumed with more epochs keeps its name")
MEASURED_EPOCHS = MAX_EPOCHS.but(
    help="Index of the last epoch; counting starts at 0. Metrics of epoch k are measured before "
    "epoch k is trained.")
# fmt: on


def epoch_files(prefix: str) -> FlagGroup:
    """Return flags of names, logs, files and devices; runs of images train one after another."""
    group = common.files_and_devices(prefix, "Epochs")
    return group.without("--cuda", "--pytorch-precision", "--ensemble-size", "--workers")


class MeasuredTask(EngineTask):
    """Python draws samples, and torch measures models, each alone, as it rounds by shapes."""

    in_python = True

    _alone: Any = None

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the next samples of some runs: x `(iterations, runs, batch, in)` and t."""
        raise NotImplementedError

    def samples(self) -> tuple[Sequence[SampleStream], Drawn]:
        return (), self.given

    def batches(self) -> Iterator[Batch]:
        yield tuple(torch.from_numpy(part[0, 0]) for part in self.given([0], 1))

    def measures(self, model: ExtendedTorchModule) -> Mapping[str, Any]:
        if self.engine is None:
            return self.measured(model, 0)
        # Each draws what it draws alone.
        self.engine.store(model_alone=True)
        every: dict[str, list[Any]] = {}
        source: Any = model.random
        with torch.random.fork_rng(devices=[]):
            if self._alone is None:
                self._alone = self.engine.build(self.config)
            for run, generator in enumerate(source.generators):
                self._alone.load_state_dict(abstract.run_state(model.state_dict(), run))
                torch.set_rng_state(generator.get_state())
                with self._alone.no_random():
                    for tag, value in self.measured(self._alone, run).items():
                        every.setdefault(tag, []).append(value)
                generator.set_state(torch.get_rng_state())
        return {
            tag: torch.stack(values) if isinstance(values[0], torch.Tensor) else values
            for tag, values in every.items()
        }

    def measured(self, model: ExtendedTorchModule, run: int) -> Mapping[str, torch.Tensor | str]:
        """Return numbers and texts of the model of one run by their tags."""
        raise NotImplementedError


class RowsTask(MeasuredTask):
    """Trains on all rows in every update, or on few that Python draws."""

    def __init__(self, config: Config, device: torch.device, *others: Config):
        super().__init__(config, device, *others)
        self.data = list(map(self.rows_of, self.configs))
        self._laid: dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]] = {}

    def rows_of(self, config: Config) -> Batch:
        raise NotImplementedError

    def given(self, runs: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of some runs, the same ones for all iterations."""
        key = tuple(runs)
        if key not in self._laid:
            self._laid[key] = self.laid([self.data[run] for run in runs])
        return self._laid[key]

    @staticmethod
    def laid(rows: Sequence[Batch]) -> tuple[np.ndarray, np.ndarray]:
        x, t = (torch.stack(parts)[None].numpy() for parts in zip(*rows, strict=True))
        return x, t


def large_weights(model: ExtendedTorchModule, *cuts: float) -> dict[str, torch.Tensor]:
    """Return how many trained weights are above some cuts."""
    own = torch.cat([p.flatten() for p in model.parameters() if p.requires_grad]).abs()
    return {f"metric/weights/above-{cut:g}": (own > cut).sum().float() for cut in cuts}


def error_table(x: Sequence[float], errors: Sequence[float]) -> str:
    return table(("x", "abs.error"), zip(map("{:g}".format, x), errors, strict=True))
