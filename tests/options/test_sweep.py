"""Several runs in one command: which, in what order, and what is refused."""

import pytest

from stable_nalu.options import OptionError
from stable_nalu.task.table import SCRIPTS

SPEC = SCRIPTS["single_layer"]
NINE = "[-20,-10] [-2,-1] [-1.2,-1.1] [-0.2,-0.1] [-2,2] [0.1,0.2] [1,2] [1.1,1.2] [10,20]"


def plan(command: str, spec=SPEC):
    return spec.plan(command.split())


def test_published_sweep_of_seeds_and_ranges():
    planned = plan(f"--seed 0-24 --interpolation-range {NINE}")
    assert len(planned) == 225
    assert planned.description == "225 runs = 25 seeds x 9 ranges"
    first, second, last_of_first_range = (planned.configs[i] for i in (0, 1, 24))
    assert (first.interpolation_range, first.seed) == ([-20, -10], 0)
    assert (second.interpolation_range, second.seed) == ([-20, -10], 1)
    assert last_of_first_range.seed == 24
    assert planned.configs[25].interpolation_range == [-2, -1]
    assert all(c.extrapolation_range == [2, 6] for c in planned.configs)


def test_ranges_are_paired():
    planned = plan("--interpolation-range [1,2] [3,4] --extrapolation-range [2,6] [4,8]")
    pairs = [(c.interpolation_range, c.extrapolation_range) for c in planned.configs]
    assert pairs == [([1, 2], [2, 6]), ([3, 4], [4, 8])]
    assert planned.description == "2 runs = 2 ranges"


def test_other_flags_multiply_and_vary_between_ranges_and_seeds():
    planned = plan("--seed 0-1 --regualizer 0 1 10 --learning-rate 1e-3 1e-2")
    assert planned.description == (
        "12 runs = 2 seeds x 3 values of --regualizer x 2 values of --learning-rate"
    )
    described = [(c.regualizer, c.learning_rate, c.seed) for c in planned.configs]
    assert described[:5] == [
        (0, 0.001, 0),
        (0, 0.001, 1),
        (0, 0.01, 0),
        (0, 0.01, 1),
        (1, 0.001, 0),
    ]
    assert len(set(described)) == 12


def test_distributions_repeat_the_flag():
    planned = plan(
        "--interpolation-range [10,100] --extrapolation-range [100,1000] "
        "--sample-distribution benford --sample-distribution truncated-normal 50 3 500 3"
    )
    assert [c.sample_distribution for c in planned.configs] == [
        ("benford",),
        ("truncated-normal", 50.0, 3.0, 500.0, 3.0),
    ]


SWEPT = {
    "--seed": "0 1",
    "--learning-rate": "0.1 0.2",
    "--regualizer": "1 2",
    "--regualizer-z": "1 2",
    "--regualizer-oob": "1 2",
    "--regualizer-scaling-start": "1 2",
    "--regualizer-scaling-end": "1 2 --regualizer-scaling-start 0",
    "--regualizer-beta-start": "0.1 0.2",
    "--regualizer-beta-end": "0.1 0.2",
    "--regualizer-beta-step": "1 2",
    "--regualizer-beta-growth": "2 3",
    "--regualizer-gate": "0 1",
    "--regualizer-npu-w": "0 1",
    "--noise-range": "[1,2] [1,0]",
    "--clip-grad-norm": "1 2",
    "--mnac-epsilon": "0 0.5",
}


@pytest.mark.parametrize("flag", SWEPT)
def test_swept_flag_gives_two_runs(flag):
    assert len(plan(f"{flag} {SWEPT[flag]}")) == 2


def test_momentum_and_value_clipping_sweep():
    assert len(plan("--optimizer sgd --momentum 0 0.9")) == 2
    benchmark = SCRIPTS["single_layer_benchmark"]
    assert len(plan("--clip-grad-value 1 2", benchmark)) == 2


@pytest.mark.parametrize("script", SCRIPTS)
def test_other_flags_take_one_value(script):
    spec = SCRIPTS[script]
    for flag in spec.flags:
        if flag.sweep or flag.kind is None or flag.dest in ("layer_file", "short_names"):
            continue
        value = "true" if flag.dest == "cuda" else "1"
        if flag.kind.metavar in ("[LOW,HIGH]", "RANGE", "[L,...]"):
            value = "[1,2]"
        if flag.kind.metavar == "[[LOW,HIGH],...]":
            value = "[[1,2]]"
        if flag.dest == "operations":
            value = "add"
        words = [value, value] if flag.choices is None else [str(flag.allowed()[0])] * 2
        with pytest.raises(OptionError, match="takes one value, got 2") as raised:
            spec.plan([flag.name, *words])
        assert raised.value.flag == flag.name


@pytest.mark.parametrize(
    ("script", "command", "flag"),
    [
        ("single_layer", "--seed 0-3 2", "--seed"),
        ("single_layer", "--learning-rate 1e-6 2e-6", "--learning-rate"),
        ("simple_function_static", "--noise-range [1,2] [1,5]", "--noise-range"),
        (
            "single_layer",
            "--interpolation-range [[-2,-1],[1,2]] [[-2,-1],[1,2],[]]",
            "--interpolation-range",
        ),
    ],
)
def test_two_runs_of_one_name_are_refused(script, command, flag):
    with pytest.raises(OptionError) as raised:
        plan(command, SCRIPTS[script])
    assert raised.value.flag == flag


def test_one_bad_combination_refuses_the_plan():
    with pytest.raises(OptionError, match="ramp starts and ends at iteration 5"):
        plan("--regualizer-scaling-start 4 5 --regualizer-scaling-end 5")


def test_one_run_and_names_are_distinct():
    assert plan("").description == "1 run"
    names = [SPEC.run_name(c) for c in plan("--seed 0-9 --regualizer 1 2").configs]
    assert len(set(names)) == 20


def test_a_dry_run_names_its_runs_one_by_one():
    planned = SPEC.parse(["--seed", "0-100000", "--dry-run"])
    assert len(planned) == 100_001
    names = planned.names()
    first = SPEC.plan(["--seed", "0"]).configs[0]
    assert next(names) == SPEC.run_name(first)
    assert next(names) == SPEC.run_name(first.replace(seed=1))
    assert "configs" not in vars(planned)


def test_a_dry_run_finds_runs_of_one_name():
    planned = SPEC.parse(["--learning-rate", "1e-6", "2e-6", "--dry-run"])
    names = planned.names()
    next(names)
    with pytest.raises(OptionError, match="1e-06 and 2e-06 give two runs of the same name"):
        next(names)
