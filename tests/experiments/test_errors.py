"""What goes wrong is said in one line that names the flag; nothing is deleted or half done."""

import os
import re
from pathlib import Path

import pytest
import torch

from tests.experiments.scripts import ARITHMETIC, load_script, read, run, run_names

SHORT = ("--max-iterations", "2", "--log-interval", "1")
DIVIDED = ("--operation", "div", "--random-models", "3")
NMU = ("--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC")


def refused(capsys, script, *words):
    """The one line that a refused command line prints."""
    assert run(script, *words) == 2
    out, err = capsys.readouterr()
    assert err.endswith("\n")
    (line,) = err.splitlines()
    assert line.startswith(f"{script}.py: error: ")
    assert "Traceback" not in out + err
    return line


def contents(folder):
    """Path -> bytes of all files below a folder."""
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


COMMON = {
    "malformed range": (("--interpolation-range", "[1,2"), "--interpolation-range", "[1,2]"),
    "words for a range": (("--interpolation-range", "one"), "--interpolation-range", "[1,2]"),
    "reversed range": (("--extrapolation-range", "[6,2]"), "--extrapolation-range", "[2,6]"),
    "one part of two": (("--interpolation-range", "[[1,2]]"), "--interpolation-range", ""),
    "four parts": (
        ("--interpolation-range", "[[1,2],[3,4],[5,6],[7,8]]"),
        "--interpolation-range",
        "",
    ),
    "two parts of unequal width": (
        ("--extrapolation-range", "[[-6,-2],[2,7]]"),
        "--extrapolation-range",
        "same width",
    ),
    "unknown layer": (("--layer-type", "NMUU"), "--layer-type", ""),
    "unknown operation": (("--operation", "plus"), "--operation", "add"),
    "slice without elements": (("--subset-ratio", "0"), "--subset-ratio", ""),
    "slices beyond the input": (
        ("--subset-ratio", "1", "--overlap-ratio", "0"),
        "--subset-ratio",
        "--input-size",
    ),
    "overlap of more than all": (("--overlap-ratio", "1.5"), "--overlap-ratio", ""),
    "negative iterations": (("--max-iterations", "-1"), "--max-iterations", ""),
    "iterations that are no number": (("--max-iterations", "many"), "--max-iterations", ""),
    "unknown flag": (("--max-iteration", "5"), "--max-iteration", "--max-iterations"),
    "a flag without its value": (("--seed",), "--seed", ""),
    "a switch with a value": (("--verbose", "yes"), "--verbose", ""),
    "a negative seed": (("--seed", "-3"), "--seed", ""),
    "an empty batch": (("--batch-size", "0"), "--batch-size", ""),
    "a ramp without length": (
        ("--regualizer-scaling-start", "5", "--regualizer-scaling-end", "5"),
        "--regualizer-scaling-end",
        "",
    ),
    "an unknown precision": (("--pytorch-precision", "16"), "--pytorch-precision", "32"),
    "a device that is contradicted": (("--cuda", "true"), "--cuda", ""),
    "the first half of a pair": (
        ("--layer-type", "SillyReRegualizedLinearNAC"),
        "--layer-type",
        "--nac-mul mnac",
    ),
}


@pytest.mark.parametrize("script", ["single_layer", "simple_function_static"])
@pytest.mark.parametrize("case", COMMON)
def test_refused_command_lines(case, script, capsys, tmp_path):
    words, flag, remedy = COMMON[case]
    line = refused(capsys, script, *words)
    assert flag in line
    assert remedy in line
    assert not (tmp_path / "tensorboard").exists()
    assert not (tmp_path / "save").exists()


@pytest.mark.parametrize("script", ARITHMETIC)
def test_every_script_refuses_a_reversed_range(script, capsys):
    assert "--interpolation-range" in refused(capsys, script, "--interpolation-range", "[2,1]")


