"""What the descriptions of several tasks share: flags of layers, of files, of images, of models."""

from collections.abc import Callable, Iterable
from functools import partial

from stable_nalu.options import Config, Flag, FlagGroup, ScriptSpec
from stable_nalu.options import flags as common
from stable_nalu.options import run_names as nf
from stable_nalu.options.flag import integer, text, truth
from stable_nalu.options.flags import check_files, check_nalu

TESTING = "it changes what is measured, not how a run is trained"

# The published scripts passed no layer options: their defaults are those of the layers.
LAYER_OPTIONS = (
    common.OWN_LAYERS,
    FlagGroup(
        common.WEIGHTS.title,
        *common.WEIGHTS.only(
            "--oob-mode",
            "--mnac-epsilon",
            "--nmu-noise",
            "--nau-noise",
            "--noise-range",
            "--beta-nau",
        ).but(oob_mode={"default": "regualized"}),
        common.REGUALIZER_SHAPE.but(default="squared"),
    ),
    common.NALU.without("--nac-weight"),
)

# 1 - exp(-1e-5 i); the ends belong to the linear ramp of other scripts.
PENALTY_RAMP = {
    "regualizer_scaling": "exp",
    "regualizer_scaling_start": 0,
    "regualizer_scaling_end": 1,
}

_LEARNING_RATE = nf.template("lr-{optimizer}-{learning_rate:rate}")
_OPTIMIZER = common.OPTIMIZER.without("--momentum", "--clip-grad-value").but(
    optimizer={"choices": ("adam", "rmsprop", "sgd")}
)
# The published recurrent scripts had no flags of an optimiser.
YOUNG_OPTIMIZER = common.OPTIMIZER.without("--clip-grad-value").but(
    optimizer={"young": True},
    learning_rate={"young": True},
    momentum={"young": True},
    clip_grad_norm={"young": True},
)
_BATCH_SIZE = Flag("--batch-size", integer(1), 64, "Number of examples in a training batch.")
DENSITY = "it changes how densely a run is recorded, not what it computes"


def table(columns: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Return a table that TensorBoard shows as one, and that exporters read."""
    head, *lines = (f"| {' | '.join(map(str, cells))} |" for cells in (columns, *rows))
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *lines])


def lower(flag: str) -> nf.NameField:
    """Return the field of a word in lower case."""
    return nf.NameField(lambda c: getattr(c, flag).lower(), (flag,))


def task_script(
    name: str,
    *,
    summary: str,
    example: str,
    task: tuple[Flag, ...],
    fragments: tuple[nf.NameField | str, ...],
    checks: tuple[Callable[[Config], None], ...] = (),
    batch_size: int | None,
    learning_rate: float,
    clip_grad_norm: float | None = None,
    log_interval: int = 1000,
    unit: str = "Iterations",
    nalu_init: str = "default",
    look: FlagGroup | None = None,
    inputs: int | None = None,
    criterion: str = "mse",
) -> ScriptSpec:
    """Return the description of a task's script.

    fragments: fields of its run names that vanish at their defaults, or patterns of some.
    batch_size: None for a task that says itself what a batch is. unit: what the task counts its
    training in. nalu_init: default of --nalu-init, for units that have it. look: flags that look at
    a trained model. inputs: of a network that the engine trains. criterion: that it trains by.
    """
    batch = () if batch_size is None else (_BATCH_SIZE.but(default=batch_size),)
    start = {"nalu_init": {"default": nalu_init}}
    by_engine = {"simple": False, "input_size": inputs, "train_criterion": criterion}
    return ScriptSpec(
        name=name,
        summary=summary,
        example=example,
        groups=(
            FlagGroup("Task", *task, *batch, common.SEED),
            *(g.but(**start) if g.title == common.NALU.title else g for g in LAYER_OPTIONS),
            _OPTIMIZER.but(
                learning_rate={"default": learning_rate}, clip_grad_norm={"default": clip_grad_norm}
            ),
            *_files(name, log_interval, unit, by_engine=bool(inputs)),
            *((look,) if look else ()),
        ),
        name_fields=(
            lower("layer_type"),
            *nf.all_trailing(*fragments),
            *((nf.template("b{batch_size}"),) if batch else ()),
            nf.template("s{seed}"),
            _LEARNING_RATE,
            nf.trailing(nf.GRAD_NORM),
            *nf.LAYER_OPTIONS_TRAILING,
            nf.trailing(nf.ID),
        ),
        checks=(partial(check_nalu, init=nalu_init), check_files, *checks),
        fixed=PENALTY_RAMP | (by_engine if inputs else {}),
    )


def _files(
    name: str, log_interval: int, unit: str, *, by_engine: bool
) -> tuple[FlagGroup, FlagGroup]:
    """Return flags of names, logs, files and devices, for a task that counts in `unit`."""
    control = common.RUN_CONTROL if by_engine else common.PLAIN_RUN_CONTROL
    logged = f"{unit} between two points of the log."
    saved = f"{unit} between two saved states to resume from; 0 saves at the end only."
    return (
        common.LOGGING.without("--save-best-model").but(
            name_prefix={"default": name},
            log_interval={"default": log_interval, "unnamed": DENSITY, "help": logged},
        ),
        control.but(checkpoint_interval={"help": saved}),
    )


# A flag is a few lines of a table.
# fmt: off
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
    "Folder of the image files, which are downloaded if they are missing; by default that of the "
    "environment variable IMAGE_DIR, else stable_nalu/dataset/data in the checkout.",
    aliases=("--data-path",), unnamed=_WHERE, result=False)
DATASET_WORKERS = Flag("--dataset-workers", integer(0), 1,
    "Loader processes of the published scripts; images are in memory and need none.",
    unnamed=_WHERE, result=False, note="accepted without effect")


def data_source(published: str) -> Flag:
    """Return the flag for the source of images: the published one, or digits without a download."""
    return Flag(
        "--data-source",
        text(),
        published,
        f"Images: {published.upper()}, or the 1,797 handwritten digits of scikit-learn, enlarged, "
        "which need no download.",
        choices=(published, "digits"),
    )


DIGIT_SOURCE = data_source("mnist").but(
    name="--digit-source", default="digits", aliases=("--data-source",)
)
MAX_EPOCHS = Flag("--max-epochs", integer(0), 1000,
    "Index of the last epoch; counting starts at 0, so N asks for N+1 epochs.",
    unnamed="a run that is resumed with more epochs keeps its name")
MEASURED_EPOCHS = MAX_EPOCHS.but(
    help="Index of the last epoch; counting starts at 0. Metrics of epoch k are measured before "
    "epoch k is trained."
)


def epoch_files(prefix: str) -> FlagGroup:
    """Return flags of names, logs, files and devices; runs of images train one after another."""
    group = common.files_and_devices(prefix, "Epochs")
    return group.without("--cuda", "--pytorch-precision", "--ensemble-size", "--workers")
