"""Runs on digit sequences as tables."""

import numpy as np

from stable_nalu.base.files import cells_of
from stable_nalu.writer import RunWriter
from tests.exported import main_of

main = main_of("export/sequential_mnist.py")


def write_run(folder, weights=((0.25, 0.75),)):
    """Two logged epochs, 0 and 5, of four updates each, as training logs them."""
    writer = RunWriter(folder)
    for update in range(1, 25):
        epoch = (update - 1) // 4
        writer.scalar("epoch", epoch)
        if update in (1, 21):
            for name in ("train", "valid", "test/extrapolation/10", "test/extrapolation/2"):
                writer.scalar(f"metric/{name}/mse", update + len(name))
                writer.scalar(f"metric/{name}/acc/all", 0.5)
            for step in (0.125, 0.25):
                writer.scalar("network/cell/recurrent/nac/W/sparsity_error", step)
                writer.tensor("network/cell/recurrent/nac/W", np.array(weights))
        writer.scalar("loss/train/total", 3.0)
        writer.commit(update)
    writer.close()


COLUMNS = [
    *("name", "metric.train.mse", "step", "wall.time", "epoch", "metric.valid.mse"),
    *("metric.test.extrapolation.10.mse", "metric.test.extrapolation.2.mse"),
    *("weights.w0", "weights.w1", "sparse.error.max", "recursive.weight"),
]


def exported(tmp_path):
    path = tmp_path / "out.csv"
    assert main(["--tensorboard-dir", str(tmp_path / "runs"), "--csv-out", str(path)]) == 0
    return cells_of(path)


def test_rows_and_columns(tmp_path):
    write_run(tmp_path / "runs" / "a")
    rows = exported(tmp_path)
    assert list(rows[0]) == COLUMNS
    shown = [{k: v for k, v in row.items() if k != "wall.time"} for row in rows]
    assert shown == [
        {
            "name": "a",
            "metric.train.mse": str(update + 5.0),
            "step": str(update - 1),
            "epoch": epoch,
            "metric.valid.mse": str(update + 5.0),
            "metric.test.extrapolation.10.mse": str(update + 21.0),
            "metric.test.extrapolation.2.mse": str(update + 20.0),
            "weights.w0": "0.25",
            "weights.w1": "0.75",
            "sparse.error.max": "0.25",
            "recursive.weight": "",
        }
        for update, epoch in ((1, "0.0"), (21, "5.0"))
    ]
