"""Reversible stochasticity: single modules, the arithmetic data set, and pairs of digits."""

from dataclasses import replace
from itertools import product
from pathlib import PurePath
from typing import Any

from matplotlib.container import BarContainer

from stable_nalu.base.papers import MISTRY_2022_ROBUST
from stable_nalu.figure.curves import epoch_curves, matrix, path, scatter, surface
from stable_nalu.figure.panels import sweep_panels
from stable_nalu.figure.runs import Context, Drawing, Part, Product, Series, drawn, kind, together
from stable_nalu.figure.style import NO_DATA, WIDE, footnote, grouped_bars, subplots
from stable_nalu.statistics.table import numeric

from . import experiment, primer, sequences
from .division import measures_of_pairs
from .experiment import Experiment, FurtherTable, Model, Recipe, Resources


@kind("bars")
def class_bars(context: Context) -> Product:
    """Draw the accuracy per class of one trained network per model, whole and zoomed."""
    kind_of, columns = "a table of class accuracies", ("digit", "accuracy")
    found = context.exported(
        columns, kind_of, lambda table, path: numeric(table, columns[1:], path)
    )
    table = together(found)
    classes = sorted(table["digit"].unique())
    shown = context.looks(found)
    figure, panels = subplots(WIDE, 1, 2)
    of_model = {m: table[table["model"] == m].set_index("digit")["accuracy"] for m in found}
    heights = {model: (own.reindex(classes), None) for model, own in of_model.items()}
    bars: list[BarContainer] = []
    for axes, limits in zip(panels, ((0, 1), (0.96, 1.0)), strict=True):
        bars = grouped_bars(axes, heights, shown, 0.6)
        axes.set_xticks(range(len(classes)), [str(c) for c in classes])
        axes.set(ylim=limits, xlabel="Digit", ylabel="Success rate")
    for bar, own in zip(bars, found.values(), strict=True):
        bar.set_label(f"{bar.get_label()}{NO_DATA if own is None else ''}")
    note = "One trained network per model: no intervals. Right: zoomed."
    footnote(figure, note, handles=bars)
    name = f"{context.stem.removesuffix('_class_accs')}_combined_class_accs"
    side = table.filter(["model", "digit", "accuracy"])
    return Product(context.stem, figure, side={name: side})


_SNMU, _BATCH_SNMU = "sNMU [1,5]", "sNMU [1,1+1/sd(x)]"
_BATCH_NOISE = "--nmu-noise --noise-range [1,0]"
_SINGLE = primer.for_operation("mul")
_ON_ONE_RANGE = replace(_SINGLE, points=experiment.ONE_TO_TWO)
_MLP = "--layer-type ReLU --regualizer 0 --mlp-bias"


# The arithmetic data set.
_FTS = "FTS_NAU_NMU_ranges"
_NAU_NMU = (
    "--operation mul --layer-type ReRegualizedLinearNAC --nac-mul mnac --max-iterations 2000000 "
    "--no-cuda"
)
_NINE = (range(20), Resources(1440), f"{_FTS}/", experiment.DATA_SET_RANGES)
_TWO_LAYERS = Recipe("simple_function_static", _NAU_NMU, *_NINE)
_nau_snmu = _TWO_LAYERS.model("nau-Nnmu", "sNMU", "--nmu-noise", csv=f"{_FTS}_noise-1-5")


def _noise(low: str, high: str, number: int) -> Model:
    folder = f"{_FTS}/sNMU-noise-ranges/"
    return replace(_TWO_LAYERS, seeds=range(25), prefix=folder).model(
        f"{low}-{high}",
        f"[{low},{high}]",
        f"--nmu-noise --noise-range [{low},{high}] --id {number}",
        csv=f"{folder}FTS_nau-snmu_{low}-{high}",
    )


def _on_data_set(key: str, title: str, number: int, note: str, *models: Model) -> Experiment:
    """Return an experiment whose tables are read as published, as trained, or as the README has."""
    series: list[Series] = []
    for model in models:
        files = (model.csv, model.prefix, model.prefix.removeprefix(f"{_FTS}/"))
        series.append(Series(tuple(dict.fromkeys(files)), model.label))
    drawings = drawn(Part(sweep_panels, runs=primer.RUNS), series=tuple(series))
    own = (MISTRY_2022_ROBUST, (f"Figure {number}",), models, drawings)
    return Experiment(key, title, *own, criterion="ranges", note=note)


