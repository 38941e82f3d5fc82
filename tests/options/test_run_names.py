"""Run names: the published ones, the defaults of each script, and which flags they hold."""

import json
from pathlib import Path

import pytest

from stable_nalu.errors import OptionError
from stable_nalu.options.flag import Flag
from stable_nalu.task import SCRIPTS

PUBLISHED = json.loads((Path(__file__).parent / "fixtures" / "run_names.json").read_text())
HEAD = "_oob-c_rs-linear-linear_eps-0_rl-1000000-2000000_r-10-0-1_i-1-2_e-2-6"
SINGLE = f"nalu_op-add{HEAD}_z-2-0.5-0.0_b128_s0_h2_z2_lr-adam-0.00100-0.0"
RB = "L1F_rb-1e-05-0.0001-10000-10"
NPU = "rWnpu-0-W_rg-0_rH_clip-n_WrI-xu"
STATIC = f"nalu_op-add{HEAD}_z-100-0.25-0.5_b128_s0_h2_z2_lr-adam-0.00100-0.0"
STATIC_TAIL = f"{RB}_rWnpu-0_rg-0_rH_clip-n_WrI-xu_p-32_nMF_nAF_BnauF_mse"
SEQUENCE_HEAD = "_oob-c_rs-linear-linear_eps-0_rl-10000-100000_r-10-0-1"
DIGITS = "nalu_d-0123456789_h-1_op-cumsum"
SEQUENCE = "_i-10_e-100-1000_b64_s0"
DEFAULT_LEAF = {
    "simple_function_static": f"{STATIC}_{STATIC_TAIL}_id-1",
    "simple_function_static_npu": f"{STATIC}_{STATIC_TAIL}",
    "single_layer": f"{SINGLE}_D-u_n-1-5_{RB}_{NPU}_nMF_gn-F_mse_id-1",
    "single_layer_robust": f"{SINGLE}_D-u_n-1-5_{RB}_{NPU}_nMF_gn-F_TB-1000_mse",
    "single_layer_curriculum": f"{SINGLE}_{RB}_rWnpuF_rg-0_p-32",
    "single_layer_benchmark": f"{SINGLE}_{RB}_{NPU}_gn-F_gv-F_rF-10-5000_mse_id-1",
    "simple_function_recurrent": "nalu_add_0",
    "number_translation": "nalu_0",
    "sequential_mnist": f"{DIGITS}{SEQUENCE_HEAD}_m-l-n{SEQUENCE}_nMF_bAF_mse",
    "sequential_svhn": f"{DIGITS}_net-18{SEQUENCE_HEAD}_m-n{SEQUENCE}_id-1",
    "two_digit_mnist": "-1_f0_op-add_nalmF_learnLF_s0",
    "ST_mnist_labels": "-1_f0_op-add_nalmF_learnLF_s0",
    "identity_autoencoder": "relu_b64_s0_lr-adam-0.01000",
    "even_digit_count": "linear_b32_s0_lr-adam-0.00100",
    "mnist_counting": "nac_b64_s0_lr-adam-0.00100",
    "gridworld_time": "nac_s0_lr-adam-0.00100",
    "program_evaluation": "nalu_b64_s0_lr-adam-0.00300",
    "notebook_addition": "nalu_s0_lr-adam-0.10000",
    "comparison": "nsr_s0_lr-adam-0.00100",
    "eml_recovery": "eml_s0_lr-adam-0.01000",
    "depth": "inalu_op-add,mul_d2_b128_s0_lr-adam-0.00100-0.0",
    "equations": "eqldiv_eq-div_b128_s0_lr-adam-0.00100-0.0",
    "mystery_arithmetic": "nalu_b32_s0_lr-adam-0.00100",
}
ARITHMETIC = [script for script, name in DEFAULT_LEAF.items() if HEAD in name]
DEFAULT_PREFIX = dict.fromkeys(ARITHMETIC, "simple_function_static") | {
    "sequential_mnist": "sequence_mnist",
    "sequential_svhn": "sequence_svhn",
    "ST_mnist_labels": "two_digit_mnist",
}
"""Where it is not the name of the script."""


def leaf(script: str, command: str) -> str:
    spec = SCRIPTS[script]
    (config,) = spec.plan(command.split()).configs
    return spec.leaf(config)


def test_fixture_is_complete():
    assert len(PUBLISHED) == 74
    assert sum(entry["run_name"] is not None for entry in PUBLISHED) == 70


