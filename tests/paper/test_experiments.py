"""Every experiment is what the papers ran."""

from pathlib import PurePosixPath

import pytest

from stable_nalu.errors import UsageError
from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import EXPERIMENTS, find
from stable_nalu.task import SCRIPTS

MODELS = [(key, model) for key, e in EXPERIMENTS.items() for model in e.models]

# Key -> runs and iterations of all of them, as the papers' scripts add up.
PUBLISHED_SIZES = {
    "simple_mul": (500, 1.0e8),
    "function_task_static": (1100, 5.5e9),
    "function_task_static_all": (6600, 3.3e10),
    "function_task_static_mul_hidden_size": (2700, 1.35e10),
    "function_task_static_mul_range": (2100, 1.05e10),
    "function_task_static_mul_hidden_size_ablation": (1800, 9.0e9),
    "function_task_static_mul_input_size": (4200, 3.9e10),
    "function_task_static_mul_overlap": (1800, 9.0e9),
    "function_task_static_mul_subset": (1200, 6.0e9),
    "function_task_static_nalu": (600, 3.0e9),
    "function_task_static_regualization": (900, 4.5e9),
    "function_task_static_learning": (4500, 2.25e10),
    "function_task_static_mul_num_subsets": (1000, 5.0e9),
    "sequential_mnist_prod_long": (90, 90 * 388_388),
    "sequential_mnist_sum_long": (70, 70 * 86_086),
    "sequential_mnist_prod_interpolation": (100, None),
    "sequential_mnist_prod_outputs": (180, None),
    "in2-mixedSigns": (375, 1.875e7),
    "mixed-sign-ds_realnpu-modified": (125, 6.25e6),
    "in10-mixedSigns": (375, 3.75e7),
    "nips-in2-distributions": (450, 2.25e7),
    "nips-in10-distributions": (450, 4.5e7),
    "nips-divBy0-easy": (375, 375 * 5e3),
    "nips-divBy0-medium": (375, 375 * 5e4),
    "nips-divBy0-hard": (375, 375 * 5e4),
    "div-1digit_conv-Adam-s3Init": (50, None),
    "surface-mul": (51, 26 * 5e4 + 25 * 2e6),
    "robust-benchmark_sltr_mul": (1800, 9.0e7),
    "fts-snmu-noise-ranges": (1485, 1485 * 2e6),
    "fts-2021-final": (360, 180 * 5e6 + 180 * 2e6),
    "static-mnist-mul-isolated": (50, None),
    "static-mnist-mul-colour-concat": (15, None),
    "robust-sequential_mnist_prod_long": (40, None),
    "benchmark_sltr_add": (1125, 1125 * 5e4),
    "benchmark_sltr_sub": (1125, 1125 * 5e4),
    "benchmark_sltr_mul": (1575, 1575 * 5e4),
    "benchmark_sltr_div": (1350, 1350 * 5e4),
    "inalu-in10": (225, 225 * 5e4),
    "nau-failure": (450, 450 * 1e5),
    "nau-in100": (450, 450 * 1e5),
}
# Models of 225 runs that a figure adds to those of earlier ones.
NEW_MODELS = {
    "nips-realnpu-L1": 2,
    "nips-realnpu-L1_sweep": 6,
    "nips-realnpu-clipping": 3,
    "nips-realnpu-discretisation": 2,
    "nips-realnpu-init": 1,
    "nips-sltr-in2": 3,
    "nips-in2-nru-lr": 3,
    "nips-realnpu-L2": 1,
    "nips-in2-realnpu-lr": 3,
    "nips-sltr-in10": 4,
    "nips-sltr-in10-npu": 2,
    "nips-in10-realnpu-W-reg": 1,
    "nips-in10-nmru-ablation": 4,
    "nips-in10-nmru-lr": 2,
    "nips-in10-nmru-optimiser": 1,
    "nips-in10-nru-separate-mag-sign": 1,
    "nips-sltr-in10-losses-realnpu": 2,
    "nips-sltr-in10-losses-nru": 2,
    "nips-sltr-in10-losses-nmru": 2,
}


@pytest.mark.parametrize("key", PUBLISHED_SIZES)
def test_runs_and_iterations_are_the_published_ones(key):
    count, iterations = PUBLISHED_SIZES[key]
    assert EXPERIMENTS[key].runs == count
    if iterations is not None:
        assert EXPERIMENTS[key].iterations == pytest.approx(iterations, rel=0.01)


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
