"""Experiments as data: published flags, seeds, ranges; those on sequences and pairs of digits."""

import shlex
from functools import cache
from itertools import product
from pathlib import Path, PurePosixPath

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.base.script import duration
from stable_nalu.dataset.ranges import (
    DISTRIBUTION_RANGES,
    EXTRA_DIVISION_RANGES,
    EXTRAPOLATION_RANGES,
    SMALL_DIVISOR_BOUNDS,
    ExtrapolationRange,
)
from stable_nalu.options.kinds import seeds
from stable_nalu.options.name_fields import canonical
from stable_nalu.paper.experiment import expected_runs, flags, gathered, merged, seeds_text, words
from stable_nalu.paper.index import EXPERIMENTS, find
from stable_nalu.paper.sweeps import DATA_SET_RANGES, MIXED_SIGNS, SINGLE_MODULE_RANGES
from stable_nalu.result import batch
from stable_nalu.result.jobs import JOB_SCRIPTS
from stable_nalu.result.pipeline import exporter_of
from stable_nalu.result.shard import how_to_run, pending, shards
from stable_nalu.result.stored import seconds_here
from stable_nalu.task.table import SCRIPTS

MODELS = [(key, model) for key, e in EXPERIMENTS.items() for model in e.models]

# Key, runs, and iterations of all of them, as the papers' scripts add up.
SIZES = """
    simple_mul 500 1e+08; function_task_static 1100 5.5e+09;
    function_task_static_all 6600 3.3e+10; function_task_static_mul_hidden_size 2700 1.35e+10;
    function_task_static_mul_range 2100 1.05e+10;
    function_task_static_mul_hidden_size_ablation 1800 9e+09;
    function_task_static_mul_input_size 4200 3.9e+10;
    function_task_static_mul_overlap 1800 9e+09; function_task_static_mul_subset 1200 6e+09;
    function_task_static_nalu 600 3e+09; function_task_static_regualization 900 4.5e+09;
    function_task_static_learning 4500 2.25e+10;
    function_task_static_mul_num_subsets 1000 5e+09; sequential_mnist_prod_long 90 3.49549e+07;
    sequential_mnist_sum_long 70 6.02602e+06; sequential_mnist_prod_interpolation 100 -;
    sequential_mnist_prod_outputs 180 -; in2-mixedSigns 375 1.875e+07;
    mixed-sign-ds_realnpu-modified 125 6.25e+06; in10-mixedSigns 375 3.75e+07;
    nips-in2-distributions 450 2.25e+07; nips-in10-distributions 450 4.5e+07;
    nips-divBy0-easy 375 1.875e+06; nips-divBy0-medium 375 1.875e+07;
    nips-divBy0-hard 375 1.875e+07; div-1digit_conv-Adam-s3Init 50 -; surface-mul 51 5.13e+07;
    robust-benchmark_sltr_mul 1800 9e+07; fts-snmu-noise-ranges 1485 2.97e+09;
    fts-2021-final 360 1.26e+09; static-mnist-mul-isolated 50 -;
    static-mnist-mul-colour-concat 15 -; robust-sequential_mnist_prod_long 40 -;
    benchmark_sltr_add 1125 5.625e+07; benchmark_sltr_sub 1125 5.625e+07;
    benchmark_sltr_mul 1575 7.875e+07; benchmark_sltr_div 1350 6.75e+07;
    inalu-in10 225 1.125e+07; nau-failure 450 4.5e+07; nau-in100 450 4.5e+07;
    dmu 1800 9e+07; dmu_thresholds 1800 9e+07; nsr/comparison 180 9e+06;
    eml/recovery 384 3.456e+06; eql/equations 150 3e+07
"""
PUBLISHED_SIZES = {key: size for key, *size in map(str.split, SIZES.split(";"))}

# Models of 225 runs that a figure adds to those of earlier ones.
ADDED = """
    nips-realnpu-L1 2; nips-realnpu-L1_sweep 6; nips-realnpu-clipping 3;
    nips-realnpu-discretisation 2; nips-realnpu-init 1; nips-sltr-in2 3; nips-in2-nru-lr 3;
    nips-realnpu-L2 1; nips-in2-realnpu-lr 3; nips-sltr-in10 4; nips-sltr-in10-npu 2;
    nips-in10-realnpu-W-reg 1; nips-in10-nmru-ablation 4; nips-in10-nmru-lr 2;
    nips-in10-nmru-optimiser 1; nips-in10-nru-separate-mag-sign 1;
    nips-sltr-in10-losses-realnpu 2; nips-sltr-in10-losses-nru 2; nips-sltr-in10-losses-nmru 2
"""
NEW_MODELS = {key: int(count) for key, count in map(str.split, ADDED.split(";"))}