@pytest.mark.parametrize("entry", PUBLISHED, ids=lambda e: e["name"])
def test_published_command_gives_published_name(entry):
    named = leaf(entry["script"], entry["argv"])
    if entry["run_name"] is not None:
        assert named == entry["run_name"]
    else:
        assert named.startswith("inalu_op-")
        assert named.endswith("_gn-F_gv-0.1_rT-10-5000_mse_id-1")


@pytest.mark.parametrize("script", SCRIPTS)
def test_defaults(script):
    prefix = DEFAULT_PREFIX.get(script, script)
    spec = SCRIPTS[script]
    (config,) = spec.plan([]).configs
    assert spec.run_name(config) == f"{prefix}/{DEFAULT_LEAF[script]}"


def test_published_name_of_a_digit_sequence():
    command = (
        "--layer-type ReRegualizedLinearNAC --nac-mul mnac --mnist-digits 12 --operation cumprod "
        "--regualizer-z 1 --interpolation-length 2 --extrapolation-lengths [1,3] --nmu-noise"
    )
    assert leaf("sequential_mnist", command) == (
        "reregualizedlinearnac-nac-m_d-12_h-1_op-cumprod_oob-c_rs-linear-linear_eps-0"
        "_rl-10000-100000_r-10-1.0-1_m-l-n_i-2_e-1-3_b64_s0_nMT_bAF_mse"
    )
    offline = leaf("sequential_mnist", f"{command} --data-source digits")
    assert offline == leaf("sequential_mnist", command) + "_digits"


@pytest.mark.parametrize(
    ("script", "command", "fragment"),
    [
        (
            "simple_function_static",
            "--layer-type ReRegualizedLinearNAC --nac-mul mnac --first-layer MultiWeightNAU",
            "reregualizedlinearnac-nac--mwnacm_",
        ),
        (
            "simple_function_static",
            "--layer-type ReRegualizedLinearNAC --nac-mul real-npu",
            "reregualizedlinearnac-nac-npur_",
        ),
        (
            "simple_function_static",
            "--nalu-two-nac --nalu-mul mnac --nalu-gate obs-gumbel",
            "nalu-nalu-2nmuu_",
        ),
        (
            "simple_function_static",
            "--layer-type NRU --trash-cell --train-criterion pcc-mse",
            "_pcc-mse-750000-TC_id-1",
        ),
        (
            "simple_function_static",
            "--extrapolation-rule exceed --random-models 10",
            "_mse_id-1_x-exceed_rm10",
        ),
        ("single_layer", "--nalu-bias --nalu-two-gate --nalu-gate gumbel", "nalu-b-2g-u_op"),
        ("single_layer", "--layer-type NAC --nalu-bias", "nac_op"),
        (
            "single_layer",
            "--nalu-two-nac --nalu-gate linear --nalu-init xavier-normal --layer-option eps=1e-8",
            "_mse_id-1_lo-eps=1e-8_ni-xavier-normal_",
        ),
        ("single_layer", "--nalu-two-nac --nalu-gate linear", "nalu-2n-l_op"),
        ("simple_function_static", "--nalu-two-nac --nalu-gate independent", "nalu-nalu-2ni_op"),
        ("simple_function_static_npu", "--nalu-gate-shape vector --id 3", "_mse_id3_ng-vector_"),
        ("sequential_svhn", "--nalu-init truncated", "_id-1_ni-truncated_"),
        (
            "number_translation",
            "--nalu-gate linear --nalu-gate-shape vector --nalu-init truncated",
            "nalu_0_nalu-l_ng-vector_ni-truncated_",
        ),
        (
            "number_translation",
            "--number-range paper --head final --embedding-size 32 --hidden-size 128 "
            "--batch-size 32 --learning-rate 3e-3 --clip-grad-norm 10",
            "nalu_0_n-paper_head-final_e32_h128_b32_lr-adam-0.00300-0.0_gn-10.0_",
        ),
        ("single_layer", "--sample-distribution exponential 0.5", "_D-e-0.5_"),
        (
            "single_layer",
            "--sample-distribution truncated-normal -1 3.7 -10 3",
            "_D-tn--1-3--10-3_",
        ),
        (
            "single_layer_robust",
            "--sample-distribution truncated-normal 0 1 10 1",
            "_D-tn-0.0-1.0_",
        ),
        ("single_layer", "--train-criterion pcc-mse", "_pcc-mse-25000_id-1"),
        ("single_layer", "--layer-type NRU --trash-cell", "_mse-TC_id-1"),
        ("single_layer", "--id 7 --noise-range [1,0]", "_n-1-0_"),
        ("single_layer", "--id 7", "_id7"),
        ("single_layer", "--learning-rate 1e-6", "lr-adam-0.00000-0.0"),
        (
            "single_layer",
            "--regualizer 10 --mnac-epsilon 0",
            "_eps-0.0_rl-1000000-2000000_r-10.0-0-1_",
        ),
        (
            "single_layer_benchmark",
            "--layer-type NAC --nac-weight golden-ratio",
            "nac-gr_op",
        ),
        (
            "single_layer_benchmark",
            "--layer-type MulMCFCSignRealNPU --regualizer-gate 1 --train-criterion mse",
            "_rF-10-5000_id-1",
        ),
        ("single_layer_benchmark", "--regualizer-npu-w 2 --realnpu-reg-type bias", "_rWnpu-2-b_"),
        ("single_layer_curriculum", "--regualizer-npu-w", "_rWnpuT_rg-0_p-32"),
        (
            "single_layer_curriculum",
            "--nmu-noise --W-set-count 7 --npu-clip wg",
            "_p-32_nMT_clip-wg_ws-7",
        ),
        ("simple_function_static_npu", "--id 3 --noise-range [1,2]", "_mse_n-1-2_id3"),
        ("simple_function_recurrent", "--layer-type GRU --operation mul --seed 4", "gru_mul_4"),
        (
            "simple_function_recurrent",
            "--interpolation-length 5 --extrapolation-length 50 --input-range [0,1] "
            "--hidden-size 4 --random-models 10",
            "nalu_add_0_i-5_e-50_u-0-1_h4_rm10",
        ),
        ("number_translation", "--layer-type NAC --nmu-noise --oob-mode clip", "nac_0_oob-c_nMT"),
    ],
)
def test_fragments(script, command, fragment):
    assert fragment in leaf(script, command) + ("_" if fragment.endswith("_") else "")


