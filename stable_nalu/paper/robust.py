"""Reversible stochasticity: single modules, the arithmetic data set, and pairs of digits."""

from __future__ import annotations

from dataclasses import replace

from stable_nalu.papers import MISTRY_2022_ROBUST

from .benchmark import MULTIPLYING, NMU, NMU_FLAGS, for_operation
from .digit_measures import measures_of_pairs
from .experiment import Experiment, Model, Resources, Setting, Shown
from .sequences import LENGTHS_TO_20, PRODUCT, PRODUCT_EPOCH, PRODUCT_MEASURES, SOLVED
from .sweeps import DATA_SET_RANGES, ONE_TO_TWO

SNMU_LABEL, BATCH_LABEL = "sNMU [1,5]", "sNMU [1,1+1/sd(x)]"

_ON_ONE_RANGE = replace(for_operation("mul"), points=ONE_TO_TWO)
_MLP = "--layer-type ReLU --regualizer 0 --mlp-bias"
_mlps = (
    _ON_ONE_RANGE.model("ReLU-h1", "MLP (1)", f"{_MLP} --hidden-size 1", name="mul/ReLU-h1"),
    _ON_ONE_RANGE.model(
        "ReLU-h100",
        "MLP (100)",
        f"{_MLP} --hidden-size 100 --max-iterations 2000000",
        name="mul/ReLU-h100",
        minutes=1440,
    ),
)
_snmu = for_operation("mul").model(
    "sNMU", SNMU_LABEL, f"{NMU_FLAGS} --nmu-noise --id 6", name="mul/sNMU"
)
_batch_snmu = for_operation("mul").model(
    "batch-sNMU",
    BATCH_LABEL,
    f"{NMU_FLAGS} --nmu-noise --noise-range [1,0] --id 6",
    name="mul/batch-sNMU",
)

_TWO_LAYERS = Setting(
    "simple_function_static",
    "--operation mul --layer-type ReRegualizedLinearNAC --nac-mul mnac --max-iterations 2000000 "
    "--no-cuda",
    range(20),
    Resources(1440),
    points=DATA_SET_RANGES,
    prefix="FTS_NAU_NMU_ranges/",
)
_nau_nmu = _TWO_LAYERS.model(
    "nau-nmu", "NMU", "--max-iterations 5000000", csv="FTS_NAU_NMU_ranges_baseline"
)
_nau_snmu = _TWO_LAYERS.model("nau-Nnmu", "sNMU", "--nmu-noise", csv="FTS_NAU_NMU_ranges_noise-1-5")
_nau_batch = _TWO_LAYERS.model(
    "batch_sNMU", "[1,1+1/sd(x)]", "--nmu-noise --noise-range [1,0] --id 7"
)


def _noise(low: str, high: str, number: int) -> Model:
    folder = "FTS_NAU_NMU_ranges/sNMU-noise-ranges/"
    return replace(_TWO_LAYERS, seeds=range(25), prefix=folder).model(
        f"{low}-{high}",
        f"[{low},{high}]",
        f"--nmu-noise --noise-range [{low},{high}] --id {number}",
        csv=f"{folder}FTS_nau-snmu_{low}-{high}",
    )


_noise_ranges = (
    _noise("0.01", "0.05", 1),
    _noise("0.1", "0.5", 2),
    _noise("1", "2", 3),
    _nau_snmu.named("nau-Nnmu", "[1,5]"),
    _noise("5", "10", 4),
    _noise("10", "20", 8),
    _nau_batch,
)

_GPU = Resources(1440, cores=5, memory_gb=8, gpu=True)
_ISOLATED = Setting(
    "two_digit_mnist",
    "--operation mul --max-epochs 1000 --dataset-workers 4",
    range(10),
    _GPU,
    prefix="static-mnist/mul/1digit_conv-",
    steps_per_epoch=704,
)
_MODULE = "--use-nalm --learn-labels2out"
_RAMP = "--regualizer-scaling-start 30 --regualizer-scaling-end 40 --regualizer 100"
_isolated = tuple(
    _ISOLATED.model(key, label, text, csv=f"static-mnist/mul/1digit_conv-{key}{stem}")
    for key, label, text, stem in (
        ("mul", "mul", "--dataset-workers 5 --id 2", "_Adam"),
        ("fc", "fc", "--learn-labels2out --id 4", "_Adam"),
        ("nmu", "nmu", f"{_MODULE} {_RAMP} --id 3", "_Adam"),
        ("snmu", "snmu [1,5]", f"{_MODULE} --nmu-noise {_RAMP} --id 1", ""),
        (
            "batch-snmu",
            "snmu [1,1+1/sd(x)]",
            f"{_MODULE} --nmu-noise {_RAMP} --noise-range [1,0] --id 5",
            "",
        ),
    )
)
_COLOUR = Setting(
    "ST_mnist_labels",
    "--operation mul --num-folds 3 --batch-size 256 --learning-rate 0.001 "
    "--img2label-model TPS-no-concat-conv --optimizer adam --no-scheduler "
    "--scheduler-step-size 2000 --max-epochs 1000 --samples-per-permutation 1100 "
    "--dataset-workers 4",
    range(3),
    _GPU,
    prefix="static-mnist/mul/",
    steps_per_epoch=244,
)
_colour = tuple(
    _COLOUR.model(key, label, text, name=f"{key}_MSE_Adam-lr0.001_TPS-no-concat-conv")
    for key, label, text in (
        ("mul", "mul", "--id 6"),
        ("fc", "fc", "--learn-labels2out --id 9"),
        ("nmu", "nmu", f"{_MODULE} --id 8"),
        ("snmu", "snmu [1,5]", f"{_MODULE} --nmu-noise --id 7"),
        (
            "batch-snmu",
            "snmu [1,1+1/sd(x)]",
            f"{_MODULE} --nmu-noise --noise-range [1,0] --id 10",
        ),
    )
)

