"""Configurations, layer options, help text and the flag tables of the documentation."""

import pytest

from stable_nalu.task.table import SCRIPTS

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
    example = out.split("example:\n")[1].split("\n\n")[0].replace("\\", " ")
    assert example.split()[1] == f"experiments/{script}.py"
    assert SCRIPTS[script].plan(example.split()[2:]).configs