@pytest.mark.parametrize(
    ("script", "command", "names"),
    [
        ("single_layer", "", ["NALU s0"]),
        ("single_layer", "--layer-type RealNPU --learning-rate 0.01 --seed 3", ["RealNPU s3"]),
        (
            "single_layer",
            "--learning-rate 0.1 0.01 --id 2",
            ["NALU lr=0.1 s0 #2", "NALU lr=0.01 s0 #2"],
        ),
        (
            "single_layer",
            "--interpolation-range [1,2] [2,4] --extrapolation-range [2,6] [4,8]",
            ["NALU U[1,2) s0", "NALU U[2,4) s0"],
        ),
        (
            "single_layer",
            "--interpolation-range [1,2] --extrapolation-range [2,6] [4,8]",
            ["NALU U[2,6) s0", "NALU U[4,8) s0"],
        ),
        ("simple_function_static", "--layer-type NMU", ["NAU+mnac s0"]),
        ("two_digit_mnist", "", ["two_digit_mnist s0"]),
    ],
)
def test_short_names_say_what_varies_and_one_run_alone_keeps_its_own(script, command, names):
    spec = SCRIPTS[script]
    configs = spec.plan([*command.split(), "--short-names"]).configs
    assert list(map(spec.leaf, configs)) == names
    alone = [spec.plan(spec.argv_of(config)).configs[0] for config in configs]
    assert list(map(spec.leaf, alone)) == names


def test_short_names_that_do_not_tell_runs_apart_are_refused():
    spec = SCRIPTS["single_layer"]
    with pytest.raises(OptionError, match="two runs of the same name"):
        spec.plan(["--seed", "0-1", "--short-names", "learning-rate"])
    with pytest.raises(OptionError, match="sed is no flag of this script; did you mean seed"):
        spec.plan(["--short-names", "sed"])


def test_prefix_may_hold_folders():
    spec = SCRIPTS["single_layer"]
    (config,) = spec.plan(["--name-prefix", "a/b"]).configs
    assert spec.run_name(config) == f"a/b/{DEFAULT_LEAF['single_layer']}"


def test_no_two_layers_print_alike():
    for flag in (f for spec in SCRIPTS.values() for f in spec.flags if f.dest == "layer_type"):
        assert len({name.lower() for name in flag.allowed()}) == len(flag.allowed())


