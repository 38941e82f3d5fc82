"""Rows from events: one test per rule."""

import math

import pytest

from stable_nalu.result.export import MetricParser, WeightsParser, is_scored, is_scored_or_gate
from stable_nalu.writer.event_file import Event

VALID, TEST = "metric/valid/interpolation", "metric/test/extrapolation"
W1, W2 = "network/layer_1/nac/W/sparsity_error", "network/layer_2/nac/W/sparsity_error"
NAN = math.nan


def events(*steps):
    """One event per value: steps are (step, {tag: value} or [(tag, value), …])."""
    result = []
    for step, values in steps:
        pairs = values.items() if isinstance(values, dict) else values
        for tag, value in pairs:
            result.append(Event(1000.0 + len(result), step, (tag,), (value,)))
    return result


def metrics(*steps, matcher=None, **options):
    return MetricParser(matcher or is_scored, **options).parse(events(*steps))


def same(found, expected):
    assert list(found) == list(expected)
    for name, cells in expected.items():
        assert found[name] == pytest.approx(cells, nan_ok=True), name


def test_only_values_of_the_logged_step_join():
    found = metrics(
        (0, {W1: 0.4}),
        (0, {VALID: 1.0, W1: 0.1}),
        (1, {W1: 0.3}),
        (2, {VALID: 2.0}),
        (3, {W1: 0.3}),
        (4, {VALID: 3.0, W1: 0.4}),
    )
    assert found["sparse.error.max"] == pytest.approx([0.1, NAN, 0.4], nan_ok=True)


MASS = (("mcfc_junction", 0.4), ("mcfc_out_gate", 0.2), ("mulmcfc_bias", 0.3))
GATES = ("mulmcfcsignrealnpu_g_hat", 0.4)


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        # The maximum over layers; one that is not a number is the largest.
        ([("W", 0.25), ("W", 0.5)], 0.5),
        ([("W", 0.5), ("W_real", 0.25)], 0.5),
        ([("W", NAN), ("W", 0.5)], NAN),
        ([("W", 0.5), ("W", NAN)], NAN),
        # Imaginary weights are averaged in.
        ([("W_real", 0.5), ("W_im", 0.25)], 0.375),
        ([("W_im", 0.25)], NAN),
        # The parts of mass-conserving layers are averaged.
        (MASS[:2], 0.3),
        (MASS, (2 * 0.3 + 0.3) / 3),
        ([*MASS, GATES], (3 * ((2 * 0.3 + 0.3) / 3) + 0.4) / 4),
        (MASS[1:2], NAN),
        (MASS[2:], NAN),
        ([GATES], NAN),
        # Others do not count.
        ([("gate", 0.5), ("W_a", 0.5), ("W_m", 0.5)], NAN),
    ],
)
def test_sparsity_error_of_a_step(errors, expected):
    tags = [(f"network/layer_1/x/{part}/sparsity_error", error) for part, error in errors]
    found = metrics((0, [(VALID, 1.0), *tags]))
    assert found["sparse.error.max"] == pytest.approx([expected], nan_ok=True)


def test_a_run_killed_within_a_step_has_missing_cells():
    found = metrics((0, {VALID: 1.0, TEST: 2.0, W1: 0.25}), (1000, {VALID: 3.0}))
    assert found["metric.test.extrapolation"] == pytest.approx([2.0, NAN], nan_ok=True)
    assert found["sparse.error.max"] == pytest.approx([0.25, NAN], nan_ok=True)
    assert found["step"] == [0, 1000]


@pytest.mark.parametrize("layer", [1, 2])
def test_gates_follow_the_sparsity_error(layer):
    gate = f"network/layer_{layer}/nalu/gate/mean"
    step = {VALID: 1.0, TEST: 2.0, W1: 0.25}
    ordered = {gate: 0.5} | step if layer == 1 else step | {gate: 0.5}
    found = metrics((0, {VALID: 1.0} | ordered), matcher=is_scored_or_gate)
    assert list(found)[-2:] == ["sparse.error.max", f"network.layer_{layer}.nalu.gate.mean"]
    assert gate.replace("/", ".") not in metrics((0, step | {gate: 0.5}))


def test_weights_only():
    def matrix(name, text):
        return f"/network/layer_1/real_npu/{name}/text_summary", text

    found = WeightsParser().parse(
        events(
            (0, [matrix("W_real", b"<pre>[[1. 2.]]</pre>"), matrix("gate", b"<pre>[.5 1.]</pre>")]),
            (0, [(VALID, 1.0), ("reinit/text_summary", b"restarted")]),
            (100, [matrix("W_real", b"<pre>[[3. nan]]</pre>")]),
            (
                200,
                [matrix("W_real", b"<pre>[[5. 6.]]</pre>"), matrix("W_real", b"<pre>[7.]</pre>")],
            ),
        )
    )
    same(
        found,
        {
            "param.W_real.0": [1.0, 3.0, 5.0],
            "param.W_real.1": [2.0, NAN, 6.0],
            "step": [0, 100, 200],
            "param.gate.0": [0.5, NAN, NAN],
            "param.gate.1": [1.0, NAN, NAN],
        },
    )
    assert WeightsParser().parse(events((0, {VALID: 1.0}))) == {}
