"""Every experiment by its key."""

from __future__ import annotations

from stable_nalu.base.errors import UsageError, did_you_mean

from . import arithmetic_units, depth, division, nalu, new_units, primer, robust, sequences
from .experiment import Experiment

_PAPERS = (arithmetic_units, sequences, division, primer, robust, new_units, nalu, depth)
EXPERIMENTS: dict[str, Experiment] = {e.key: e for paper in _PAPERS for e in paper.EXPERIMENTS}

_ROUNDED = "MSE_Adam-lr0.001_TPS-no-concat-conv_ROUNDED"
OTHER_KEYS = {
    "2D-surface-mul": "surface-mul",
    "2d-surface-mul": "surface-mul",
    "mul": "surface-mul",
    "mul-1digit_conv-Adam": "class_accs-mul-1digit_conv-Adam",
    _ROUNDED: f"class_accs-{_ROUNDED}",
    "in10-iNALU-add": "inalu-in10",
    "in100-NAU-sub": "nau-in100",
    "singularity_issue": "loss_landscape",
    "sequential_mnist_prod_long_icml2021": "robust-sequential_mnist_prod_long",
    "sequential_mnist_prod_boundary_interpolation": "sequential_mnist_prod_interpolation",
    "sltr-in2-distributions": "nips-in2-distributions",
    "sltr-in10-distributions": "nips-in10-distributions",
    "divBy0-easy": "nips-divBy0-easy",
    "divBy0-medium": "nips-divBy0-medium",
    "divBy0-hard": "nips-divBy0-hard",
    "2DMNIST-static-mnist-mul-isolated": "static-mnist-mul-isolated",
    "2DMNIST-static-mnist-mul-colour-concat": "static-mnist-mul-colour-concat",
}
"""Name of a figure in published commands and earlier versions -> its key."""


def known(key: str) -> Experiment | None:
    """Return the experiment of a key, of a figure of it, or of another name of one of them.

    A `/` may be written as in the names of files.
    """
    key = OTHER_KEYS.get(key, key)
    if key in EXPERIMENTS:
        return EXPERIMENTS[key]
    stem = key.replace("/", "-")
    return next((e for e in EXPERIMENTS.values() if stem in (e.stem, *e.figure_keys)), None)


def find(key: str) -> Experiment:
    """Return the experiment of a key; UsageError names similar ones."""
    experiment = known(key)
    if experiment is not None:
        return experiment
    hint = did_you_mean(key, EXPERIMENTS, "--list names them all", most=3)
    raise UsageError(f"there is no experiment {key!r}; {hint}")