@pytest.mark.parametrize(
    ("script", "command", "name"),
    [
        (
            "two_digit_mnist",
            "--id 1 --seed 2 --operation mul --use-nalm --learn-labels2out",
            "1_f2_op-mul_nalmT_learnLT_s2",
        ),
        (
            "two_digit_mnist",
            "--id 4 --seed 1 --operation div --use-nalm --learn-labels2out --nalm-name nru",
            "4_f1_op-div_nalmT_learnLT_s1_mod-nru",
        ),
        ("two_digit_mnist", "--operation div", "-1_f0_op-div_nalmF_learnLF_s0_mod-"),
        (
            "ST_mnist_labels",
            "--id 9 --operation mul --learn-labels2out --data-source digits",
            "9_f0_op-mul_nalmF_learnLT_s0_digits",
        ),
    ],
)
def test_names_of_pairs_of_digits(script, command, name):
    assert leaf(script, command) == name


def other_value(flag: Flag):
    """A value that differs from the default in a way that no rounding hides."""
    if flag.kind is None:
        return not flag.default
    special = {
        "interpolation_range": [3, 4],
        "extrapolation_range": [3, 4],
        "noise_range": [2, 3],
        "input_range": [3, 4],
        "train_range": [4, 9],
        "test_ranges": [[4, 9]],
        "test_range": [-30, 30],
        "stimulus_range": [4, 9],
        "eval_stimuli": [4, 9],
        "extrapolation_lengths": [7],
        "mnist_digits": [1, 2],
        "svhn_digits": [1, 2],
        "sample_distribution": ("benford",),
        "name_prefix": "elsewhere",
        "first_layer": "NAC",
        "layer_type": "ReRegualizedLinearMNAC",
        "nac_mul": "normal",
        "cuda": False,
        "layer_file": ("mine.py",),
        "layer_option": ("power=2",),
        "nalm_name": "mine",
        "operations": "mul",
    }
    if flag.dest in special:
        return special[flag.dest]
    if flag.choices is not None:
        return next(c for c in flag.allowed() if c != flag.default)
    return (flag.default or 0) + 1


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_name_holds_exactly_what_it_claims(script):
    """Changing one flag changes the name, or the flag is listed as unnamed, with the reason."""
    spec = SCRIPTS[script]
    (config,) = spec.plan([]).configs
    for flag in spec.flags:
        if flag.dest == "short_names":
            continue
        changed = config.replace(**{flag.dest: other_value(flag)})
        if spec.run_name(changed) != spec.run_name(config):
            assert flag.dest in spec.fully_named | set(spec.partly_named), flag.name
            continue
        assert flag.dest not in spec.fully_named or flag.dest in _WITHOUT_EFFECT, flag.name
        if flag.dest in spec.partly_named or flag.dest in _WITHOUT_EFFECT:
            continue
        assert not flag.result or flag.dest in spec.unnamed(config), flag.name


# The NRU's forward mode is printed for the NRU only, which alone reads it.
_WITHOUT_EFFECT = {"nru_div_mode"}


@pytest.mark.parametrize(
    ("script", "one", "other"),
    [
        ("simple_function_static", "--nac-mul safe", "--nac-mul max-safe"),
        ("simple_function_static", "--nalu-mul safe", "--nalu-mul max-safe"),
        ("simple_function_static", "", "--noise-range [2,3]"),
        ("simple_function_static", "", "--first-layer NAC"),
        ("single_layer", "--nalu-mul safe", "--nalu-mul max-safe"),
        ("single_layer", "", "--max-iterations 3"),
        ("single_layer", "--regualizer-l1", "--regualizer-l1 --lp-norm 2"),
        ("single_layer", "--learning-rate 1e-6", "--learning-rate 2e-6"),
        (
            "single_layer",
            "--interpolation-range [[-2,-1],[1,2]]",
            "--interpolation-range [[-2,-1],[1,2],[]]",
        ),
        (
            "single_layer_robust",
            "--sample-distribution truncated-normal 0 1 10 1",
            "--sample-distribution truncated-normal 0 1 20 1",
        ),
        ("single_layer_benchmark", "", "--nmu-noise"),
        ("sequential_mnist", "--nmu-noise", "--nmu-noise --noise-range [1,0]"),
        ("sequential_mnist", "", "--nau-noise"),
        ("sequential_svhn", "", "--nmu-noise"),
        ("single_layer_benchmark", "--layer-type ReLU", "--layer-type ReLU --mlp-depth 2"),
        ("single_layer_benchmark", "--layer-type MCFC", "--layer-type MCFC --train-criterion pcc"),
    ],
)
def test_inherited_collisions_are_told_apart(script, one, other):
    """Two different runs of one name differ in what `unnamed` returns."""
    spec = SCRIPTS[script]
    (a,), (b,) = (spec.plan(command.split()).configs for command in (one, other))
    assert spec.run_name(a) == spec.run_name(b)
    assert spec.unnamed(a) != spec.unnamed(b)
