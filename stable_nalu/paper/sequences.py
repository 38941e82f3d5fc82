"""Sequences of digits in Neural Arithmetic Units: products and sums of MNIST and SVHN."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import pandas as pd
from matplotlib.axes import Axes

from stable_nalu.base.errors import UsageError
from stable_nalu.base.papers import MADSEN_2020
from stable_nalu.figure import curves, style
from stable_nalu.figure.panels import sweep_panels
from stable_nalu.figure.runs import (
    SEQUENCE_VALIDATION,
    Context,
    Drawing,
    Only,
    Part,
    Product,
    Reference,
    Run,
    Runs,
    Series,
    kind,
    last_rows,
    logged,
    tested_lengths,
)
from stable_nalu.figure.style import standard
from stable_nalu.statistics.setups import NAC_ADD, NAC_ADD_Z, NAC_MUL, NAC_MUL_NMU, NAC_MUL_SIGMA

from .experiment import Experiment, Measure, Model, Recipe, Resources, variants


@kind("error by length")
def lengths(context: Context, runs: Runs, reference: str, columns: curves.Titled) -> Product:
    """Draw errors over the epochs, and errors by length divided by the errors of a reference.

    A reference adds or multiplies digits exactly, so it errs only when it reads a digit.

    runs: how rows are named and chosen. reference: the model that errors by length are divided by.
    """
    rows = logged(context, runs, ("name", "epoch", SEQUENCE_VALIDATION))
    of_model = {str(model): table for model, table in rows.groupby("model", sort=False)}
    wanted = (*(one.label for one in context.figure.series if one.label), *runs.models)
    models = {model: of_model[model] for model in wanted if model in of_model}
    shown = context.looks(models)
    figure, grid = style.subplots((19.0, 8.0), 1, len(columns) + 1)
    *panels, last = grid
    side = curves.draw_epochs(panels, columns, "epoch", models, shown)
    for axes in panels:
        axes.xaxis.get_major_locator().set_params(integer=True)
    side += _draw_lengths(last, models, shown, reference)
    return context.plotted(
        figure,
        side,
        "Medians over runs; ribbons: quartiles.",
        f"Right: at the last epoch, divided by the median error of the {reference}.",
        handles=curves.with_counts(shown, models),
    )


def _draw_lengths(
    axes: Axes, models: Mapping[str, pd.DataFrame], shown: Mapping[str, style.Look], reference: str
) -> list[pd.DataFrame]:
    axes.set(title="By length", yscale="log", xlabel="Digits of a sequence")
    axes.set_ylabel("Error relative to the reference")
    if reference not in models:
        raise UsageError(f"no runs of the {reference}, which errors are divided by")
    of_reference = _by_length(models[reference]).set_index("length")["median"]
    side = []
    for model, look in shown.items():
        ends = _by_length(models[model])
        side.append(ends.assign(model=model, column="by length"))
        columns = ["lower", "median", "upper"]
        unit = of_reference.reindex(ends["length"]).to_numpy()
        ends[columns] = ends[columns].div(unit, axis=0)
        curves.draw_quartiles(axes, ends, "length", look)
    return side


def _by_length(table: pd.DataFrame) -> pd.DataFrame:
    last = last_rows(table, "epoch")
    columns = {n: c for n, c in tested_lengths(last).items() if bool(last[c].notna().any())}
    ends = [curves.quartiles(last.assign(length=n), "length", c) for n, c in columns.items()]
    if not ends:
        raise UsageError("no file has the error at any length")
    return pd.concat(ends, ignore_index=True)


_EPOCHS = (*range(0, 100, 5), *range(100, 1001, 50))
"""Epochs whose errors are kept for curves."""


def measures_of_lengths(*lengths: int) -> tuple[Measure, ...]:
    """Return the measures of runs on sequences, which are tested on several lengths.

    lengths: those that tables show; the errors at all others are kept for figures.
    """
    shown = {f"metric.test.extrapolation.{n}.mse": f"error, length {n}" for n in lengths}
    shown = {"metric.valid.mse": "validation error"} | shown
    return (
        *(Measure(column, label, steps=_EPOCHS) for column, label in shown.items()),
        Measure("sparse.error.max", "sparsity error", steps=_EPOCHS, optional=True),
        Measure("metric.test.extrapolation.*", "error at other lengths: *"),
    )


LENGTHS_TO_20 = "[" + ",".join(map(str, range(1, 21))) + "]"
_LENGTHS_TO_9 = "[" + ",".join(map(str, range(1, 10))) + "]"
_LENGTHS_OF_SUMS = "[1,10,100,200,300,400,500,600,700,800,900,1000]"

PRODUCT = (
    "--operation cumprod --mnist-digits 123456789 --max-epochs 1000 --verbose "
    f"--interpolation-length 2 --extrapolation-lengths {LENGTHS_TO_20}"
)
_SUM_FLAGS = (
    "--operation cumsum --max-epochs 1000 --verbose "
    f"--interpolation-length 10 --extrapolation-lengths {_LENGTHS_OF_SUMS}"
)
_PRODUCT_EPOCH, _SUM_EPOCH = 388, 86
"""Updates of an epoch: pairs of the digits 1-9, and tens of all digits, in batches of 64."""

_NAC_NMU = "--layer-type ReRegualizedLinearPosNAC --nac-mul normal"
_NAU = "--layer-type ReRegualizedLinearNAC"
_NMU = f"{_NAU} --nac-mul mnac"
_UNITS = {
    "nac-mul": ("NAC•", "--layer-type NAC --nac-mul normal"),
    "nac-sigma": ("NAC•,σ", "--layer-type PosNAC --nac-mul normal"),
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
    "nau-z0": ("NAU, no R_z", f"{_NAU} --regualizer-z 0"),
    "nau": ("NAU", f"{_NAU} --regualizer-z 1"),
    "lstm": ("LSTM", "--layer-type LSTM"),
}
SOLVED = "--model-simplification solved-accumulator"
_SOLVED_LABEL = "solved accumulator"

_GPU = Resources(360, cores=2, gpu=True)
LONG_PRODUCT = Recipe("sequential_mnist", PRODUCT, range(10), _GPU, steps_per_epoch=_PRODUCT_EPOCH)
_SUM = replace(LONG_PRODUCT, flags=_SUM_FLAGS, steps_per_epoch=_SUM_EPOCH)
_SHORTER = replace(
    LONG_PRODUCT, flags=PRODUCT.replace(LENGTHS_TO_20, _LENGTHS_TO_9), seeds=range(5)
)
_OF_HOUSES = PRODUCT.replace("--mnist-digits", "--svhn-digits") + " --svhn-outputs 1"
_RESNETS = variants("--resnet", "resnet18 resnet34 resnet50")
_LONGER = replace(_GPU, minutes=600)
_OF_SVHN = {"flags": _OF_HOUSES, "resources": _LONGER, "variants": _RESNETS}
_SVHN = replace(_SHORTER, script="sequential_svhn", **_OF_SVHN)


def _models(setting: Recipe, name: str, keys: str, extra: str = "") -> tuple[Model, ...]:
    return tuple(
        setting.model(key, _UNITS[key][0], f"{_UNITS[key][1]} {extra}", name=name)
        for key in keys.split()
    )


def _reference(setting: Recipe, unit: str, name: str) -> Model:
    setting = replace(setting, resources=replace(_GPU, minutes=480))
    return setting.model("reference", _SOLVED_LABEL, f"{unit} {SOLVED}", name=f"{name}_reference")


REFERENCE_SEEDS = {"cumprod": (0, 2, 4, 5, 6, 7, 9), "cumsum": tuple(range(10))}
"""Operation -> seeds of the reference network that the published thresholds count."""


def sequence_runs(operation: str, models: tuple[str, ...] = (), *only: Only) -> Runs:
    """Return how runs on sequences become points: one for each length of the test."""
    sums = operation == "cumsum"
    file = f"sequential_mnist_{'sum' if sums else 'prod'}_reference"
    return Runs(
        "extrapolation.length",
        models,
        only=only,
        expected=(1, 10, *range(100, 1001, 100)) if sums else tuple(range(1, 21)),
        reference=Reference(file, REFERENCE_SEEDS[operation]),
    )


_panels = partial(Part, sweep_panels, style="line")


_LENGTH = "Extrapolation length"


def by_length(stem: str, runs: Runs, height: float = 5.7) -> Part:
    """Return the three panels of products against the length."""
    breaks = (1, *range(2, 21, 2))
    return _panels(stem, runs=runs, x_label=_LENGTH, breaks=breaks, size=standard(height))


def _products(z: float) -> Runs:
    models = (NAC_MUL_NMU, NAC_MUL_SIGMA, NAC_MUL, "LSTM", "NALU", "NMU")
    return sequence_runs("cumprod", models, Only("regualizer.z", (z,), ("NMU", NAC_MUL_NMU)))


def _sums(z: float) -> Runs:
    """Return the same of sums; NAC under the z penalty has a label of its own."""
    models = (NAC_ADD, NAC_ADD_Z, "LSTM", "NALU", "NAU")
    runs = sequence_runs("cumsum", models, Only("regualizer.z", (z,), ("NAU",)))

    def with_z(run: Run) -> str:
        return NAC_ADD_Z if run["model"] == NAC_ADD and run["regualizer.z"] > 0 else run["model"]

    return replace(runs, derive=(("model", with_z),))


def _sum_panels(stem: str, z: float) -> Part:
    breaks = (1, 10, *range(200, 1001, 200))
    return _panels(stem, runs=_sums(z), x_label=_LENGTH, breaks=breaks, style="category")


def _errors(name: str, title: str, runs: Runs, trained: int, longer: int) -> Drawing:
    """Return the figure of the errors themselves, which need no threshold."""
    task = f"sequential_mnist_{name}"
    columns = (
        ("metric.valid.mse", f"{trained} digits, as trained"),
        (f"metric.test.extrapolation.{longer}.mse", f"{longer:,} digits"),
    )
    part = Part(lengths, runs=runs, reference=_SOLVED_LABEL, columns=columns)
    title = f"{title}: errors over the epochs, and by length"
    return Drawing((part,), key=f"{task}_errors", title=title)


def _exploring(part: Part, key: str = "", title: str = "") -> Drawing:
    """Return a figure of a published script that is in no paper."""
    return Drawing((part,), key=key, title=title, paper=MADSEN_2020)


judged_by_reference = partial(
    Experiment, parameter="extrapolation.length", criterion="reference", best_range=1000
)
_PROD, _PROD_TITLE = "sequential_mnist_prod_long", "Products of digit sequences"
_ADD, _ADD_TITLE = "sequential_mnist_sum_long", "Sums of digit sequences"
_INTERPOLATION, _OUTPUTS = "sequential_mnist_prod_interpolation", "sequential_mnist_prod_outputs"
_HOUSES = "sequential_svhn_prod_long"
_ANY_PRODUCT = replace(_products(1.0), models=())
_TO_NINE, _COUNTS = tuple(range(1, 10)), tuple(range(1, 7))
_ONE_RUN = Reference(
    "sequential_mnist_prod_reference", (0, 1, 2, 4, 5, 6, 7, 9), level=0.999, of_one_run=True
)
_HORIZON = replace(
    _ANY_PRODUCT,
    expected=_TO_NINE,
    only=(Only("regualizer.z", (1.0,)),),
    derive=(("model", lambda run: f"{run['model']}, outputs: {run['hidden.size']}"),),
    models=tuple(f"NMU, outputs: {count}" for count in _COUNTS),
    closed=True,
)
PRODUCT_MEASURES = measures_of_lengths(1, 2, 5, 10, 20)
_SHORT_MEASURES = measures_of_lengths(1, 2, 5, 9)
_OTHERS_REFERENCE = "Thresholds are those of the reference of sequential_mnist_prod_long."

# fmt: off
EXPERIMENTS = (
    judged_by_reference(
        _PROD, _PROD_TITLE, MADSEN_2020, ("Figure 4", "Figure 13"),
        (_reference(LONG_PRODUCT, _NMU, "sequential_mnist_prod"),
         *_models(LONG_PRODUCT, _PROD, " ".join(_UNITS), "--mnist-outputs 1")),
        (Drawing((by_length(_PROD, _products(1.0)),
                  by_length(f"{_PROD}_short", _products(1.0), 5.1),
                  by_length(f"{_PROD}_ablation", _products(0.0))), (Series((_PROD,)),)),
         _errors("prod", _PROD_TITLE, _products(1.0), trained=2, longer=10)),
        measures=PRODUCT_MEASURES,
        note="Published thresholds use seeds 0, 2, 4, 5, 6, 7 and 9 of the reference and the t "
        "quantile of 8 degrees of freedom."),
    judged_by_reference(
        _ADD, _ADD_TITLE, MADSEN_2020, ("appendix figures of sums",),
        (_reference(_SUM, _NAU, "sequential_mnist_sum"),
         *(_SUM.model(key, *unit, name=_ADD) for key, unit in _SUM_UNITS.items())),
        (Drawing((_sum_panels(_ADD, 1.0), _sum_panels(f"{_ADD}_ablation", 0.0)),
                 (Series((_ADD,)),)),
         _errors("sum", _ADD_TITLE, _sums(1.0), trained=10, longer=1000)),
        measures=measures_of_lengths(1, 10, 100, 1000),
        note="The published script submits seeds 1-9 of the reference; the figure uses 0-9."),
    judged_by_reference(
        _INTERPOLATION, "Products against the training length", None, (),
        _models(replace(_SHORTER, variants=variants("--interpolation-length", "2 3 4 5")),
                _INTERPOLATION, "nac-mul nac-sigma nalu nmu lstm", "--mnist-outputs 1"),
        (_exploring(_panels(
            "sequential_mnist_prod_boundary_interpolation",
            runs=replace(_ANY_PRODUCT, x="interpolation.length", length=9, expected=(2, 3, 4, 5)),
            x_label="Interpolation length", breaks=(2, 3, 4, 5))),),
        measures=_SHORT_MEASURES, note=_OTHERS_REFERENCE),
    judged_by_reference(
        _OUTPUTS, "Products against the number of outputs of the digit network", None, (),
        _models(replace(_SHORTER, variants=variants("--mnist-outputs", "1 2 3 4 5 6")), _OUTPUTS,
                "nac-mul nac-sigma nalu nmu nac-nmu lstm"),
        (_exploring(_panels(
            "sequential_mnist_prod_hidden_size_l9",
            runs=replace(_ANY_PRODUCT, x="hidden.size", length=9, expected=_COUNTS,
                         reference=_ONE_RUN),
            x_label="Hidden size at extrapolation length 9", breaks=_COUNTS),
            "sequential_mnist_prod_boundary_output",
            "Products of nine digits against the outputs of the digit network"),
         _exploring(
             _panels(runs=_HORIZON, x_label=_LENGTH, breaks=_TO_NINE),
             "sequential_mnist_prod_horizon_output",
             "Products by the NMU against the length, for each number of outputs")),
        measures=_SHORT_MEASURES, note=_OTHERS_REFERENCE),
    judged_by_reference(
        _HOUSES, "Products of street view digits", None, (),
        (_reference(_SVHN, _NMU, "sequential_svhn_prod"),
         *_models(_SVHN, _HOUSES, "nac-mul nac-sigma nalu nmu nac-nmu"),
         *_models(replace(_SVHN, flags=_SVHN.flags.replace("epochs 1000", "epochs 250")), _HOUSES,
                  "nmu-z0 nac-nmu-z0 lstm")),
        measures=PRODUCT_MEASURES),
)
