"""Reading a run name back: the values that were printed."""

import json
from pathlib import Path

import pytest

from stable_nalu.options.name_fields import parse_leaf, signed
from stable_nalu.paper.experiment import expected_runs
from stable_nalu.paper.index import EXPERIMENTS
from stable_nalu.statistics.names import expand_name, record_columns
from stable_nalu.task import SCRIPTS
from stable_nalu.training.checkpoint import plain
from stable_nalu.writer.run_record import RunRecord

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
PLAIN = """
    operation regualizer.scaling regualizer.shape regualizer.scaling.start
    regualizer.scaling.end regualizer regualizer.z regualizer.oob batch.size seed hidden.size
    num.subsets regualizer.beta.start regualizer.beta.end regualizer.beta.step
    regualizer.beta.growth regualizer.gate reg.scale.type pytorch.precision nmu.noise nau.noise
    beta.nau train.criterion reinit reinit.epoch.interval reinit.max.stored.losses log.interval
    nalu.gate.shape nalu.init id
"""
COLUMNS = {name: name.replace(".", "_") for name in PLAIN.split()} | {
    "epsilon.zero": "mnac_epsilon",
    "learning.momentum": "momentum",
    "l1": "regualizer_l1",
    "regualizer.npu.W": "regualizer_npu_w",
    "grad.norm.clip": "clip_grad_norm",
    "grad.value.clip": "clip_grad_value",
}
"""Column -> its flag."""


@pytest.mark.parametrize(("script", "command"), ROUND_TRIP)
def test_parsing_what_was_printed_gives_the_values(script, command):
    spec = SCRIPTS[script]
    (config,) = spec.plan(command.split()).configs
    columns = parse_leaf(spec.leaf(config))
    read = {name: columns[name] for name in COLUMNS if name in columns}
    assert read == {name: getattr(config, COLUMNS[name]) for name in read}
    named = {COLUMNS[name] for name in read}
    for dest in spec.fully_named & set(COLUMNS.values()) - named:
        assert getattr(config, dest) == spec.defaults[dest], dest


@pytest.mark.parametrize("entry", [e for e in PUBLISHED if e["run_name"]], ids=lambda e: e["name"])
def test_published_names_are_read(entry):
    spec = SCRIPTS[entry["script"]]
    (config,) = spec.plan(entry["argv"].split()).configs
    columns = parse_leaf(entry["run_name"])
    assert columns["model_code"] == entry["run_name"].split("_")[0]
    assert columns["seed"] == config.seed
    assert columns["regualizer"] == config.regualizer
    assert columns["learning.rate"] == pytest.approx(config.learning_rate, abs=5e-6)
    assert columns["regualizer.beta.start"] == config.regualizer_beta_start


def recorded(config):
    """Return the columns of the record that a run writes, read back from its file."""
    record = RunRecord(config.script, plain(config.as_dict()), "", {}, None)
    return record_columns(RunRecord(**json.loads(json.dumps(vars(record)))))


def agree(config, leaf):
    columns, found = parse_leaf(leaf), recorded(config)
    assert found.pop("learning.rate") == pytest.approx(columns.pop("learning.rate"), abs=5e-6)
    assert {name: found[name] for name in columns} == columns


@pytest.mark.parametrize(("script", "command"), ROUND_TRIP)
def test_the_record_of_a_run_gives_the_columns_of_its_name(script, command):
    (config,) = SCRIPTS[script].plan(command.split()).configs
    agree(config, SCRIPTS[script].leaf(config))


@pytest.mark.parametrize("entry", [e for e in PUBLISHED if e["run_name"]], ids=lambda e: e["name"])
def test_the_record_of_a_published_run_gives_the_columns_of_its_name(entry):
    (config,) = SCRIPTS[entry["script"]].plan(entry["argv"].split()).configs
    agree(config, entry["run_name"])


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_the_records_of_an_experiment_give_the_columns_of_its_names(key):
    for model in EXPERIMENTS[key].models:
        for run in expected_runs(model, [0], None):
            leaf = run.name.rpartition("/")[2]
            if "_op-" in leaf and "overlap_ratio" in run.config.as_dict():
                agree(run.config, leaf)


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_record_holds_every_option_that_changes_a_run(script):
    spec = SCRIPTS[script]
    (config,) = spec.plan([]).configs
    results = [flag for flag in spec.flags if flag.result]
    columns = set(recorded(config)) - {"model_code", "trash.cell"}
    assert len(columns) == len([flag for flag in results if flag.dest != "trash_cell"])


def test_example_column_by_column():
    leaf = (
        "signnmru_op-div_oob-c_rs-linear-linear_eps-0_rl-200-350_r-10-0-1_i--5-10_e-10-15"
        "_z-2-0.5-0.0_b128_s3_h2_z2_lr-adam-0.01000-0.0_D-tn-1-3-10-3_n-1-5_L1F"
        "_rb-1e-05-0.0001-10000-10_rWnpu-0-W_rg-0_rH_clip-n_WrI-xu_nMF_gn-1.0_mse_id-1"
    )
    assert parse_leaf(leaf) == {
        "model_code": "signnmru",
        "operation": "div",
        "oob.control": "clip",
        "regualizer.scaling": "linear",
        "regualizer.shape": "linear",
        "epsilon.zero": 0.0,
        "regualizer.scaling.start": 200.0,
        "regualizer.scaling.end": 350.0,
        "regualizer": 10.0,
        "regualizer.z": 0.0,
        "regualizer.oob": 1.0,
        "interpolation.range": "U[-5,10]",
        "extrapolation.range": "U[10,15]",
        "input.size": 2.0,
        "subset.ratio": 0.5,
        "overlap.ratio": 0.0,
        "batch.size": 128,
        "seed": 3,
        "hidden.size": 2,
        "num.subsets": 2,
        "learning.optimizer": "Adam",
        "learning.rate": 0.01,
        "learning.momentum": 0.0,
        "train.distribution": "tn-1-3-10-3",
        "noise.range": "U[1,5]",
        "l1": False,
        "regualizer.beta.start": 1e-05,
        "regualizer.beta.end": 0.0001,
        "regualizer.beta.step": 10000,
        "regualizer.beta.growth": 10,
        "regualizer.npu.W": 0.0,
        "regualizer.npu.W.type": "W",
        "regualizer.gate": 0.0,
        "reg.scale.type": "heim",
        "npu.clip": "n",
        "npu.W_real.init": "xu",
        "nmu.noise": False,
        "grad.norm.clip": 1.0,
        "train.criterion": "mse",
        "pcc2mse.iteration": None,
        "trash.cell": False,
        "id": -1,
    }


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


def test_unknown_tail_field_is_refused():
    spec = SCRIPTS["single_layer"]
    leaf = spec.leaf(spec.plan([]).configs[0])
    with pytest.raises(ValueError, match="'new' is not known"):
        parse_leaf(f"{leaf}_new")
