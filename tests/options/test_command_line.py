"""Errors of a command line in Python, aliases of flags, and edges that are accepted."""

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.options import OptionError
from stable_nalu.task.table import SCRIPTS


def plan(script: str, command: str):
    return SCRIPTS[script].plan(command.split())


def test_error_names_the_flag_and_is_a_usage_error():
    with pytest.raises(OptionError) as raised:
        plan("single_layer", "--batch-size 0")
    assert raised.value.flag == "--batch-size"
    assert isinstance(raised.value, UsageError)
    assert str(raised.value) == "argument --batch-size: 0 is too small; the smallest value is 1"


@pytest.mark.parametrize("script", SCRIPTS)
def test_regularizer_is_understood_for_regualizer(script):
    spec = SCRIPTS[script]
    for flag in (f for f in spec.flags if "regualizer" in f.name and f.kind is not None):
        # The end of the ramp lies behind its start, which has another default in every script.
        number = "10000000" if flag.dest == "regualizer_scaling_end" else "1"
        value = number if flag.choices is None else flag.allowed()[0]
        if script == "simple_function_static" and flag.note:
            continue
        alias = flag.name.replace("regualizer", "regularizer")
        (typed,), (respelled,) = (spec.plan([name, value]).configs for name in (flag.name, alias))
        assert typed == respelled
        assert respelled.is_typed(flag.dest)


@pytest.mark.parametrize(
    "command",
    [
        "single_layer --max-iterations 0",
        "single_layer --layer-type ReRegualizedLinearMNAC --nmu-noise --noise-range [1,0]",
        "single_layer --interpolation-range [[-2,-0.1],[0.1,2],[]]",
        "single_layer --regualizer-scaling exp --regualizer-scaling-start 2000000",
        "single_layer --simple --num-subsets 3 --operation div",
        "single_layer --hidden-size 5 --nac-mul real-npu --first-layer NAC",
        "simple_function_static --layer-type SillyReRegualizedLinearNAC --nac-mul mnac "
        "--first-layer NAC",
    ],
)
def test_accepted_edges(command):
    script, _, words = command.partition(" ")
    assert len(plan(script, words)) == 1
