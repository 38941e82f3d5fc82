"""A run that is stopped, killed and resumed beside another seed is, bit for bit, the run alone."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from stable_nalu.base.files import cells_of
from stable_nalu.base.script import EXIT_DIVERGED, EXIT_REQUEUE
from stable_nalu.training.loop import Training
from stable_nalu.writer.event_file import METRIC_VALID, RESULT_TEST, RESULT_VALID
from tests.ensemble.plans import assert_identical, fork, train, trained
from tests.experiments.scripts import (
    assert_same_run,
    bits,
    messages,
    plugin_of,
    read,
    run,
    run_names,
    saved,
)
from tests.sequence_runs import results

KILLED = """
import os, signal
from stable_nalu.training import checkpoint
save, seen = checkpoint.save_together, set()
def kill_when_both_are_saved(contents):
    contents = list(contents)
    save(contents)
    seen.update(path for path, _ in contents)
    if len(seen) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
checkpoint.save_together = kill_when_both_are_saved
"""
DIGITS_LIBRARY = "sklearn.datasets"
NMU = "--operation mul --layer-type ReRegualizedLinearMNAC"
REALNPU = (
    "--operation div --layer-type RealNPU --regualizer-l1 --regualizer-beta-step 4 "
    "--regualizer-beta-end 1e-2"
)
INALU = (
    "--operation mul --layer-type iNALU --reinit --reinit-epoch-interval 4 --clip-grad-value 0.1 "
    "--reinit-max-stored-losses 6 --reinit-loss-thr 1 --learning-rate 1e-12"
)
SUMS = "--interpolation-length 5 --extrapolation-length 8"
CASES = {row["case"]: row for row in cells_of(Path(__file__).with_name("resumed.csv"))}
"""Name -> the words of a run before its length, and the lengths of a first part and of the whole.

There is no first part of a run that depends on how long it will be, or shows more at its end.
The run of programs is killed within a block of batches that were drawn at once.
"""
SLOW = ("world in pixels", "scattered pairs")
WITHOUT_WORKERS = ("two_digit_mnist", "ST_mnist_labels")


def plan_of(case):
    """Script, words before the length, and the lengths of the first part and of the whole run."""
    first, (script, *words) = CASES[case]["first"], CASES[case]["command"].split()
    return script, words, int(first) if first else None, int(CASES[case]["whole"])


LOGGED = json.loads((Path(__file__).parent / "fixtures" / "logged.json").read_text())
"""What is logged of each case: steps -> tags; result -> the tag whose last value it is."""


def logged(record):
    steps, tags = {}, {}
    for step, tag in record.values:
        if tag in record.tags:
            steps.setdefault(tag, []).append(step)
    for tag in sorted(steps):
        tags.setdefault(" ".join(map(str, steps[tag])), []).append(tag)
    return {when: " ".join(tags[when]) for when in sorted(tags)}


def assert_logged(record, case):
    expected = dict(LOGGED[case])
    for result in (RESULT_VALID, RESULT_TEST):
        found, tag = list(record.series(result).values()), expected.pop(result, None)
        assert len(found) == (tag is not None)
        if tag:  # There is none where the last log point tells what is before an update.
            assert found == list(record.series(tag).values())[-1:]
    assert logged(record) == expected
    assert len(plugin_of(messages(record.folder))) == 2, "written once"


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, marks=pytest.mark.slow) if c in SLOW else c for c in CASES],
)
def test_a_run_that_is_taken_further_and_killed_beside_another_seed(case, tmp_path):
    """The kill comes in the midst of the second run, after its first checkpoint, or of both."""
    script, words, short, whole = plan_of(case)
    alone, parts = tmp_path / "alone", tmp_path / "parts"
    assert train(alone, script, *words, str(whole), "--seed", "1") == 0
    one = () if script in WITHOUT_WORKERS else ("--workers", "1")
    if short is not None:
        assert train(parts, script, *words, str(short), "--seed", "0-1", *one) == 0
        ends = [short in found.record.series(METRIC_VALID) for found in trained(parts).values()]
    further = (*words, str(whole), "--seed", "0-1", *one, "--resume")
    with fork(parts, script, *further, before=KILLED, imports=DIGITS_LIBRARY) as process:
        process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert train(parts, script, *further) == 0
    expected, found = trained(alone), trained(parts)
    assert_identical(expected, {name: found[name] for name in expected})
    ((name, run_alone),) = expected.items()
    assert_logged(run_alone.record, case)
    # What the cases are for.
    if case == "NMU":
        assert all(ends), "the end of a first part is logged"
        assert short not in found[name].record.series(METRIC_VALID)
    progress = run_alone.checkpoint["progress"]
    if case == "iNALU that restarts":
        assert progress["task"]["count"] == 2
        assert run_alone.record.series("reinit/text_summary") == {8: b"0", 16: b"1"}
    if case == "curriculum":
        assert progress["task"]["stage"] > 0


@pytest.mark.parametrize("script", ["simple_function_recurrent", "number_translation"])
def test_results_have_a_line_for_each_command_that_trains(script):
    length = "--max-iterations" if script == "simple_function_recurrent" else "--max-epochs"
    short = f"{SUMS} --engine torch" if script == "simple_function_recurrent" else ""
    words = f"--layer-type NAC {short} {length}"
    for prefix, last in (("parts", 1), ("parts", 2), ("parts", 2), ("whole", 2)):
        assert run(script, words, f"{last} --resume --name-prefix {prefix}") == 0
    _, last, at_once = results(script)
    assert last | {"name_prefix": "whole"} == at_once


def test_a_loss_that_is_not_a_number_ends_a_resumed_run_where_it_ends_others(monkeypatch):
    """Roots of negative numbers; no weight of the bandit is trained, and none becomes NaN."""
    words = (
        "--operation root --layer-type GradientBanditNAC --log-interval 4 --max-iterations 12 "
        "--interpolation-range [-2,-1] --extrapolation-range [-6,-2] --resume"
    )
    iterations = Training.train

    def interrupted(training):
        for now in iterations(training):
            if now == 4:
                signal.raise_signal(signal.SIGTERM)
            yield now

    with monkeypatch.context() as patch:
        patch.setattr(Training, "train", interrupted)
        assert run("single_layer", words) == EXIT_REQUEUE
    for more in ("", "--name-prefix whole"):
        assert run("single_layer", words, more) == EXIT_DIVERGED
    (name,) = run_names("single_layer", words)
    assert_same_run(name, name.replace("t/", "whole/"))
    assert saved(name)["progress"]["diverged_at"] == 4


def test_each_run_restarts_by_itself():
    # So small a rate that the error stays: such a run is stuck, the others improve.
    words = f"{INALU} 0.001 --max-iterations 24 --log-interval 6"
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
