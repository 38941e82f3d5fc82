"""A run that is stopped and resumed is, bit for bit, the run that was never stopped."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from stable_nalu.script import EXIT_DIVERGED
from stable_nalu.writer import RunFolder, RunRecord
from tests.experiments.scripts import (
    assert_an_interruption_changes_nothing,
    assert_same_run,
    assert_same_state,
    load_script,
    read,
    run,
    run_names,
    saved,
)

NMU = ("--operation", "mul", "--layer-type", "ReRegualizedLinearMNAC")
BETA = ("--regualizer-l1", "--regualizer-beta-step", "4", "--regualizer-beta-end", "1e-2")
REALNPU = ("--operation", "div", "--layer-type", "RealNPU", *BETA)
REINIT = (
    *("--reinit", "--reinit-epoch-interval", "4", "--reinit-max-stored-losses", "6"),
    *("--reinit-loss-thr", "0.1", "--learning-rate", "1e-12"),
)
INALU = ("--operation", "mul", "--layer-type", "iNALU", *REINIT, "--clip-grad-value", "0.1")
BENFORD = (
    *("--operation", "div", "--sample-distribution", "benford"),
    *("--interpolation-range", "[10,100]", "--extrapolation-range", "[100,1000]"),
)

CASES = {
    "NMU": ("single_layer", NMU),
    "sNMU": ("single_layer", (*NMU, "--nmu-noise")),
    "batch sNMU": ("single_layer", (*NMU, "--nmu-noise", "--noise-range", "[1,0]")),
    "sgd": ("single_layer", (*NMU, "--optimizer", "sgd", "--momentum", "0.9")),
    "float64": ("single_layer", (*NMU, "--pytorch-precision", "64")),
    "RealNPU with beta": ("single_layer", REALNPU),
    "verbose": ("single_layer", (*REALNPU, "--verbose")),
    "Benford inputs": ("single_layer", (*BENFORD, "--layer-type", "SignNMRU")),
    "iNALU that restarts": ("single_layer_benchmark", INALU),
    "curriculum": (
        "single_layer_curriculum",
        ("--operation", "add", "--layer-type", "ReRegualizedLinearNAC", "--learning-rate", "0.5"),
    ),
    "curriculum with noise": ("single_layer_curriculum", (*NMU, "--nmu-noise")),
    "robustness": ("single_layer_robust", (*NMU, "--nmu-noise")),
    "Gumbel": ("simple_function_static", ("--layer-type", "GumbelNAC")),
    "hard softmax, which samples in evaluation": (
        "simple_function_static",
        ("--layer-type", "HardSoftmaxNAC"),
    ),
    "bandit": ("simple_function_static", ("--layer-type", "GradientBanditNAC")),
    "rotating weights": ("simple_function_static", ("--layer-type", "MultiWeightNAU")),
    "z penalty": ("simple_function_static", ("--layer-type", "NAC", "--regualizer-z", "1")),
}


def run_as(script, prefix, *words):
    """`run` under another name prefix."""
    return load_script(script).main(["--no-cuda", "--name-prefix", prefix, *words])


def name_as(script, prefix, *words):
    return f"{prefix}/{run_names(script, *words)[0].removeprefix('t/')}"


@pytest.mark.parametrize("interval", ["3", "5"])
@pytest.mark.parametrize("case", CASES)
def test_a_resumed_run(case, interval):
    script, words = CASES[case]
    words = (*words, "--log-interval", interval)
    assert run_as(script, "parts", *words, "--max-iterations", "10") == 0
    assert run_as(script, "parts", *words, "--max-iterations", "20", "--load-checkpoint") == 0
    assert run_as(script, "whole", *words, "--max-iterations", "20") == 0
    assert_same_run(name_as(script, "parts", *words), name_as(script, "whole", *words))


def test_these_cases_do_what_they_are_for():
    script, words = CASES["iNALU that restarts"]
    assert run(script, *words, "--max-iterations", "20", "--log-interval", "3") == 0
    (name,) = run_names(script, *words)
    assert saved(name)["progress"]["restarts"]["count"] == 2
    assert read(name).series("reinit/text_summary") == {8: b"0", 16: b"1"}
    script, words = CASES["curriculum"]
    words = (*words, "--max-iterations", "20", "--log-interval", "3")
    assert run(script, *words) == 0
    assert saved(run_names(script, *words)[0])["progress"]["samples"]["stage"] > 0


def test_beta_goes_on():
    script, words = CASES["RealNPU with beta"]
    words = (*words, "--log-interval", "1")
    assert run(script, *words, "--max-iterations", "9") == 0
    assert run(script, *words, "--max-iterations", "14", "--load-checkpoint") == 0
    beta = read(run_names(script, *words)[0]).series("L1/train/beta")
    expected = [1e-5] * 4 + [1e-4] * 4 + [1e-3] * 4 + [1e-2] * 3
    assert list(beta.values()) == pytest.approx(expected)


def test_resuming_twice_and_the_log_of_it():
    words = (*NMU, "--log-interval", "4")
    for last in ("3", "8", "20"):
        more = () if last == "3" else ("--load-checkpoint",)
        assert run("single_layer", *words, "--max-iterations", last, *more) == 0
    (name,) = run_names("single_layer", *words)
    record = read(name)
    assert list(record.series("metric/valid/interpolation")) == [0, 4, 8, 12, 16, 20]
    content = json.loads((record.folder / ".run.json").read_text())
    assert len(content["resumed_with"]) == 2
    assert "--max-iterations 3" in content["command"]


def test_a_checkpoint_on_the_way_is_enough():
    words = (*NMU, "--nmu-noise", "--log-interval", "4")
    assert run_as("single_layer", "whole", *words, "--max-iterations", "20") == 0
    (name,) = run_names("single_layer", *words)
    assert run("single_layer", *words, "--max-iterations", "10") == 0
    early = saved(name)
    # A longer run whose last checkpoint lies in its middle: what came after it is lost.
    assert run("single_layer", *words, "--max-iterations", "17", "--load-checkpoint") == 0
    torch.save(early, Path(os.environ["SAVE_DIR"]) / f"{name}.pth")
    assert run("single_layer", *words, "--max-iterations", "20", "--load-checkpoint") == 0
    assert_same_run(name, name_as("single_layer", "whole", *words))


def test_checkpoints_while_training():
    words = (*NMU, "--nmu-noise", "--log-interval", "4", "--max-iterations", "20")
    assert run_as("single_layer", "a", *words) == 0
    assert run_as("single_layer", "b", *words, "--checkpoint-interval", "3") == 0
    assert_same_run(name_as("single_layer", "a", *words), name_as("single_layer", "b", *words))


def test_nothing_left_to_train(capsys):
    words = (*NMU, "--max-iterations", "5")
    assert run("single_layer", *words) == 0
    before = read(run_names("single_layer", *words)[0])
    assert run("single_layer", *words, "--load-checkpoint") == 0
    assert "already trained to iteration 5" in capsys.readouterr().out
    assert read(run_names("single_layer", *words)[0]).values == before.values


def test_resuming_with_another_log_interval():
    assert run("single_layer", *NMU, "--max-iterations", "4", "--log-interval", "2") == 0
    more = ("--max-iterations", "8", "--log-interval", "4", "--load-checkpoint")
    assert run("single_layer", *NMU, *more) == 0
    record = read(run_names("single_layer", *NMU)[0])
    assert list(record.series("metric/valid/interpolation")) == [0, 2, 4, 8]


def test_a_run_that_a_process_trains_is_in_use(capsys):
    words = (*NMU, "--max-iterations", "2")
    (name,) = run_names("single_layer", *words)
    record = RunRecord.create("single_layer", {}, "")
    with RunFolder.claim(Path(os.environ["TENSORBOARD_DIR"]) / name, record):
        for flag in ("--load-checkpoint", "--resume"):
            assert run("single_layer", *words, flag) == 2
            assert f"in use by process {os.getpid()}" in capsys.readouterr().err


@pytest.mark.parametrize("words", [("--seed", "0"), ("--seed", "0-1"), ("--verbose",)])
def test_the_same_command_gives_the_same_files(words, monkeypatch, tmp_path):
    words = ("--layer-type", "NAC", *words, "--max-iterations", "20", "--log-interval", "4")
    words = (*words, "--operation", "add", "--save-best-model")
    found = []
    for place in ("one", "two"):
        np.random.seed(len(found))
        monkeypatch.setenv("SAVE_DIR", str(tmp_path / place / "save"))
        monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path / place / "log"))
        assert run("simple_function_static", *words) == 0
        root = tmp_path / place / "save"
        found.append({path.relative_to(root): path for path in root.rglob("*") if path.is_file()})
    one, two = found
    assert one.keys() == two.keys()
    for name, path in one.items():
        if name.parts[0].startswith("lowest_interp"):
            assert path.read_bytes() == two[name].read_bytes()
    for name in run_names("simple_function_static", *words):
        states = [torch.load(files[Path(f"{name}.pth")], weights_only=True) for files in found]
        for state in states:
            state["progress"].pop("event_file")  # It is called by the time of the start.
        assert_same_state(*states)


def test_the_file_has_the_published_keys():
    assert run("single_layer", *NMU, "--max-iterations", "3") == 0
    checkpoint = saved(run_names("single_layer", *NMU)[0])
    published = {"epoch", "model_state_dict", "optimizer_state_dict", "torch_rng_state"}
    assert checkpoint.keys() >= published | {"numpy_rng_state", "args"}
    assert checkpoint["epoch"] == 4
    assert list(checkpoint["model_state_dict"]) == ["layer_1.layer.W"]
    assert checkpoint["args"] is None
    assert checkpoint["config"]["layer_type"] == "ReRegualizedLinearMNAC"


def test_no_save(tmp_path):
    assert run("single_layer", *NMU, "--max-iterations", "3", "--no-save") == 0
    assert not (tmp_path / "save").exists()


def test_a_loss_that_is_not_a_number_ends_a_resumed_run_where_it_ends_others(monkeypatch):
    """Roots of negative numbers; no weight of the bandit is trained, and none becomes NaN."""
    words = (
        *("--operation", "root", "--layer-type", "GradientBanditNAC", "--log-interval", "4"),
        *("--interpolation-range", "[-2,-1]", "--extrapolation-range", "[-6,-2]"),
        *("--max-iterations", "12"),
    )
    assert_an_interruption_changes_nothing(monkeypatch, "single_layer", words, 4, EXIT_DIVERGED)
    (name,) = run_names("single_layer", *words, "--name-prefix", "parts")
    assert saved(name)["progress"]["diverged_at"] == 4


DIGITS = ("--data-source", "digits", "--batch-size", "500")
LONGER = {
    "simple_function_recurrent": ("--operation", "add", "--max-iterations", "2", "4"),
    "number_translation": ("--max-epochs", "2", "3"),
    "number_translation on the split of the paper": (
        *("--number-range", "paper", "--head", "final", "--max-epochs", "2", "3"),
    ),
    "identity_autoencoder": ("--log-interval", "3", "--max-iterations", "2", "4"),
    "sequential_mnist": (
        *(*DIGITS, "--interpolation-length", "1", "--extrapolation-lengths", "[1,2]"),
        *("--max-epochs", "1", "2"),
    ),
    "two_digit_mnist": (
        *(*DIGITS, "--samples-per-permutation", "1", "--log-interval", "3", "--max-epochs"),
        *("1", "2"),
    ),
}


@pytest.mark.parametrize("case", LONGER)
def test_a_run_that_is_taken_further_drops_its_last_row(case):
    script, (*words, flag, short, whole) = case.partition(" ")[0], LONGER[case]
    assert run_as(script, "parts", *words, flag, short) == 0
    before = list(read(name_as(script, "parts", *words)).values)
    assert run_as(script, "parts", *words, flag, whole, "--resume") == 0
    assert run_as(script, "whole", *words, flag, whole) == 0
    one, other = (name_as(script, prefix, *words) for prefix in ("parts", "whole"))
    assert_same_run(one, other)
    assert set(before) - set(read(one).values), "a row was dropped"
