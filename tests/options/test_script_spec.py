"""Configurations, layer options, help text and the flag tables of the documentation."""

import pytest

from stable_nalu.layer import entries
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


def test_config_is_read_only_and_complete():
    config = config_of("simple_function_static", "--seed 3")
    assert (config.seed, config.W_set_count, config.clip_grad_norm) == (3, 5, None)
    assert (config.npu_Wr_init, config.sample_distribution) == ("xavier-uniform", ("uniform",))
    assert "clip_grad_norm" not in config.as_dict()
    assert (config.is_typed("seed"), config.is_typed("id")) == (True, False)
    for act, says in (
        (lambda: setattr(config, "seed", 4), "read-only"),
        (lambda: delattr(config, "seed"), "read-only"),
        (lambda: config.nothing, "no option 'nothing'"),
        (lambda: config.replace(clip_grad_norm=1.0), "no option clip_grad_norm"),
    ):
        with pytest.raises(AttributeError, match=says):
            act()


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
def test_layer_options_are_known_to_the_registry(script):
    known = frozenset().union(*(e.options for e in entries().values() if e.layer is not None))
    options = SCRIPTS[script].layer_options(config_of(script))
    assert set(options) <= known | {"own_options"}
    if script == "number_translation":  # The defaults of layers.
        assert (options["nac_oob"], options["regualizer_shape"]) == ("regualized", "squared")


def test_what_cannot_change_a_result_is_not_compared():
    unnamed = SCRIPTS["single_layer"].unnamed(config_of("single_layer"))
    assert unnamed["max_iterations"] == 100000
    assert unnamed["interpolation_range"] == [1, 2]
    assert not {"verbose", "no_cuda", "workers", "load_checkpoint", "regualizer"} & set(unnamed)


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
