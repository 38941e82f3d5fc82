"""Errors of a command line: exit code 2, one line that names the flag and helps; aliases; files."""

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.options import OptionError
from stable_nalu.task.table import SCRIPTS


def plan(script: str, command: str):
    return SCRIPTS[script].plan(command.split())


WRONG = [
    ("single_layer", "--extrapolation-range [1,[2,3]]", "--extrapolation-range", "mixes"),
    ("single_layer", "--extrapolation-range [1,2,3]", "--extrapolation-range", "two numbers"),
    ("single_layer", "--layer-type NMUU", "--layer-type", "did you mean NMU?"),
    ("simple_function_static", "--operation reciprocal", "--operation", "add, sub, mul"),
    (
        "single_layer",
        "--operation div --input-size 1 --subset-ratio 1 --num-subsets 1",
        "--num",
        "2",
    ),
    ("single_layer", "--seed 9-3", "--seed", "write 3-9"),
    ("single_layer", "--sample-distribution uniform 1", "--sample-distribution", "no numbers"),
    ("single_layer", "--sample-distribution exponential 0", "--sample-distribution", "scale"),
    (
        "single_layer",
        "--sample-distribution truncated-normal 0 1 0 1 --extrapolation-range [2,2]",
        "--extrapolation-range",
        "low < high",
    ),
    ("sequential_mnist", "--nalu-gate independent --nalu-bias", "--nalu-bias", "leave it out"),
    ("number_translation", "--layer-type GRU --head final", "--layer-type", "is a cell alone"),
    ("number_translation", "--layer-type linear", "--layer-type", "has no recurrent cell"),
    ("number_translation", "--layer-type GRU --nalu-init truncated", "--nalu-init", "GRU is no"),
    ("single_layer", "--layer-type iNALU --nalu-gate-shape vector", "--nalu-gate-shape", "iNALU"),
    ("single_layer", "--layer-type SignNMRU --noise-range [1,0]", "--noise-range", "NMU"),
    (
        "single_layer",
        "--regualizer-scaling-start 9 --regualizer-scaling-end 5",
        "--regualizer-scaling-end",
        "starts at 9 and ends at 5",
    ),
    ("sequential_mnist", "--regualizer-scaling-end 9", "--regualizer-scaling-end", "comes first"),
    ("simple_function_static", "--layer-type NALU --nac-mul mnac", "--nac-mul", "GumbelNAC"),
    ("simple_function_static", "--layer-type PosNAC --nac-mul mnac", "--nac-mul", "no multiplying"),
    ("simple_function_static", "--regualizer-npu-w 1", "--regualizer-npu-w", "_npu"),
    ("simple_function_static", "--regualizer-gate 1", "--regualizer-gate", "_npu"),
    ("simple_function_static", "--reg-scale-type madsen", "--reg-scale-type", "_npu"),
    ("single_layer", "--no-save --checkpoint-interval 5", "--checkpoint-interval", "--no-save"),
    ("single_layer", "--simple --simple", "--simple", "given twice"),
    ("single_layer", "--regualizer 1 --regularizer 2", "--regualizer", "given twice"),
    ("single_layer", "--learning-rate 0.1 1e-1", "--learning-rate", "0.1 is given twice"),
    (
        "single_layer",
        "--interpolation-range [1,2] [1,2] --extrapolation-range [2,6]",
        "--interpolation-range",
        "[1, 2] with [2, 6] is given twice",
    ),
]
"""What tests/attacks does not try: it has values outside of each flag's limits, and near misses."""


@pytest.mark.parametrize(("script", "command", "flag", "hint"), WRONG)
def test_error_is_one_line_with_exit_code_2(capsys, script, command, flag, hint):
    with pytest.raises(SystemExit) as leaving:
        SCRIPTS[script].parse(command.split())
    assert leaving.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith(f"{script}.py: error: ")
    assert flag in err
    assert hint in err.split(": error: ")[1]


