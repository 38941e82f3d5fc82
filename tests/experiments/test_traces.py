"""Lines that the original scripts print, and that these print too."""

import re

import pytest

from stable_nalu.task.arithmetic import build_dataset
from stable_nalu.task.table import SCRIPTS
from tests.experiments.scripts import run

NMU = "--operation mul --layer-type ReRegualizedLinearMNAC"
NAU = "--layer-type ReRegualizedLinearNAC"
RANGES = "--interpolation-range [-2,2] --extrapolation-range [[-6,-2],[2,6]]"
LONG = "--max-iterations 2000"
NPU = (
    f"{NAU} --nac-mul npu --operation div --regualizer-l1 --regualizer-npu-w 1 "
    "--regualizer-gate 1 --npu-clip wg --reg-scale-type madsen --regualizer-scaling-start 200 "
    "--regualizer-scaling-end 400"
)
FIRST = {0: (2.59482, 2.67373, 23.06518)}

# script, flags, iteration -> (criterion, validation error, test error)
FAST = {
    "NALU": ("single_layer", "--max-iterations 2", FIRST),
    "NALU of the benchmark": ("single_layer_benchmark", "--max-iterations 2", FIRST),
    "NMU at every fifth iteration": (
        "single_layer",
        f"{NMU} --log-interval 5 --max-iterations 20",
        {
            5: (1.03261, 1.06801, 180.00868),
            10: (1.10701, 1.05490, 178.34787),
            15: (1.08496, 1.04174, 176.66762),
            20: (1.04521, 1.02858, 174.97556),
        },
    ),
    "NMU in float64": (
        "single_layer",
        f"{NMU} --pytorch-precision 64 --max-iterations 0",
        {0: (0.36340, 0.42126, 84.43916)},
    ),
    "NMU on correlation": (
        "single_layer",
        f"{NMU} --train-criterion pcc --log-interval 1 --max-iterations 1",
        {0: (0.00292, 1.08118, 181.66614), 1: (0.00327, 1.08118, 181.66060)},
    ),
    "NMU on percentages": (
        "single_layer",
        f"{NMU} --train-criterion mape --log-interval 1 --max-iterations 1",
        {0: (0.35924, 1.08118, 181.66614), 1: (0.39167, 1.07854, 181.33423)},
    ),
    "NMU": (
        "single_layer",
        f"{NMU} --regualizer-scaling-start 1000 --regualizer-scaling-end 2000 {LONG}",
        {
            0: (0.92134, 1.08118, 181.66614),
            1000: (0.00697, 0.00691, 1.60485),
            2000: (0.0, 0.0, 0.0),
        },
    ),
    "NAU with ten inputs": (
        "single_layer",
        f"{NAU} --operation add --input-size 10 --subset-ratio 0.5 {RANGES} --seed 3 {LONG}",
        {
            0: (14.22124, 14.39218, 189.54456),
            1000: (1.46522, 1.76014, 23.07271),
            2000: (0.06560, 0.08042, 1.05403),
        },
    ),
}
SLOW = {
    "NAU and NPU": (
        "simple_function_static_npu",
        f"{NPU} --max-iterations 1000",
        {0: (0.25894, 0.22239, 3.84566), 1000: (0.00174, 0.00153, 0.00356)},
    )
}
CURRICULUM = "--operation add --layer-type NAC --learning-rate 0.01 --max-iterations 3000"
CURRICULUM_TRACE = {
    0: (2.65596, 4.99119, 36.88666),
    1000: (0.02755, 0.05173, 0.38251),
    2000: (0.00509, 0.00936, 0.06923),
    3000: (0.00197, 0.00361, 0.02668),
}
DATASETS = {"NAU and NPU": "sum(v[44:69]) / sum(v[57:82])"}
LINE = re.compile(r"^train (\d+): (\S+), inter: (\S+), extra: (\S+)$", re.MULTILINE)


def assert_trace(out, stated):
    """Lines agree to the digits that are printed, large numbers to four significant ones."""
    lines = {int(m[1]): tuple(map(float, m.groups()[1:])) for m in LINE.finditer(out)}
    for iteration, values in stated.items():
        assert lines[iteration] == pytest.approx(values, rel=1e-4, abs=1.1e-5), iteration


CASES = [
    *(pytest.param(name, *case, id=name) for name, case in FAST.items()),
    *(pytest.param(name, *case, id=name, marks=pytest.mark.slow) for name, case in SLOW.items()),
]


@pytest.mark.parametrize(("name", "script", "words", "stated"), CASES)
def test_trace(name, script, words, stated, capsys):
    assert run(script, words, "--no-save") == 0
    out = capsys.readouterr().out
    assert_trace(out, stated)
    dataset = build_dataset(SCRIPTS[script].parse(words.split()).configs[0])
    assert dataset.print_operation().startswith(DATASETS.get(name, ""))


def test_the_last_lines_of_a_nalu(capsys):
    assert run("single_layer", "--max-iterations 2 --no-save") == 0
    out = capsys.readouterr().out
    ends = dict(re.findall(r"^  - (loss_\w+): (\S+)$", out, re.MULTILINE))
    stated = {"loss_train": 2.80037, "loss_valid_inter": 2.66984, "loss_valid_extra": 23.01386}
    # A unit of the last digit: on which side of a half a value lies depends on the processor.
    assert {name: float(value) for name, value in ends.items()} == pytest.approx(
        stated, rel=0, abs=1.1e-5
    )


def test_the_curriculum_and_when_it_moves(capsys):
    assert run("single_layer_curriculum", CURRICULUM, "--no-save") == 0
    out = capsys.readouterr().out
    assert_trace(out, CURRICULUM_TRACE)
    lines = out.splitlines()
    moved = lines.index("cl update to ds 1")
    trained = [i for i, line in enumerate(lines) if line.startswith("train ")]
    assert trained[1] < moved < trained[2]


def test_an_nmu_ends_below_the_precision_of_its_weights(capsys):
    ramp = "--regualizer-scaling-start 1000 --regualizer-scaling-end 2000"
    assert run("single_layer", NMU, ramp, "--max-iterations 3000 --no-save") == 0
    (loss,) = re.findall(r"loss_train: (\S+)", capsys.readouterr().out)
    assert float(loss) == pytest.approx(4.2e-14, rel=0.02)


def test_robustness_script_prints_losses(capsys):
    words = f"{NMU} --nmu-noise --noise-range [1,5] --max-iterations 1000"
    assert run("single_layer_robust", words, "--no-save") == 0
    out = capsys.readouterr().out
    lines = re.findall(r"^train (\d+): (\S+), reg loss: (\S+), total: (\S+)$", out, re.MULTILINE)
    assert lines[0] == ("0", "0.46464", "0.00000", "0.46464")
    assert lines[1][:2] == ("1000", "0.01408")
    assert "loss_valid" not in out
