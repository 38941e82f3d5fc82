"""Sequences of digits in Neural Arithmetic Units: products and sums of MNIST and SVHN."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.papers import MADSEN_2020

from .digit_measures import measures_of_lengths
from .experiment import Experiment, Model, Resources, Setting, Shown, judged_by
from .sweeps import variants

LENGTHS_TO_20 = "[" + ",".join(map(str, range(1, 21))) + "]"
LENGTHS_TO_9 = "[" + ",".join(map(str, range(1, 10))) + "]"
LENGTHS_OF_SUMS = "[1,10,100,200,300,400,500,600,700,800,900,1000]"

PRODUCT = (
    "--operation cumprod --mnist-digits 123456789 --max-epochs 1000 --verbose "
    f"--interpolation-length 2 --extrapolation-lengths {LENGTHS_TO_20}"
)
SUM = (
    "--operation cumsum --max-epochs 1000 --verbose "
    f"--interpolation-length 10 --extrapolation-lengths {LENGTHS_OF_SUMS}"
)
PRODUCT_EPOCH, SUM_EPOCH = 388, 86
"""Updates of an epoch: pairs of the digits 1-9, and tens of all digits, in batches of 64."""


_NAC_MUL = "--layer-type NAC --nac-mul normal"
_NAC_SIGMA = "--layer-type PosNAC --nac-mul normal"
_NAC_NMU = "--layer-type ReRegualizedLinearPosNAC --nac-mul normal"
_NMU = "--layer-type ReRegualizedLinearNAC --nac-mul mnac"

_UNITS = {
    "nac-mul": ("NAC•", _NAC_MUL),
    "nac-sigma": ("NAC•,σ", _NAC_SIGMA),
    "nalu": ("NALU", "--layer-type NALU"),
    "nmu-z0": ("NMU, no R_z", f"{_NMU} --regualizer-z 0"),
    "nmu": ("NMU", f"{_NMU} --regualizer-z 1"),
    "nac-nmu-z0": ("NAC•,NMU, no R_z", f"{_NAC_NMU} --regualizer-z 0"),
    "nac-nmu": ("NAC•,NMU", f"{_NAC_NMU} --regualizer-z 1"),
    "lstm": ("LSTM", "--layer-type LSTM"),
}
_SUM_UNITS = {
    "nac-add-z0": ("NAC+", "--layer-type NAC --regualizer-z 0"),
    "nac-add": ("NAC+,Rz", "--layer-type NAC --regualizer-z 1"),
    "nalu": ("NALU", "--layer-type NALU"),
    "nau-z0": ("NAU, no R_z", "--layer-type ReRegualizedLinearNAC --regualizer-z 0"),
    "nau": ("NAU", "--layer-type ReRegualizedLinearNAC --regualizer-z 1"),
    "lstm": ("LSTM", "--layer-type LSTM"),
}
SOLVED = "--model-simplification solved-accumulator"

_GPU = Resources(360, cores=2, gpu=True)
_PRODUCT = Setting("sequential_mnist", PRODUCT, range(10), _GPU, steps_per_epoch=PRODUCT_EPOCH)
_SUM = replace(_PRODUCT, flags=SUM, steps_per_epoch=SUM_EPOCH)
_SVHN = replace(
    _PRODUCT,
    script="sequential_svhn",
    flags=PRODUCT.replace("--mnist-digits", "--svhn-digits") + " --svhn-outputs 1",
    seeds=range(5),
    resources=replace(_GPU, minutes=600),
    variants=variants("--resnet", "resnet18 resnet34 resnet50"),
)


def _models(
    setting: Setting, name: str, keys: tuple[str, ...], extra: str = ""
) -> tuple[Model, ...]:
    return tuple(
        setting.model(key, _UNITS[key][0], f"{_UNITS[key][1]} {extra}", name=name) for key in keys
    )


PRODUCT_REFERENCE = _PRODUCT.model(
    "reference", "solved accumulator", f"{_NMU} {SOLVED}",
    name="sequential_mnist_prod_reference", minutes=480,
)  # fmt: skip
_PRODUCT_LONG = _models(_PRODUCT, "sequential_mnist_prod_long", tuple(_UNITS), "--mnist-outputs 1")
_SUM_REFERENCE = _SUM.model(
    "reference", "solved accumulator", f"--layer-type ReRegualizedLinearNAC {SOLVED}",
    name="sequential_mnist_sum_reference", minutes=480,
)  # fmt: skip
_SUM_LONG = tuple(
    _SUM.model(key, label, text, name="sequential_mnist_sum_long")
    for key, (label, text) in _SUM_UNITS.items()
)
_SHORTER = replace(
    _PRODUCT,
    flags=PRODUCT.replace(LENGTHS_TO_20, LENGTHS_TO_9),
    seeds=range(5),
)
_INTERPOLATION = _models(
    replace(_SHORTER, variants=variants("--interpolation-length", "2 3 4 5")),
    "sequential_mnist_prod_interpolation",
    ("nac-mul", "nac-sigma", "nalu", "nmu", "lstm"),
    "--mnist-outputs 1",
)
_OUTPUTS = _models(
    replace(_SHORTER, variants=variants("--mnist-outputs", "1 2 3 4 5 6")),
    "sequential_mnist_prod_outputs",
    ("nac-mul", "nac-sigma", "nalu", "nmu", "nac-nmu", "lstm"),
)
_SVHN_LONG = (
    *_models(
        _SVHN,
        "sequential_svhn_prod_long",
        ("nac-mul", "nac-sigma", "nalu", "nmu", "nac-nmu"),
    ),
    *_models(
        replace(_SVHN, flags=_SVHN.flags.replace("--max-epochs 1000", "--max-epochs 250")),
        "sequential_svhn_prod_long",
        ("nmu-z0", "nac-nmu-z0", "lstm"),
    ),
)
_SVHN_REFERENCE = replace(_SVHN, resources=replace(_GPU, minutes=480)).model(
    "reference", "solved accumulator", f"{_NMU} {SOLVED}", name="sequential_svhn_prod_reference"
)

_LENGTH = "extrapolation.length"
PRODUCT_MEASURES = measures_of_lengths(1, 2, 5, 10, 20)
_SHORT_MEASURES = measures_of_lengths(1, 2, 5, 9)
_OTHERS_REFERENCE = "Thresholds are those of the reference of sequential_mnist_prod_long."

EXPERIMENTS = judged_by(
    "reference",
    Experiment(
        "sequential_mnist_prod_long",
        "Products of digit sequences",
        (Shown(MADSEN_2020, "Figure 4"), Shown(MADSEN_2020, "Figure 13")),
        (PRODUCT_REFERENCE, *_PRODUCT_LONG),
        parameter=_LENGTH,
        figures=("sequential_mnist_prod_long", "sequential_mnist_prod_errors"),
        note="Published thresholds use seeds 0, 2, 4, 5, 6, 7 and 9 of the reference and the t "
        "quantile of 8 degrees of freedom.",
        measures=PRODUCT_MEASURES,
    ),
    Experiment(
        "sequential_mnist_sum_long",
        "Sums of digit sequences",
        (Shown(MADSEN_2020, "appendix figures of sums"),),
        (_SUM_REFERENCE, *_SUM_LONG),
        parameter=_LENGTH,
        figures=("sequential_mnist_sum_long", "sequential_mnist_sum_errors"),
        note="The published script submits seeds 1-9 of the reference; the figure uses 0-9.",
        measures=measures_of_lengths(1, 10, 100, 1000),
    ),
    Experiment(
        "sequential_mnist_prod_interpolation",
        "Products against the training length",
        (),
        _INTERPOLATION,
        parameter=_LENGTH,
        note=_OTHERS_REFERENCE,
        measures=_SHORT_MEASURES,
    ),
    Experiment(
        "sequential_mnist_prod_outputs",
        "Products against the number of outputs of the digit network",
        (),
        _OUTPUTS,
        parameter=_LENGTH,
        figures=("sequential_mnist_prod_boundary_output", "sequential_mnist_prod_horizon_output"),
        note=_OTHERS_REFERENCE,
        measures=_SHORT_MEASURES,
    ),
    Experiment(
        "sequential_svhn_prod_long",
        "Products of street view digits",
        (),
        (_SVHN_REFERENCE, *_SVHN_LONG),
        parameter=_LENGTH,
        measures=PRODUCT_MEASURES,
    ),
)