def test_error_names_the_flag_and_is_a_usage_error():
    with pytest.raises(OptionError) as raised:
        plan("single_layer", "--batch-size 0")
    assert raised.value.flag == "--batch-size"
    assert isinstance(raised.value, UsageError)
    assert str(raised.value) == ("argument --batch-size: 0 is too small; the smallest value is 1")


@pytest.mark.parametrize(
    ("script", "flag", "most"),
    [
        ("single_layer_benchmark", "--mlp-depth", 1000),
        ("gridworld_time", "--time-limit", 10**6),
        ("mnist_counting", "--test-repeats", 10**6),
    ],
)
def test_sizes_that_no_machine_answers_are_refused(script, flag, most):
    problem = f"argument {flag}: {10**12} is too large; the largest value is {most}"
    with pytest.raises(OptionError, match=problem):
        plan(script, f"{flag} {10**12}")


@pytest.mark.parametrize("script", SCRIPTS)
def test_regularizer_is_understood_for_regualizer(script):
    spec = SCRIPTS[script]
    flags = [f for f in spec.flags if "regualizer" in f.name and f.kind is not None]
    for flag in flags:
        # The end of the ramp lies behind its start, which has another default in every script.
        number = "10000000" if flag.dest == "regualizer_scaling_end" else "1"
        value = number if flag.choices is None else flag.allowed()[0]
        if script == "simple_function_static" and flag.note:
            continue
        alias = flag.name.replace("regualizer", "regularizer")
        (typed,) = spec.plan([flag.name, value]).configs
        (respelled,) = spec.plan([alias, value]).configs
        assert typed == respelled
        assert respelled.is_typed(flag.dest)


def test_equals_sign_and_negative_numbers():
    (config,) = plan(
        "single_layer_benchmark",
        "--id=-5 --reinit-loss-thr -1e-3 --interpolation-range=[-2,-1] "
        "--extrapolation-range (-6,-2)",
    ).configs
    assert config.id == -5
    assert config.reinit_loss_thr == -0.001
    assert config.interpolation_range == [-2, -1]
    assert config.extrapolation_range == [-6, -2]


def test_ranges_as_numpy_prints_them():
    printed = "[np.float64(1.5),np.float64(2.0)] [[np.float32(-6.0),np.int64(-2)],[2,6]]"
    plans = plan("single_layer", f"--interpolation-range {printed}")
    typed = plan("single_layer", "--interpolation-range [1.5,2.0] [[-6.0,-2],[2,6]]")
    assert list(plans.names()) == list(typed.names())
    assert plans.configs == typed.configs


def test_accepted_edges():
    plan("single_layer", "--max-iterations 0")
    plan("single_layer", "--layer-type ReRegualizedLinearMNAC --nmu-noise --noise-range [1,0]")
    plan("single_layer", "--interpolation-range [[-2,-0.1],[0.1,2],[]]")
    plan("single_layer", "--regualizer-scaling exp --regualizer-scaling-start 2000000")
    plan("single_layer", "--simple --num-subsets 3 --operation div")
    plan("single_layer", "--hidden-size 5 --nac-mul real-npu --first-layer NAC")
    plan(
        "simple_function_static",
        "--layer-type SillyReRegualizedLinearNAC --nac-mul mnac --first-layer NAC",
    )


@pytest.mark.parametrize(
    ("command", "no_cuda"),
    [("", False), ("--cuda", False), ("--cuda True", False), ("--cuda False", True)],
)
def test_cuda_reads_a_truth_value(command, no_cuda, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    (config,) = plan("number_translation", command).configs
    assert config.no_cuda is no_cuda


def test_too_long_run_name_is_refused():
    digits = "1" * 120
    with pytest.raises(OptionError, match="characters"):
        plan(
            "single_layer", f"--interpolation-range [0,{digits}] --extrapolation-range [0,{digits}]"
        )
