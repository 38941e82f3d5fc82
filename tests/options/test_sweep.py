"""Flags, help and sweeps: which runs a command plans, in what order, and what is refused."""

import shlex

import pytest

from stable_nalu.options import OptionError
from stable_nalu.task.table import SCRIPTS

SPEC = SCRIPTS["single_layer"]


def plan(command: str, spec=SPEC):
    return spec.plan(command.split())


@pytest.mark.parametrize(
    ("command", "description", "flags", "values"),
    [
        ("", "1 run", ["seed"], [(0,)]),
        (
            "--seed 0-24 --interpolation-range [-20,-10] [-2,-1] [-1.2,-1.1] [-0.2,-0.1] [-2,2] "
            "[0.1,0.2] [1,2] [1.1,1.2] [10,20]",
            "225 runs = 25 seeds x 9 ranges",
            ["interpolation_range", "extrapolation_range", "seed"],
            [([-20, -10], [2, 6], seed) for seed in range(25)] + [([-2, -1], [2, 6], 0)],
        ),
        (
            "--interpolation-range [1,2] [3,4] --extrapolation-range [2,6] [4,8]",
            "2 runs = 2 ranges",
            ["interpolation_range", "extrapolation_range"],
            [([1, 2], [2, 6]), ([3, 4], [4, 8])],
        ),
        (
            "--seed 0-1 --regualizer 0 1 10 --learning-rate 1e-3 1e-2",
            "12 runs = 2 seeds x 3 values of --regualizer x 2 values of --learning-rate",
            ["regualizer", "learning_rate", "seed"],
            [(r, rate, seed) for r in (0, 1, 10) for rate in (0.001, 0.01) for seed in (0, 1)],
        ),
        (
            "--interpolation-range [10,100] --extrapolation-range [100,1000] "
            "--sample-distribution benford --sample-distribution truncated-normal 50 3 500 3",
            "2 runs = 2 values of --sample-distribution",
            ["sample_distribution"],
            [(("benford",),), (("truncated-normal", 50.0, 3.0, 500.0, 3.0),)],
        ),
    ],
)
def test_ranges_then_other_flags_then_seeds(command, description, flags, values):
    planned = plan(command)
    assert planned.description == description
    found = [tuple(getattr(config, flag) for flag in flags) for config in planned.configs]
    assert found[: len(values)] == values
    assert len({SPEC.run_name(config) for config in planned.configs}) == len(planned)


@pytest.mark.parametrize(
    "command",
    """--seed 0 1; --learning-rate 0.1 0.2; --regualizer 1 2; --regualizer-z 1 2
    --regualizer-oob 1 2; --regualizer-scaling-start 1 2; --regualizer-beta-start 0.1 0.2
    --regualizer-scaling-end 1 2 --regualizer-scaling-start 0; --regualizer-beta-end 0.1 0.2
    --regualizer-beta-step 1 2; --regualizer-beta-growth 2 3; --regualizer-gate 0 1
    --regualizer-npu-w 0 1; --noise-range [1,2] [1,0]; --clip-grad-norm 1 2; --mnac-epsilon 0 0.5
    --optimizer sgd --momentum 0 0.9""".replace("\n", ";").split(";"),
)
def test_swept_flag_gives_two_runs(command):
    assert len(plan(command)) == 2


@pytest.mark.parametrize("script", SCRIPTS)
def test_other_flags_take_one_value(script):
    spec = SCRIPTS[script]
    for flag in spec.flags:
        if flag.sweep or flag.kind is None or flag.dest in ("layer_file", "short_names"):
            continue
        if flag.kind.metavar == "WORD ..." or flag.dest == "task_file":
            continue
        value = {"cuda": "true", "operations": "add"}.get(flag.dest, "1")
        if flag.kind.metavar in ("[LOW,HIGH]", "RANGE", "[L,...]"):
            value = "[1,2]"
        if flag.kind.metavar == "[[LOW,HIGH],...]":
            value = "[[1,2]]"
        words = [value, value] if flag.choices is None else [str(flag.allowed()[0])] * 2
        with pytest.raises(OptionError, match="takes one value, got 2") as raised:
            spec.plan([flag.name, *words])
        assert raised.value.flag == flag.name


def test_a_dry_run_names_its_runs_one_by_one():
    planned = SPEC.parse(["--seed", "0-100000", "--dry-run"])
    assert len(planned) == 100_001
    names = planned.names()
    first = SPEC.plan(["--seed", "0"]).configs[0]
    assert next(names) == SPEC.run_name(first)
    assert next(names) == SPEC.run_name(first.replace(seed=1))
    assert "configs" not in vars(planned)


FLAG_COUNTS = {
    **{"simple_function_static": 60, "single_layer": 64},
    **{"single_layer_robust": 62, "single_layer_benchmark": 69},
}


def config_of(script: str, command: str = ""):
    (config,) = SCRIPTS[script].plan(command.split()).configs
    return config


@pytest.mark.parametrize("script", FLAG_COUNTS)
def test_every_published_flag_is_there(script):
    """The published count (less two refused flags of the static script), and run control."""
    new = {"checkpoint_interval", "ensemble_size", "workers", "no_compile", "engine", "show_engine"}
    new |= {"dry_run", "resume", "layer_file"}
    dests = [flag.dest for flag in SCRIPTS[script].flags if not flag.young]
    assert len(dests) == len(set(dests))
    assert len(set(dests) - new) == FLAG_COUNTS[script]


def test_argv_asks_for_the_same_run():
    spec = SCRIPTS["single_layer"]
    command = (
        "--regularizer 10 --seed 3-4 --nmu-noise --interpolation-range [[-2,-1],[1,2],[]] "
        "--sample-distribution truncated-normal 0 1 10 1 --learning-rate 1e-3"
    )
    for config in spec.plan(command.split()).configs:
        (again,) = spec.plan(spec.argv_of(config)).configs
        assert again == config
        assert spec.run_name(again) == spec.run_name(config)
    assert spec.argv_of(config_of("single_layer")) == []
    config = config_of("sequential_mnist", "--mnist-digits 13579")
    assert config_of("sequential_mnist", " ".join(config.spec.argv_of(config))) == config


@pytest.mark.parametrize("script", SCRIPTS)
def test_help(script, capsys):
    with pytest.raises(SystemExit) as leaving:
        SCRIPTS[script].parse(["--seed", "1", "--help"])
    assert leaving.value.code == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert all(len(line) <= 100 for line in out.splitlines())
    for group in SCRIPTS[script].groups:
        assert f"\n{group.title}:\n" in out
    for flag in SCRIPTS[script].flags:
        assert f"\n  {flag.name}" in out
        assert flag.help.endswith("."), flag.name
    assert " ".join(out.split()).count(" Default: ") == len(SCRIPTS[script].flags)
    example = shlex.split(out.split("example:\n")[1].split("\n\n")[0].replace("\\\n", " "))
    assert example[1] == f"experiments/{script}.py"
    assert SCRIPTS[script].plan(example[2:]).configs
