"""Every experiment is what the papers ran."""

from pathlib import PurePosixPath

import pytest

from stable_nalu.errors import UsageError
from stable_nalu.options.kinds import seeds
from stable_nalu.options.name_fields import canonical
from stable_nalu.paper.experiment import (
    expected_runs,
    flags,
    gathered,
    merged,
    seeds_text,
    words,
)
from stable_nalu.paper.index import EXPERIMENTS, find
from stable_nalu.paper.sweeps import (
    DATA_SET_RANGES,
    DISTRIBUTION_RANGES,
    EXTRA_DIVISION_RANGES,
    EXTRAPOLATION_RANGES,
    MIXED_SIGNS,
    SINGLE_MODULE_RANGES,
    SMALL_DIVISOR_BOUNDS,
    ExtrapolationRange,
)
from stable_nalu.task import SCRIPTS

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
    eml/recovery 960 7.68e+06
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


@pytest.mark.parametrize("key", PUBLISHED_SIZES)
def test_runs_and_iterations_are_the_published_ones(key):
    count, iterations = PUBLISHED_SIZES[key]
    assert EXPERIMENTS[key].runs == int(count)
    if iterations != "-":
        assert EXPERIMENTS[key].iterations == pytest.approx(float(iterations), rel=0.01)


def test_first_paper_adds_up():
    keys = ("reproduce", "mul_paramaters", "mul_range_reproduce")
    assert sum(EXPERIMENTS[f"function_task_static_{key}"].runs for key in keys) == 4800


def test_division_figures_add_the_published_number_of_models():
    seen, added = set(), {}
    for key in NEW_MODELS:
        new = {model.prefix for model in EXPERIMENTS[key].models} - seen
        added[key], seen = len(new), seen | new
    assert added == NEW_MODELS


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_every_run_is_planned_once(key):
    names = []
    for model in EXPERIMENTS[key].models:
        assert expected_runs(model, []) == []
        found = expected_runs(model, [0, 1])
        assert len(found) * len(model.seeds) == model.runs * 2
        assert {run.seed for run in found} == {0, 1}
        names += [run.name for run in found]
    assert len(set(names)) == len(names)


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


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_models_have_distinct_keys_and_labels(key):
    models = EXPERIMENTS[key].models
    assert len({model.key for model in models}) == len(models)
    if key != "function_task_static_mul_paramaters":
        assert len({model.label for model in models}) == len(models)


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
    names = {run.name for model in models for run in expected_runs(model, [0])}
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
        assert sorted(given) == seeds().read_all([text])


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