@cache
def runs_of(key):
    """Model -> its runs of two seeds."""
    return {model.key: expected_runs(model, [0, 1]) for model in EXPERIMENTS[key].models}


def test_runs_and_iterations_are_the_published_ones():
    for key, (count, iterations) in PUBLISHED_SIZES.items():
        assert EXPERIMENTS[key].runs == int(count), key
        if iterations != "-":
            assert EXPERIMENTS[key].iterations == pytest.approx(float(iterations), rel=0.01), key
    keys = ("reproduce", "mul_paramaters", "mul_range_reproduce")
    assert sum(EXPERIMENTS[f"function_task_static_{key}"].runs for key in keys) == 4800


def test_division_figures_add_the_published_number_of_models():
    seen, added = set(), {}
    for key in NEW_MODELS:
        new = {model.prefix for model in EXPERIMENTS[key].models} - seen
        added[key], seen = len(new), seen | new
    assert added == NEW_MODELS


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_every_run_is_planned_once_and_every_model_has_a_key_and_a_label(key):
    names, models = [], EXPERIMENTS[key].models
    for model in models:
        assert expected_runs(model, []) == []
        found = runs_of(key)[model.key]
        assert len(found) * len(model.seeds) == model.runs * 2
        assert {run.seed for run in found} == {0, 1}
        names += [run.name for run in found]
    assert len(set(names)) == len(names)
    assert len({model.key for model in models}) == len(models)
    if key != "function_task_static_mul_paramaters":
        assert len({model.label for model in models}) == len(models)


def test_runs_are_command_lines_of_the_scripts():
    experiment = EXPERIMENTS["nips-sltr-in2"]
    lines = [list(c.words) for model in experiment.models for c in model.commands()]
    assert len(lines) == 4
    for model, line in zip(experiment.models, lines, strict=True):
        plan = SCRIPTS[model.script].plan(line)
        assert plan.description == "225 runs = 25 seeds x 9 ranges"
        names = {SCRIPTS[model.script].run_name(config) for config in plan.configs}
        assert names == {run.name for run in expected_runs(model)}


def test_an_experiment_name_stands_for_one_table_and_no_other_experiment():
    prefixes = {model.prefix for _, model in MODELS}
    for prefix in prefixes:
        assert not prefixes & {str(parent) for parent in PurePosixPath(prefix).parents}
    for key, experiment in EXPERIMENTS.items():
        csvs = {}
        for model in experiment.models:
            assert csvs.setdefault(model.csv, model.prefix) == model.prefix, key


def test_equal_experiment_names_mean_equal_runs():
    flags = {}
    for key, model in MODELS:
        if model.prefix != model.csv or "/" not in model.prefix:
            continue
        assert flags.setdefault(model.prefix, model.flags) == model.flags, (key, model.key)


def test_unknown_key_names_similar_ones():
    with pytest.raises(UsageError, match="did you mean nips-sltr-in2"):
        find("nips-sltr-in")


def test_no_two_runs_are_one_where_small_and_capital_letters_are_the_same():
    models = [model for experiment in EXPERIMENTS.values() for model in experiment.models]
    names = {run.name for key in EXPERIMENTS for runs in runs_of(key).values() for run in runs}
    names |= {model.csv for model in models} | {one.stem for one in EXPERIMENTS.values()}
    assert len({name.casefold() for name in names}) == len(names)


def test_flags_are_read_merged_and_written():
    read = flags("--operation div --range '[1, 2]' [3,4] --no-cuda")
    assert read == {"--operation": ("div",), "--range": ("[1, 2]", "[3,4]"), "--no-cuda": ()}
    assert words(read) == ["--operation", "div", "--range", "[1, 2]", "[3,4]", "--no-cuda"]
    # A later flag replaces a former one; a value needs a flag; points keep their order.
    assert flags("--regualizer 0 --seed 1 --regualizer 2")["--regualizer"] == ("2",)
    assert merged(flags("--a 1 --b 2"), flags("--b 3")) == {"--a": ("1",), "--b": ("3",)}
    with pytest.raises(ValueError, match="does not begin with a flag"):
        flags("5 --a")
    points = (flags("--i [1,2] --e [2,6]"), flags("--i [0,1] --e [2,6]"))
    assert gathered(points) == {"--i": ("[1,2]", "[0,1]"), "--e": ("[2,6]", "[2,6]")}
    assert gathered(()) == {}


