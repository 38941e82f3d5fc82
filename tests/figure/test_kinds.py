"""What each kind of drawing consists of, what is computed without runs, order and colours."""

import numpy as np
import pytest
import torch

from stable_nalu.base.errors import UsageError
from stable_nalu.figure.runs import SEQUENCE_VALIDATION
from stable_nalu.figure.style import drawing, looks, new_figure, save
from stable_nalu.layer.own_layers import register
from stable_nalu.layer.registry import drop, entries
from stable_nalu.statistics.setups import NAC_MUL
from tests.figure.drawing import by_gid, exported, legend_texts, metrics, own, run_name, titles


def test_curves_of_runs_that_end_apart_say_how_many_there_are(tmp_path):
    (tmp_path / "a.csv").write_text(
        "name,epoch,metric.test.output.acc\n0_f0_op-mul_nalmT_learnLT_s0,0,10\n"
        "0_f0_op-mul_nalmT_learnLT_s0,1,30\n0_f1_op-mul_nalmT_learnLT_s0,0,20\n"
    )
    product, _ = own(tmp_path, ["a.csv"], ["x"], "curve")
    assert product.side["mine_plot_data"]["mean"].tolist() == [15, 30]
    assert legend_texts(product.figure) == ["x (n = 1 to 2)"]


def test_curves_of_arithmetic_runs_show_every_seed_and_the_threshold(tmp_path):
    """Quartiles count a diverged run as infinite; a run that ended early is not counted."""
    errors = {0: (8.0, 0.0), 1: (2.0, 1e-9), 2: (6.0, "nan"), 3: (7.0,)}
    runs = {
        run_name(seed=seed, operation="mul", interpolation=trained): [
            (1000 * at, 1.0, error, 0.1) for at, error in enumerate(tests)
        ]
        for seed, tests in errors.items()
        for trained in ("1-2", "10-20")[: len(tests)]
    }
    metrics(tmp_path / "a.csv", runs)
    product, _ = own(tmp_path, ["a.csv"], ["x"], "curve", threshold=1e-3)
    table = product.side["mine_plot_data"].set_index(["interpolation.range", "step"])
    columns = ["lower", "median", "upper", "runs"]
    assert table.loc[("U[10,20]", 0), columns].tolist() == [2, 6, 8, 3]
    assert table.loc[("U[1,2]", 1000), columns].tolist() == [0, 1e-9, np.inf, 3]
    figure = product.figure
    assert titles(figure) == ["× on U[1,2)", "× on U[10,20)"]
    first, second = figure.axes
    assert (len(by_gid(first, "run")), len(by_gid(second, "run"))) == (4, 3)
    assert all(1e-3 in [line.get_ydata()[0] for line in axes.lines] for axes in figure.axes)
    assert first.get_yscale() == "log"
    assert legend_texts(figure) == ["x (n = 7)"]


def test_paths_of_weights_and_gates(tmp_path):
    """As `plot.py --csv --kind path` draws them: a star at either end of every run's path."""
    columns = "name,step,weights.w0,weights.w1,gate.g0,gate.g1\n"
    rows = [f"run{n},{step},0.{n},-0.{step},0,1\n" for n in range(4) for step in range(3)]
    (tmp_path / "a.csv").write_text(columns + "".join(rows))
    product, _ = own(tmp_path, ["a.csv"], ["Real NPU (modified)"], "path")
    axes, bar = product.figure.axes
    assert axes.get_title() == "Real NPU (modified)"
    assert bar.get_ylabel() == "step"
    assert len([line for line in axes.lines if line.get_marker() == "*"]) == 2 * 2 * 4
    assert len(product.side["mine_plot_data"]) == 12


def sequences(model, scale, z="1.0"):
    """Errors of (seed + 1) * scale at the start, and of a tenth of that ten epochs later."""
    for seed in range(3):
        name = f"{model}_d-123456789_h-1_op-cumprod_r-10-{z}-1_m-l-n_i-2_e-1-10_b64_s{seed}"
        for epoch, part in ((10, 0.1), (0, 1.0)):
            error = (seed + 1) * scale * part
            tests = {f"metric.test.extrapolation.{n}.mse": n * error for n in (1, 10)}
            row = {"name": name, "step": 388 * epoch, "epoch": epoch, SEQUENCE_VALIDATION: error}
            yield row | tests


def test_errors_on_sequences_by_epoch_and_by_length(tmp_path):
    """Medians over runs; those by length are divided by those of a reference."""
    nmu, stem = "reregualizedlinearnac-nac-m", "sequential_mnist_prod"
    others = [*sequences("lstm", 7.0), *sequences(nmu, 1e9, z="0.0")]
    tables = {f"{stem}_long": [*sequences(nmu, 100.0), *others]}
    with pytest.raises(UsageError, match="nothing to draw: missing: solved accumulator"):
        exported(f"{stem}_errors", tmp_path, {})
    with pytest.raises(UsageError, match="no runs of the solved accumulator"):
        exported(f"{stem}_errors", tmp_path, tables)
    tables[f"{stem}_reference"] = sequences(nmu, 1.0)
    (product,) = exported(f"{stem}_errors", tmp_path, tables)
    table = product.side[f"{stem}_errors_plot_data"].set_index(["model", "column"])
    curve = table.loc[("NMU", SEQUENCE_VALIDATION)].set_index("epoch")
    assert curve.loc[0, ["lower", "median", "upper"]].tolist() == [150, 200, 250]
    assert curve.loc[10, "median"] == pytest.approx(20)
    ends = table.loc[("LSTM", "by length")].set_index("length")
    assert list(ends.index) == [1, 10]
    assert ends["median"].tolist() == pytest.approx([1.4, 14])
    # Lines of the last panel are errors divided by the reference's median at the same length.
    lines = {tuple(np.round(line.get_ydata(), 6)) for line in product.figure.axes[-1].lines}
    assert lines == {(1.0, 1.0), (100.0, 100.0), (7.0, 7.0)}
    assert legend_texts(product.figure)[0] == "solved accumulator (n = 3)"


def test_a_unit_has_one_colour_and_marker_and_own_layers_are_bold():
    def drawn(*labels):
        return {label: (look.color, look.marker) for label, look in looks(labels).items()}

    units = [entry for entry in entries().values() if entry.look]
    for entry in units:
        assert drawn("mine", entry.shown)[entry.shown] == entry.look
    first = drawn(NAC_MUL, "iNALU", "NALU", "NMU", "NPU", "Real NPU", "NRU", "NMRU", "NMU, other")
    assert len(set(first.values())) == len(first)
    assert first["NMU"] == drawn("sNMU [1,5]", "Real NPU (modified)", "nmu")["nmu"]
    register(torch.nn.Linear, key="Mine", label="Mine")
    try:
        assert [look.bold for look in looks(["NMU", "Mine"]).values()] == [False, True]
    finally:
        drop("Mine")


def test_files_are_repeatable_and_fonts_embedded(tmp_path):
    def once(folder):
        with drawing():
            figure = new_figure((5, 4))
            figure.add_subplot().set_title("Text")
            folder.mkdir()
            return [save(figure, folder / f"f.{form}", form) for form in ("pdf", "png")]

    first, second = once(tmp_path / "a"), once(tmp_path / "b")
    assert [a.read_bytes() for a in first] == [b.read_bytes() for b in second]
    assert b"/FontFile2" in first[0].read_bytes()
    assert b"/Type3" not in first[0].read_bytes()
