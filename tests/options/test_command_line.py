"""Errors of a command line: exit code 2, one line that names the flag and helps; aliases; files."""

import pytest

from stable_nalu.base.errors import UsageError
from stable_nalu.options import OptionError
from stable_nalu.task.table import SCRIPTS


def plan(script: str, command: str):
    return SCRIPTS[script].plan(command.split())


WRONG = """
single_layer --operation div --input-size 1 --subset-ratio 1 --num-subsets 1 | --num | 2
single_layer --sample-distribution uniform 1 | --sample-distribution | no numbers
single_layer --sample-distribution truncated-normal 0 1 0 1 --extrapolation-range [2,2] | -range | <
single_layer --layer-type iNALU --nalu-gate-shape vector | --nalu-gate-shape | iNALU
single_layer --layer-type SignNMRU --noise-range [1,0] | --noise-range | NMU
single_layer --no-save --checkpoint-interval 5 | --checkpoint-interval | --no-save
single_layer --simple --simple | --simple | given twice
single_layer --regualizer 1 --regularizer 2 | --regualizer | given twice
single_layer --learning-rate 0.1 1e-1 | --learning-rate | 0.1 is given twice
single_layer --interpolation-range [1,2] [1,2] | --interpolation-range | [1, 2] with [2, 6] is given
single_layer --seed 0-3 2 | --seed | given twice
single_layer --learning-rate 1e-6 2e-6 | --learning-rate | two runs of the same name
single_layer --interpolation-range [[-2,-1],[1,2]] [[-2,-1],[1,2],[]] | --interp | of the same name
single_layer --regualizer-scaling-start 4 5 --regualizer-scaling-end 5 | -end | ends at iteration 5
sequential_mnist --nalu-gate independent --nalu-bias | --nalu-bias | leave it out
sequential_mnist --regualizer-scaling-end 9 | --regualizer-scaling-end | comes first
number_translation --layer-type GRU --head final | --layer-type | is a cell alone
number_translation --layer-type linear | --layer-type | has no recurrent cell
number_translation --layer-type GRU --nalu-init truncated | --nalu-init | GRU is no
simple_function_static --layer-type NALU --nac-mul mnac | --nac-mul | GumbelNAC
simple_function_static --layer-type PosNAC --nac-mul mnac | --nac-mul | no multiplying
simple_function_static --regualizer-npu-w 1 | --regualizer-npu-w | _npu
simple_function_static --regualizer-gate 1 | --regualizer-gate | _npu
simple_function_static --reg-scale-type madsen | --reg-scale-type | _npu
simple_function_static --noise-range [1,2] [1,5] | --noise-range | two runs of the same name
single_layer_benchmark --mlp-depth 1000000000000 | --mlp-depth | the largest value is 1000
gridworld_time --time-limit 1000000000000 | --time-limit | the largest value is 1000000
"""
"""What tests/attacks does not try: it has values outside of each flag's limits, and near misses."""


@pytest.mark.parametrize("line", WRONG.strip().splitlines())
def test_error_is_one_line_with_exit_code_2(capsys, line):
    command, flag, hint = line.split(" | ")
    script, *words = command.split()
    with pytest.raises(SystemExit) as leaving:
        SCRIPTS[script].parse(words)
    assert leaving.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(f"{script}.py: error: ")
    assert flag in err
    assert hint in err.split(": error: ")[1]


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


def test_too_long_run_name_is_refused():
    wide = f"[0,{'1' * 120}]"
    with pytest.raises(OptionError, match="characters"):
        plan("single_layer", f"--interpolation-range {wide} --extrapolation-range {wide}")