# Pairs of digits.
_GPU = Resources(1440, cores=5, memory_gb=8, gpu=True)
_MODULE = "--use-nalm --learn-labels2out"
_RAMP = "--regualizer-scaling-start 30 --regualizer-scaling-end 40 --regualizer 100"
_PAIRS, _CONV = "static-mnist/mul/", "static-mnist/mul/1digit_conv-"
_TPS = "MSE_Adam-lr0.001_TPS-no-concat-conv"
_FLAGS = "--operation mul --max-epochs 1000 --dataset-workers 4"
_COLOUR_FLAGS = (
    "--operation mul --num-folds 3 --batch-size 256 --learning-rate 0.001 --img2label-model "
    "TPS-no-concat-conv --optimizer adam --no-scheduler --scheduler-step-size 2000 "
    "--max-epochs 1000 --samples-per-permutation 1100 --dataset-workers 4"
)
_ONE_CHANNEL = Recipe("two_digit_mnist", _FLAGS, range(10), _GPU, _CONV, steps_per_epoch=704)
_COLOURS = Recipe("ST_mnist_labels", _COLOUR_FLAGS, range(3), _GPU, _PAIRS, steps_per_epoch=244)
_ORDER = ("mul", "fc", "nmu", "snmu [1,5]", "snmu [1,1+1/sd(x)]")
_KEYS: dict[str, str] = dict(zip(("mul", "fc", "nmu", "snmu", "batch-snmu"), _ORDER, strict=True))
# Key -> what is added to the name of its table, and flags.
_ISOLATED = tuple(
    _ONE_CHANNEL.model(key, _KEYS[key], text, csv=f"{_CONV}{key}{ending}")
    for key, ending, text in (
        ("mul", "_Adam", "--dataset-workers 5 --id 2"),
        ("fc", "_Adam", "--learn-labels2out --id 4"),
        ("nmu", "_Adam", f"{_MODULE} {_RAMP} --id 3"),
        ("snmu", "", f"{_MODULE} --nmu-noise {_RAMP} --id 1"),
        ("batch-snmu", "", f"{_MODULE} --nmu-noise {_RAMP} --noise-range [1,0] --id 5"),
    )
)
_COLOUR = tuple(
    _COLOURS.model(key, _KEYS[key], text, name=f"{key}_{_TPS}")
    for key, text in (
        ("mul", "--id 6"),
        ("fc", "--learn-labels2out --id 9"),
        ("nmu", f"{_MODULE} --id 8"),
        ("snmu", f"{_MODULE} --nmu-noise --id 7"),
        ("batch-snmu", f"{_MODULE} {_BATCH_NOISE} --id 10"),
    )
)


def _metrics(*endings: str) -> list[tuple[list[str], str]]:
    found = []
    for text, part in product(("output", "label 1", "label 2"), ("train", "test")):
        column = f"metric.{part}.{text.replace(' ', '')}"
        found.append(([column + end for end in endings], f"{text} ({part})"))
    return found


_OF_LOSS = _metrics(".loss", ".mse")
_OF_VALIDATION = (("metric.valid.output.loss", "metric.valid.output.mse"), "output (valid)")


def _of_pairs(what: str, metrics: Any, y_label: str = "Accuracy (%)") -> Part:
    return Part(scatter, f"{{key}}_{what}", metrics=metrics, y_label=y_label, order=_ORDER)


def _over_epochs(ending: str, column: str, side: str) -> Part:
    own: Any = {"column": f"metric.test.{column}.acc", "y_label": f"{side} Accuracy (%)"}
    return Part(epoch_curves, f"{{key}}_ep-{ending}", **own)


_PAIR_PARTS = (
    _of_pairs("loss", (_OF_LOSS[0], _OF_VALIDATION, *_OF_LOSS[1:]), "Loss"),
    _of_pairs("acc", _metrics(".acc")),
    _of_pairs("rounded_acc", _metrics("_rounded.acc")),
    _over_epochs("acc", "output", "Test"),
    _over_epochs("acc-lab1", "label1", "Left Label"),
    _over_epochs("acc-lab2", "label2", "Right Label"),
    _over_epochs("rounded_acc", "output_rounded", "Test"),
    _over_epochs("rounded_acc-lab1", "label1_rounded", "Left Label"),
    _over_epochs("rounded_acc-lab2", "label2_rounded", "Right Label"),
)


def _pairs(key: str, title: str, number: int, models: tuple[Model, ...], loss: str) -> Experiment:
    drawings = drawn(
        *_PAIR_PARTS,
        series=tuple(Series((PurePath(m.csv).name,), m.label) for m in models),
        folders=("static-mnist/mul", "static-mnist/add"),
    )
    own = (MISTRY_2022_ROBUST, (f"Figure {number}",), models, drawings, "model", "accuracy")
    return Experiment(key, title, *own, measures=measures_of_pairs(loss))


