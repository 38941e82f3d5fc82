"""On real digits, arithmetic cells go on where sequences are longer than in training.

An LSTM of one unit is the published baseline. Its output stays within -1 and 1, so it cannot follow
sums and products of digits at any length. It has half of the epochs: its errors were then within a
hundredth of those after all of them.
"""

import pytest

from tests.experiments.scripts import read, run, run_names

COMMON = "--data-source digits --no-save --regualizer-scaling-start 500"
PRODUCT = (
    f"{COMMON} --operation prod --mnist-digits 12345 --interpolation-length 2 --batch-size 16 "
    "--extrapolation-lengths [2,5] --regualizer-scaling-end 1000"
)
SUM = (
    f"{COMMON} --operation sum --interpolation-length 5 --batch-size 8 "
    "--extrapolation-lengths [5,10] --regualizer-scaling-end 1500"
)
NMU = "--layer-type ReRegualizedLinearNAC --nac-mul mnac --regualizer-z 1"
NAU = "--layer-type ReRegualizedLinearNAC"
LSTM = "--layer-type LSTM"


def errors(command):
    """Mean squared error of the last evaluation for each test length."""
    words = command.split()
    assert run("sequential_mnist", *words) == 0
    (name,) = run_names("sequential_mnist", *words)
    record = read(name)
    tags = [tag for tag in record.tags if tag.startswith("metric/test/") and tag.endswith("/mse")]
    return {int(tag.split("/")[3]): list(record.series(tag).values())[-1] for tag in tags}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "cell", "longer", "epochs"),
    [(PRODUCT, NMU, 5, 90), (SUM, NAU, 10, 60)],
    ids=["product", "sum"],
)
def test_arithmetic_cells_extrapolate_and_an_lstm_does_not(task, cell, longer, epochs, monkeypatch):
    # Tests run side by side, one a core.
    monkeypatch.setenv("LSB_DJOB_NUMPROC", "1")
    ours = errors(f"{task} {cell} --max-epochs {epochs}")
    lstm = errors(f"{task} {LSTM} --max-epochs {epochs // 2}")
    trained = min(ours)
    assert ours[trained] < lstm[trained] / 10
    assert ours[longer] < lstm[longer] / 5