_NMU_CELL = "--layer-type ReRegualizedLinearNAC --nac-mul mnac --dataset-workers 5"
_SEQUENCE = Setting(
    "sequential_mnist",
    f"{PRODUCT} {_NMU_CELL}",
    range(10),
    Resources(480, cores=5, memory_gb=8, gpu=True),
    prefix="sequential_mnist/sequential_mnist_prod_long/",
    steps_per_epoch=PRODUCT_EPOCH,
)
_reference = replace(
    _SEQUENCE,
    flags=f"--operation cumprod {_NMU_CELL} --mnist-digits 123456789 --max-epochs 1000 "
    f"--interpolation-length 2 --extrapolation-lengths {LENGTHS_TO_20} {SOLVED}",
    prefix="sequential_mnist/",
).model(
    "reference",
    "solved accumulator",
    "",
    name="sequential_mnist_prod_reference",
    csv="sequential_mnist_prod_reference_robust",
)
_sequences = tuple(
    _SEQUENCE.model(
        key,
        label,
        f"--mnist-outputs 1 --regualizer-z 1 {text}",
        csv=f"sequential_mnist_prod_long_{key}",
    )
    for key, label, text in (
        ("nmu", "NMU", ""),
        ("snmu", SNMU_LABEL, "--nmu-noise"),
        ("batch-snmu", "sNMU [1,1+1/sd(X))]", "--nmu-noise --noise-range [1,0]"),
    )
)


def _shown(number: str) -> tuple[Shown, ...]:
    return (Shown(MISTRY_2022_ROBUST, f"Figure {number}"),)


EXPERIMENTS = (
    Experiment(
        "surface-mul",
        "Surfaces of MLPs and the NMU",
        _shown("1"),
        (replace(NMU, points=ONE_TO_TWO, seeds=range(1)), *_mlps),
        note="Shows models, not errors; all seeds of the MLPs are trained to choose from.",
    ),
    Experiment(
        "robust-benchmark_sltr_mul",
        "Multiplication, single modules",
        _shown("2"),
        (*MULTIPLYING, _snmu),
        note="The runs of the primer's Figure 16; here every error below 1e-5 counts as solved.",
    ),
    Experiment(
        "fts-snmu-noise-ranges",
        "Noise ranges on the arithmetic data set",
        _shown("5"),
        _noise_ranges,
        criterion="ranges",
        note="Seeds: 25, but 20 for [1,5] and the batch noise. No published script trains [10,20].",
    ),
    Experiment(
        "fts-2021-final",
        "NMU and sNMU on the arithmetic data set",
        _shown("7"),
        (_nau_nmu, _nau_snmu),
        criterion="ranges",
        note="As published, the NMU trains for 5 million iterations and the sNMU for 2 million.",
    ),
    Experiment(
        "static-mnist-mul-isolated",
        "Products of two digits",
        _shown("8"),
        _isolated,
        parameter="model",
        criterion="accuracy",
        measures=measures_of_pairs("mse"),
    ),
    Experiment(
        "static-mnist-mul-colour-concat",
        "Products of two digits in colour channels",
        _shown("9"),
        _colour,
        parameter="model",
        criterion="accuracy",
        measures=measures_of_pairs("loss"),
    ),
    Experiment(
        "robust-sequential_mnist_prod_long",
        "Products of digit sequences with noise",
        _shown("10"),
        (_reference, *_sequences),
        parameter="extrapolation.length",
        criterion="reference",
        measures=PRODUCT_MEASURES,
    ),
    Experiment(
        "static-mnist-appendix",
        "Weight paths, label accuracies and confusion matrices of the digit products",
        tuple(Shown(MISTRY_2022_ROBUST, f"Figure {number}") for number in range(13, 21)),
        (),
        parameter="model",
        criterion="accuracy",
        figures=(
            "weights_path-isolated",
            "weights_path-colour-concat",
            "class_accs-mul-1digit_conv-Adam",
            "class_accs-MSE_Adam-lr0.001_TPS-no-concat-conv_ROUNDED",
            "confusion_matrix",
        ),
        note="Needs no training beyond static-mnist-mul-isolated and "
        "static-mnist-mul-colour-concat; confusion matrices are of fold 2.",
    ),
    Experiment(
        "robust-batch-snmu",
        "sNMU with noise by batch, single module",
        (),
        (_batch_snmu,),
        note="The published script has one block of this name, without the noise range.",
    ),
)
