"""What runs log and print: gates of tags, values before the update, the best model."""

import csv
import os
import re
from pathlib import Path

import pytest
import torch

from stable_nalu.base import script as base_script
from stable_nalu.base.files import tensorboard_root
from stable_nalu.result.export import arithmetic as export
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID, RESULT_TEST, RESULT_VALID
from tests.experiments.scripts import read, run, run_names, saved

NMU = "--operation mul --layer-type ReRegualizedLinearMNAC"
BETA = "--regualizer-l1 --regualizer-beta-step 2 --regualizer-beta-end 1"
REALNPU = f"--operation div --layer-type RealNPU {BETA}"
LOSSES = [f"loss/train/{name}" for name in ("critation", "regualizer", "total")]


def record_of(*words):
    assert run(*words) == 0
    return read(run_names(*words)[0])


def test_losses_at_log_points_and_at_every_iteration_of_verbose_runs():
    words = f"{NMU} --max-iterations 7 --log-interval 3"
    quiet = record_of("single_layer", words)
    assert [list(quiet.series(tag)) for tag in LOSSES] == [[0, 3, 6]] * 3
    loud = record_of("single_layer", words, "--verbose --remove-existing-data")
    assert [list(loud.series(tag)) for tag in LOSSES] == [list(range(8))] * 3
    for tag in (*LOSSES, "metric/valid/interpolation", "network/layer_1/nac/W/sparsity_error"):
        shared = {step: loud.series(tag)[step] for step in quiet.series(tag)}
        assert shared == quiet.series(tag)
    assert list(loud.series("network/layer_1/nac/W/grad/norm")) == [0, 3, 6]
    assert "network/layer_1/nac/regualizer/W" in loud.tags
    assert not quiet.tags & {"network/layer_1/nac/W/grad/norm", "network/x/mean"}


@pytest.mark.parametrize("seeds", ["0", "0-1"])
def test_the_trained_network_is_logged_where_no_log_point_is_at_the_end(seeds):
    words = ("single_layer", f"{NMU} --seed {seeds} --log-interval 3 --max-iterations")
    for last, logged in (("7", [0, 3, 6, 7]), ("6", [0, 3, 6])):
        assert run(*words, last, "--remove-existing-data") == 0
        for record in map(read, run_names(*words, last)):
            for tag, result in ((METRIC_VALID, RESULT_VALID), (METRIC_TEST, RESULT_TEST)):
                assert list(record.series(tag)) == logged
                at_end = record.series(tag)[int(last)] == record.series(result)[int(last)]
                assert at_end == (last == "7"), "a log point tells what is before its update"
            assert list(record.series("network/layer_1/nac/W/sparsity_error")) == logged
            assert all(list(record.series(tag)) == [0, 3, 6] for tag in LOSSES)


def test_the_last_row_is_exported(tmp_path):
    words = f"{NMU} --max-iterations 7 --log-interval 3"
    record, out = record_of("single_layer", words), tmp_path / "out.csv"
    assert export(["--tensorboard-dir", str(tensorboard_root() / "t"), "--csv-out", str(out)]) == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["0", "3", "6", "7"]
    assert float(rows[-1]["metric.test.extrapolation"]) == record.series(RESULT_TEST)[7]
    assert float(rows[-1]["sparse.error.max"]) > 0


def test_the_norm_is_that_of_the_parameters_that_the_loss_saw():
    words = f"{REALNPU} --max-iterations 6 --log-interval 3 --learning-rate 0.1"
    record = record_of("single_layer", words, "--verbose")
    norms, betas = record.series("L1/train/L1-loss"), [1e-5, 1e-5, 1e-4, 1e-4, 1e-3, 1e-3, 1e-2]
    penalties = record.series("loss/train/regualizer")
    assert list(norms) == list(range(7))
    assert min(norms.values()) > 0
    for step, beta in enumerate(betas):
        assert penalties[step] == pytest.approx(beta * norms[step], rel=1e-5)


@pytest.mark.parametrize(
    ("script", "verbose", "shown"),
    [
        ("single_layer", False, True),
        ("single_layer_benchmark", False, True),
        ("single_layer_curriculum", False, True),
        ("simple_function_static_npu", False, False),
        ("simple_function_static_npu", True, True),
        ("single_layer_robust", False, False),
        ("single_layer_robust", True, True),
    ],
)
def test_beta_at_log_points(script, verbose, shown):
    words = f"--layer-type ReRegualizedLinearNAC {BETA} --max-iterations 6 --log-interval 3"
    record = record_of(script, words, "--verbose" * verbose)
    expected = {0: 1e-5, 3: 1e-4, 6: 1e-2} if shown else {}
    assert record.series("L1/train/beta") == pytest.approx(expected)
    assert ("L1/train/L1-loss" in record.tags) == verbose