def _classes(key: str, number: str, title: str, ids: str, models: tuple[Model, ...]) -> Drawing:
    """Return a figure of fold 2, by the ids of the published runs or else of the scripts."""
    flags = ("nalmF_learnLF", "nalmF_learnLT", *["nalmT_learnLT"] * 3)
    labels = ("mul", "fc", "nmu", "snmu", "snmu [1,1+1/sd(x)]")
    names = (
        tuple(f"{run}_f2_op-mul_{flag}_s2_class_accs" for run in (one, *model.flags["--id"]))
        for one, model, flag in zip(ids.split(), models, flags, strict=True)
    )
    part, series = Part(class_bars, f"{key}_class_accs"), tuple(map(Series, names, labels))
    own: Any = {"key": f"class_accs-{key}", "title": f"Accuracy by class, {title}"}
    return Drawing((part,), series, ("class-accs",), number=number, **own)


def _paths(key: str, title: str, models: tuple[Model, ...]) -> Drawing:
    """Return the weights that learn what to do with the digits, along training."""
    learned = [model for model in models if "--learn-labels2out" in model.flags]
    files = {PurePath(model.csv).name: model.label for model in learned}
    columns = (("label2out.w0", "label2out.w1"),)
    how: Any = {"columns": columns, "time": "epoch", "limits": (0.0, 1.5)}
    parts = tuple(Part(path, f"{file}_fNA_labels2out-path", file=file, **how) for file in files)
    series = tuple(Series((file,), label) for file, label in files.items())
    title = f"Weights of the last layer along training, {title}"
    own: Any = {"key": f"weights_path-{key}", "title": title, "number": "Figures 13–20"}
    return Drawing(parts, series, ("static-mnist/mul", "weight-paths"), **own)


# Sequences of digits.
_NMU_CELL = "--layer-type ReRegualizedLinearNAC --nac-mul mnac --dataset-workers 5"
_LONG = "sequential_mnist_prod_long"
_SEQUENCE = replace(
    sequences.LONG_PRODUCT,
    flags=f"{sequences.PRODUCT} {_NMU_CELL}",
    resources=replace(_GPU, minutes=480),
    prefix=f"sequential_mnist/{_LONG}/",
)
_OF_REFERENCE = (
    f"--operation cumprod {_NMU_CELL} --mnist-digits 123456789 --max-epochs 1000 "
    f"--interpolation-length 2 --extrapolation-lengths {sequences.LENGTHS_TO_20} {sequences.SOLVED}"
)
_REFERENCE = replace(_SEQUENCE, flags=_OF_REFERENCE, prefix="sequential_mnist/")

_SWEEP = "export/single_layer_task/benchmark/pretrained_model_prediction_sweep.py"
_TO_FOLDER = "--csv-save-folder {csv}/2d-surface-plots/csvs"

