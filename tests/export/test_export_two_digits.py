"""The exporter of runs on pairs of digits, on logs as the scripts write them."""

import csv

import pytest

from export.two_digit_mnist.two_digit_mnist_reader import main
from stable_nalu.figure.entries import render
from stable_nalu.figure.runs import Context
from stable_nalu.paper.index import find_figure
from stable_nalu.reader import TensorboardMetricTwoDigitMNISTReader
from stable_nalu.task.pairs import QUANTITIES
from stable_nalu.writer import RunWriter

MEASURES = [
    *(f"{quantity}/{{loss}}" for quantity in QUANTITIES),
    *(f"{quantity}/acc" for quantity in QUANTITIES),
    *(f"{quantity}_rounded/acc" for quantity in QUANTITIES),
]


def write_run(folder, states, loss, *, weights=True, epochs=2):
    """A log as the training loop writes it: `epoch` first, several updates an epoch."""
    writer = RunWriter(folder)
    for epoch in range(epochs):
        for update in range(3):
            writer.scalar("epoch", epoch)
            if update == 0:
                for place, state in enumerate(states):
                    for number, measure in enumerate(MEASURES):
                        tag = f"metric/{state}/{measure.format(loss=loss)}"
                        writer.scalar(tag, 100 * place + 10 * epoch + number)
                if weights:
                    writer.scalar("label2out/weights/w0", 0.25 + epoch)
                    writer.scalar("label2out/weights/w1", 0.5 + epoch)
            writer.scalar("network/nac/W/sparsity_error", 0.1)
            writer.commit(3 * epoch + update + 1)
    writer.close()


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def expected_header(states, loss):
    names = [
        f"metric.{state}.{m.format(loss=loss).replace('/', '.')}"
        for state in states
        for m in MEASURES
    ]
    return ["name", names[0], "step", "epoch", *names[1:], "label2out.w0", "label2out.w1"]


@pytest.mark.parametrize(
    ("states", "loss"), [(("train", "test"), "mse"), (("train", "valid", "test"), "loss")]
)
def test_columns_and_rows(tmp_path, states, loss):
    write_run(tmp_path / "runs" / "1_f0_op-mul_nalmT_learnLT_s0", states, loss)
    out = tmp_path / "out.csv"
    assert main(["--tensorboard-dir", str(tmp_path / "runs"), "--csv-out", str(out)]) == 0
    header, *rows = table(out)
    assert header == expected_header(states, loss)
    assert [row[:4] for row in rows] == [
        ["1_f0_op-mul_nalmT_learnLT_s0", "0.0", "0", "0.0"],
        ["1_f0_op-mul_nalmT_learnLT_s0", "10.0", "3", "1.0"],
    ]
    assert [row[-2:] for row in rows] == [["0.25", "0.5"], ["1.25", "1.5"]]


def test_a_file_for_every_folder_of_runs(tmp_path):
    for experiment in ("mul", "nmu"):
        write_run(tmp_path / "tb" / experiment / "1_f0_op-mul_nalmF_learnLF_s0", ("test",), "mse")
    words = ["--tensorboard-dir", str(tmp_path / "tb"), "--csv-out", str(tmp_path / "csv")]
    assert main([*words, "--from-parent-folder"]) == 0
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == ["mul.csv", "nmu.csv"]
    frames = list(TensorboardMetricTwoDigitMNISTReader(tmp_path / "tb" / "mul", step_start=1))
    assert list(frames[0]["step"]) == [0, 3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "stem", "states", "loss"),
    [
        (
            "static-mnist-mul-colour-concat",
            "nmu_MSE_Adam-lr0.001_TPS-no-concat-conv",
            ("train", "valid", "test"),
            "loss",
        )
    ],
)
def test_figures_are_drawn_from_exports_of_both_kinds(tmp_path, key, stem, states, loss):
    """Errors may be called mse or loss, and a validation set need not be there."""
    for fold in (0, 1):
        write_run(tmp_path / "tb" / f"3_f{fold}_op-mul_nalmT_learnLT_s{fold}", states, loss)
    out = tmp_path / "csv" / f"{stem}.csv"
    assert main(["--tensorboard-dir", str(tmp_path / "tb"), "--csv-out", str(out)]) == 0
    context = Context(find_figure(key), tmp_path / "csv")
    written = render(context, tmp_path / "plots")
    endings = {path.name.removeprefix(key) for path in written if path.suffix == ".pdf"}
    curves = {f"_ep-{m}{lab}.pdf" for m in ("acc", "rounded_acc") for lab in ("", "-lab1", "-lab2")}
    assert endings == {"_loss.pdf", "_acc.pdf", "_rounded_acc.pdf"} | curves
    rows = table(tmp_path / "plots" / f"{key}_loss_plot_data.csv")
    shown = {cell for row in rows for cell in row if cell.endswith(")")}
    assert ("output (valid)" in shown) == ("valid" in states)
