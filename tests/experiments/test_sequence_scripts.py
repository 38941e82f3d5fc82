"""The recurrent scripts from their command lines."""

import os
from pathlib import Path

import pytest

from experiments import number_translation, simple_function_recurrent
from tests.sequence_runs import logged, results

SHORT = {
    simple_function_recurrent: ["--max-iterations", "1"],
    number_translation: ["--max-epochs", "1"],
}
NAMES = {simple_function_recurrent: "nac_add_0", number_translation: "nac_0"}


def script_name(script):
    return Path(script.__file__).stem


@pytest.fixture(params=list(SHORT), ids=script_name)
def script(request):
    return request.param


def test_a_run_from_start_to_end(script):
    name = script_name(script)
    assert script.main(["--layer-type", "NAC", *SHORT[script]]) == 0
    assert "loss/train/total" in logged(f"{name}/{NAMES[script]}")
    (record,) = results(name)
    assert record["layer_type"] == "NAC"


def test_an_existing_run_is_refused_with_flags_that_exist(script, capsys):
    argv = ["--layer-type", "NAC", *SHORT[script]]
    assert script.main(argv) == 0
    assert script.main(argv) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{script_name(script)}.py: error: ")
    assert error.endswith(
        "use --remove-existing-data to start anew, --load-checkpoint to continue it, "
        "or another --name-prefix\n"
    )
    assert len(results(script_name(script))) == 1
    assert script.main([*argv, "--remove-existing-data"]) == 0
    assert len(results(script_name(script))) == 2


def test_dry_run_names_the_runs_and_leaves_nothing(script, capsys, tmp_path):
    argv = ["--layer-type", "NAC", "--seed", "0-1", "--oob-mode", "clip", "--dry-run"]
    assert script.main(argv) == 0
    stem = NAMES[script].removesuffix("_0")
    name = script_name(script)
    assert capsys.readouterr().out.splitlines() == [
        f"{name}/{stem}_0_oob-c",
        f"{name}/{stem}_1_oob-c",
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--layer-type", "nac"], "argument --layer-type: 'nac' is not a choice; did you"),
        (["--id", "3"], "argument --id: there is no such flag"),
        (["--nalu-mul", "mnac"], "argument --nalu-mul: mnac shares no weights with adding"),
    ],
)
def test_wrong_flags_are_refused_in_one_line(script, argv, message, capsys, tmp_path):
    with pytest.raises(SystemExit) as stop:
        script.main(argv)
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"{script_name(script)}.py: error: {message}")
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_no_cell_can_be_built_with_is_refused(script, capsys):
    argv = ["--layer-type", "PosNALU", "--nalu-two-nac", "--nalu-mul", "mnac", *SHORT[script]]
    assert script.main(argv) == 2
    assert "PosNALULayer has no multiplying layer" in capsys.readouterr().err
    assert not Path(os.environ["TENSORBOARD_DIR"]).exists()


def test_results_that_cannot_be_written_stop_before_training(script, capsys, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("RESULTS_DIR", str(tmp_path / "file"))
    assert script.main(["--layer-type", "NAC"]) == 2
    assert "set RESULTS_DIR elsewhere" in capsys.readouterr().err
    assert not Path(os.environ["TENSORBOARD_DIR"]).exists()


def test_help_shows_the_script_and_its_flags(script, capsys):
    with pytest.raises(SystemExit) as stop:
        script.main(["--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert f"python3 experiments/{script_name(script)}.py" in text
    for flag in ("--layer-type", "--seed", "--verbose", "--cuda", SHORT[script][0]):
        assert f"  {flag} " in text
