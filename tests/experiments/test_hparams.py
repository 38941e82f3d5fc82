"""What TensorBoard's HParams plugin shows of runs: configuration and results, once."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from tensorboardX.proto.layout_pb2 import Layout

from stable_nalu.statistics.setups import limit_of
from stable_nalu.writer.event_file import METRIC_TEST, METRIC_VALID, RESULTS
from tests.experiments.scripts import messages, plugin_of, read, run, run_names

NMU = "--operation mul --layer-type ReRegualizedLinearMNAC"
SINGLE = f"{NMU} --log-interval 5 --seed 3"


def events(name):
    return messages(Path(os.environ["TENSORBOARD_DIR"]) / name)


def board(folder):
    """Return the events that TensorBoard shows of a folder as a whole."""
    return messages(Path(os.environ["TENSORBOARD_DIR"]) / folder, ".events.*")


def plugin(name):
    return plugin_of(events(name))


def test_tensorboard_gets_configuration_and_results():
    words = f"{SINGLE} 4 --max-iterations 10"
    assert run("single_layer", words) == 0
    for seed, name in zip((3, 4), run_names("single_layer", words), strict=True):
        actual = plugin(name)
        flags = actual["_hparams_/session_start_info"].session_start_info.hparams
        assert flags["seed"].number_value == seed
        assert flags["layer_type"].string_value == "ReRegualizedLinearMNAC"
        assert flags["interpolation_range"].string_value == "[1, 2]"
        assert flags["simple"].bool_value is False
        assert not {"max_iterations", "name_prefix", "verbose", "workers"} & set(flags)
        assert "_hparams_/experiment" not in actual  # the first of a folder would count
        assert actual["_hparams_/session_end_info"].session_end_info.status
        record = read(name)
        (text,) = record.values[0, "config/text_summary"]
        assert f"| seed | {seed} |" in text.decode()
        valid, test, solved = (record.series(tag)[10] for tag in RESULTS)
        assert valid < record.series(METRIC_VALID)[0]
        assert test < record.series(METRIC_TEST)[0]
        assert solved == 0


def test_custom_scalars_has_the_error_with_its_thresholds_sparsity_and_gates():
    words = "--operation mul --layer-type RealNPU --seed 0-1 --max-iterations 10 --log-interval 5"
    ranges = "--interpolation-range [1,2] [-2,-1] --extrapolation-range [2,6] [-6,-2]"
    assert run("single_layer_benchmark", words, ranges, "--name-prefix charts") == 0
    names = run_names("single_layer_benchmark", f"{words} {ranges} --name-prefix charts")
    values = [value for event in board("charts") for value in event.summary.value]
    layout, *thresholds = [value for value in values if "_hparams_" not in value.tag]
    found = Layout.FromString(layout.tensor.string_val[0])
    charts = {one.title: list(one.multiline.tag) for one in found.category[0].chart}
    shown = {
        title: {tag for tag in tags_of(names[0]) if any(re.match(p, tag) for p in patterns)}
        for title, patterns in charts.items()
    }
    stem = "network/layer_1/real_npu"
    assert shown == {
        "test error": {METRIC_TEST},
        "sparsity error": {f"{stem}/W_real/sparsity_error", f"{stem}/gate/sparsity_error"},
        "gate": {f"{stem}/gate/sparsity_error"},
    }
    limits = {limit_of(name).threshold for name in names}
    assert {v.simple_value for v in thresholds} == {np.float32(limit) for limit in limits}
    assert all(re.match(charts["test error"][1], v.tag) for v in thresholds)
    assert {e.step for e in board("charts")} == {0, 10}


def test_short_names_show_log10_of_the_error_with_its_threshold():
    words = "--operation mul --layer-type NMU --seed 0 --max-iterations 10 --log-interval 5"
    assert run("single_layer_benchmark", words, "--name-prefix short --short-names") == 0
    record = read("short/NMU s0")
    error, shown = (record.series(tag) for tag in (METRIC_TEST, "error/log10"))
    assert list(shown) == [0, 5, 10]
    assert list(shown.values()) == pytest.approx(np.log10(list(error.values())), abs=1e-6)
    values = [value for event in board("short") for value in event.summary.value]
    layout, limit, _ = [value for value in values if "_hparams_" not in value.tag]
    chart = Layout.FromString(layout.tensor.string_val[0]).category[0].chart[0]
    assert (chart.title, chart.multiline.tag[0]) == ("log10 of test error", "error/log10$")
    assert 10**limit.simple_value == pytest.approx(float(limit.tag[len("threshold/") :]), rel=0.05)


def tags_of(name):
    return {value.tag for event in events(name) for value in event.summary.value}
