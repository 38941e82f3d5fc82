"""What the tasks on digit images share: where images come from, and flags of scripts in epochs."""

from __future__ import annotations

from stable_nalu.options import Flag, FlagGroup
from stable_nalu.options.flags_training import files_and_devices
from stable_nalu.options.kinds import integer, text

TRAIN_SEED, VALID_SEED, TEST_SEED = 62379872, 47430696, 88253339
"""Orders of the images that are measured: the same for all runs."""

_WHERE = "it changes where images are read from, not what is computed"

DATA_DIR = Flag(
    "--data-dir",
    text("PATH"),
    None,
    "Folder of the image files, which are downloaded if they are missing; by default that of the "
    "environment variable IMAGE_DIR, else stable_nalu/dataset/data in the checkout.",
    aliases=("--data-path",),
    unnamed=_WHERE,
    result=False,
)
DATASET_WORKERS = Flag(
    "--dataset-workers",
    integer(0),
    1,
    "Loader processes of the published scripts; images are in memory and need none.",
    unnamed=_WHERE,
    result=False,
    note="accepted without effect",
)


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


MAX_EPOCHS = Flag(
    "--max-epochs",
    integer(0),
    1000,
    "Index of the last epoch; counting starts at 0, so N asks for N+1 epochs.",
    unnamed="a run that is resumed with more epochs keeps its name",
)


def epoch_files(prefix: str) -> FlagGroup:
    """Return flags of names, logs, files and devices; runs of images train one after another."""
    group = files_and_devices(prefix, "Epochs")
    return group.without("--cuda", "--pytorch-precision", "--ensemble-size", "--workers")
