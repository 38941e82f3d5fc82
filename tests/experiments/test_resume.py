"""A run that is stopped and resumed is, bit for bit, the run that was never stopped."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch

from stable_nalu.base.script import EXIT_DIVERGED
from tests.experiments.scripts import (
    assert_an_interruption_changes_nothing,
    assert_same_run,
    bits,
    read,
    run,
    run_names,
    saved,
)
from tests.sequence_runs import results

NMU = "--operation mul --layer-type ReRegualizedLinearMNAC"
REALNPU = (
    "--operation div --layer-type RealNPU --regualizer-l1 --regualizer-beta-step 4 "
    "--regualizer-beta-end 1e-2"
)
NOISE = f"{NMU} --nmu-noise"
INALU = (
    "--operation mul --layer-type iNALU --reinit --reinit-epoch-interval 4 --clip-grad-value 0.1 "
    "--reinit-max-stored-losses 6 --reinit-loss-thr 0.1 --learning-rate 1e-12"
)
BENFORD = (
    "--operation div --layer-type SignNMRU --sample-distribution benford "
    "--interpolation-range [10,100] --extrapolation-range [100,1000]"
)
SCORES = (
    "--random-models 3 --layer-type NALU --input-size 10 --subset-ratio 0.2 --seed 0-1 "
    "--extrapolation-rule exceed --extrapolation-range [1,3]"
)
CURRICULUM = "--operation add --layer-type ReRegualizedLinearNAC --learning-rate 0.5"

CASES = {
    "NMU": ("single_layer", NMU),
    "sNMU": ("single_layer", NOISE),
    "batch sNMU": ("single_layer", f"{NOISE} --noise-range [1,0]"),
    "sgd": ("single_layer", f"{NMU} --optimizer sgd --momentum 0.9"),
    "float64": ("single_layer", f"{NMU} --pytorch-precision 64"),
    "RealNPU with beta": ("single_layer", REALNPU),
    "verbose": ("single_layer", f"{REALNPU} --verbose"),
    "Benford inputs": ("single_layer", BENFORD),
    "iNALU that restarts": ("single_layer_benchmark", INALU),
    "curriculum": ("single_layer_curriculum", CURRICULUM),
    "curriculum with noise": ("single_layer_curriculum", NOISE),
    "robustness": ("single_layer_robust", NOISE),
    "Gumbel": ("simple_function_static", "--layer-type GumbelNAC"),
    "draws in evaluation, too": ("simple_function_static", "--layer-type HardSoftmaxNAC"),
    "bandit": ("simple_function_static", "--layer-type GradientBanditNAC"),
    "rotating weights": ("simple_function_static", "--layer-type MultiWeightNAU"),
    "z penalty": ("simple_function_static", "--layer-type NAC --regualizer-z 1"),
    "scores by untrained models": ("simple_function_static", SCORES),
}
ENDS_AT_A_LOG_POINT = ("NMU", "RealNPU with beta", "iNALU that restarts", "curriculum")
"""Cases whose first part ends there, too; all others end between two."""


def run_as(script, prefix, *words):
    """`run` under another name prefix."""
    return run(script, "--name-prefix", prefix, *words)


def name_as(script, prefix, *words):
    return run_names(script, "--name-prefix", prefix, *words)[0]


@pytest.mark.parametrize(
    ("case", "interval"), [*((c, 3) for c in CASES), *((c, 5) for c in ENDS_AT_A_LOG_POINT)]
)
def test_a_resumed_run(case, interval):
    script, words = CASES[case]
    words = f"{words} --log-interval {interval}"
    assert run_as(script, "parts", words, "--max-iterations 10") == 0
    assert run_as(script, "parts", words, "--max-iterations 20 --load-checkpoint") == 0
    assert run_as(script, "whole", words, "--max-iterations 20") == 0
    both = (run_names(script, "--name-prefix", prefix, words) for prefix in ("parts", "whole"))
    for parts, whole in zip(*both, strict=True):
        assert_same_run(parts, whole)
    # What the cases are for.
    if (case, interval) == ("iNALU that restarts", 3):
        assert saved(whole)["progress"]["task"]["count"] == 2
        assert read(whole).series("reinit/text_summary") == {8: b"0", 16: b"1"}
    if case == "curriculum":
        assert saved(whole)["progress"]["task"]["stage"] > 0


def test_each_run_restarts_by_itself():
    # So small a rate that the error stays: such a run is stuck, the others improve.
    words = f"{INALU.replace('thr 0.1', 'thr 1')} 0.001 --max-iterations 24 --log-interval 6"
    assert run("single_layer_benchmark", words) == 0
    names = run_names("single_layer_benchmark", words)
    counts = [saved(name)["progress"]["task"]["count"] for name in names]
    assert counts[0] > counts[1] == 0
    for name, count in zip(names, counts, strict=True):
        texts = read(name).series("reinit/text_summary")
        assert list(texts.values()) == [str(k).encode() for k in range(count)]


def test_beta_goes_on(capsys):
    words = f"{REALNPU} --log-interval 1"
    assert run("single_layer", words, "--max-iterations 9") == 0
    assert run("single_layer", words, "--max-iterations 14 --load-checkpoint") == 0
    (name,) = run_names("single_layer", words)
    expected = [1e-5] * 4 + [1e-4] * 4 + [1e-3] * 4 + [1e-2] * 3
    assert list(read(name).series("L1/train/beta").values()) == pytest.approx(expected)
    state, path = saved(name), Path(os.environ["SAVE_DIR"]) / f"{name}.pth"
    state["beta"] = "much"
    torch.save(state, path)
    assert run("single_layer", words, "--max-iterations 20 --load-checkpoint") == 2
    assert str(path) in capsys.readouterr().err


def test_resuming_twice_with_another_log_interval_and_the_log_of_it():
    for more in (
        "3 --log-interval 4",
        "8 --log-interval 4 --resume",
        "20 --log-interval 6 --resume",
    ):
        assert run("single_layer", NMU, "--max-iterations", more) == 0
    (name,) = run_names("single_layer", NMU)
    record = read(name)
    assert list(record.series("metric/valid/interpolation")) == [0, 4, 8, 12, 18, 20]
    content = json.loads((record.folder / ".run.json").read_text())
    assert len(content["resumed_with"]) == 2
    assert "--max-iterations 3 " in content["command"]


def test_a_checkpoint_on_the_way_is_enough():
    words = f"{NOISE} --log-interval 4"
    assert run_as("single_layer", "whole", words, "--max-iterations 20") == 0
    (name,) = run_names("single_layer", words)
    assert run("single_layer", words, "--max-iterations 10") == 0
    early = saved(name)
    # A longer run whose last checkpoint lies in its middle: what came after it is lost.
    assert run("single_layer", words, "--max-iterations 17 --load-checkpoint") == 0
    torch.save(early, Path(os.environ["SAVE_DIR"]) / f"{name}.pth")
    assert run("single_layer", words, "--max-iterations 20 --load-checkpoint") == 0
    assert_same_run(name, name_as("single_layer", "whole", words))


def test_checkpoints_while_training():
    words = f"{NOISE} --log-interval 4 --max-iterations 20"
    assert run_as("single_layer", "a", words) == 0
    assert run_as("single_layer", "b", words, "--checkpoint-interval 3") == 0
    assert_same_run(name_as("single_layer", "a", words), name_as("single_layer", "b", words))


@pytest.mark.parametrize("words", ["--seed 0", "--seed 0-1", "--verbose"])
def test_the_same_command_gives_the_same_files(words, monkeypatch, tmp_path):
    words = (
        f"--layer-type NAC --operation add --max-iterations 20 --log-interval 4 {words} "
        "--save-best-model"
    )
    found = []
    for place in ("one", "two"):
        np.random.seed(len(found))
        monkeypatch.setenv("SAVE_DIR", str(tmp_path / place / "save"))
        monkeypatch.setenv("TENSORBOARD_DIR", str(tmp_path / place / "log"))
        assert run("simple_function_static", words) == 0
        root = tmp_path / place / "save"
        found.append({path.relative_to(root): path for path in root.rglob("*") if path.is_file()})
    one, two = found
    assert one.keys() == two.keys()
    for name, path in one.items():
        if name.parts[0].startswith("lowest_interp"):
            assert path.read_bytes() == two[name].read_bytes()
    for name in run_names("simple_function_static", words):
        states = [torch.load(files[Path(f"{name}.pth")], weights_only=True) for files in found]
        assert bits(states[0]) == bits(states[1])


def test_the_file_has_the_published_keys():
    assert run("single_layer", NMU, "--max-iterations 3") == 0
    checkpoint = saved(run_names("single_layer", NMU)[0])
    published = {"epoch", "model_state_dict", "optimizer_state_dict", "torch_rng_state"}
    assert checkpoint.keys() >= published | {"numpy_rng_state", "args"}
    assert checkpoint["epoch"] == 4
    assert list(checkpoint["model_state_dict"]) == ["layer_1.layer.W"]
    assert checkpoint["args"] is None
    assert checkpoint["config"]["layer_type"] == "ReRegualizedLinearMNAC"


def test_no_save(tmp_path):
    assert run("single_layer", NMU, "--max-iterations 3 --no-save") == 0
    assert not (tmp_path / "save").exists()


def test_a_loss_that_is_not_a_number_ends_a_resumed_run_where_it_ends_others(monkeypatch):
    """Roots of negative numbers; no weight of the bandit is trained, and none becomes NaN."""
    words = (
        "--operation root --layer-type GradientBanditNAC --log-interval 4 --max-iterations 12 "
        "--interpolation-range [-2,-1] --extrapolation-range [-6,-2]"
    )
    assert_an_interruption_changes_nothing(monkeypatch, "single_layer", [words], 4, EXIT_DIVERGED)
    (name,) = run_names("single_layer", words, "--name-prefix parts")
    assert saved(name)["progress"]["diverged_at"] == 4


PAIRS = "--data-source digits --samples-per-permutation 1 --batch-size 45"
UNIT = f"--use-nalm --learn-labels2out {PAIRS}"
SUMS = "--extrapolation-length 15 --verbose --max-iterations"
SCORED = (
    "--layer-type NAC --interpolation-length 3 --extrapolation-length 7 --batch-size 8 "
    "--input-range [0,1] --subset-ratio 0.25 --learning-rate 1e-2 --random-models 2"
)
CHAIN = "--layer-type NMU --sum-layer NAU --noise 0.05"
LONGER = {
    "simple_function_recurrent": (f"--layer-type GumbelNAC {SUMS}", 2, 4),
    "simple_function_recurrent of two states": (f"--engine torch --layer-type LSTM {SUMS}", 2, 4),
    "simple_function_recurrent with scores": (f"{SCORED} --max-iterations", 3, 7),
    "number_translation": ("--layer-type GumbelNAC --verbose --max-epochs", 2, 3),
    "number_translation on the split of the paper": (
        "--number-range paper --head final --layer-type NALU --pytorch-precision 64 --max-epochs",
        2,
        3,
    ),
    "identity_autoencoder": ("--log-interval 3 --max-iterations", 2, 4),
    "depth": (f"{CHAIN} --log-interval 10 --max-iterations", 18, 40),
    "equations": ("--layer-option width=1 --log-interval 10 --max-iterations", 8, 20),
    "two_digit_mnist with a ramp": (
        f"--operation mul {UNIT} --nmu-noise --noise-range [1,0] --regualizer-scaling-start 0 "
        "--regualizer-scaling-end 2 --max-epochs",
        0,
        1,
    ),
    "two_digit_mnist with decay": (
        f"--operation div {UNIT} --nalm-name nmru-sign --weight-decay 1e-2 --max-epochs",
        0,
        1,
    ),
    "ST_mnist_labels": (
        f"--operation mul --img2label-model TPS-no-concat-conv --optimizer adam {PAIRS} "
        "--scheduler-step-size 1 --max-epochs",
        0,
        1,
    ),
}
OF_IMAGES = ("two_digit_mnist with a ramp", "two_digit_mnist with decay", "ST_mnist_labels")
SLOW = OF_IMAGES[1:]


@pytest.mark.parametrize(
    "case", [pytest.param(c, marks=pytest.mark.slow) if c in SLOW else c for c in LONGER]
)
def test_a_run_that_is_taken_further_drops_its_last_row(case):
    script, (words, short, whole) = case.partition(" ")[0], LONGER[case]
    assert run_as(script, "parts", f"{words} {short}") == 0
    one, other = (name_as(script, prefix, f"{words} {whole}") for prefix in ("parts", "whole"))
    before = list(read(one).values)
    assert run_as(script, "parts", f"{words} {whole} --resume") == 0
    assert run_as(script, "whole", f"{words} {whole}") == 0
    assert_same_run(one, other)
    if case in ("simple_function_recurrent", "number_translation"):
        assert run_as(script, "parts", f"{words} {whole} --resume") == 0
        _, last, at_once = results(script)  # a line of results for each that has trained
        assert last | {"name_prefix": "whole"} == at_once
    if "scores" not in case and case not in OF_IMAGES:  # which are logged at log points only
        assert set(before) - set(read(one).values), "a row was dropped"