@pytest.mark.parametrize(
    ("script", "words", "flag"),
    [
        ("single_layer", ("--mlp-depth", "2"), "--mlp-depth"),
        ("single_layer_benchmark", ("--mlp-depth", "2"), "--mlp-depth"),
        ("single_layer", ("--trash-cell",), "--trash-cell"),
        ("single_layer", ("--nalu-mul", "mnac"), "--nalu-mul"),
        ("simple_function_static", ("--nac-mul", "mnac"), "--nac-mul"),
        ("simple_function_static", ("--regualizer-l1",), "--regualizer-l1"),
        ("simple_function_static", ("--weight-pull-start", "5"), "--weight-pull-start"),
        ("simple_function_static", ("--random-models", "-1"), "--random-models"),
        ("simple_function_static", ("--extrapolation-rule", "exceeds"), "exceed"),
        ("simple_function_static_npu", ("--random-models", "3"), "--random-models"),
        (
            "simple_function_static",
            ("--extrapolation-rule", "exceed", "--extrapolation-range", "[1,1.5]"),
            "--extrapolation-range: of 100,000 samples",
        ),
        (
            "simple_function_static",
            (*DIVIDED, "--interpolation-range", "[-2,2]"),
            "--interpolation-range",
        ),
        (
            "simple_function_static",
            (*DIVIDED, "--extrapolation-range", "[[-6,-2],[2,6]]"),
            "--extrapolation-range",
        ),
        (
            "simple_function_static",
            (*DIVIDED, "--interpolation-range", "[0,1]", "--subset-ratio", "0.02"),
            "--interpolation-range",
        ),
        ("single_layer", ("--sample-distribution", "poisson"), "--sample-distribution"),
        ("single_layer", ("--sample-distribution", "truncated-normal", "1"), "--sample-dist"),
        ("single_layer", ("--sample-distribution", "benford"), "-range"),
        ("single_layer", ("--clip-grad-norm", "0"), "--clip-grad-norm"),
        ("single_layer", ("--momentum", "0.9"), "--momentum"),
        ("simple_function_recurrent", ("--layer-type", "NPU"), "--layer-type"),
        ("simple_function_recurrent", ("--input-size", "8"), "--input-size"),
        ("simple_function_recurrent", ("--subset-ratio", "0.05"), "--subset-ratio"),
        ("simple_function_recurrent", ("--overlap-ratio", "0.2"), "--overlap-ratio"),
        ("simple_function_recurrent", ("--interpolation-length", "0"), "--interpolation-length"),
        ("simple_function_recurrent", ("--input-range", "[1,0]"), "--input-range"),
        ("simple_function_recurrent", ("--momentum", "0.9"), "--momentum"),
        (
            "simple_function_recurrent",
            (*DIVIDED, "--input-range", "[-1,1]"),
            "--input-range",
        ),
        ("number_translation", ("--layer-type", "RealNPU"), "--layer-type"),
        ("simple_function_recurrent", ("--max-iterations", "-1"), "--max-iterations"),
        ("number_translation", ("--max-epochs", "-1"), "--max-epochs"),
    ],
)
def test_flags_that_do_not_fit(script, words, flag, capsys):
    with pytest.raises(SystemExit) as end:
        load_script(script).main(list(words))
    assert end.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert flag in line


@pytest.mark.parametrize(
    "words",
    [
        ("--operation", "div", "--interpolation-range", "[-2,2]"),
        (*DIVIDED, "--interpolation-range", "[0,1]"),
        ("--operation", "mul", "--interpolation-range", "[-2,2]", "--random-models", "3"),
        (*DIVIDED, "--subset-ratio", "0.01", "--extrapolation-range", "[[-6,-2],[2,6]]"),
        ("--extrapolation-rule", "exceed", "--extrapolation-range", "[1,2.5]"),
    ],
)
def test_division_is_refused_only_where_a_score_has_no_base(words):
    assert len(run_names("simple_function_static", *words)) == 1