@pytest.mark.parametrize(
    ("given", "text"),
    [(range(25), "0-24"), ([3], "3"), ([0, 3, 9], "0,3,9"), ([7, 0, 1, 2], "0-2,7"), ([], "")],
)
def test_seeds_as_text(given, text):
    assert seeds_text(list(given)) == text
    if text:
        assert sorted(given) == seeds.read_all([text])


def labels(ranges):
    return "; ".join(one.label() for one in ranges)


def test_labels_of_the_published_ranges():
    assert labels(EXTRAPOLATION_RANGES) == (
        "U[-40,-20]; U[-6,-2]; U[-6.1,-1.2]; U[-2,-0.2]; U[-6,-2] & U[2,6]; "
        "U[0.2,2]; U[2,6]; U[1.2,6]; U[20,40]"
    )
    assert labels(EXTRA_DIVISION_RANGES) == "U[100,1000]; U[2,6] & U[-6,-2]"
    mirrored = "U[-100,-50] & U[50,100]; U[-200,-100] & U[100,200]"
    assert labels(DISTRIBUTION_RANGES[3:]) == mirrored
    small = "U[0,0.0001]; U[0,0.001]; U[0,0.01]; U[0,0.1]; U[0,1]"
    assert labels(ExtrapolationRange(0, bound) for bound in SMALL_DIVISOR_BOUNDS) == small


@pytest.mark.parametrize("sign", ["u", "&", "∪"])
def test_any_sign_between_two_parts_becomes_one(sign):
    assert canonical(f"U[-6,-2] {sign} U[2,6]") == "U[-6,-2] & U[2,6]"
    assert canonical(f"U[-6,-2] {sign} U[2,6]", "∪") == "U[-6,-2] ∪ U[2,6]"
    assert canonical("U[2,6]") == "U[2,6]"


def test_nine_ranges_in_published_order():
    pairs = [(p["--interpolation-range"], p["--extrapolation-range"]) for p in SINGLE_MODULE_RANGES]
    assert pairs[0] == (("[-20,-10]",), ("[-40,-20]",))
    assert pairs[2] == (("[-1.2,-1.1]",), ("[-6.1,-1.2]",))
    assert pairs[4] == (("[-2,2]",), ("[[-6,-2],[2,6]]",))
    assert pairs[8] == (("[10,20]",), ("[20,40]",))
    assert {str(p) for p in DATA_SET_RANGES} == {str(p) for p in SINGLE_MODULE_RANGES}
    first = [p["--interpolation-range"][0] for p in DATA_SET_RANGES[:3]]
    assert first == ["[1.1,1.2]", "[0.1,0.2]", "[-1.2,-1.1]"]


# Where the published scripts are at odds with their papers, the experiments follow the papers.
LOSSES = (("realnpu", "realnpu_modified"), ("nru", "nru"), ("nmru", "sign-nmru"))
SENSIBLE = [
    *(
        (f"nips-sltr-in10-losses-{key}", f"{name}_{loss}", f"--train-criterion {loss}")
        for key, name in LOSSES
        for loss in ("pcc", "mape")
    ),
    ("robust-batch-snmu", "batch-sNMU", "--noise-range [1,0]"),
    ("fts-snmu-noise-ranges", "10-20", "--noise-range [10,20]"),
    ("nips-in2-realnpu-lr", "realnpu-lr-5e-1", "--learning-rate 5e-1"),
    ("nips-in10-nmru-lr", "nmru-lr-1e-1", "--learning-rate 1e-1"),
    ("nips-sltr-in10-npu", "npu-clip", "--layer-type NPU --nac-mul npu --npu-clip wig"),
]


@pytest.mark.parametrize(("key", "name", "text"), SENSIBLE)
def test_models_have_the_flags_that_the_papers_say(key, name, text):
    model = EXPERIMENTS[key].model(name)
    assert {flag: model.flags[flag] for flag in flags(text)} == flags(text)
    if "losses" in key:
        assert model.prefix == f"sltr-in10/{name}"


