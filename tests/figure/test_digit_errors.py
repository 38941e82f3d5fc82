"""Errors on sequences of digits: over the epochs, and by length beside those of a reference."""

import numpy as np
import pandas as pd
import pytest

from stable_nalu.errors import UsageError
from stable_nalu.figure.entries import find
from stable_nalu.figure.entry import Context
from stable_nalu.figure.runs import SEQUENCE_VALIDATION
from stable_nalu.figure.source import Source
from stable_nalu.figure.style import drawing
from tests.figure.drawing import legend_texts

KEY = "sequential_mnist_prod_errors"
ENTRY = find(KEY)
LENGTHS = (1, 10)


def rows(model, scale, z="1.0", seeds=3):
    """Errors of (seed + 1) * scale at the start, and of a tenth of that ten epochs later."""
    for seed in range(seeds):
        name = f"{model}_d-123456789_h-1_op-cumprod_r-10-{z}-1_m-l-n_i-2_e-1-10_b64_s{seed}"
        for epoch, part in ((10, 0.1), (0, 1.0)):
            error = (seed + 1) * scale * part
            tests = {f"metric.test.extrapolation.{n}.mse": n * error for n in LENGTHS}
            row = {"name": name, "step": 388 * epoch, "epoch": epoch, SEQUENCE_VALIDATION: error}
            yield row | tests


def write(folder, **tables):
    for file, found in tables.items():
        pd.DataFrame(found).to_csv(folder / f"sequential_mnist_prod_{file}.csv", index=False)


def drawn(folder):
    with drawing():
        figure, side = ENTRY.parts[0].drawn(Context(KEY, ENTRY.series, Source(folder)))
    (table,) = side.values()
    return figure, table.set_index(["model", "column"])


def test_medians_over_runs_by_epoch_and_by_length(tmp_path):
    nmu = "reregualizedlinearnac-nac-m"
    other_z = rows(nmu, 1e9, z="0.0")
    write(
        tmp_path, reference=rows(nmu, 1.0), long=[*rows(nmu, 100.0), *rows("lstm", 7.0), *other_z]
    )
    figure, table = drawn(tmp_path)
    curve = table.loc[("NMU", SEQUENCE_VALIDATION)].set_index("epoch")
    assert curve.loc[0, ["lower", "median", "upper"]].tolist() == [150, 200, 250]
    assert curve.loc[10, "median"] == pytest.approx(20)
    ends = table.loc[("LSTM", "by length")].set_index("length")
    assert list(ends.index) == list(LENGTHS)
    assert ends["median"].tolist() == pytest.approx([1.4, 14])
    # Lines of the last panel are errors divided by the reference's median at the same length.
    lines = {tuple(np.round(line.get_ydata(), 6)) for line in figure.axes[-1].lines}
    assert lines == {(1.0, 1.0), (100.0, 100.0), (7.0, 7.0)}
    assert legend_texts(figure)[0] == "solved accumulator (n = 3)"


def test_without_a_reference_nothing_is_divided(tmp_path):
    write(tmp_path, long=rows("lstm", 7.0))
    with pytest.raises(UsageError, match="no runs of the solved accumulator"):
        drawn(tmp_path)
    (tmp_path / "sequential_mnist_prod_long.csv").unlink()
    with pytest.raises(UsageError, match="nothing to draw: missing: solved accumulator"):
        drawn(tmp_path)