def test_existing_data_is_not_touched(capsys, tmp_path):
    assert run("single_layer", *NMU, *SHORT) == 0
    capsys.readouterr()
    before = contents(tmp_path)
    line = refused(capsys, "single_layer", *NMU, *SHORT)
    for flag in ("--remove-existing-data", "--load-checkpoint", "--name-prefix"):
        assert flag in line
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("script", "one", "other"),
    [
        (
            "simple_function_static",
            ("--layer-type", "NAC", "--nac-mul", "safe"),
            ("--layer-type", "NAC", "--nac-mul", "max-safe"),
        ),
        (
            "single_layer",
            ("--layer-type", "NALU", "--nalu-mul", "safe"),
            ("--layer-type", "NALU", "--nalu-mul", "max-safe"),
        ),
        ("single_layer", (*NMU, "--nac-mul", "mnac"), (*NMU, "--nac-mul", "max-safe")),
        ("single_layer", (*NMU, "--pytorch-precision", "32"), (*NMU, "--pytorch-precision", "64")),
    ],
)
def test_two_configurations_of_one_name(script, one, other, capsys, tmp_path):
    assert run_names(script, *one) == run_names(script, *other)
    assert run(script, *one, *SHORT) == 0
    capsys.readouterr()
    before = contents(tmp_path)
    for more in (("--remove-existing-data",), ("--load-checkpoint", "--max-iterations", "5"), ()):
        words = other if more else (*other, "--remove-existing-data")
        line = refused(capsys, script, *words, *(more or SHORT))
        flag, values = one[-2], (one[-1], other[-1])
        assert flag.removeprefix("--").replace("-", "_") in line.replace("-", "_")
        for value in values:
            assert re.search(rf"\b{value}\b", line)
        assert contents(tmp_path) == before


@pytest.mark.parametrize("root", ["TENSORBOARD_DIR", "SAVE_DIR"])
def test_a_folder_that_cannot_be_written(root, capsys, tmp_path, monkeypatch):
    assert run("single_layer", *NMU, *SHORT) == 0
    capsys.readouterr()
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(root, str(tmp_path / "file" / "below"))
    before = contents(tmp_path)
    line = refused(capsys, "single_layer", *NMU, *SHORT, "--remove-existing-data")
    assert root in line
    assert contents(tmp_path) == before


