"""Reading a run name back: the values that were printed."""

import json
from pathlib import Path

import pytest

from stable_nalu.options import Config
from stable_nalu.options.run_names import column_of, parse_leaf, signed
from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.statistics.setups import config_columns, expand_name
from stable_nalu.task.table import SCRIPTS
from stable_nalu.training.checkpoint import plain
from stable_nalu.writer import RunRecord

FIXTURES = Path(__file__).parents[1] / "options" / "fixtures"
PUBLISHED = json.loads((FIXTURES / "run_names.json").read_text())
ROUND_TRIP = [
    ("simple_function_static", "--nac-mul normal --layer-type NAC --nmu-noise --beta-nau --id 4"),
    ("simple_function_static_npu", "--regualizer-l1 --npu-clip wg --regualizer-gate 2"),
    ("single_layer", "--regualizer 1e-5 --mnac-epsilon 1e-7 --momentum 0.9 --optimizer sgd"),
    ("single_layer", "--interpolation-range [[-6,-2],[2,6]] --simple --train-criterion pcc-mse"),
    ("single_layer", "--regualizer-beta-start 1e-9 --regualizer-beta-end 1e-7 --clip-grad-norm 1"),
    ("single_layer_robust", "--nmu-noise --log-interval 10 --noise-range [0.01,0.05]"),
    ("single_layer_curriculum", "--regualizer-npu-w --pytorch-precision 64 --nau-noise"),
    ("single_layer", "--nalu-gate-shape vector --nalu-init xavier-normal --layer-option eps=1e-8"),
    ("single_layer_benchmark", "--reinit --clip-grad-value 0.1 --train-criterion mape --seed 24"),
]
NOT_AS_TYPED = {
    *("interpolation.range", "extrapolation.range", "noise.range", "input.size", "subset.ratio"),
    *("overlap.ratio", "learning.optimizer", "learning.rate", "train.distribution", "npu.clip"),
    *("npu.W_real.init", "regualizer.npu.W.type", "layer.option", "pcc2mse.iteration"),
}


def recorded(config):
    """Return the columns of the record that a run writes, read back from its file."""
    record = RunRecord(config.script, plain(config.as_dict()), "", {}, None)
    read = RunRecord(**json.loads(json.dumps(vars(record))))
    return config_columns(Config(SCRIPTS[read.script], read.config))


def agree(config, leaf):
    """The name and the record of a run have the same columns; return them."""
    columns, found = parse_leaf(leaf), recorded(config)
    rate = columns.pop("learning.rate")
    assert rate == pytest.approx(config.learning_rate, abs=5e-6)
    assert rate == pytest.approx(found.pop("learning.rate"), abs=5e-6)
    assert {name: found[name] for name in columns} == columns
    return columns


@pytest.mark.parametrize(("script", "command"), ROUND_TRIP)
def test_what_was_printed_and_recorded_gives_the_values(script, command):
    spec = SCRIPTS[script]
    (config,) = spec.plan(command.split()).configs
    columns = agree(config, spec.leaf(config))
    for dest in spec.fully_named - {"layer_type", "name_prefix", "simple", "learning_rate"}:
        if (column := column_of(dest)) not in columns:
            assert getattr(config, dest) == spec.defaults[dest], dest
        elif column not in NOT_AS_TYPED:
            assert columns[column] == getattr(config, dest), dest


@pytest.mark.parametrize("entry", [e for e in PUBLISHED if e["run_name"]], ids=lambda e: e["name"])
def test_published_names_are_read(entry):
    (config,) = SCRIPTS[entry["script"]].plan(entry["argv"].split()).configs
    columns = agree(config, entry["run_name"])
    assert columns["model_code"] == entry["run_name"].split("_")[0]
    for dest in ("seed", "regualizer", "regualizer_beta_start"):
        assert columns[column_of(dest)] == getattr(config, dest)


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_the_records_of_an_experiment_give_the_columns_of_its_names(key):
    for model in EXPERIMENTS[key].models:
        for run in expected_runs(model, [0], None):
            leaf = run.name.rpartition("/")[2]
            if "_op-" in leaf and "overlap_ratio" in run.config.as_dict():
                agree(run.config, leaf)


@pytest.mark.parametrize(
    ("fragment", "text"),
    [
        ("i-1-2", "U[1,2]"),
        ("i--2-2", "U[-2,2]"),
        ("i--1.2--1.1", "U[-1.2,-1.1]"),
        ("i-0-0.0001", "U[0,0.0001]"),
        ("i-1e-05-2", "U[1e-05,2]"),
        ("i-[-6, -2]-[2, 6]", "U[-6,-2] & U[2,6]"),
    ],
)
def test_ranges(fragment, text):
    leaf = f"nac_op-add_oob-c_rs-linear-linear_eps-0_rl-1-2_r-10-0-1_{fragment}"
    assert signed(parse_leaf(leaf), "&")["interpolation.range"] == text


def test_short_names_of_the_first_version():
    leaf = "nac_op-add_oob-r_rs-linear-linear_eps-0_rl-1-2_r-10-0-1_i-1-2_e-2-6_z-simple_b64_s1"
    columns = parse_leaf(leaf)
    assert columns["oob.control"] == "regualized"
    assert (columns["input.size"], columns["subset.ratio"]) == (4.0, None)
    assert (columns["hidden.size"], columns["learning.optimizer"]) == (2, "Adam")
    assert columns["learning.rate"] == 0.001
    assert "num.subsets" not in columns


@pytest.mark.parametrize(
    ("command", "label"),
    [
        ("", "NALU"),
        ("--nalu-gate-shape vector", "NALU (vector)"),
        ("--nalu-init truncated --layer-option eps=1e-8", "NALU (eps=1e-8, truncated)"),
        ("--nalu-two-nac --nalu-gate linear", "nalu-2n-l"),
    ],
)
def test_variants_of_a_unit_have_labels_of_their_own(command, label):
    """By name and by record: models of the same label count as one."""
    spec = SCRIPTS["single_layer"]
    (config,) = spec.plan(command.split()).configs
    name = spec.leaf(config)
    assert expand_name(name)["model"] == expand_name(name, recorded(config))["model"] == label


@pytest.mark.parametrize("leaf", ["nac_add", "nac_op-add_oob-c_rs-linear", "nac_op-add_xyz"])
def test_foreign_names_are_refused(leaf):
    with pytest.raises(ValueError, match="run name"):
        parse_leaf(leaf)