def test_models_have_the_points_that_the_papers_say():
    for name in ("nru", "sign-nmru", "realnpu_modified"):
        assert EXPERIMENTS["nips-sltr-in10"].model(name).points == SINGLE_MODULE_RANGES
    mixed = EXPERIMENTS["in2-mixedSigns"].model("nru")
    assert (mixed.points, mixed.runs) == (MIXED_SIGNS, 125)
    assert EXPERIMENTS["fts-snmu-noise-ranges"].model("10-20").runs == 225
    fixed = EXPERIMENTS["robust-benchmark_sltr_mul"].model("sNMU")
    assert "--noise-range" not in fixed.flags
    assert fixed.prefix != EXPERIMENTS["robust-batch-snmu"].model("batch-sNMU").prefix
    for one in EXPERIMENTS["function_task_static_mul_num_subsets"].models:
        assert all("--hidden-size" in variant.flags for variant in one.variants)


def test_longest_published_run_names_fit_a_folder():
    for key in ("function_task_static_mul_range", "fts-2021-final"):
        for one in EXPERIMENTS[key].models:
            leaves = [run.name.rsplit("/", 1)[-1] for run in expected_runs(one, [0, 49])]
            assert max(len(leaf.encode()) for leaf in leaves) <= 255
            assert len(set(leaves)) == len(leaves)


MODULE = "--use-nalm --learn-labels2out"
RAMP = f"{MODULE} --regualizer-scaling-start 30 --regualizer-scaling-end 40"
FOUR, BATCH_NOISE = "--dataset-workers 4", "--nmu-noise --noise-range [1,0]"
COLOUR = (
    "--num-folds 3 --batch-size 256 --learning-rate 0.001 --img2label-model TPS-no-concat-conv "
    "--optimizer adam --no-scheduler --operation mul --max-epochs 1000 --scheduler-step-size 2000 "
    "--samples-per-permutation 1100 --dataset-workers 4"
)
MUL = "static-mnist/mul/"
TPS = "_MSE_Adam-lr0.001_TPS-no-concat-conv"

# Batch script -> (script, common flags, folds, {id: (prefix, extra flags)}), as papers say.
CONV, DIV = f"{MUL}1digit_conv-", "two-digit-mnist/div/ID"
PUBLISHED = {
    "icml_2022/static_mnist_prod_isolated": (
        "two_digit_mnist",
        "--operation mul --max-epochs 1000",
        10,
        {
            1: (f"{CONV}snmu", f"{RAMP} --nmu-noise --regualizer 100 {FOUR}"),
            2: (f"{CONV}mul", "--dataset-workers 5"),
            3: (f"{CONV}nmu", f"{RAMP} --regualizer 100 {FOUR}"),
            4: (f"{CONV}fc", f"--learn-labels2out {FOUR}"),
            5: (f"{CONV}batch-snmu", f"{RAMP} {BATCH_NOISE} --regualizer 100 {FOUR}"),
        },
    ),
    "icml_2022/static_mnist_prod_colour_concat": (
        "ST_mnist_labels",
        COLOUR,
        3,
        {
            6: (f"{MUL}mul{TPS}", ""),
            7: (f"{MUL}snmu{TPS}", f"{MODULE} --nmu-noise"),
            8: (f"{MUL}nmu{TPS}", MODULE),
            9: (f"{MUL}fc{TPS}", "--learn-labels2out"),
            10: (f"{MUL}batch-snmu{TPS}", f"{MODULE} {BATCH_NOISE}"),
        },
    ),
    "two_digit_mnist/parallel_run": (
        "two_digit_mnist",
        "--operation div --max-epochs 1000 --dataset-workers 5",
        10,
        {
            79: (f"{DIV}79-1digit_conv-div", ""),
            84: (
                f"{DIV}84-1digit_conv-mlp_2L-256HU_wDecay-1e-3",
                "--learn-labels2out --weight-decay 0.001",
            ),
            78: (
                f"{DIV}78-1digit_conv-nru_R30-40-2_gnc1_s3Init",
                f"{RAMP} --nalm-name nru --regualizer 2 --clip-grad-norm 1",
            ),
            80: (
                f"{DIV}80-1digit_conv-realnpu-mod_R30-40-2_s3Init",
                f"{RAMP} --nalm-name realnpu-mod --regualizer-npu-w 2 --regualizer-gate 2",
            ),
            81: (
                f"{DIV}81-1digit_conv-nmruSign_R30-40-2_gncF_s3Init",
                f"{RAMP} --nalm-name nmru-sign --regualizer 2",
            ),
        },
    ),
}