def test_models_that_cannot_be_saved_matter_only_when_they_are_saved(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SAVE_DIR", str(tmp_path / "file" / "below"))
    assert run("single_layer", *NMU, *SHORT, "--no-save") == 0
    words = ("--layer-type", "NAC", *SHORT, "--no-save", "--save-best-model")
    capsys.readouterr()
    assert "SAVE_DIR" in refused(capsys, "simple_function_static", *words)


def test_a_missing_checkpoint(capsys, tmp_path):
    line = refused(capsys, "single_layer", *NMU, *SHORT, "--load-checkpoint")
    assert "--load-checkpoint" in line
    assert not (tmp_path / "tensorboard").exists()


@pytest.mark.parametrize(
    "content", [b"no checkpoint", {"epoch": 1}, {"epoch": 1, "code": pytest.raises}, [1, 2], 5]
)
def test_a_file_that_is_no_checkpoint(content, capsys, tmp_path):
    (name,) = run_names("single_layer", *NMU)
    path = Path(os.environ["SAVE_DIR"]) / f"{name}.pth"
    path.parent.mkdir(parents=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        torch.save(content, path)
    line = refused(capsys, "single_layer", *NMU, *SHORT, "--load-checkpoint")
    assert "--load-checkpoint" in line
    assert not (tmp_path / "tensorboard").exists()


def test_a_checkpoint_of_another_configuration(capsys, tmp_path):
    # Same name: the output size is not in it.
    assert run("single_layer", *NMU, *SHORT, "--output-size", "2") == 0
    capsys.readouterr()
    before = contents(tmp_path)
    words = (*NMU, "--max-iterations", "5", "--load-checkpoint")
    line = refused(capsys, "single_layer", *words)
    assert "--output-size" in line
    assert contents(tmp_path) == before


def test_a_checkpoint_whose_log_is_gone(capsys, tmp_path):
    assert run("single_layer", *NMU, *SHORT) == 0
    (name,) = run_names("single_layer", *NMU)
    (events,) = (tmp_path / "tensorboard" / name).glob("events*")
    events.unlink()
    capsys.readouterr()
    line = refused(capsys, "single_layer", *NMU, "--max-iterations", "5", "--load-checkpoint")
    assert "--load-checkpoint" in line


def test_a_trained_model_is_a_run_that_exists(capsys, tmp_path):
    """Though its log is elsewhere."""
    words = ("--layer-type", "NAC", *SHORT)
    script = "simple_function_static"
    assert run(script, *words, "--save-best-model") == 0
    (tmp_path / "tensorboard").rename(tmp_path / "logs")
    before = contents(tmp_path)
    capsys.readouterr()
    line = refused(capsys, script, *words)
    assert "already holds a trained model" in line
    for flag in ("--remove-existing-data", "--load-checkpoint", "--name-prefix"):
        assert flag in line
    assert "lowest_interp" in refused(capsys, script, *words, "--no-save", "--save-best-model")
    assert contents(tmp_path) == before
    assert run(script, *words, "--no-save") == 0
    assert run(script, *words, "--remove-existing-data") == 0


@pytest.mark.parametrize("flag", ["--load-checkpoint", "--resume"])
def test_checkpoints_that_were_exchanged(flag, capsys):
    assert run("single_layer", *NMU, *SHORT, "--seed", "0-1") == 0
    names = run_names("single_layer", *NMU, "--seed", "0-1")
    one, other = (Path(os.environ["SAVE_DIR"]) / f"{name}.pth" for name in names)
    aside = one.with_suffix(".aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)
    capsys.readouterr()
    words = (*NMU, "--seed", "0-1", "--max-iterations", "5", flag)
    line = refused(capsys, "single_layer", *words)
    assert f"argument {flag}: the checkpoint of {names[0]} is of another configuration" in line
    assert "--seed 1 there, 0 here" in line


def test_errors_name_the_flag_that_asked(capsys):
    (name,) = run_names("single_layer", *NMU)
    path = Path(os.environ["SAVE_DIR"]) / f"{name}.pth"
    path.parent.mkdir(parents=True)
    torch.save({"epoch": 1}, path, pickle_protocol=4)
    line = refused(capsys, "single_layer", *NMU, *SHORT, "--resume")
    assert "argument --resume: " in line
    assert "--load-checkpoint" not in line


def test_removing_and_resuming_at_once(capsys, tmp_path):
    assert run("single_layer", *NMU, *SHORT) == 0
    before = contents(tmp_path)
    capsys.readouterr()
    words = ("--max-iterations", "5", "--load-checkpoint", "--remove-existing-data")
    assert "--remove-existing-data" in refused(capsys, "single_layer", *NMU, *words)
    assert contents(tmp_path) == before


def test_removing_starts_anew():
    words = (*NMU, "--log-interval", "1")
    assert run("single_layer", *words, "--max-iterations", "5") == 0
    assert run("single_layer", *words, "--max-iterations", "2", "--remove-existing-data") == 0
    record = read(run_names("single_layer", *words)[0])
    assert list(record.series("loss/train/total")) == [0, 1, 2]


def test_a_plan_with_a_taken_folder_touches_no_run(capsys, tmp_path):
    words = (*NMU, *SHORT, "--mnac-epsilon", "0", "0.1")
    assert run("single_layer", *words) == 0
    capsys.readouterr()
    last = run_names("single_layer", *words)[1]
    (tmp_path / "tensorboard" / last / "mine.txt").write_text("kept by hand")
    before = contents(tmp_path)
    assert "mine.txt" in refused(capsys, "single_layer", *words, "--remove-existing-data")
    assert contents(tmp_path) == before