@pytest.mark.parametrize(("layer", "equal"), [("NAC", True), ("NRU", False)])
def test_the_curriculum_validates_in_training_mode(layer, equal):
    # The NRU has another formula in training; the NAC has one.
    words = f"--operation div --layer-type {layer} --interpolation-range [-2,2]"
    errors = [
        record_of(script, words, "--max-iterations 0").series("metric/valid/interpolation")[0]
        for script in ("single_layer_curriculum", "single_layer")
    ]
    assert (errors[0] == errors[1]) == equal


def test_what_a_run_prints(formulas, capsys):
    words = "--operation mul --layer-type ReRegualizedLinearMNAC --max-iterations 1"
    assert run("single_layer", words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "layer   NMU (ReRegualizedLinearMNAC)",
        "task    single_layer: mul of 2 inputs, trained on U[1,2), tested on U[2,6)",
        "runs    1 run: max_iterations 1",
    ]
    end = lines.index("finished:")
    keys = [line.split(":")[0] for line in lines[end + 1 : end + 4]]
    assert keys == ["  - loss_train", "  - loss_valid_inter", "  - loss_valid_extra"]
    assert lines[end + 4].endswith("not solved: test error 181 (below 1e-05 is solved)")
    assert lines[end + 5] == "formula wrong: the answer is always 1.000, not x1*x2"
    assert [line.split()[0] for line in lines[end + 6 :]] == ["logs", "models", "next"]
    assert "export/simple_function_static.py --tensorboard-dir " in lines[-1]


def test_all_flags_and_weights_are_for_verbose_runs(capsys):
    (name,) = run_names("simple_function_static", "--max-iterations 1")
    words = "--max-iterations 1 --no-save --remove-existing-data"
    for verbose in ("", "--verbose"):
        assert run("simple_function_static", words, verbose) == 0
        out = capsys.readouterr().out
        lines = (
            "running",
            "  - interpolation_range: [1, 2]",
            name,
            "Success (last epoch): \tFalse",
        )
        found = [line in out.splitlines() for line in lines]
        assert ("tensor(" in out) == all(found) == any(found) == bool(verbose)


def best_files(name):
    root = Path(os.environ["SAVE_DIR"])
    models, parameters = root / "lowest_interp_model", root / "lowest_interp_params"
    return models / f"{name}.pth", parameters / f"{name}.txt"


STATIC = "--layer-type ReRegualizedLinearNAC --input-size 4 --log-interval 1"


def test_the_best_model_is_that_of_the_lowest_validation_error():
    # So large a step that the error rises at once and falls later.
    words = f"{STATIC} --learning-rate 0.7 --save-best-model"
    record = record_of("simple_function_static", words, "--max-iterations 12 --verbose")
    errors = record.series("metric/valid/interpolation")
    best = min(errors, key=errors.get)
    assert 0 < best < 12
    (name,) = run_names("simple_function_static", words)
    model, text = best_files(name)
    state = torch.load(model, weights_only=True)
    assert list(state) == ["layer_1.layer.W", "layer_2.layer.W"]
    first_line, *rest = text.read_text().splitlines()
    assert first_line == f"epoch: {best}"
    assert rest[0] == "layer_1.layer.W"
    assert "\n".join(rest).count("tensor(") == 2
    logged = record.series("/network/layer_2/nac/W/text_summary")[best].decode()
    stored = state["layer_2.layer.W"].flatten().tolist()
    numbers = [float(n) for n in re.findall(r"-?\d+\.\d*(?:e-?\d+)?", logged)]
    assert numbers == pytest.approx(stored, rel=1e-6)


def test_a_resumed_run_keeps_a_better_model():
    words = f"{STATIC} --learning-rate 0.7 --save-best-model"
    assert run("simple_function_static", words, "--max-iterations 8") == 0
    (name,) = run_names("simple_function_static", words)
    best = saved(name)["progress"]["best"]
    assert best == min(read(name).series("metric/valid/interpolation").values())
    model, _ = best_files(name)
    before = model.read_bytes()
    more = "--max-iterations 9 --load-checkpoint"
    assert run("simple_function_static", words, more) == 0
    assert read(name).series("metric/valid/interpolation")[9] > best
    assert model.read_bytes() == before


def test_threads_are_those_that_a_batch_system_grants(monkeypatch):
    monkeypatch.setattr(base_script, "usable_cores", lambda: 4)
    for value, expected in (("2", 2), ("1000", 4), ("some", 1)):
        monkeypatch.setenv("SLURM_CPUS_PER_TASK", value)
        assert run("single_layer", "--dry-run") == 0
        assert torch.get_num_threads() == expected