@pytest.mark.parametrize("batch", PUBLISHED)
def test_a_dry_run_is_the_published_plan(batch):
    script, common, folds, models = PUBLISHED[batch]
    spec = SCRIPTS[script]
    planned = {}
    for shard in shards(JOB_SCRIPTS[batch].named_models(), None):
        assert shard.model.script == script
        for command, names in pending(shard):
            (config,) = spec.plan(command.words).configs
            assert names == [spec.run_name(config)]
            planned[config.id, config.seed] = config
    assert len(planned) == folds * len(models)
    # How a run is carried out is ours: it resumes instead of starting anew.
    ours = {"resume", "remove_existing_data", "checkpoint_interval"}
    for number, (prefix, extra) in models.items():
        for seed in range(folds):
            words = f"{common} {extra} --id {number} --name-prefix {prefix} --seed {seed}"
            words = " ".join(words.replace("--dataset-workers 5 --dataset", "--dataset").split())
            (published,) = spec.plan(words.split()).configs
            found = planned[number, seed]
            for name, value in published.as_dict().items():
                assert name in ours or getattr(found, name) == value, (number, name)


def test_runs_have_their_published_names():
    model = JOB_SCRIPTS["icml_2022/static_mnist_prod_isolated"].named_models()["snmu"]
    names = [run.name for run in expected_runs(model, [2])]
    assert names == ["static-mnist/mul/1digit_conv-snmu/1_f2_op-mul_nalmT_learnLT_s2"]


def test_a_shorter_plan_has_whole_epochs():
    model = JOB_SCRIPTS["icml_2022/static_mnist_prod_isolated"].named_models()["mul"]
    variant = model.variants[0]
    assert how_to_run(model, variant) == {"--checkpoint-interval": ("20",)}
    assert how_to_run(model, variant, 1409) == {
        "--max-epochs": ("2",),
        "--checkpoint-interval": ("1",),
    }


@pytest.mark.parametrize("batch", PUBLISHED)
def test_tables_come_from_the_exporter_of_pairs(batch):
    for model in JOB_SCRIPTS[batch].models():
        assert exporter_of(model)[0] == "two_digit_mnist/two_digit_mnist_reader.py"
    assert exporter_of(find("nips-sltr-in2").models[0])[0] == "simple_function_static.py"


def test_estimated_time_is_that_of_image_networks():
    seconds = seconds_here(find("static-mnist-mul-isolated"), cores=2)
    assert seconds is not None
    assert "years" in duration(seconds) or "days" in duration(seconds)


TO_20, TO_9 = list(range(1, 21)), list(range(1, 10))
OF_SUMS = [1, 10, *range(100, 1001, 100)]
NMU = ("ReRegualizedLinearNAC", "mnac")
NAC_MUL, NAC_SIGMA = ("NAC", "normal"), ("PosNAC", "normal")
NAC_NMU = ("ReRegualizedLinearPosNAC", "normal")
NALU, LSTM = ("NALU", "none"), ("LSTM", "none")
FIVE = [(NAC_MUL, 0), (NAC_SIGMA, 0), (NALU, 0), (NMU, 1), (LSTM, 0)]
LONG = [*FIVE, (NMU, 0), (NAC_NMU, 0), (NAC_NMU, 1)]
NAC_ADD, NAU = ("NAC", "none"), ("ReRegualizedLinearNAC", "none")


def configs(key, *, reference=False):
    """What every command of an experiment trains, first seed only."""
    for model in EXPERIMENTS[key].models:
        if (model.key == "reference") == reference:
            for command in model.commands(model.seeds[:1]):
                yield model, SCRIPTS[model.script].plan(command.words).configs[0]


def units(key):
    return sorted(((c.layer_type, c.nac_mul), int(c.regualizer_z)) for _, c in configs(key))


def assert_all(key, *, reference=False, seeds, **expected):
    for model, config in configs(key, reference=reference):
        assert list(model.seeds) == list(seeds)
        found = {name: getattr(config, name) for name in expected}
        assert found == expected, model.key


PRODUCT = {"operation": "cumprod", "mnist_digits": TO_9, "max_epochs": 1000, "batch_size": 64}
SUM = {"operation": "cumsum", "mnist_digits": list(range(10)), "max_epochs": 1000}
DEFAULTS = {
    "regualizer": 10,
    "regualizer_oob": 1,
    "regualizer_scaling_start": 10000,
    "regualizer_scaling_end": 100000,
    "nac_oob": "clip",
    "train_criterion": "mse",
}


def test_products():
    key = "sequential_mnist_prod_long"
    lengths = {"interpolation_length": 2, "extrapolation_lengths": TO_20}
    assert_all(key, seeds=range(10), verbose=True, **PRODUCT, **DEFAULTS, **lengths)
    assert units(key) == sorted(LONG)
    solved = {"model_simplification": "solved-accumulator", "nac_mul": "mnac", "regualizer_z": 0}
    assert_all(key, reference=True, seeds=range(10), **PRODUCT, **lengths, **solved)