# fmt: off
EXPERIMENTS = (
    Experiment(
        "surface-mul", "Surfaces of MLPs and the NMU", MISTRY_2022_ROBUST, ("Figure 1",),
        (
            replace(primer.NMU, points=experiment.ONE_TO_TWO, seeds=range(1)),
            _ON_ONE_RANGE.model("ReLU-h1", "MLP (1)", f"{_MLP} --hidden-size 1",
                                name="mul/ReLU-h1"),
            _ON_ONE_RANGE.model("ReLU-h100", "MLP (100)",
                                f"{_MLP} --hidden-size 100 --max-iterations 2000000",
                                name="mul/ReLU-h100", minutes=1440),
        ),
        note="Shows models, not errors; all seeds of the MLPs are trained to choose from.",
        drawings=drawn(
            Part(surface, "2D-surface-mul"),
            series=(Series(("mul_gold",), "Exact"), Series(("mul-nmu-s0",), "NMU: both ranges"),
                    Series(("mul-ReLU-h1-s0",), "MLP (1): neither range"),
                    Series(("mul-ReLU-h100-s8",), "MLP (100): training range only")),
            folders=("2d-surface-plots/csvs",),
        ),
        tables=(FurtherTable(_SWEEP, f"--gold-outputs {_TO_FOLDER}"),
                FurtherTable(_SWEEP, _TO_FOLDER, "NMU", 0, "mul-nmu-s0"),
                FurtherTable(_SWEEP, _TO_FOLDER, "ReLU-h1", 0, "mul-ReLU-h1-s0"),
                FurtherTable(_SWEEP, _TO_FOLDER, "ReLU-h100", 8, "mul-ReLU-h100-s8"))),
    Experiment(
        "robust-benchmark_sltr_mul", "Multiplication, single modules",
        MISTRY_2022_ROBUST, ("Figure 2",),
        (*primer.MULTIPLYING,
         _SINGLE.model("sNMU", _SNMU, f"{primer.NMU_FLAGS} --nmu-noise --id 6", name="mul/sNMU")),
        note="The runs of the primer's Figure 16; here every error below 1e-5 counts as solved.",
        drawings=(replace(
            *primer.on_every_range("mul", primer.MULTIPLYING_FILES,
                                   Series(("sNMU", "mul/sNMU"), _SNMU)),
            parts=(primer.panels("mul"),),
        ),)),
    _on_data_set(
        "fts-snmu-noise-ranges", "Noise ranges on the arithmetic data set", 5,
        "Seeds: 25, but 20 for [1,5] and the batch noise. No published script trains [10,20].",
        _noise("0.01", "0.05", 1), _noise("0.1", "0.5", 2), _noise("1", "2", 3),
        _nau_snmu.named("[1,5]"), _noise("5", "10", 4), _noise("10", "20", 8),
        _TWO_LAYERS.model("batch_sNMU", "[1,1+1/sd(x)]", f"{_BATCH_NOISE} --id 7")),
    _on_data_set(
        "fts-2021-final", "NMU and sNMU on the arithmetic data set", 7,
        "As published, the NMU trains for 5 million iterations and the sNMU for 2 million.",
        _TWO_LAYERS.model("nau-nmu", "NMU", "--max-iterations 5000000", csv=f"{_FTS}_baseline"),
        _nau_snmu),
    _pairs("static-mnist-mul-isolated", "Products of two digits", 8, _ISOLATED, "mse"),
    _pairs("static-mnist-mul-colour-concat", "Products of two digits in colour channels", 9,
           _COLOUR, "loss"),
    sequences.judged_by_reference(
        f"robust-{_LONG}", "Products of digit sequences with noise",
        MISTRY_2022_ROBUST, ("Figure 10",),
        (
            _REFERENCE.model("reference", "solved accumulator", "",
                             name="sequential_mnist_prod_reference",
                             csv="sequential_mnist_prod_reference_robust"),
            *(_SEQUENCE.model(key, label, f"--mnist-outputs 1 --regualizer-z 1 {text}",
                              csv=f"{_LONG}_{key}")
              for key, label, text in (("nmu", "NMU", ""), ("snmu", _SNMU, "--nmu-noise"),
                                       ("batch-snmu", "sNMU [1,1+1/sd(X))]", _BATCH_NOISE))),
        ),
        drawn(
            sequences.by_length("{key}", sequences.sequence_runs("cumprod")),
            series=(Series((f"{_LONG}_nmu",), "NMU"), Series((f"{_LONG}_snmu",), _SNMU),
                    Series((f"{_LONG}_batch-snmu",), "sNMU [1,1+1/sd(X)]")),
        ),
        measures=sequences.PRODUCT_MEASURES),
    Experiment(
        "static-mnist-appendix",
        "Weight paths, label accuracies and confusion matrices of the digit products",
        MISTRY_2022_ROBUST, tuple(f"Figure {number}" for number in range(13, 21)), (),
        parameter="model", criterion="accuracy",
        note="Needs no training beyond static-mnist-mul-isolated and "
        "static-mnist-mul-colour-concat; confusion matrices are of fold 2.",
        drawings=(
            _paths("isolated", "isolated digits", _ISOLATED),
            _paths("colour-concat", "digits in colour channels", _COLOUR),
            _classes("mul-1digit_conv-Adam", "Figure 15", "isolated digits", "23 25 24 22 70",
                     _ISOLATED),
            _classes(f"{_TPS}_ROUNDED", "Figure 17", "colour channels, rounded", "60 63 62 61 69",
                     _COLOUR),
            Drawing((Part(matrix),), (Series(("confusion_matrix",), "counts"),),
                    ("class-accs",), key="confusion_matrix", number="Appendix G",
                    title="True against predicted digits of one trained network"),
        )),
    Experiment(
        "robust-batch-snmu", "sNMU with noise by batch, single module", None, (),
        (_SINGLE.model("batch-sNMU", _BATCH_SNMU, f"{primer.NMU_FLAGS} {_BATCH_NOISE} --id 6",
                       name="mul/batch-sNMU"),),
        note="The published script has one block of this name, without the noise range."),
)