def test_sums():
    key = "sequential_mnist_sum_long"
    lengths = {"interpolation_length": 10, "extrapolation_lengths": OF_SUMS}
    assert_all(key, seeds=range(10), verbose=True, **SUM, **DEFAULTS, **lengths)
    assert units(key) == sorted(
        [(NAC_ADD, 0), (NAC_ADD, 1), (NAU, 0), (NAU, 1), (NALU, 0), (LSTM, 0)]
    )
    solved = {"model_simplification": "solved-accumulator", "nac_mul": "none"}
    assert_all(key, reference=True, seeds=range(10), **SUM, **lengths, **solved)


def test_training_lengths_and_outputs():
    key = "sequential_mnist_prod_interpolation"
    assert_all(key, seeds=range(5), extrapolation_lengths=TO_9, **PRODUCT)
    assert units(key) == sorted(FIVE * 4)
    assert {c.interpolation_length for _, c in configs(key)} == {2, 3, 4, 5}
    key = "sequential_mnist_prod_outputs"
    assert_all(key, seeds=range(5), extrapolation_lengths=TO_9, interpolation_length=2, **PRODUCT)
    assert units(key) == sorted([*FIVE, (NAC_NMU, 1)] * 6)
    assert {c.mnist_outputs for _, c in configs(key)} == set(range(1, 7))


def test_house_numbers():
    key = "sequential_svhn_prod_long"
    lengths = {"interpolation_length": 2, "extrapolation_lengths": TO_20, "svhn_digits": TO_9}
    assert_all(key, seeds=range(5), operation="cumprod", svhn_outputs=1, **lengths)
    published = [(NAC_MUL, 0), (NAC_SIGMA, 0), (NALU, 0), (NMU, 1), (NAC_NMU, 1)]
    nets = ("resnet18", "resnet34", "resnet50")
    found = {((c.layer_type, c.nac_mul), int(c.regualizer_z), c.resnet) for _, c in configs(key)}
    assert found >= {(unit, z, net) for (unit, z), net in product(published, nets)}
    solved = {"model_simplification": "solved-accumulator", "nac_mul": "mnac"}
    assert_all(key, reference=True, seeds=range(5), operation="cumprod", **lengths, **solved)
    assert {c.resnet for _, c in configs(key, reference=True)} == set(nets)


def test_noise():
    key = "robust-sequential_mnist_prod_long"
    lengths = {"interpolation_length": 2, "extrapolation_lengths": TO_20, "dataset_workers": 5}
    unit = {"layer_type": "ReRegualizedLinearNAC", "nac_mul": "mnac"}
    common = {**PRODUCT, **lengths, **unit}
    assert_all(key, seeds=range(10), verbose=True, mnist_outputs=1, regualizer_z=1, **common)
    noises = [(m.prefix.rpartition("/")[2], c.nmu_noise, c.noise_range) for m, c in configs(key)]
    assert noises == [
        ("nmu", False, [1, 5]), ("snmu", True, [1, 5]), ("batch-snmu", True, [1, 0]),
    ]  # fmt: skip
    solved = {"model_simplification": "solved-accumulator", "verbose": False, "regualizer_z": 0}
    assert_all(key, reference=True, seeds=range(10), **common, **solved)


@pytest.mark.parametrize(
    ("script", "seeds", "runs"),
    [
        ("icml_2022/sequential_mnist_prod_long", "0 1", 6),
        pytest.param(
            "icml_2022/sequential_mnist_prod_reference", "0 9", 10, marks=pytest.mark.slow
        ),
        pytest.param("sequential_svhn_prod_reference", "0 0", 3, marks=pytest.mark.slow),
    ],
)
def test_dry_runs_print_commands_of_these_runs(script, seeds, runs, tmp_path, monkeypatch, capsys):
    """What the scripts would start, with checkpoints every few epochs."""
    monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path))
    assert batch.main([script, *seeds.split(), "--dry-run"]) == 0
    printed = capsys.readouterr().out.splitlines()
    commands = [shlex.split(line) for line in printed if "experiments/" in line]
    assert len(commands) == runs
    for command in commands:
        spec = SCRIPTS[Path(command[1]).stem]
        (config,) = spec.plan(command[2:]).configs
        assert config.operation == "cumprod"
        assert config.resume
        assert config.checkpoint_interval == 20
